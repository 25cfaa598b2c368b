#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stoker/collate/column_view.hpp>
#include <stoker/device/dlpack_abi.hpp>
#include <stoker/loader/batch.hpp>
#include <stoker/tensor/dtype.hpp>

namespace stoker {

namespace detail {

struct dl_deleter {
    void operator()(dl_managed_tensor* lent) const noexcept {
        if (lent->deleter != nullptr)
            lent->deleter(lent);
    }
};

}  // namespace detail

/// An array that is lent or borrowed by DLPack. Give it away by `release()`: to a C++ library as
/// `reinterpret_cast<DLManagedTensorVersioned*>(lent.release())`, to Python in a capsule named
/// "dltensor_versioned". Destroying it ends the loan.
using dlpack_tensor = std::unique_ptr<dl_managed_tensor, detail::dl_deleter>;

namespace detail {

/// An array of `shape`, row-major without gaps, that keeps `owner` alive until it is deleted, on
/// any thread.
dlpack_tensor lend(std::shared_ptr<const void> owner, const void* data, dtype type,
                   std::span<const std::uint64_t> shape, dl_device device, std::uint64_t flags);

/// Checks that the array is of that type and those extents (`dynamic` for any), row-major without
/// gaps, in memory that the host can read, and, unless `constant`, may be written. Fills `extents`
/// and gives where it begins. Throws error{invalid_option} that says what it is.
void* borrow(const dl_managed_tensor& lent, dtype type, std::span<const std::size_t> wanted,
             std::size_t alignment, bool constant, std::uint64_t* extents);

/// A column by its name.
template <class Batch>
dlpack_tensor lend_column(const std::shared_ptr<const Batch>& owner, std::string_view name) {
    const auto column = std::as_const(*owner)[name];
    return lend(owner, column.data(), column.type(), column.shape(), {dl_device_type::cpu, 0},
                dl_managed_tensor::read_only);
}
/// The column of a member.
template <class Batch, class Owner, class Member>
dlpack_tensor lend_column(const std::shared_ptr<const Batch>& owner, Member Owner::*member) {
    const auto view = std::as_const(*owner)[member];
    static_assert(
        requires {
            view.shape();
            view.data();
            dtype_of<typename decltype(view)::value_type>;
        },
        "stoker: DLPack lends members that have one column; name the column that is "
        "wanted of others, such as \"tokens.lengths\"");
    std::array<std::uint64_t, decltype(view)::rank()> shape{};
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        shape[axis] = view.extent(axis);
    return lend(owner, view.data(), dtype_of<typename decltype(view)::value_type>, shape,
                {dl_device_type::cpu, 0}, dl_managed_tensor::read_only);
}

}  // namespace detail

/// Lends columns of a batch in the host's memory, by member or by name, without a copy:
///
///     auto [pixels, label] = stoker::to_dlpack(std::move(batch), &digit::pixels, &digit::label);
///     auto tensor = at::fromDLPackVersioned(
///         reinterpret_cast<DLManagedTensorVersioned*>(pixels.release()));
///
/// Shape and strides are filled, the byte offset is 0, the device is the CPU. The arrays are marked
/// read-only, for a batch that is held never changes. They hold the batch's slot together, until
/// the last is deleted, on any thread, also after the loader has ended: a library that keeps them
/// keeps a slot. Lend `batch.clone()` where it keeps many.
///
/// Takes the batch in any case. Throws error{invalid_option} for a name that it has not.
///
/// Device batches will follow DLPack's rules for streams: the borrower says on which stream it
/// reads (none or 1: the legacy default one, 2: the per-thread one, above 2: a handle, −1: it
/// orders by itself, 0 is refused); that stream is made to wait until the batch is ready before it
/// is lent, and deleting the array records how far that stream has come, before which nothing is
/// overwritten. A borrower that reads on other streams has to order them behind that one.
template <class Sample, class Batch, class... Columns>
auto to_dlpack(batch<Sample, Batch>&& lent, const Columns&... columns) {
    static_assert(sizeof...(Columns) > 0, "stoker: name the members or columns to lend");
    using batch_type = batch<Sample, Batch>;
    const std::shared_ptr<const batch_type> owner = std::make_shared<batch_type>(std::move(lent));
    if constexpr (sizeof...(Columns) == 1) {
        return detail::lend_column(owner, columns...);
    } else {
        return std::array<dlpack_tensor, sizeof...(Columns)>{
            detail::lend_column(owner, columns)...};
    }
}

}  // namespace stoker
