#pragma once

#include <cstddef>
#include <cstdint>

#include <stoker/tensor/dtype.hpp>

// The structs of DLPack 1.x, by which array libraries lend each other memory, as
// include/dlpack/dlpack.h of github.com/dmlc/dlpack (version 1.1, Apache-2.0) lays them out: plain
// ABI that every 1.x keeps, under names of ours, so that a program may include that header, too.

namespace stoker {

/// DLPackVersion. Another major version has another layout behind `flags`.
struct dl_version {
    std::uint32_t major;
    std::uint32_t minor;
};

/// DLDeviceType, those that matter here.
enum class dl_device_type : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

/// DLDevice. The number is 0 for memory of the host, pinned or not, and for managed memory.
struct dl_device {
    dl_device_type type;
    std::int32_t number;
};

/// DLDataTypeCode, those that have a dtype.
enum class dl_type_code : std::uint8_t {
    signed_integer = 0,
    unsigned_integer = 1,
    floating = 2,
    bfloat = 4,
    boolean = 6
};

/// DLDataType, of one element.
struct dl_data_type {
    dl_type_code code;
    std::uint8_t bits;
    std::uint16_t lanes;  ///< 1, but for vectors
};

/// DLTensor: an array that something else owns.
struct dl_tensor {
    void* data;  ///< null where there is no element
    dl_device device;
    std::int32_t rank;
    dl_data_type type;
    std::int64_t* shape;
    std::int64_t* strides;  ///< in elements
    std::uint64_t byte_offset;
};

/// DLManagedTensorVersioned: an array that is lent, until whoever borrows it calls `deleter`.
struct dl_managed_tensor {
    dl_version version;
    void* manager;
    void (*deleter)(dl_managed_tensor* self);  ///< may be null; frees `self`, too
    std::uint64_t flags;
    dl_tensor tensor;

    /// Bits of `flags`.
    static constexpr std::uint64_t read_only = 1;
    static constexpr std::uint64_t is_copied = 2;
};

/// DLManagedTensor, the struct before version 1.0: it says neither version nor flags.
struct dl_unversioned_tensor {
    dl_tensor tensor;
    void* manager;
    void (*deleter)(dl_unversioned_tensor* self);  ///< may be null; frees `self`, too
};

static_assert(sizeof(dl_tensor) == 48 && offsetof(dl_tensor, byte_offset) == 40);
static_assert(sizeof(dl_managed_tensor) == 80 && offsetof(dl_managed_tensor, tensor) == 32);
static_assert(sizeof(dl_unversioned_tensor) == 64 &&
              offsetof(dl_unversioned_tensor, manager) == 48);

namespace detail {

/// What DLPack calls elements of that type.
dl_data_type dl_type_of(dtype type) noexcept;

}  // namespace detail

}  // namespace stoker
