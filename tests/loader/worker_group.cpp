#include "loader/worker_group.hpp"

#include <signal.h>

#include <chrono>
#include <map>

#include <stoker/collate/dataset_fetcher.hpp>
#include "core/system.hpp"
#include "loader/slot_pool.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker::detail;
using namespace std::chrono_literals;

namespace {

struct squares {
    std::size_t size() const { return 1000; }
    std::int64_t get(stoker::index i) const { return static_cast<std::int64_t>(i * i); }
};

/// A group of workers over their slots, as a machine sets one up.
struct fixture {
    std::unique_ptr<fetcher> source = make_fetcher(squares{});
    std::shared_ptr<slot_pool> pool;
    std::unique_ptr<worker_group> group;

    explicit fixture(int workers) {
        server_link link = server_link::fork_here(*source, "group", false);
        pool = std::make_shared<slot_pool>(slab::create(plan_slots(8, source->columns(), 4, 0)),
                                           doorbell::create(), workers);
        group = std::make_unique<worker_group>(std::move(link), worker_group::limits{workers, 8},
                                               pool->bell());
        worker_environment environment{};
        environment.geometry = pool->slots().geometry();
        environment.slab_memory = pool->slots().memory_descriptor();
        environment.control_memory = group->control_memory();
        environment.result_bell = pool->bell().number();
        environment.num_workers = workers;
        environment.name = "group";
        group->link().set_up(environment);
        group->start_missing();
    }
    task_message task(std::uint64_t sequence, std::uint32_t slot) {
        for (stoker::index i = 0; i < 4; ++i)
            pool->slots().indices(slot)[i] = sequence + i;
        task_message message{};
        message.sequence = sequence;
        message.slot = slot;
        message.index_count = 4;
        return message;
    }
    bool wait_for(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
        return stoker::test_support::holds_within(limit, [&] {
            group->take_events();
            group->settle_deaths(loader_clock::now());
            return condition();
        });
    }
};

}  // namespace

TEST_CASE("tasks go to the worker with the fewest, then round robin", "[loader]") {
    fixture all(3);
    std::map<int, int> given;
    for (std::uint32_t i = 0; i < 6; ++i) {
        const int worker = all.group->choose();
        REQUIRE(worker >= 0);
        ++given[worker];
        all.group->assign(worker, all.task(i + 1, i));
    }
    CHECK(given == std::map<int, int>{{0, 2}, {1, 2}, {2, 2}});
}

TEST_CASE("every task is answered once, with the batch in its slot", "[loader]") {
    fixture all(2);
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
        all.group->assign(all.group->choose(), all.task(slot + 1, slot));
    }
    std::map<std::uint64_t, result_message> results;
    const bool complete = all.wait_for(10s, [&] {
        result_message result{};
        for (int worker = 0; worker < 2; ++worker) {
            while (all.group->try_receive(worker, result)) {
                all.group->finish_task(worker);
                CHECK(results.emplace(result.sequence, result).second);
            }
        }
        return results.size() == 8;
    });
    REQUIRE(complete);
    for (const auto& [sequence, result] : results) {
        CHECK(result.status == static_cast<std::uint32_t>(result_status::ready));
        const auto* values =
            reinterpret_cast<const std::int64_t*>(all.pool->slots().data(result.slot));
        CHECK(values[3] == static_cast<std::int64_t>((sequence + 3) * (sequence + 3)));
    }
    CHECK(all.group->view(0).outstanding + all.group->view(1).outstanding == 0);
}

TEST_CASE("a death is seen as a fact and told in words", "[loader]") {
    fixture all(2);
    REQUIRE(all.wait_for(5s, [&] { return all.group->processes().size() == 2; }));
    ::kill(all.group->view(1).pid, SIGKILL);
    CHECK(all.wait_for(5s, [&] { return all.group->view(1).now == worker_view::state::dead; }));
    CHECK_THAT(all.group->describe_end(1), Catch::Matchers::ContainsSubstring("worker 1") &&
                                               Catch::Matchers::ContainsSubstring("signal 9"));
    CHECK(all.group->choose() == 0);
    CHECK(all.group->bury(1));
    CHECK_FALSE(all.group->bury(1));
    all.group->start_missing();
    CHECK(all.wait_for(5s, [&] { return all.group->processes().size() == 2; }));
}

TEST_CASE("a deadline makes the descriptor readable, and can be taken back", "[loader]") {
    fixture all(1);
    REQUIRE(all.wait_for(5s, [&] { return all.group->processes().size() == 1; }));
    all.group->set_deadline(loader_clock::now() + 5ms);
    CHECK(all.wait_for(5s, [] { return true; }));
    CHECK(system::wait_readable(all.group->wait_descriptor(), 5000, "a test"));
    CHECK(all.group->take_events());
    all.group->set_deadline(loader_clock::now() + 5ms);
    all.group->set_deadline(std::nullopt);
    CHECK_FALSE(system::wait_readable(all.group->wait_descriptor(), 50, "a test"));
}

TEST_CASE("ending a group ends its processes, and ending it twice is harmless", "[loader]") {
    fixture all(3);
    REQUIRE(all.wait_for(5s, [&] { return all.group->processes().size() == 3; }));
    all.group->end();
    all.group->end();
    CHECK(stoker::test_support::holds_within(
        2s, [] { return stoker::test_support::descendants().empty(); }));
}
