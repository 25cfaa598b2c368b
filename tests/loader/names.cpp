// A loader's name, where several have to be told apart: in processes and in errors.

#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/system.hpp"
#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// What top shows, and ps without arguments.
std::string comm_of(pid_t pid) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
    return name;
}

/// What ps -ef shows, and top -c.
std::string command_of(pid_t pid) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/cmdline"), name, '\0');
    return name;
}

error failure_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const error& failure) {
        return failure;
    }
    return error(errc{}, "nothing was thrown");
}

}  // namespace

TEST_CASE("workers and fork servers are seen in ps and top by their loader's name", "[loader]") {
    loader train{numbers{8}, {.num_workers = 2, .name = "train"}};
    loader validation{numbers{8}, {.num_workers = 1, .name = "validation"}};
    loader nameless{numbers{8}, {.num_workers = 1}};
    for (auto* source : {&train, &validation, &nameless})
        source->next_blocking();
    const auto all_there = [&] {
        const auto workers = train.worker_processes();
        return workers.size() == 2 && comm_of(workers[1]) == "stoker:train:w1";
    };
    CHECK(test_support::holds_within(5s, all_there));
    CHECK(comm_of(train.fork_server_process()) == "stoker:train");
    CHECK(command_of(train.worker_processes().at(0)) == "stoker:train:w0");
    CHECK(comm_of(validation.fork_server_process()) == "stoker:validati");
    CHECK(command_of(validation.fork_server_process()) == "stoker:validation");
    const auto worker_is_named = [&](auto& source, const char* comm, const char* command) {
        return test_support::holds_within(5s, [&] {
            const auto workers = source.worker_processes();
            return workers.size() == 1 && comm_of(workers[0]) == comm &&
                   command_of(workers[0]) == command;
        });
    };
    CHECK(worker_is_named(validation, "stoker:valid:w0", "stoker:validation:w0"));
    CHECK(worker_is_named(nameless, "stoker:w0", "stoker:w0"));
}

TEST_CASE("an error says which loader it came out of", "[loader]") {
    for (const int workers : {0, 2}) {
        loader source{failing_numbers{4, 1}, {.num_workers = workers, .name = "train"}};
        source.next_blocking();
        const error failure = failure_of([&] { source.next_blocking(); });
        CHECK(failure.loader() == "train");
        CHECK_THAT(failure.what(), ContainsSubstring("loader train"));
        CHECK(failure.type() == "std::out_of_range");
        CHECK(source.next_blocking().number() == 2);
    }
    loader nameless{failing_numbers{1, 0}, {.num_workers = 1}};
    const error failure = failure_of([&] { nameless.next_blocking(); });
    CHECK(failure.loader().empty());
    CHECK_THAT(failure.what(), !ContainsSubstring("loader"));
}

TEST_CASE("refusals, deaths and misuse name their loader as well", "[loader]") {
    const error option = failure_of([] {
        loader refused{numbers{4}, {.batch_size = 0, .name = "train"}};
    });
    CHECK(option.code() == errc::invalid_option);
    CHECK(option.loader() == "train");

    loader source{
        slow_numbers{40, [](stoker::index) { return 30; }},
        {.num_workers = 1, .epochs = 2, .restart_workers = restart::never, .name = "train"}};
    source.next_blocking();
    for (const pid_t worker : source.worker_processes())
        ::kill(worker, SIGKILL);
    const error death = failure_of([&] {
        for (int i = 0; i < 40; ++i)
            source.next_blocking();
    });
    CHECK(death.code() == errc::worker_died);
    CHECK(death.loader() == "train");

    const error restart = failure_of([&] { source.restart(9); });
    CHECK(restart.code() == errc::invalid_option);
    CHECK(restart.loader() == "train");
}

TEST_CASE("ready() and worker_processes() name their loader in what they throw", "[loader]") {
    const std::vector<std::function<void(loader<numbers>&)>> calls{
        [](auto& source) { (void)source.ready(); },
        [](auto& source) { (void)source.worker_processes(); }};
    for (const auto& call : calls) {
        loader source{numbers{8}, {.num_workers = 1, .name = "train"}};
        while (source.next_blocking()) {
        }
        for (const pid_t worker : source.worker_processes())
            ::kill(worker, SIGKILL);
        detail::system_calls failing = detail::system_calls::real();
        failing.sendmsg = [](int, const msghdr*, int) -> ssize_t {
            errno = ENOBUFS;  // no successor can be asked for
            return -1;
        };
        const error failure = failure_of([&] {
            const detail::replaced_system_calls replaced(failing);
            test_support::holds_within(5s, [&] {
                call(source);
                return false;
            });
        });
        CAPTURE(failure.what());
        CHECK(failure.loader() == "train");
    }
}

TEST_CASE("an exception of a sampler's own comes as it is from a loader with a name", "[loader]") {
    struct failing_sampler : std::runtime_error {
        using std::runtime_error::runtime_error;
    };
    std::vector<int> order{0, 1, 2};
    auto indices = order | std::views::transform([](int i) {
                       if (i == 1)
                           throw failing_sampler("no index");
                       return i;
                   });
    loader source{numbers{3}, {.num_workers = 1, .name = "train"}, sampler{indices}};
    source.next_blocking();
    CHECK_THROWS_AS(source.next_blocking(), failing_sampler);
}
