#include <stoker/device/dlpack.hpp>

#include <algorithm>
#include <string>

#include <stoker/collate/column.hpp>
#include <stoker/core/error.hpp>
#include "collate/shape_text.hpp"

namespace stoker::detail {
namespace {

constexpr dl_version written_here{1, 1};

/// A loan with what it points to; `manager` leads back to it.
struct loan {
    dl_managed_tensor lent{};
    std::shared_ptr<const void> owner;
    std::array<std::int64_t, max_rank> shape{};
    std::array<std::int64_t, max_rank> strides{};
};

/// The older struct around a loan.
struct unversioned_loan {
    dl_unversioned_tensor lent{};
    dlpack_tensor held;
};

void end_unversioned(dl_unversioned_tensor* lent) {
    delete static_cast<unversioned_loan*>(lent->manager);
}

void end_loan(dl_managed_tensor* lent) {
    delete static_cast<loan*>(lent->manager);
}

[[noreturn]] void refuse(std::string text, std::string remedy) {
    throw error({.code = errc::invalid_option,
                 .text = "DLPack: " + std::move(text),
                 .remedy = std::move(remedy)});
}

std::string type_text(dl_data_type type) {
    constexpr std::string_view names[] = {"i", "u", "f", "opaque", "bf", "complex", "bool"};
    const auto code = static_cast<std::size_t>(type.code);
    std::string text = code < std::size(names) ? std::string(names[code])
                                               : "type code " + std::to_string(code) + ", bits ";
    text += std::to_string(type.bits);
    return type.lanes == 1 ? text : text + " x " + std::to_string(type.lanes);
}

std::string text_of(const dl_tensor& tensor) {
    std::array<std::uint64_t, max_rank> shape{};
    const auto rank = static_cast<std::size_t>(std::clamp<std::int32_t>(tensor.rank, 0, max_rank));
    for (std::size_t axis = 0; axis < rank; ++axis)
        shape[axis] = static_cast<std::uint64_t>(tensor.shape[axis]);
    return "an array " + type_text(tensor.type) + ' ' + shape_text(std::span(shape).first(rank)) +
           " with " + std::to_string(tensor.rank) + " axes";
}

/// Pinned and managed memory is everybody's.
bool can_read(dl_device reader, dl_device memory) {
    return memory.type == dl_device_type::cuda_host ||
           memory.type == dl_device_type::cuda_managed ||
           (memory.type == reader.type &&
            (reader.type == dl_device_type::cpu || memory.number == reader.number));
}

std::string text_of(dl_device place) {
    if (place.type == dl_device_type::cpu)
        return "the host";
    if (place.type == dl_device_type::cuda)
        return "CUDA device " + std::to_string(place.number);
    return "a device of type " + std::to_string(static_cast<std::int32_t>(place.type));
}

void check_memory(const dl_managed_tensor& lent, bool constant, dl_device reader) {
    if (!can_read(reader, lent.tensor.device)) {
        refuse("the array lies on " + text_of(lent.tensor.device) + ", which " + text_of(reader) +
                   " cannot read",
               "copy it there before it is lent");
    }
    if (!constant && (lent.flags & dl_managed_tensor::read_only) != 0) {
        refuse("the array is read-only", "borrow it as tensor_view<const T, …>");
    }
}

/// Strides of an axis of one element, and of an array without elements, mean nothing.
bool is_compact(const dl_tensor& tensor) {
    const std::span shape(tensor.shape, static_cast<std::size_t>(tensor.rank));
    if (tensor.strides == nullptr || std::find(shape.begin(), shape.end(), 0) != shape.end())
        return true;
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] != 1 && tensor.strides[axis] != stride)
            return false;
        stride *= shape[axis];
    }
    return true;
}

}  // namespace

dlpack_tensor lend(std::shared_ptr<const void> owner, const void* data, dtype type,
                   std::span<const std::uint64_t> shape, dl_device device, std::uint64_t flags) {
    auto made = std::make_unique<loan>();
    made->owner = std::move(owner);
    std::int64_t stride = 1;
    bool empty = false;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        made->shape[axis] = static_cast<std::int64_t>(shape[axis]);
        made->strides[axis] = stride;
        stride *= std::max<std::int64_t>(made->shape[axis], 1);
        empty = empty || shape[axis] == 0;
    }
    dl_managed_tensor& lent = made->lent;
    lent.version = written_here;
    lent.manager = made.get();
    lent.deleter = end_loan;
    lent.flags = flags;
    // The ABI has no const; `read_only` says it.
    lent.tensor.data = empty ? nullptr : const_cast<void*>(data);
    lent.tensor.device = device;
    lent.tensor.rank = static_cast<std::int32_t>(shape.size());
    lent.tensor.type = dl_type_of(type);
    lent.tensor.shape = made->shape.data();
    lent.tensor.strides = made->strides.data();
    return dlpack_tensor(&made.release()->lent);
}

dl_unversioned_tensor* wrap_unversioned(dlpack_tensor lent) {
    auto made = std::make_unique<unversioned_loan>();
    made->lent = {lent->tensor, made.get(), end_unversioned};
    made->held = std::move(lent);
    return &made.release()->lent;
}

dl_device place_of(const device& where) noexcept {
    if (where.is_host())
        return {dl_device_type::cpu, 0};
    return {dl_device_type::cuda, where.ordinal()};
}

void* borrow(const dl_managed_tensor& lent, dtype type, std::span<const std::size_t> wanted,
             std::size_t alignment, bool constant, dl_device reader, std::uint64_t* extents) {
    if (lent.version.major != written_here.major) {
        refuse("the array is of version " + std::to_string(lent.version.major) + '.' +
                   std::to_string(lent.version.minor),
               "ask for version 1: __dlpack__(max_version=(1, 1))");
    }
    check_memory(lent, constant, reader);
    const dl_tensor& tensor = lent.tensor;
    const dl_data_type expected = dl_type_of(type);
    bool same = tensor.type.code == expected.code && tensor.type.bits == expected.bits &&
                tensor.type.lanes == 1 && tensor.rank == static_cast<std::int32_t>(wanted.size());
    for (std::size_t axis = 0; same && axis < wanted.size(); ++axis) {
        extents[axis] = static_cast<std::uint64_t>(tensor.shape[axis]);
        same =
            tensor.shape[axis] >= 0 && (wanted[axis] == dynamic || wanted[axis] == extents[axis]);
    }
    if (!same) {
        std::array<std::uint64_t, max_rank> shape{};
        const std::size_t rank = std::min<std::size_t>(wanted.size(), max_rank);
        std::copy_n(wanted.begin(), rank, shape.begin());
        refuse("it is " + text_of(tensor) + ", and asked for as " + std::string(name_of(type)) +
                   ' ' + shape_text(std::span(shape).first(rank)),
               "borrow it as the view that it is");
    }
    if (!is_compact(tensor))
        refuse("it is " + text_of(tensor) + " with gaps or in another order of axes",
               "make it contiguous before it is lent");
    auto* begin = static_cast<std::byte*>(tensor.data);
    if (begin != nullptr)
        begin += tensor.byte_offset;
    if (reinterpret_cast<std::uintptr_t>(begin) % alignment != 0)
        refuse("the array's elements are not aligned", "copy it before it is lent");
    return begin;
}

}  // namespace stoker::detail
