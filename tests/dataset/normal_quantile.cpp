#include "dataset/normal_quantile.hpp"

#include <array>
#include <cmath>

#include "support/catch.hpp"

using stoker::detail::exact_logarithm;
using stoker::detail::normal_quantile;

namespace {

struct row {
    double argument;
    double expected;
};

/// Both within `tolerance` of each other, relative to their size.
bool close(double value, double expected, double tolerance) {
    return std::abs(value - expected) <= tolerance * std::abs(expected);
}

}  // namespace

TEST_CASE("the logarithm is right to two units in the last place", "[dataset]") {
    // Computed with 60 decimal digits.
    constexpr std::array rows{
        row{0x1.0000000000000p-53, -0x1.25e4f7b2737fap+5},
        row{0x1.56e1fc2f8f359p-997, -0x1.5963447f87fb5p+9},
        row{0x1.999999999999ap-4, -0x1.26bb1bbb55515p+1},
        row{0x1.0000000000000p-2, -0x1.62e42fefa39efp+0},
        row{0x1.0000000000000p-1, -0x1.62e42fefa39efp-1},
        row{0x1.3333333333333p-1, -0x1.058aefa811452p-1},
        row{0x1.6a09e667f3bccp-1, -0x1.62e42fefa39f1p-2},
        row{0x1.6a09e667f3bcdp-1, -0x1.62e42fefa39eep-2},
        row{0x1.8000000000000p-1, -0x1.269621134db92p-2},
        row{0x1.ff7ced916872bp-1, -0x1.064670d979b73p-10},
        row{0x1.fffffffffffffp-1, -0x1.0000000000000p-53},
    };
    for (const row& each : rows) {
        CAPTURE(each.argument);
        CHECK(close(exact_logarithm(each.argument), each.expected, 0x1p-51));
    }
}

TEST_CASE("normal quantiles are right from the middle to the last of 2^53", "[dataset]") {
    // CPython's statistics.NormalDist().inv_cdf.
    constexpr std::array rows{
        row{0x1.0000000000000p-53, -0x1.06b48528cea51p+3},
        row{0x1.0000000000000p-40, -0x1.c30d8560989abp+2},
        row{0x1.19799812dea11p-40, -0x1.c234fba57a32ap+2},
        row{0x1.c965971ea9c5cp-37, -0x1.aaba25670981fp+2},
        row{0x1.ec94ca210599ep-37, -0x1.aa07c04a264fbp+2},
        row{0x1.0c6f7a0b5ed8dp-20, -0x1.30381a9799f7ep+2},
        row{0x1.0624dd2f1a9fcp-10, -0x1.8b8cbb7204470p+1},
        row{0x1.32ca57a786c22p-4, -0x1.70b374817af50p+0},
        row{0x1.3333333333333p-4, -0x1.7085226d3e523p+0},
        row{0x1.339c0ebedfa44p-4, -0x1.7056dc6686c9ap+0},
        row{0x1.0000000000000p-2, -0x1.5956b87528a49p-1},
        row{0x1.ffe5c91d14e3cp-2, -0x1.06d6ca8553fc1p-12},
        row{0x1.0000000000000p-1, 0x0.0p+0},
        row{0x1.3333333333333p-1, 0x1.036d6c4a04b5ap-2},
        row{0x1.d99999999999ap-1, 0x1.7085226d3e524p+0},
        row{0x1.d9a6b50b0f27cp-1, 0x1.70b374817af50p+0},
        row{0x1.ff7ced916872bp-1, 0x1.8b8cbb7204470p+1},
        row{0x1.fffffff768fa1p-1, 0x1.7fdc11f93a211p+2},
        row{0x1.fffffffffffffp-1, 0x1.06b48528cea51p+3},
    };
    for (const row& each : rows) {
        CAPTURE(each.argument);
        CHECK(close(normal_quantile(each.argument), each.expected, 4e-15));
    }
}

TEST_CASE("normal quantiles invert the normal distribution", "[dataset]") {
    for (double p = 0x1p-53; p < 1; p *= 1.37) {
        CAPTURE(p);
        CHECK(close(std::erfc(-normal_quantile(p) / std::sqrt(2.0)) / 2, p, 1e-13));
    }
}

TEST_CASE("normal quantiles are symmetric and increase", "[dataset]") {
    double before = normal_quantile(0x1p-53);
    for (int step = 1; step < 4096; ++step) {
        const double p = step * 0x1p-12;
        const double value = normal_quantile(p);
        REQUIRE(value > before);
        REQUIRE(value == -normal_quantile(1 - p));
        before = value;
    }
}
