#include "worker/batches_under_way.hpp"

#include <chrono>
#include <map>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stoker/collate/sample_maker.hpp>
#include "support/catch.hpp"
#include "worker/worker_rig.hpp"

using namespace stoker;
using namespace stoker::detail;
using namespace stoker::detail::worker_test;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

/// Sample i takes `delay` of it, and is i.
class waiting_fetcher final : public fetcher {
  public:
    using delays = std::function<std::chrono::milliseconds(stoker::index)>;
    explicit waiting_fetcher(delays delay) : delay_(std::move(delay)) {}

    std::uint64_t size() const override { return 1000; }
    const schema& columns() const override { return columns_; }
    void open(int, int, std::uint64_t) override {}
    bool waits() const override { return true; }
    std::uint64_t fetch(const fetch_task&, batch_memory&, column_record*, fetch_monitor&) override {
        return 0;
    }
    asio::awaitable<std::uint64_t> async_fetch(const fetch_task& task, batch_memory& memory,
                                               column_record* records, fetch_monitor& monitor,
                                               const fetch_limits& limits) override {
        const std::uint64_t bytes = columns_.lay_out(task.indices.size(), records);
        auto* values = reinterpret_cast<std::int64_t*>(memory.data(bytes));
        maker samples(*this, task, values);
        co_await make_samples(task, task.indices.size(), samples, monitor, limits);
        co_return bytes;
    }

  private:
    class maker final : public sample_maker {
      public:
        maker(waiting_fetcher& owner, const fetch_task& task, std::int64_t* values)
            : owner_(owner), task_(task), values_(values) {}
        asio::awaitable<void> make(std::size_t number) override {
            const stoker::index sample = task_.indices[number];
            asio::steady_timer timer(co_await asio::this_coro::executor, owner_.delay_(sample));
            co_await timer.async_wait(asio::use_awaitable);
            values_[number] = static_cast<std::int64_t>(sample);
        }

      private:
        waiting_fetcher& owner_;
        const fetch_task& task_;
        std::int64_t* values_;
    };

    delays delay_;
    schema columns_ = one_number();
};

struct recording_watcher final : batch_watcher {
    bool stale(const task_message& task) const noexcept override {
        return task.generation != generation;
    }
    void show_collate(const task_message&) noexcept override {}
    void show(const task_message& oldest, stoker::index sample) noexcept override {
        shown_task = oldest.sequence;
        shown_sample = sample;
    }
    void finish(const result_message& result) override { results.push_back(result); }

    std::uint64_t generation = 1;
    std::uint64_t shown_task = 0;
    stoker::index shown_sample = 0;
    std::vector<result_message> results;
};

struct worker_in_small {
    explicit worker_in_small(waiting_fetcher::delays delay)
        : source(std::move(delay)),
          slots(slab::create(plan_slots(4, one_number(), 16, 0))),
          limits(io.get_executor(), 8, 0ms),
          all(io.get_executor(), source, slots, settings, limits, watcher) {
        settings.num_workers = 1;
    }
    void begin(std::uint64_t sequence, std::uint32_t slot, std::vector<stoker::index> indices,
               std::uint64_t generation = 1) {
        std::copy(indices.begin(), indices.end(), slots.indices(slot));
        task_message task{};
        task.sequence = sequence;
        task.generation = generation;
        task.slot = slot;
        task.index_count = static_cast<std::uint32_t>(indices.size());
        all.begin(task);
    }

    asio::io_context io{1};
    waiting_fetcher source;
    slab slots;
    batch_maker_settings settings{};
    fetch_limits limits;
    recording_watcher watcher;
    batches_under_way all;
};

}  // namespace

TEST_CASE("batches are under way side by side and end as they get ready", "[worker]") {
    worker_in_small worker([](stoker::index sample) { return sample < 10 ? 50ms : 1ms; });
    worker.begin(1, 0, {1, 2});
    worker.begin(2, 1, {11, 12});
    worker.io.run();
    REQUIRE(worker.watcher.results.size() == 2);
    CHECK(worker.watcher.results[0].sequence == 2);
    CHECK(worker.watcher.results[1].sequence == 1);
    for (const auto& result : worker.watcher.results)
        CHECK(result.status == static_cast<std::uint32_t>(result_status::ready));
    const auto* values = reinterpret_cast<const std::int64_t*>(worker.slots.data(1));
    CHECK(values[0] == 11);
    CHECK(values[1] == 12);
    CHECK(worker.all.empty());
}

TEST_CASE("the sample shown is the first unfinished one of the oldest batch", "[worker]") {
    worker_in_small worker([](stoker::index sample) { return sample == 2 ? 1h : 1ms; });
    worker.begin(1, 0, {1, 2, 3});
    worker.begin(2, 1, {11});
    worker.io.run_for(30ms);
    CHECK(worker.watcher.shown_task == 1);
    CHECK(worker.watcher.shown_sample == 2);
    REQUIRE(worker.watcher.results.size() == 1);
    worker.watcher.generation = 2;
    worker.all.cancel_stale();
    worker.io.run();
}

TEST_CASE("stale batches are cancelled and reported as dropped, the others go on", "[worker]") {
    worker_in_small worker([](stoker::index sample) { return sample < 10 ? 1h : 20ms; });
    worker.begin(1, 0, {1, 2});
    worker.begin(2, 1, {3});
    worker.watcher.generation = 2;
    worker.begin(3, 2, {11, 12}, 2);
    worker.all.cancel_stale();
    worker.io.run();
    REQUIRE(worker.watcher.results.size() == 3);
    std::map<std::uint64_t, std::uint32_t> status;
    for (const auto& result : worker.watcher.results)
        status[result.sequence] = result.status;
    CHECK(status[1] == static_cast<std::uint32_t>(result_status::dropped));
    CHECK(status[2] == static_cast<std::uint32_t>(result_status::dropped));
    CHECK(status[3] == static_cast<std::uint32_t>(result_status::ready));
}
