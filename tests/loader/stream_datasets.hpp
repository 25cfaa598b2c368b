#pragma once
// Streams that the loader's tests share.

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stoker/stoker.hpp>

namespace stoker::test_loader {

/// Which sample it is, and what it was told.
struct record {
    std::int64_t value = 0;  ///< 1000 · shard + number
    std::uint64_t draw = 0;
    std::uint64_t position = 0;
    std::uint64_t epoch = 0;
};

/// Shards of numbers. Asked again after its end, a reader would give its samples a second time, so
/// it throws instead.
struct shards {
    std::vector<std::uint64_t> sizes;

    struct reader {
        std::uint64_t shard;
        std::uint64_t size;
        std::uint64_t next_number;
        bool ended = false;

        std::optional<record> next(context& c) {
            if (std::exchange(ended, next_number == size))
                throw std::logic_error("asked again after the end");
            if (ended)
                return std::nullopt;
            return record{static_cast<std::int64_t>(1000 * shard + next_number++), c.random(),
                          c.position(), c.epoch()};
        }
        std::uint64_t position() const { return next_number; }
    };

    std::size_t shard_count() const { return sizes.size(); }
    reader open(std::size_t shard, std::uint64_t position) const {
        return {shard, sizes[shard], position};
    }
};

/// The same, of a known size in all.
struct counted_shards : shards {
    std::uint64_t size() const {
        std::uint64_t sum = 0;
        for (const auto each : sizes)
            sum += each;
        return sum;
    }
};

/// What a loader has delivered in an epoch.
struct delivery {
    std::vector<std::vector<std::int64_t>> values{};
    std::vector<std::uint64_t> draws{};

    bool operator==(const delivery&) const = default;
    std::vector<std::int64_t> sorted() const {
        std::vector<std::int64_t> all;
        for (const auto& each : values)
            all.insert(all.end(), each.begin(), each.end());
        std::sort(all.begin(), all.end());
        return all;
    }
    std::vector<std::size_t> batch_sizes() const {
        std::vector<std::size_t> sizes;
        for (const auto& each : values)
            sizes.push_back(each.size());
        return sizes;
    }
};

inline std::vector<std::int64_t> all_values(const shards& stream) {
    std::vector<std::int64_t> all;
    for (std::size_t shard = 0; shard < stream.sizes.size(); ++shard) {
        for (std::uint64_t i = 0; i < stream.sizes[shard]; ++i)
            all.push_back(static_cast<std::int64_t>(1000 * shard + i));
    }
    return all;
}

inline shards random_shards(random& dice) {
    const std::size_t counts[] = {1, 2, 3, 7, 63, 65, 150};
    shards stream;
    stream.sizes.resize(counts[dice.integer(0, 7)]);
    for (auto& size : stream.sizes)
        size = dice.coin(0.2) ? 0 : dice.integer(std::uint64_t{0}, std::uint64_t{30});
    return stream;
}

/// A number in memory that all processes share.
class shared_number {
  public:
    shared_number()
        : value_(new (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                             0)) std::atomic<int>(0)) {}
    ~shared_number() { ::munmap(value_, 4096); }
    shared_number(const shared_number&) = delete;
    shared_number& operator=(const shared_number&) = delete;
    std::atomic<int>* get() const { return value_; }

  private:
    std::atomic<int>* value_;
};

/// Shards that behave as they are told.
struct trying_shards : shards {
    std::string (*what)(std::uint64_t shard, std::uint64_t number) = nullptr;
    int (*delay)(std::uint64_t shard, std::uint64_t number) = nullptr;
    std::atomic<int>* opened = nullptr;
    bool refuses = false;

    struct reader : shards::reader {
        const trying_shards* owner = nullptr;

        std::optional<record> next(context& c) {
            if (owner->delay != nullptr)
                std::this_thread::sleep_for(
                    std::chrono::milliseconds(owner->delay(shard, next_number)));
            const std::string text =
                owner->what != nullptr ? owner->what(shard, next_number) : std::string();
            if (!text.empty()) {
                ++next_number;
                throw std::range_error(text);
            }
            return shards::reader::next(c);
        }
    };
    reader open(std::size_t shard, std::uint64_t position) const {
        if (refuses && shard == 1)
            throw std::runtime_error("no such shard");
        if (opened != nullptr)
            ++*opened;
        reader made;
        static_cast<shards::reader&>(made) = shards::open(shard, position);
        made.owner = this;
        return made;
    }
};

/// Batches and errors of an epoch; errors as their texts.
struct outcomes {
    delivery delivered{};
    std::vector<std::string> errors{};
};
template <class Loader>
outcomes read_on(Loader& loader) {
    outcomes all;
    for (;;) {
        try {
            auto batch = loader.next_blocking();
            if (!batch)
                return all;
            const auto values = batch[&record::value];
            all.delivered.values.emplace_back(values.begin(), values.end());
        } catch (const error& e) {
            all.errors.push_back(e.text());
            if (all.errors.size() > 1000)
                return all;
        }
    }
}

}  // namespace stoker::test_loader
