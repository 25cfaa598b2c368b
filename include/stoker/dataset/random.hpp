#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <ranges>
#include <string>
#include <type_traits>

namespace stoker {

/// A generator of random numbers that is a function of where it stands, not of what ran before:
/// the one of a sample is keyed by (seed, epoch, position), so that the sample gets the same
/// numbers from any worker, in any order, after any resume.
///
///     pixels.flip(c.random.coin(0.5));
///     const double angle = c.random.uniform(-15, 15);
///     const int row = c.random.integer(0, 225);       // 0 … 224
///
/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011): no two positions of an epoch share a number, and each has 2^66 words of 32 bits.
/// It is a UniformRandomBitGenerator, but the distributions of the standard library differ from
/// library to library; those below give the same values with every compiler and on every machine.
/// Constructing one does no work, the first draw does. Not for secrets.
///
/// A copy goes on with the same numbers as its original.
///
/// Thread safety: distinct objects from any threads; one object from one thread at a time.
class random {
  public:
    using result_type = std::uint64_t;

    /// The generator of a sample, as `context::random` has it.
    random(std::uint64_t seed, std::uint64_t epoch, std::uint64_t position) noexcept;
    /// A generator for anything else; it shares no stream with that of any sample.
    explicit random(std::uint64_t seed) noexcept;

    static constexpr result_type min() noexcept { return 0; }
    static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

    /// 64 random bits: the next two words of the stream, the earlier one in the low half.
    result_type operator()() noexcept;

    /// Uniform in [0, 1): a multiple of 2^-53. Takes 64 bits.
    double uniform() noexcept;
    /// Uniform in [low, high); `low` when both are equal. Takes 64 bits. A float when both are,
    /// otherwise a double, of integers too. Throws error{invalid_option} unless both are finite,
    /// with a finite difference, and low <= high.
    template <class Low, class High>
        requires std::is_arithmetic_v<Low> && std::is_arithmetic_v<High>
    auto uniform(Low low, High high) {
        if constexpr (std::same_as<Low, float> && std::same_as<High, float>) {
            return uniform_float(low, high);
        } else {
            return uniform_double(static_cast<double>(low), static_cast<double>(high));
        }
    }

    /// Uniform in [low, high), as `torch.randint`, in the type of `high`; no value is favoured
    /// (Lemire, "Fast random integer generation in an interval", TOMACS 2019). Takes 32 bits for
    /// up to 2^32 values, else 64, and seldom more. Throws error{invalid_option} unless low < high.
    template <std::integral Integer>
    Integer integer(std::type_identity_t<Integer> low, Integer high) {
        if (!(low < high)) {
            refuse_empty_interval(std::to_string(low), std::to_string(high));
        }
        const auto count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
        return static_cast<Integer>(static_cast<std::uint64_t>(low) + below(count));
    }

    /// True with the given probability; 0 is never, 1 is always. Takes 64 bits.
    /// Throws error{invalid_option} unless it is in [0, 1].
    bool coin(double probability = 0.5);

    /// Normal, by inversion (Wichura, algorithm AS 241, Applied Statistics 37, 1988), never further
    /// than 8.3 deviations from the mean. Takes 64 bits.
    /// Throws error{invalid_option} unless mean and deviation are finite and deviation >= 0.
    double normal(double mean = 0, double deviation = 1);

    /// Puts the elements into random order, each order as likely as any other (Durstenfeld,
    /// algorithm 235, CACM 1964).
    template <std::ranges::random_access_range Range>
        requires std::ranges::sized_range<Range> && std::permutable<std::ranges::iterator_t<Range>>
    void shuffle(Range&& range) {
        const auto first = std::ranges::begin(range);
        for (auto left = static_cast<std::uint64_t>(std::ranges::size(range)); left > 1; --left) {
            using difference = std::ranges::range_difference_t<Range>;
            const auto chosen = static_cast<difference>(below(left));
            std::ranges::iter_swap(first + static_cast<difference>(left - 1), first + chosen);
        }
    }

  private:
    std::uint32_t next_word() noexcept;
    void refill() noexcept;
    std::uint64_t below(std::uint64_t count) noexcept;  ///< in [0, count), count > 0
    double uniform_double(double low, double high);
    float uniform_float(float low, float high);
    [[noreturn]] static void refuse_empty_interval(const std::string& low, const std::string& high);

    std::uint64_t key_;
    std::uint64_t position_;
    std::uint64_t block_ = 0;               ///< the next block of four words
    std::array<std::uint32_t, 4> words_{};  ///< the current block
    std::uint32_t used_ = 4;                ///< words of it that were given out
};

}  // namespace stoker
