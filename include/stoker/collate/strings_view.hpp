#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/collate/collation.hpp>
#include <stoker/collate/ragged_view.hpp>

namespace stoker {

/// The columns of a std::string member in a batch: the bytes of all samples, one sample after the
/// other, and the 64-bit offsets that divide them. Read-only; bytes may be of any value, 0 too.
///
///     auto path = batch[&photo::path];
///     std::string_view third = path[3];
///     for (std::string_view each : path) …
///
/// Columns: "path" (u8) and "path.offsets" (i64).
///
/// Copied by value; valid as long as the batch. Indices are checked by assert only.
///
/// Thread safety: that of the batch, whose memory it looks at.
class strings_view {
  public:
    using reference = std::string_view;
    using iterator = detail::axis_iterator<strings_view>;

    strings_view() = default;
    explicit strings_view(ragged_view<const char> bytes) noexcept : bytes_(bytes) {}

    /// Samples.
    std::size_t size() const { return bytes_.size(); }
    /// The bytes of all samples.
    std::span<const char> bytes() const { return bytes_.values(); }
    /// As those of `ragged_view`.
    std::span<const std::int64_t> offsets() const { return bytes_.offsets(); }

    /// That of sample `at`.
    template <std::integral At>
    std::string_view operator[](At at) const {
        const std::span<const char> found = bytes_[at];
        return {found.data(), found.size()};
    }
    /// Over the samples.
    iterator begin() const { return iterator(*this, 0); }
    iterator end() const { return iterator(*this, static_cast<std::ptrdiff_t>(size())); }

  private:
    ragged_view<const char> bytes_;
};

namespace detail {

/// Strings: a column of bytes and one of offsets.
template <>
struct collation<std::string> {
    static constexpr std::size_t column_count = 2;
    static constexpr bool fixed = false;

    static void describe(const std::string& name, std::vector<column>& columns) {
        const std::size_t first = columns.size();
        collation<std::uint8_t>::describe(name, columns);
        const std::string bytes_name = columns.back().name;
        describe_offsets(bytes_name, first, columns);
    }

    template <class Byte>
    static strings_view view(Byte* data, const column_record* records) {
        return strings_view({reinterpret_cast<const char*>(data + records[0].offset),
                             offsets_at(data, records[1])});
    }

    class plan {
      public:
        void add(const std::string* member, index, const column*) {
            if (member != nullptr)
                offsets_.add(member->size());
        }
        void finish(std::uint64_t samples, const column* columns, column_record* records) const {
            collation<std::uint8_t>::plan{}.finish(offsets_.total(), columns, records);
            offsets_.finish(samples, columns[1], records[1]);
        }
        void begin(std::byte* const* starts) const { offsets_.begin(starts[1]); }
        void store(const std::string* member, std::byte* const* starts,
                   std::uint64_t number) const {
            const std::size_t length = member == nullptr ? 0 : member->size();
            const std::size_t first = offsets_.store(starts[1], number, length);
            if (length > 0)
                std::memcpy(starts[0] + first, member->data(), length);
        }

      private:
        offsets_plan offsets_;
    };
};

}  // namespace detail

}  // namespace stoker
