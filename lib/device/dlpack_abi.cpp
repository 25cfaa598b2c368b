#include <stoker/device/dlpack_abi.hpp>

namespace stoker::detail {
namespace {

dl_type_code code_of(dtype type) noexcept {
    switch (type) {
        case dtype::bool_:
            return dl_type_code::boolean;
        case dtype::u8:
        case dtype::u16:
        case dtype::u32:
        case dtype::u64:
            return dl_type_code::unsigned_integer;
        case dtype::i8:
        case dtype::i16:
        case dtype::i32:
        case dtype::i64:
            return dl_type_code::signed_integer;
        case dtype::bf16:
            return dl_type_code::bfloat;
        default:
            return dl_type_code::floating;
    }
}

}  // namespace

dl_data_type dl_type_of(dtype type) noexcept {
    return {code_of(type), static_cast<std::uint8_t>(8 * size_of(type)), 1};
}

}  // namespace stoker::detail
