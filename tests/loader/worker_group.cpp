#include "loader/worker_group.hpp"

#include <signal.h>

#include <chrono>
#include <map>

#include "core/system.hpp"
#include "loader/group_rig.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker::detail;
using namespace stoker::test_loader;
using namespace std::chrono_literals;

TEST_CASE("tasks go to the worker with the fewest, then round robin", "[loader]") {
    group_rig all(3);
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
    group_rig all(2);
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
    group_rig all(2);
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
    group_rig all(1);
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
    group_rig all(3);
    REQUIRE(all.wait_for(5s, [&] { return all.group->processes().size() == 3; }));
    all.group->end();
    all.group->end();
    CHECK(stoker::test_support::holds_within(
        2s, [] { return stoker::test_support::descendants().empty(); }));
}
