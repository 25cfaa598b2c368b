#pragma once
// A shuffle without memory: a pseudorandom permutation of [0, n), evaluated where it is asked for.
//
// Problem: an array for the order of 10^9 samples takes 8 GB and must be filled before the first
// batch; a checkpoint would have to hold or replay it.
//
// Idea: a Feistel network permutes the numbers of a width in bits, whatever its round function is:
// a round changes one half by a function of the other, left ^= f(right) or right ^= f(left), which
// can be undone. The smallest width that holds n is less than 2 n (odd widths have a left half with
// one bit more: Schneier and Kelsey, "Unbalanced Feistel networks and block cipher design", FSE
// 1996); a value outside [0, n) is put through the network again until it is inside, which ends
// because the walk is on the cycle that the position, itself inside, lies on (cycle walking: Black
// and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). So a value costs 1 to 2
// passes, 1.07 at n = 10^9.
//
// Rounds: Luby and Rackoff ("How to construct pseudorandom permutations from pseudorandom
// functions", SIAM J. Comput. 1988) need 3 or 4, up to a bias that is large where halves have few
// bits. Each two more rounds divide the bias by 2^(bits of a half) at least (at n = 4, where all
// networks can be enumerated, by 4), so small sets get more: 24 rounds at n <= 32, 6 from 2^23 up.
// All orders of n <= 4 then come equally often to 1 in 10^6.
// One thing no number of rounds gives: from 4 bits up a network is an even permutation, which walks
// turn into a bias between odd and even orders (8 % at n = 5). So 0 and 1 change places behind the
// network when a bit of the key says so.

#include <array>
#include <cstddef>
#include <cstdint>
#include <stoker/core/index.hpp>

#include "dataset/stream_key.hpp"

namespace stoker::detail {

/// The order of an epoch: position → index, one to one on [0, size). Its values are part of the
/// format of saved states: they must never change.
///
/// Thread safety: const, so any number of threads.
class permutation {
  public:
    permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch) noexcept;

    /// The index at `position`, which must be less than size.
    index operator()(std::uint64_t position) const noexcept {
        std::uint64_t value = position;
        do {
            value = permute_bits(value);
        } while (value >= size_);
        return value;
    }

  private:
    static constexpr std::size_t most_rounds = 24;

    std::uint64_t permute_bits(std::uint64_t value) const noexcept {
        std::uint64_t left = value >> right_bits_;
        std::uint64_t right = value & ((std::uint64_t{1} << right_bits_) - 1);
        for (std::size_t round = 0; round < rounds_; round += 2) {
            left ^= scatter(right ^ keys_[round], left_bits_);
            right ^= scatter(left ^ keys_[round + 1], right_bits_);
        }
        const std::uint64_t result = left << right_bits_ | right;
        return result ^ (result < 2 ? odd_ : 0);
    }
    /// The round function: `bits` bits that depend on all bits of `keyed`.
    static std::uint64_t scatter(std::uint64_t keyed, std::uint32_t bits) noexcept {
        return mix64(keyed) >> (64U - bits);
    }

    std::uint64_t size_;
    std::uint32_t left_bits_;   ///< 1 to 32
    std::uint32_t right_bits_;  ///< as many, or one less
    std::uint32_t rounds_;      ///< even
    std::uint64_t odd_ = 0;     ///< 1: 0 and 1 change places
    std::array<std::uint64_t, most_rounds> keys_{};
};

}  // namespace stoker::detail
