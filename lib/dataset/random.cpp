// A sample's numbers must not depend on the worker, the order of work, the compiler or the machine.
//
// A counter-based generator gives the first two: word w of a sample is a pure function of
// (key, position, w / 4), the key one of (seed, epoch). The counter's upper half is the position,
// its lower half counts blocks, so streams cannot run into each other.
//
// The last two are about distributions. Standard libraries implement theirs differently, and
// compilers contract a * b + c to one rounding where the target can. So they are written here, with
// operations that IEEE 754 rounds exactly, and a product that is added to something is an explicit
// std::fma, which leaves nothing to contract. Draws take a fixed number of words (but integer, now
// and then one more), so a worker's numbers can be foretold by counting draws.

#include <Random123/philox.h>

#include <algorithm>
#include <cmath>
#include <stoker/core/error.hpp>
#include <stoker/dataset/random.hpp>
#include <string>

#include "dataset/normal_quantile.hpp"
#include "dataset/stream_key.hpp"

namespace stoker {

namespace {

using philox = r123::Philox4x32_R<10>;

constexpr std::uint32_t low_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32U);
}

/// 128 bits hold a product of two 64-bit words.
__extension__ using wide = unsigned __int128;

[[noreturn]] void refuse(const std::string& what) {
    throw error{error_details{.code = errc::invalid_option,
                              .text = "random: " + what,
                              .remedy = "correct the arguments of the draw"}};
}

}  // namespace

random::random(std::uint64_t seed, std::uint64_t epoch, std::uint64_t position) noexcept
    : key_{detail::stream_key(detail::stream_purpose::sample, seed, epoch)}, position_{position} {}

random::random(std::uint64_t seed) noexcept
    : key_{detail::stream_key(detail::stream_purpose::free_standing, seed, 0)}, position_{0} {}

void random::refill() noexcept {
    const philox::ctr_type counter{
        {low_half(block_), high_half(block_), low_half(position_), high_half(position_)}};
    const philox::key_type key{{low_half(key_), high_half(key_)}};
    const philox::ctr_type block = philox{}(counter, key);
    std::copy(block.begin(), block.end(), words_.begin());
    ++block_;
    used_ = 0;
}

std::uint32_t random::next_word() noexcept {
    if (used_ == words_.size()) {
        refill();
    }
    return words_[used_++];
}

random::result_type random::operator()() noexcept {
    const std::uint64_t low = next_word();
    const std::uint64_t high = next_word();
    return high << 32U | low;
}

double random::uniform() noexcept {
    return static_cast<double>((*this)() >> 11U) * 0x1p-53;
}

double random::uniform_double(double low, double high) {
    if (!(low <= high) || !std::isfinite(high - low)) {
        refuse("uniform(" + std::to_string(low) + ", " + std::to_string(high) +
               ") needs finite bounds with low <= high");
    }
    const double value = std::fma(high - low, uniform(), low);
    // Rounding may reach the bound that is left out.
    return value < high || low == high ? value : std::nextafter(high, low);
}

float random::uniform_float(float low, float high) {
    if (!(low <= high) || !std::isfinite(high - low)) {
        refuse("uniform(" + std::to_string(low) + ", " + std::to_string(high) +
               ") needs finite bounds with low <= high");
    }
    const auto value = static_cast<float>(
        std::fma(static_cast<double>(high) - static_cast<double>(low), uniform(), low));
    return value < high || low == high ? value : std::nextafter(high, low);
}

std::uint64_t random::below(std::uint64_t count) noexcept {
    // Lemire: the upper half of (random word × count) is in [0, count); the few words whose lower
    // half is below 2^bits mod count are the surplus that would favour some values.
    if (count <= std::uint64_t{1} << 32U) {
        std::uint64_t product = next_word() * count;
        if (low_half(product) < count) {
            const std::uint64_t surplus = (std::uint64_t{1} << 32U) % count;
            while (low_half(product) < surplus) {
                product = next_word() * count;
            }
        }
        return product >> 32U;
    }
    wide product = static_cast<wide>((*this)()) * count;
    if (static_cast<std::uint64_t>(product) < count) {
        const std::uint64_t surplus = (0 - count) % count;
        while (static_cast<std::uint64_t>(product) < surplus) {
            product = static_cast<wide>((*this)()) * count;
        }
    }
    return static_cast<std::uint64_t>(product >> 64U);
}

bool random::coin(double probability) {
    if (!(probability >= 0 && probability <= 1)) {
        refuse("coin(" + std::to_string(probability) + ") needs a probability from 0 to 1");
    }
    return uniform() < probability;
}

double random::normal(double mean, double deviation) {
    if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation < 0) {
        refuse("normal(" + std::to_string(mean) + ", " + std::to_string(deviation) +
               ") needs a finite mean and a finite deviation >= 0");
    }
    // The middles of 2^52 equal parts of (0, 1): never 0 or 1, and symmetric about 1/2.
    const double p = (static_cast<double>((*this)() >> 12U) + 0.5) * 0x1p-52;
    return std::fma(deviation, detail::normal_quantile(p), mean);
}

void random::refuse_empty_interval(const std::string& low, const std::string& high) {
    refuse("integer(" + low + ", " + high + ") needs low < high");
}

}  // namespace stoker
