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
#include <stoker/device/device.hpp>
#include <stoker/device/device_batch.hpp>
#include <stoker/device/device_columns.hpp>
#include <stoker/device/dl_stream.hpp>
#include <stoker/device/dlpack_abi.hpp>
#include <stoker/loader/batch.hpp>
#include <stoker/tensor/dtype.hpp>

namespace stoker {

namespace detail {

struct dl_deleter {
    template <class Lent>
    void operator()(Lent* lent) const noexcept {
        if (lent->deleter != nullptr)
            lent->deleter(lent);
    }
};

}  // namespace detail

/// An array that is lent or borrowed by DLPack. Give it away by `release()`: to a C++ library as
/// `reinterpret_cast<DLManagedTensorVersioned*>(lent.release())`, to Python in a capsule named
/// "dltensor_versioned". Destroying it ends the loan.
using dlpack_tensor = std::unique_ptr<dl_managed_tensor, detail::dl_deleter>;
/// The same in the older struct, `reinterpret_cast<DLManagedTensor*>(lent.release())`, to Python in
/// a capsule named "dltensor".
using dlpack_unversioned = std::unique_ptr<dl_unversioned_tensor, detail::dl_deleter>;

namespace detail {

/// An array of `shape`, row-major without gaps, that keeps `owner` alive until it is deleted, on
/// any thread.
dlpack_tensor lend(std::shared_ptr<const void> owner, const void* data, dtype type,
                   std::span<const std::uint64_t> shape, dl_device device, std::uint64_t flags);

/// Checks that the array is of that type and those extents (`dynamic` for any), row-major without
/// gaps, in memory that `reader` can read (the CPU, or a CUDA device), and, unless `constant`, may
/// be written. Fills `extents` and gives where it begins. Throws error{invalid_option} that says
/// what it is.
void* borrow(const dl_managed_tensor& lent, dtype type, std::span<const std::size_t> wanted,
             std::size_t alignment, bool constant, dl_device reader, std::uint64_t* extents);

/// The older struct around an array; deleting it ends the loan.
dl_unversioned_tensor* wrap_unversioned(dlpack_tensor lent);

/// The CPU for the host device.
dl_device place_of(const device& where) noexcept;

/// How a device batch is lent.
struct device_batch_access {
    template <class Sample, class Batch>
    static device_columns<Sample, Batch> read_by(device_batch<Sample, Batch>& lent,
                                                 dl_stream reader) {
        if (reader.is_ordered())
            return lent.on(reader.handle());
        lent.lease_.use_unordered();
        const device_record& found = lent.record();
        return device_columns<Sample, Batch>(found.data, found.records.data());
    }
    template <class Sample, class Batch>
    static dl_device place_of(const device_batch<Sample, Batch>& lent) {
        return detail::place_of(lent.lease_.target());
    }
};

/// What is common to the arrays that an owner lends.
struct loan_terms {
    std::shared_ptr<const void> owner{};
    dl_device device{};
    std::uint64_t flags = 0;
};

/// A column by its name.
template <class Columns>
dlpack_tensor lend_column(const loan_terms& terms, const Columns& columns, std::string_view name) {
    const auto column = columns[name];
    return lend(terms.owner, column.data(), column.type(), column.shape(), terms.device,
                terms.flags);
}
/// The column of a member.
template <class Columns, class Owner, class Member>
dlpack_tensor lend_column(const loan_terms& terms, const Columns& columns, Member Owner::*member) {
    const auto view = columns[member];
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
    return lend(terms.owner, view.data(), dtype_of<typename decltype(view)::value_type>, shape,
                terms.device, terms.flags);
}

/// One array, or a std::array of them.
template <class Columns, class... Wanted>
auto lend_columns(const loan_terms& terms, const Columns& columns, const Wanted&... wanted) {
    static_assert(sizeof...(Wanted) > 0, "stoker: name the members or columns to lend");
    if constexpr (sizeof...(Wanted) == 1) {
        return lend_column(terms, columns, wanted...);
    } else {
        return std::array<dlpack_tensor, sizeof...(Wanted)>{lend_column(terms, columns, wanted)...};
    }
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
template <class Sample, class Batch, class... Columns>
auto to_dlpack(batch<Sample, Batch>&& lent, const Columns&... columns) {
    using batch_type = batch<Sample, Batch>;
    const auto owner = std::make_shared<batch_type>(std::move(lent));
    const detail::loan_terms terms{owner, {dl_device_type::cpu, 0}, dl_managed_tensor::read_only};
    return detail::lend_columns(terms, std::as_const(*owner), columns...);
}

/// Lends columns of a batch in a device's memory, which `reader` is made to wait for:
///
///     auto [pixels, label] = stoker::to_dlpack(std::move(batch), compute, &device_digit::pixels,
///                                              &device_digit::label);
///
/// The device is CUDA's with its number, for the host device the CPU. The arrays may be written:
/// the memory is the batch's alone. When the last of them is deleted, on any thread, it is recorded
/// how far the reader's stream has come, and streams that `on` was called with before; nothing is
/// overwritten until they have got there. So delete after the last launch that reads, as libraries
/// do that own the array. A library that keeps arrays keeps a buffer of the feed
/// (`feed_options::hold`).
///
/// Takes the batch in any case. Throws error{invalid_option} for a name that it has not,
/// error{stream_captured, device_failed} as `on`.
template <class Sample, class Batch, class... Columns>
auto to_dlpack(device_batch<Sample, Batch>&& lent, dl_stream reader, const Columns&... columns) {
    using batch_type = device_batch<Sample, Batch>;
    const auto owner = std::make_shared<batch_type>(std::move(lent));
    const auto read = detail::device_batch_access::read_by(*owner, reader);
    const detail::loan_terms terms{owner, detail::device_batch_access::place_of(*owner), 0};
    return detail::lend_columns(terms, read, columns...);
}

/// The same array for libraries that know the struct before DLPack 1.0 alone, such as LibTorch's
/// `at::fromDLPack`. That cannot say that an array is read-only: one of a host batch must not be
/// written all the same.
///
///     auto tensor = at::fromDLPack(reinterpret_cast<DLManagedTensor*>(
///         stoker::to_unversioned(std::move(pixels)).release()));
inline dlpack_unversioned to_unversioned(dlpack_tensor lent) {
    return dlpack_unversioned(detail::wrap_unversioned(std::move(lent)));
}

}  // namespace stoker
