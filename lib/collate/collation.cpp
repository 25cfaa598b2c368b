#include <string>

#include <stoker/collate/collation.hpp>
#include <stoker/core/error.hpp>

#include "collate/shape_text.hpp"

namespace stoker::detail {

void throw_shape_mismatch(const column& field, index first, const std::uint64_t* first_extents,
                          index other, const std::uint64_t* other_extents) {
    const std::size_t rank = field.extents.size();
    throw error({.code = errc::shape_mismatch,
                 .text = "field '" + field.name + "' of sample " + std::to_string(other) +
                         " has shape " + shape_text({other_extents, rank}) + ", that of sample " +
                         std::to_string(first) + ", in the same batch, " +
                         shape_text({first_extents, rank}),
                 .remedy = "resize, crop or pad the field to one shape in the dataset's get()",
                 .sample = other});
}

}  // namespace stoker::detail
