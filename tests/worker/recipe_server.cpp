#include "worker/recipe_server.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <stoker/worker/recipe_arguments.hpp>
#include "support/catch.hpp"
#include "support/run_child.hpp"
#include "worker_rig.hpp"

namespace stoker::detail {
namespace {

using namespace std::chrono_literals;
using namespace worker_test;
using bytes = std::span<const std::byte>;
using build_function = std::unique_ptr<fetcher>(bytes);

std::shared_ptr<recipe_connection> connect(std::chrono::milliseconds limit = 60s) {
    return std::make_shared<recipe_connection>(limit);
}

fetcher_recipe recipe(const std::shared_ptr<recipe_connection>& connection, build_function* build,
                      const std::string& argument = {}) {
    fetcher_recipe made;
    made.build = build;
    argument_writer(made.arguments).write(argument);
    made.origin = std::make_shared<const recipe_origin>(connection);
    return made;
}

server_link forked(const fetcher_recipe& recipe, std::uint64_t* size_out = nullptr) {
    std::uint64_t size = 0;
    std::optional<stoker::detail::stream_shape> shape;
    server_link link = server_link::fork_from(recipe, "rig", size, shape);
    if (size_out != nullptr)
        *size_out = size;
    return link;
}

/// The error that a recipe ends in.
error failure_of(const fetcher_recipe& recipe) {
    try {
        forked(recipe);
    } catch (const error& failure) {
        return failure;
    }
    return error(errc::protocol, "the recipe went well");
}

std::unique_ptr<fetcher> build_numbers(bytes arguments) {
    const auto text = argument_reader(arguments).read<std::string>();
    return std::make_unique<number_fetcher>(
        [text](index i) { return static_cast<std::int64_t>(text.size() + i); }, nullptr, 77);
}

TEST_CASE("a recipe is built in a process of its own, and its workers load from there",
          "[worker]") {
    const auto connection = connect();
    std::uint64_t size = 0;
    small_main main(forked(recipe(connection, build_numbers, "four"), &size), 2);
    CHECK(size == 77);
    CHECK(main.link().pid() != connection->pid);
    for (int worker = 0; worker < 2; ++worker)
        CHECK(main.fetch(worker, {10, 20})->values == std::vector<std::int64_t>{14, 24});
}

TEST_CASE("recipes can be built while the process has threads, and from several of them",
          "[worker]") {
    const auto connection = connect();
    std::atomic<int> delivered{0};
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
            const std::string text(static_cast<std::size_t>(number), 'x');
            small_main main(forked(recipe(connection, build_numbers, text)), 1);
            const auto got = main.fetch(0, {1});
            if (got && got->values == std::vector<std::int64_t>{number + 1})
                ++delivered;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(delivered == 4);
}

TEST_CASE("arguments of any length travel", "[worker]") {
    const auto connection = connect();
    const std::string text(3'000'000, 'p');
    small_main main(forked(recipe(connection, build_numbers, text)), 1);
    CHECK(main.fetch(0, {0})->values.at(0) == 3'000'000);
}

TEST_CASE("what a recipe throws arrives with type and text, however long", "[worker]") {
    const auto connection = connect();
    const error failure = failure_of(recipe(connection, [](bytes) -> std::unique_ptr<fetcher> {
        throw std::invalid_argument("no such directory" + std::string(64 * 1024, '!'));
    }));
    CHECK(failure.code() == errc::invalid_dataset);
    CHECK(failure.type() == "std::invalid_argument");
    CHECK(failure.text() == "no such directory" + std::string(64 * 1024, '!'));
    // And the next one is not held up by it.
    CHECK_NOTHROW(forked(recipe(connection, build_numbers)));
}

TEST_CASE("a recipe that hangs is ended at the deadline", "[worker]") {
    const auto connection = connect(150ms);
    const error failure = failure_of(recipe(connection, [](bytes) -> std::unique_ptr<fetcher> {
        for (;;)
            ::pause();
    }));
    CHECK(failure.code() == errc::timed_out);
    CHECK_THAT(failure.text(), Catch::Matchers::ContainsSubstring("150 ms"));
    CHECK(test_support::holds_within(5s, [] { return test_support::descendants().size() <= 1; }));
}

TEST_CASE("a recipe that crashes takes nobody along, and its signal is named", "[worker]") {
    const auto connection = connect();
    small_main healthy(forked(recipe(connection, build_numbers)), 1);
    const error failure = failure_of(recipe(connection, [](bytes) -> std::unique_ptr<fetcher> {
        ::raise(SIGKILL);
        return nullptr;
    }));
    CHECK(failure.code() == errc::fork_server_died);
    CHECK_THAT(failure.text(), Catch::Matchers::ContainsSubstring("SIGKILL"));
    CHECK(healthy.fetch(0, {5})->values.at(0) == 5);
}

TEST_CASE("a recipe that starts threads is refused, since workers are forked from there",
          "[worker]") {
    const auto connection = connect();
    const error failure = failure_of(recipe(connection, [](bytes arguments) {
        std::thread([] {
            for (;;)
                ::pause();
        }).detach();
        return build_numbers(arguments);
    }));
    CHECK(failure.code() == errc::threads_at_fork);
}

TEST_CASE("directory, environment and processors travel with the recipe", "[worker]") {
    const auto connection = connect();
    const auto directory =
        std::filesystem::temp_directory_path() / ("stoker_recipe_" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory);
    std::ofstream(directory / "size") << 12;
    const auto before = std::filesystem::current_path();
    cpu_set_t all;
    ::sched_getaffinity(0, sizeof all, &all);
    int first = 0;
    while (!CPU_ISSET(first, &all))
        ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);

    std::filesystem::current_path(directory);
    ::setenv("STOKER_TEST_RECIPE", "3", 1);
    ::sched_setaffinity(0, sizeof one, &one);
    const auto there = recipe(connection, [](bytes) -> std::unique_ptr<fetcher> {
        std::uint64_t size = 0;
        std::ifstream("size") >> size;
        cpu_set_t processors;
        ::sched_getaffinity(0, sizeof processors, &processors);
        const char* factor = ::getenv("STOKER_TEST_RECIPE");
        size = size * 100 + (factor != nullptr ? std::strtoull(factor, nullptr, 10) * 10 : 0) +
               static_cast<std::uint64_t>(CPU_COUNT(&processors));
        return std::make_unique<number_fetcher>([](index) { return 0; }, nullptr, size);
    });
    ::sched_setaffinity(0, sizeof all, &all);
    ::unsetenv("STOKER_TEST_RECIPE");
    std::filesystem::current_path(before);
    std::uint64_t size = 0;
    forked(there, &size);
    std::filesystem::remove_all(directory);
    CHECK(size == 1231);
}

TEST_CASE("how a loader's fork server ended is told by the one that forked it", "[worker]") {
    const auto connection = connect();
    small_main main(forked(recipe(connection, build_numbers)), 1);
    ::kill(main.link().pid(), SIGKILL);
    CHECK(ends(main.worker(0).pidfd.get(), 2s));
    std::string text;
    test_support::holds_within(patience, [&] {
        try {
            while (main.link().try_event()) {
            }
            return false;
        } catch (const error& failure) {
            text = failure.text();
            return true;
        }
    });
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring("SIGKILL"));
}

TEST_CASE("loaders live on when the object ends, and new ones are refused", "[worker]") {
    const auto connection = connect();
    const auto later = recipe(connection, build_numbers);
    small_main main(forked(recipe(connection, build_numbers)), 1);
    connection->end();
    CHECK(ends(connection->pidfd.get(), 2s));
    main.start(0);
    CHECK(main.fetch(0, {6})->values.at(0) == 6);
    CHECK(failure_of(later).code() == errc::fork_server_died);
    main.link().close();
    CHECK(ends(main.link().pidfd(), 2s));
}

TEST_CASE("kill -9 of main ends the object's process and the servers made from it", "[worker]") {
    int pipe_ends[2];
    REQUIRE(::pipe2(pipe_ends, O_CLOEXEC) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto connection = connect();
        small_main main(forked(recipe(connection, build_numbers)), 1);
        const pid_t pids[] = {connection->pid, main.link().pid(), main.worker(0).pid};
        [[maybe_unused]] const auto sent = ::write(pipe_ends[1], pids, sizeof pids);
        ::kill(::getpid(), SIGKILL);
    }
    pid_t pids[3] = {};
    const auto got = ::read(pipe_ends[0], pids, sizeof pids);
    ::waitpid(child, nullptr, 0);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    REQUIRE(got == sizeof pids);
    CHECK(test_support::holds_within(2s, [&] {
        return !alive(pids[0]) && !alive(pids[1]) && !alive(pids[2]) &&
               test_support::shared_memory_entries(child).empty();
    }));
}

/// Leaves a mark when it is destroyed.
class marking_fetcher final : public number_fetcher {
  public:
    explicit marking_fetcher(std::string path)
        : number_fetcher([](index) { return 1; }), path_(std::move(path)) {}
    ~marking_fetcher() override { std::ofstream(path_, std::ios::app) << "destroyed\n"; }

  private:
    std::string path_;
};

TEST_CASE("a recipe's dataset is destroyed once, by its fork server", "[worker]") {
    const std::string path = "/tmp/stoker_mark_" + std::to_string(::getpid());
    const auto connection = connect();
    {
        small_main main(forked(recipe(
                            connection,
                            [](bytes arguments) -> std::unique_ptr<fetcher> {
                                return std::make_unique<marking_fetcher>(
                                    argument_reader(arguments).read<std::string>());
                            },
                            path)),
                        2);
        main.fetch(0, {1});
        main.send(0, {}, 1, task_kind::stop);
        CHECK(ends(main.worker(0).pidfd.get()));
        CHECK_FALSE(std::filesystem::exists(path));
        main.link().close();
        CHECK(ends(main.link().pidfd()));
    }
    std::ifstream file(path);
    std::string all((std::istreambuf_iterator<char>(file)), {});
    std::filesystem::remove(path);
    CHECK(all == "destroyed\n");
}

TEST_CASE("functions of a library that was loaded later are refused by its name", "[worker]") {
    const auto connection = connect();
    CHECK_NOTHROW(connection->require_known(reinterpret_cast<const void*>(&build_numbers)));
    CHECK_THROWS_AS(connection->require_known(nullptr), error);
    void* library = ::dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        library = ::dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    // Any address of it will do: its dynamic section lies within.
    struct link_head {
        std::uintptr_t base;
        const char* name;
        const void* dynamic;
    };
    const auto* head = static_cast<const link_head*>(library);
    try {
        connection->require_known(head->dynamic);
        FAIL("the function was accepted");
    } catch (const error& refusal) {
        CHECK(refusal.code() == errc::invalid_dataset);
        CHECK_THAT(refusal.text(), Catch::Matchers::ContainsSubstring(head->name));
    }
    ::dlclose(library);
}

TEST_CASE("a build limit that is no time is refused", "[worker]") {
    CHECK_THROWS_AS(recipe_connection(0ms), error);
}

}  // namespace
}  // namespace stoker::detail
