#pragma once
// What the tests of the device room share: a dataset whose every word follows from its index, a
// feed over a simulated machine, and a consumer that counts the batches that are not what they
// should be, on a stream, as a model would read them.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <stoker/collate/collation.hpp>
#include <stoker/core/error.hpp>
#include <stoker/device/device_columns.hpp>
#include <stoker/device/device_feed.hpp>
#include <stoker/loader/loader.hpp>
#include <stoker/tensor/tensor.hpp>
#include "device/device_calls.hpp"
#include "device/simulated_platform.hpp"
#include "support/catch.hpp"

namespace device_rig {

using stoker::detail::column_block;
using stoker::detail::column_record;
using stoker::detail::cuda_code;
using stoker::detail::cuda_event;
using stoker::detail::cuda_flag;
using stoker::detail::cuda_stream;
using stoker::detail::cuda_table;
using stoker::detail::device_calls;
using stoker::detail::device_lease;
using stoker::detail::device_record;
using stoker::detail::feed_edges;
using stoker::detail::feed_engine;
using stoker::detail::feed_parts_erased;
using stoker::detail::kernel_queue;
using stoker::detail::loader_access;
using stoker::detail::preparation;
using stoker::detail::schema_of;
using stoker::detail::simulated_platform;
using stoker::detail::simulation;

constexpr std::size_t words_a_sample = 512;

struct words {
    stoker::tensor<std::uint32_t, words_a_sample> values;
    std::int64_t label;
};

inline std::uint32_t word_of(stoker::index sample, std::size_t place) {
    const std::uint64_t mixed = (static_cast<std::uint64_t>(sample) + 1) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::uint32_t>(mixed >> 32) +
           static_cast<std::uint32_t>(place) * 2654435761U;
}

struct word_dataset {
    std::size_t samples = 64;
    std::size_t size() const { return samples; }
    words get(stoker::index sample) const {
        words made{};
        for (std::size_t place = 0; place < words_a_sample; ++place)
            made.values(place) = word_of(sample, place);
        made.label = static_cast<std::int64_t>(sample);
        return made;
    }
};

/// Turns words over, as a stand-in for kernels; every column keeps its shape.
class turn_over final : public preparation {
  public:
    static constexpr std::uint32_t mask = 0x5A5A5A5A;
    explicit turn_over(std::size_t columns) : columns_(columns) {}

    std::size_t column_count() const override { return columns_; }
    std::uint64_t lay_out(const column_record* source, column_record* prepared) const override {
        std::uint64_t end = 0;
        for (std::size_t i = 0; i < columns_; ++i) {
            prepared[i] = source[i];
            end = source[i].offset + source[i].bytes;
        }
        return end;
    }
    void enqueue(kernel_queue& queue, const column_block& source,
                 const column_block& prepared) const override {
        const arguments given{prepared.data + prepared.records[0].offset,
                              source.data + source.records[0].offset, source.records[0].bytes};
        queue.launch({"turn_over", nullptr, &run, &given, sizeof given});
        for (std::size_t i = 1; i < columns_; ++i)
            queue.copy(prepared.data + prepared.records[i].offset,
                       source.data + source.records[i].offset, source.records[i].bytes);
    }

  private:
    struct arguments {
        std::byte* to;
        const std::byte* from;
        std::uint64_t bytes;
    };
    static void run(const void* given) {
        const auto& all = *static_cast<const arguments*>(given);
        auto* const to = reinterpret_cast<std::uint32_t*>(all.to);
        const auto* const from = reinterpret_cast<const std::uint32_t*>(all.from);
        for (std::uint64_t i = 0; i < all.bytes / sizeof(std::uint32_t); ++i)
            to[i] = from[i] ^ mask;
    }
    std::size_t columns_;
};

struct feed_plan {
    stoker::loader_options loading{.batch_size = 4, .epochs = stoker::endless};
    stoker::feed_options feeding{};
    bool prepared = false;
    feed_edges edges{};
    int consumers = 1;
    std::chrono::microseconds looks_take{};  ///< beyond their delay
    int ordinal = 0;
};

/// A feed without its types, so that edges can be taken away.
inline std::shared_ptr<feed_engine> make_feed(const feed_plan& plan, const stoker::device& target) {
    stoker::loader loader{word_dataset{}, plan.loading};
    feed_parts_erased parts;
    parts.loader = loader_access::take(std::move(loader));
    parts.columns = schema_of<words>();
    parts.target = target;
    parts.options = plan.feeding;
    parts.edges = plan.edges;
    if (plan.prepared)
        parts.prepared = std::make_unique<turn_over>(parts.columns.columns.size());
    return feed_engine::make(std::move(parts));
}

inline stoker::device simulated_device(int ordinal = 0) {
    return stoker::device(simulated_platform::table(), ordinal);
}

/// Streams that look at what they are given.
class consumer {
  public:
    consumer(simulated_platform& platform, const feed_plan& plan)
        : platform_(platform),
          mask_(plan.prepared ? turn_over::mask : 0),
          takes_(plan.looks_take),
          streams_(static_cast<std::size_t>(plan.consumers)) {
        for (cuda_stream& each : streams_)
            REQUIRE(platform.table().create_stream(&each, cuda_flag::stream_non_blocking, 0) == 0);
    }
    ~consumer() {
        for (const cuda_stream each : streams_)
            platform_.table().destroy_stream(each);
    }
    consumer(const consumer&) = delete;
    consumer& operator=(const consumer&) = delete;

    /// Enqueues a look on each stream.
    void look_at(device_lease& batch) {
        for (const cuda_stream each : streams_) {
            batch.use_on(each);
            enqueue(each, batch.record());
        }
    }
    void enqueue(cuda_stream stream, const device_record& record) {
        platform_.enqueue(
            stream,
            [this, data = record.data, mask = mask_, rows = record.records,
             indices = record.indices] {
                const auto* const found =
                    reinterpret_cast<const std::uint32_t*>(data + rows[0].offset);
                const auto* const labels =
                    reinterpret_cast<const std::int64_t*>(data + rows[1].offset);
                bool good = true;
                for (std::size_t row = 0; row < indices.size(); ++row) {
                    good = good && labels[row] == static_cast<std::int64_t>(indices[row]);
                    for (std::size_t place = 0; place < words_a_sample; ++place)
                        good = good && found[row * words_a_sample + place] ==
                                           (word_of(indices[row], place) ^ mask);
                }
                if (!good)
                    bad_.fetch_add(1, std::memory_order_relaxed);
            },
            takes_);
    }
    cuda_stream stream(std::size_t number = 0) const { return streams_[number]; }
    /// Batches that were wrong, when all have been looked at.
    int bad() {
        for (const cuda_stream each : streams_)
            platform_.table().synchronize_stream(each);
        return bad_.load();
    }

  private:
    simulated_platform& platform_;
    std::uint32_t mask_;
    std::chrono::microseconds takes_;
    std::vector<cuda_stream> streams_;
    std::atomic<int> bad_{0};
};

/// Feeds so many batches to consumers; how many looks were wrong.
inline int run_feed(simulated_platform& platform, const feed_plan& plan, int batches,
                    stoker::feed_stats* stats = nullptr) {
    // The loader first, which may fork: streams are threads.
    const std::shared_ptr<feed_engine> feed = make_feed(plan, simulated_device(plan.ordinal));
    consumer eyes(platform, plan);
    for (int i = 0; i < batches; ++i) {
        device_lease batch = feed->next_blocking();
        eyes.look_at(batch);
    }
    const int bad = eyes.bad();
    if (stats != nullptr)
        *stats = feed->stats();
    feed->close();
    return bad;
}

/// What the call throws.
template <class Call>
stoker::error error_of(Call&& call) {
    try {
        call();
    } catch (const stoker::error& failure) {
        return failure;
    }
    FAIL("nothing was thrown");
    throw 0;
}

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

inline simulation quick(std::uint64_t seed = 1) {
    simulation how;
    how.seed = seed;
    how.longest_delay = std::chrono::microseconds(60);
    return how;
}

inline simulation late(std::uint64_t seed = 1) {
    simulation how;
    how.seed = seed;
    how.longest_delay = std::chrono::microseconds(600);
    return how;
}

}  // namespace device_rig
