#include "enlarge.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace demo {
namespace {

constexpr std::size_t source_side = 8;
constexpr float full_white = 255.0F / 16.0F;

/// The digit with a black border, so that interpolation needs no tests at its edges.
class bordered {
  public:
    explicit bordered(const digit& source) {
        for (std::size_t row = 0; row < source_side; ++row) {
            for (std::size_t column = 0; column < source_side; ++column) {
                const auto ink = source.pixels.data()[row * source_side + column];
                ink_[(row + 1) * width + column + 1] = full_white * static_cast<float>(ink);
            }
        }
    }

    /// Grey at a point, in source pixels from the centre of the first one.
    float at(float row, float column) const {
        const float y = std::clamp(row + 1, 0.0F, furthest);
        const float x = std::clamp(column + 1, 0.0F, furthest);
        const auto top = static_cast<std::size_t>(y);
        const auto left = static_cast<std::size_t>(x);
        const float below = y - static_cast<float>(top);
        const float beside = x - static_cast<float>(left);
        const float* corner = &ink_[top * width + left];
        const float upper = corner[0] + beside * (corner[1] - corner[0]);
        const float lower = corner[width] + beside * (corner[width + 1] - corner[width]);
        return upper + below * (lower - upper);
    }

  private:
    static constexpr std::size_t width = source_side + 3;  // one before, two behind
    static constexpr float furthest = static_cast<float>(source_side + 1);
    std::array<float, width * width> ink_{};
};

}  // namespace

picture draw(const digit& source, const placement& where) {
    picture result{};
    result.label = source.label;
    const bordered ink{source};
    const float middle = static_cast<float>(side - 1) / 2;
    const float source_middle = static_cast<float>(source_side - 1) / 2;
    const float step = static_cast<float>(source_side) / (static_cast<float>(side) * where.scale);
    const float across = std::cos(where.angle) * step;
    const float along = std::sin(where.angle) * step;
    std::uint8_t* pixel = result.pixels.data();
    for (std::size_t row = 0; row < side; ++row) {
        const float down = static_cast<float>(row) - middle - where.down;
        for (std::size_t column = 0; column < side; ++column) {
            const float right = static_cast<float>(column) - middle - where.right;
            const float grey = ink.at(source_middle + across * down - along * right,
                                      source_middle + across * right + along * down);
            *pixel++ = static_cast<std::uint8_t>(grey + 0.5F);
        }
    }
    return result;
}

picture enlarge(const digit& source) {
    return draw(source, {});
}

picture enlarge_at_random(const digit& source, stoker::context& context) {
    constexpr float turn = 0.2F;
    placement where{};
    where.angle = context.random.uniform(-turn, turn);
    where.scale = context.random.uniform(0.85F, 1.1F);
    where.right = context.random.uniform(-5.0F, 5.0F);
    where.down = context.random.uniform(-5.0F, 5.0F);
    return draw(source, where);
}

}  // namespace demo
