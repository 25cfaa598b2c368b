#pragma once
// What `prepare` comes to once the types are taken away: columns by number, parameters by value.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <stoker/collate/column.hpp>
#include <stoker/device/preparation.hpp>

namespace stoker::detail {

/// A column of images, u8 with channels last, becomes one of floating numbers.
struct image_step {
    std::size_t source = 0;  ///< number of the column in the workers' batches
    std::size_t target = 0;  ///< and of that on the device
    std::uint64_t channels = 0;
    std::uint64_t target_channels = 0;
    bool channels_first = false;
    std::uint64_t height = 0;  ///< of the target
    std::uint64_t width = 0;
    bool cropped = false;  ///< else the images must be as large as the target
    std::optional<std::size_t> top{};
    std::optional<std::size_t> left{};  ///< cropped without both: in the middle
    std::optional<std::size_t> flip{};
    std::uint8_t fill = 0;
    std::array<float, 4> multiply{1, 1, 1, 1};  ///< fma(pixel, multiply, add)
    std::array<float, 4> add{};
};

/// A column of numbers is copied, or cast, whole or a window of each row.
struct number_step {
    std::size_t source = 0;
    std::size_t target = 0;
    bool is_window = false;
    std::optional<std::size_t> offset_column{};
    std::int64_t offset = 0;  ///< where there is no such column
    std::int32_t fill = 0;
};

using prepare_step = std::variant<image_step, number_step>;

/// Sets what makes (pixel / 255 − mean) / deviation. Throws error{invalid_option} for a deviation
/// that is 0 or no finite number.
void set_normalisation(image_step& step, std::span<const float> mean,
                       std::span<const float> deviation);

/// The preparation that does these steps, and fills the columns that no step names from those of
/// the same name: copied, or cast where types differ. Throws error{invalid_option} that names the
/// column: it is filled twice, there is none of its name, or theirs do not fit.
std::unique_ptr<preparation> make_preparation(schema source, schema target,
                                              std::vector<prepare_step> steps);

}  // namespace stoker::detail
