#include "worker/batch_maker.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "core/system.hpp"
#include "support/catch.hpp"
#include "worker_rig.hpp"

namespace stoker::detail {
namespace {

using worker_test::number_fetcher;
using worker_test::one_number;

class silent_monitor final : public fetch_monitor {
  public:
    void begin_sample(index) noexcept override {}
    bool abandoned() const noexcept override { return abandoned_; }
    bool abandoned_ = false;
};

/// Counts the calls that populate memory.
struct counted_advice {
    static inline int calls = 0;
    static int advise(void* address, std::size_t bytes, int advice) {
        calls += advice == 23 ? 1 : 0;  // MADV_POPULATE_WRITE
        return ::madvise(address, bytes, advice);
    }
    counted_advice() : table(system_calls::real()) {
        calls = 0;
        table.madvise = advise;
    }
    system_calls table;
};

/// Asks for as many bytes as each index says.
class greedy_fetcher final : public number_fetcher {
  public:
    greedy_fetcher() : number_fetcher([](index) { return 0; }) {}
    std::uint64_t fetch(const fetch_task& task, batch_memory& memory, column_record*,
                        fetch_monitor&) override {
        memory.data(task.indices[0]);
        return task.indices[0];
    }
};

struct fixture {
    slab slots = slab::create(plan_slots(2, one_number(), 4, 0));
    silent_monitor monitor;
    batch_maker_settings settings;
    task_message task;

    fixture() {
        task.sequence = 9;
        task.slot = 1;
        task.index_count = 3;
        for (index i = 0; i < 3; ++i)
            slots.indices(1)[i] = 10 + i;
    }
    result_message make(fetcher& source) {
        return make_batch(source, slots, task, settings, monitor);
    }
};

TEST_CASE_METHOD(fixture, "a batch lies in the slot that its task names", "[worker]") {
    number_fetcher source([](index i) { return static_cast<std::int64_t>(i) * 2; });
    const result_message result = make(source);
    REQUIRE(result.status == static_cast<std::uint32_t>(result_status::ready));
    CHECK(result.sequence == 9);
    CHECK(result.slot == 1);
    CHECK(result.data_bytes >= 24);
    const auto* values = reinterpret_cast<const std::int64_t*>(slots.data(1));
    CHECK(values[0] == 20);
    CHECK(values[2] == 24);
}

TEST_CASE_METHOD(fixture, "an exception becomes a report with its type, text and sample",
                 "[worker]") {
    number_fetcher source([](index i) -> std::int64_t {
        if (i == 11)
            throw std::out_of_range("no such digit");
        return 0;
    });
    SECTION("in the calling process there is no worker to name") {
        const result_message result = make(source);
        REQUIRE(result.status == static_cast<std::uint32_t>(result_status::failed));
        const error_details read = read_failure(slots, result);
        CHECK(read.code == errc::sample_failed);
        CHECK(read.text == "no such digit");
        CHECK(read.type == "std::out_of_range");
        CHECK(read.sample == index{11});
        CHECK(read.worker == -1);
        CHECK(read.pid == 0);
    }
    SECTION("in a worker it is named") {
        settings.worker = 2;
        settings.num_workers = 4;
        const error_details read = read_failure(slots, make(source));
        CHECK(read.worker == 2);
        CHECK(read.pid == ::getpid());
    }
}

TEST_CASE_METHOD(fixture, "what is no std::exception is reported as well", "[worker]") {
    number_fetcher source([](index) -> std::int64_t { throw 5; });
    const error_details read = read_failure(slots, make(source));
    CHECK(read.code == errc::sample_failed);
    CHECK(read.type == "int");
    CHECK(read.sample == index{10});
}

TEST_CASE_METHOD(fixture, "an error of the whole batch does not accuse its last sample",
                 "[worker]") {
    number_fetcher source([](index) -> std::int64_t {
        throw error(errc::shape_mismatch, "pixels: [2] of sample 10, [3] of sample 11");
    });
    const error_details read = read_failure(slots, make(source));
    CHECK(read.code == errc::shape_mismatch);
    CHECK_FALSE(read.sample.has_value());
}

TEST_CASE_METHOD(fixture, "a batch beyond the limit names what it needs and what there is",
                 "[worker]") {
    greedy_fetcher source;
    slots.indices(1)[0] = slots.geometry().data_limit + 1;
    const error_details read = read_failure(slots, make(source));
    CHECK(read.code == errc::batch_too_large);
    CHECK_THAT(read.text,
               Catch::Matchers::ContainsSubstring(std::to_string(slots.geometry().data_limit + 1)));
    CHECK_THAT(read.text,
               Catch::Matchers::ContainsSubstring(std::to_string(slots.geometry().data_limit)));
}

TEST_CASE_METHOD(fixture, "an error text longer than the batch comes whole", "[worker]") {
    const std::string text(64 * 1024, 'e');
    number_fetcher source([&](index) -> std::int64_t { throw std::runtime_error(text); });
    CHECK(read_failure(slots, make(source)).text == text);
}

TEST_CASE_METHOD(fixture, "a warm slot costs no system call", "[worker]") {
    number_fetcher source([](index) { return 1; });
    make(source);
    const counted_advice counted;
    const replaced_system_calls replaced(counted.table);
    for (int round = 0; round < 10; ++round)
        make(source);
    CHECK(counted_advice::calls == 0);
}

TEST_CASE_METHOD(fixture,
                 "memory beyond the known part is populated each time, since it may have "
                 "been given back",
                 "[worker]") {
    greedy_fetcher source;
    slots.indices(1)[0] = 64 * 1024;
    make(source);
    const counted_advice counted;
    const replaced_system_calls replaced(counted.table);
    make(source);
    make(source);
    CHECK(counted_advice::calls == 2);
}

TEST_CASE_METHOD(fixture, "memory that cannot be had is an error in a sentence", "[worker]") {
    system_calls table = system_calls::real();
    table.madvise = [](void* address, std::size_t bytes, int advice) {
        if (advice != 23)
            return ::madvise(address, bytes, advice);
        errno = EFAULT;
        return -1;
    };
    greedy_fetcher source;
    slots.indices(1)[0] = slots.geometry().data_limit;
    result_message result;
    {
        const replaced_system_calls replaced(table);
        result = make(source);
    }
    CHECK(result.status == static_cast<std::uint32_t>(result_status::failed));
    CHECK(read_failure(slots, result).code == errc::memory_limit);
}

TEST_CASE_METHOD(fixture, "a batch of an epoch that was given up is dropped", "[worker]") {
    monitor.abandoned_ = true;
    number_fetcher good([](index) { return 1; });
    CHECK(make(good).status == static_cast<std::uint32_t>(result_status::dropped));
    number_fetcher bad([](index) -> std::int64_t { throw std::runtime_error("late"); });
    CHECK(make(bad).status == static_cast<std::uint32_t>(result_status::dropped));
}

TEST_CASE_METHOD(fixture, "a task that names memory beyond the slab is refused", "[worker]") {
    number_fetcher source([](index) { return 1; });
    task.index_count = 1000;
    CHECK(read_failure(slots, make(source)).code == errc::protocol);
    task.slot = 77;
    CHECK(make(source).status == static_cast<std::uint32_t>(result_status::failed));
}

TEST_CASE_METHOD(fixture, "a result that points outside of its slot is a protocol error",
                 "[worker]") {
    result_message result;
    result.slot = 5;
    result.data_bytes = 10;
    CHECK(read_failure(slots, result).code == errc::protocol);
    result.slot = 0;
    result.data_bytes = ~std::uint64_t{0};
    CHECK(read_failure(slots, result).code == errc::protocol);
}

}  // namespace
}  // namespace stoker::detail
