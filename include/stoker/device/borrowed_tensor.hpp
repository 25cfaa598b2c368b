#pragma once

#include <array>
#include <memory>
#include <type_traits>
#include <utility>

#include <stoker/collate/column_view.hpp>
#include <stoker/device/device.hpp>
#include <stoker/device/dlpack.hpp>
#include <stoker/device/dlpack_abi.hpp>
#include <stoker/tensor/dtype.hpp>

namespace stoker {

/// An array that another library lent by DLPack, seen as a typed view. Gives it back when it is
/// destroyed. Moved from it holds none.
///
///     stoker::borrowed_tensor<stoker::tensor_view<const float, stoker::dynamic, 3>> points(lent);
///     use(points.view());
///
/// Only memory that the host, or the device that is named, can read, row-major without gaps.
/// The version's major number must be 1. A view of elements that are not const needs an array that
/// is not read-only.
///
/// Thread safety: like a unique_ptr.
template <class View>
class borrowed_tensor {
    using parts = detail::view_parts<View>;
    using element = typename parts::element_type;

  public:
    borrowed_tensor() = default;
    /// Takes the loan in any case. Throws error{invalid_option} that says what the array is and
    /// what was asked for.
    explicit borrowed_tensor(dlpack_tensor lent)
        : borrowed_tensor(std::move(lent), dl_device{dl_device_type::cpu, 0}) {}
    /// The same of memory that the device can read: its own, pinned and managed. What the view's
    /// `data()` points to is for kernels, on the stream that whoever lent it was told.
    borrowed_tensor(dlpack_tensor lent, const device& reader)
        : borrowed_tensor(std::move(lent), detail::place_of(reader)) {}
    /// The same of what another library gave, a DLManagedTensorVersioned.
    explicit borrowed_tensor(dl_managed_tensor* lent) : borrowed_tensor(dlpack_tensor(lent)) {}

    explicit operator bool() const noexcept { return lent_ != nullptr; }
    /// Valid as long as this is.
    const View& view() const noexcept { return view_; }

  private:
    borrowed_tensor(dlpack_tensor lent, dl_device reader) : lent_(std::move(lent)) {
        std::array<std::uint64_t, parts::extents.size()> extents{};
        void* data =
            detail::borrow(*lent_, dtype_of<std::remove_const_t<element>>, parts::extents,
                           alignof(element), std::is_const_v<element>, reader, extents.data());
        view_ = View(static_cast<element*>(data), extents);
    }

    dlpack_tensor lent_;
    View view_{};
};

}  // namespace stoker
