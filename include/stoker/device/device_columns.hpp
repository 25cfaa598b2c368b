#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <stoker/collate/batch_struct.hpp>
#include <stoker/collate/column_access.hpp>

namespace stoker {

/// The columns of a batch in a device's memory, for use on one stream: `batch.on(stream)`. Views
/// are those of a host batch, and `data()` of each is the device's pointer: what it points to is
/// for kernels, and only on the host device for the host.
///
///     auto on = batch.on(compute);
///     step<<<blocks, threads, 0, compute>>>(on[&digit::pixels].data(), on[&digit::label].data());
///
/// Copied by value; valid as long as the batch is held.
///
/// Thread safety: that of the batch.
template <class Sample, class Batch = void>
class device_columns {
    static constexpr bool by_sample = std::is_void_v<Batch>;
    using columns_type = std::conditional_t<by_sample, Sample, Batch>;
    using access =
        typename std::conditional_t<by_sample,
                                    std::type_identity<detail::column_access<columns_type>>,
                                    std::type_identity<detail::batch_struct<columns_type>>>::type;

  public:
    device_columns(std::byte* data, const detail::column_record* records) noexcept
        : data_(data), records_(records) {}

    /// Views of all members, in order, for structured bindings.
    auto columns() const { return access::columns(data_, records_); }
    /// View of one member: its first extent is the number of samples.
    template <class Member, std::same_as<columns_type> Owner>
    auto operator[](Member Owner::*member) const {
        return access::member(data_, records_, member);
    }
    /// View of a column by its name; throws error{invalid_option} with the names there are.
    auto operator[](std::string_view name) const { return access::named(data_, records_, name); }

  private:
    std::byte* data_;
    const detail::column_record* records_;
};

}  // namespace stoker
