#include "ipc/queue_names.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <stoker/core/error.hpp>
#include "support/catch.hpp"
#include "support/leaks.hpp"
#include "support/run_child.hpp"

using namespace stoker::detail;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string path_of(const std::string& name) {
    return "/dev/shm/" + name;
}
bool exists(const std::string& name) {
    return ::access(path_of(name).c_str(), F_OK) == 0;
}
void make_file(const std::string& name) {
    std::ofstream(path_of(name)) << "x";
}

/// Names that a process made which then died at once.
queue_names names_of_the_dead() {
    const auto outcome = stoker::test_support::run_child([](std::ostream& out) {
        const queue_names names = make_queue_names();
        create_queue(names.tasks, 4, 64);
        create_queue(names.results, 4, 64);
        out << names.tasks << '\n' << names.results << '\n';
        return 0;
    });
    REQUIRE(outcome.succeeded());
    const auto end_of_first = outcome.text.find('\n');
    const auto end_of_second = outcome.text.find('\n', end_of_first + 1);
    return {.tasks = outcome.text.substr(0, end_of_first),
            .results = outcome.text.substr(end_of_first + 1, end_of_second - end_of_first - 1)};
}

}  // namespace

TEST_CASE("names carry the process and are never given twice", "[ipc][B016]") {
    std::set<std::string> seen;
    std::vector<std::vector<queue_names>> made(4);
    std::vector<std::thread> threads;
    for (auto& each : made) {
        threads.emplace_back([&each] {
            for (int i = 0; i < 50; ++i)
                each.push_back(make_queue_names());
        });
    }
    for (auto& each : threads)
        each.join();
    for (const auto& each : made) {
        for (const queue_names& names : each) {
            CHECK(names.tasks.starts_with("stoker-" + std::to_string(::getpid()) + '-'));
            CHECK(names.tasks.ends_with(".tasks"));
            CHECK(names.results.ends_with(".results"));
            seen.insert(names.tasks);
            seen.insert(names.results);
        }
    }
    CHECK(seen.size() == 400);
}

TEST_CASE("queues are this user's alone", "[ipc]") {
    const mode_t before = ::umask(0);
    const queue_names names = make_queue_names();
    create_queue(names.tasks, 4, 64);
    ::umask(before);
    struct stat status {};
    REQUIRE(::stat(path_of(names.tasks).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    unlink_queue(names.tasks);
    CHECK_FALSE(exists(names.tasks));
    unlink_queue(names.tasks);  // again: no error
}

TEST_CASE("an existing name is refused and left alone", "[ipc][B017]") {
    const queue_names names = make_queue_names();
    make_file(names.tasks);
    CHECK_THROWS_WITH(create_queue(names.tasks, 4, 64), ContainsSubstring("EEXIST"));
    CHECK(exists(names.tasks));
    unlink_queue(names.tasks);
}

TEST_CASE("a sweep removes what dead processes left and nothing else", "[ipc][B015][B017]") {
    const queue_names dead = names_of_the_dead();
    const queue_names alive = make_queue_names();
    create_queue(alive.tasks, 4, 64);
    // Of the dead one's kind, but from another pid namespace: nobody here can say whether it lives.
    std::string elsewhere = dead.tasks;
    elsewhere.insert(elsewhere.find('.') - 1, "9");
    // A pid that is used again: the same pid, another start time.
    std::string reused = alive.results;
    const auto start_time = reused.find('-', reused.find('-') + 1) + 1;
    reused.replace(start_time, reused.find('-', start_time) - start_time, "1");
    // Not of our making at all.
    const std::string foreign = "stoker-notes-" + std::to_string(::getpid());
    const std::string damaged = "stoker-12-.tasks";
    for (const auto& name : {elsewhere, reused, foreign, damaged})
        make_file(name);
    REQUIRE(exists(dead.tasks));
    REQUIRE(exists(dead.results));

    sweep_leftover_names();

    CHECK_FALSE(exists(dead.tasks));
    CHECK_FALSE(exists(dead.results));
    CHECK_FALSE(exists(reused));
    CHECK(exists(alive.tasks));
    CHECK(exists(elsewhere));
    CHECK(exists(foreign));
    CHECK(exists(damaged));
    for (const auto& name : {alive.tasks, elsewhere, foreign, damaged})
        unlink_queue(name);
}

TEST_CASE("a sweep skips what another user owns", "[ipc][B017]") {
    if (::geteuid() != 0) {
        WARN("skipped: giving a file to another user needs root");
        return;
    }
    const queue_names dead = names_of_the_dead();
    constexpr uid_t nobody = 65534;
    REQUIRE(::chown(path_of(dead.tasks).c_str(), nobody, nobody) == 0);
    sweep_leftover_names();
    CHECK(exists(dead.tasks));
    CHECK_FALSE(exists(dead.results));
    unlink_queue(dead.tasks);
}

TEST_CASE("a file-size limit is a sentence and no signal", "[ipc]") {
    const auto outcome = stoker::test_support::run_child([](std::ostream& out) {
        const rlimit small{.rlim_cur = 1024, .rlim_max = 1024};
        ::setrlimit(RLIMIT_FSIZE, &small);
        const queue_names names = make_queue_names();
        try {
            create_queue(names.tasks, 64, 64);
        } catch (const stoker::error& failure) {
            out << failure.what();
            return failure.code() == stoker::errc::memory_limit ? 0 : 1;
        }
        return 2;
    });
    INFO(outcome.text);
    CHECK(outcome.succeeded());
    CHECK_THAT(outcome.text, ContainsSubstring("ulimit -f"));
}

TEST_CASE("no process of this test left a name", "[ipc]") {
    CHECK(stoker::test_support::shared_memory_entries(::getpid()).empty());
}
