#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <stoker/collate/collation.hpp>
#include <stoker/collate/ragged_struct_view.hpp>
#include <stoker/tensor/tensor_view.hpp>

namespace stoker {

/// The columns of a std::optional member in a batch: those of its value, a row for every sample,
/// and whether each sample has it. Rows that are absent keep their place: they are zero bytes, a
/// padded, ragged or string member is empty there. Nothing is shifted or left out.
///
///     auto mask = batch[&photo::mask];            // std::optional<tensor<bool, 8, 8>>
///     if (mask.has_value(3)) use(mask.values()[3]);
///
/// `values()` is the view that the member would have without std::optional. Tensors with dynamic
/// extents must agree among the samples that have them; when none has, such extents are 0.
/// `Byte` is `const std::byte` where the batch is const.
///
/// Columns: those of the value, and "mask.present" (bool).
///
/// Copied by value; valid as long as the batch. Indices are checked by assert only.
///
/// Thread safety: that of the batch, whose memory it looks at.
template <class T, class Byte>
class optional_view {
    using collation_type = detail::collation<T>;
    using presence_type = tensor_view<detail::like_byte<Byte, bool>, dynamic>;

  public:
    optional_view(Byte* data, const detail::column_record* records) noexcept
        : data_(data), records_(records) {}

    /// Samples, whether they have a value or not.
    std::size_t size() const { return present().size(); }
    /// Whether sample `sample` has a value.
    bool has_value(std::size_t sample) const { return present()[sample]; }
    /// Which samples have one.
    presence_type present() const {
        return detail::collation<bool>::view(data_, records_ + collation_type::column_count);
    }
    /// The values, those of absent rows included.
    auto values() const { return collation_type::view(data_, records_); }

  private:
    Byte* data_;
    const detail::column_record* records_;
};

namespace detail {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

/// Optional members: the columns of the value, and one of presence.
template <class T>
struct collation<std::optional<T>> {
    static_assert(!is_optional<T>::value,
                  "stoker: a std::optional of a std::optional cannot be collated");
    static constexpr bool name_is_free = [] {
        if constexpr (struct_member<T>)
            return !has_field_named<T>("present");
        else
            return true;
    }();
    static_assert(name_is_free,
                  "stoker: a struct in a std::optional may not have a member named present: the "
                  "batch has a column of that name beside those of the members");
    using value = collation<T>;
    using presence = collation<bool>;
    static constexpr std::size_t column_count = value::column_count + 1;
    static constexpr bool fixed = value::fixed;

    static void describe(const std::string& name, std::vector<column>& columns) {
        value::describe(name, columns);
        const bool bare = name.empty();
        const std::string prefix = !bare ? name + "." : struct_member<T> ? "" : "value.";
        presence::describe(prefix + "present", columns);
    }

    template <class Byte>
    static auto view(Byte* data, const column_record* records) {
        return optional_view<T, Byte>(data, records);
    }

    class plan {
      public:
        void add(const std::optional<T>* member, index sample, const column* columns) {
            value_.add(within(member), sample, columns);
        }
        void finish(std::uint64_t samples, const column* columns, column_record* records) const {
            value_.finish(samples, columns, records);
            typename presence::plan{}.finish(samples, columns + value::column_count,
                                             records + value::column_count);
        }
        void begin(std::byte* const* starts) const { value_.begin(starts); }
        void store(const std::optional<T>* member, std::byte* const* starts,
                   std::uint64_t number) const {
            const T* const found = within(member);
            const bool present = found != nullptr;
            value_.store(found, starts, number);
            typename presence::plan{}.store(&present, starts + value::column_count, number);
        }

      private:
        static const T* within(const std::optional<T>* member) {
            return member != nullptr && member->has_value() ? std::addressof(**member) : nullptr;
        }

        typename value::plan value_;
    };
};

}  // namespace detail

}  // namespace stoker
