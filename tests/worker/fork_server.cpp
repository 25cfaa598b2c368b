#include <stoker/worker/fork_server.hpp>

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "worker_rig.hpp"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using namespace detail::worker_test;
using detail::recipe_argument;

static_assert(!std::is_copy_constructible_v<fork_server>);
static_assert(std::is_nothrow_move_constructible_v<fork_server>);
static_assert(!std::is_copy_constructible_v<forked_dataset<int>>);
static_assert(std::is_nothrow_move_constructible_v<forked_dataset<int>>);

enum class color { red, green };
static_assert(recipe_argument<int> && recipe_argument<bool> && recipe_argument<color>);
static_assert(recipe_argument<std::vector<std::pair<std::string, std::optional<float>>>>);
static_assert(recipe_argument<std::tuple<std::array<std::filesystem::path, 2>, double>>);
static_assert(!recipe_argument<int*> && !recipe_argument<std::map<int, int>>);
static_assert(!recipe_argument<std::vector<std::unique_ptr<int>>>);
static_assert(std::is_same_v<detail::stored_argument<const char (&)[4]>, std::string>);

inline constexpr auto captureless_example = [](int) {};
static_assert(detail::captureless<decltype(captureless_example)>);
static_assert(detail::captureless<void (*)(int)>);
static_assert(!detail::captureless<decltype([i = 1] { return i; })>);
static_assert(!detail::captureless<std::function<void()>>);

struct numbers {
    std::int64_t first = 0;
    std::size_t count = 0;

    std::size_t size() const { return count; }
    std::int64_t get(index i) const { return first + static_cast<std::int64_t>(i); }
};

numbers make_numbers(std::int64_t first) {
    return {first, 5};
}

std::vector<std::int64_t> delivered(const detail::fetcher_recipe& recipe, std::uint64_t& size) {
    std::optional<stoker::detail::stream_shape> shape;
    small_main main(detail::server_link::fork_from(recipe, "rig", size, shape), 1);
    const auto got = main.fetch(0, {0, 1});
    return got ? got->values : std::vector<std::int64_t>{};
}

TEST_CASE("a dataset of a lambda and its arguments is built in another process", "[worker]") {
    fork_server forks;
    auto data = forks.dataset(
        [](std::int64_t first, std::size_t count) {
            return numbers{first, count};
        },
        std::int64_t{40}, std::size_t{9});
    static_assert(std::is_same_v<decltype(data), forked_dataset<numbers>>);
    std::uint64_t size = 0;
    CHECK(delivered(data.recipe(), size) == std::vector<std::int64_t>{40, 41});
    CHECK(size == 9);
}

TEST_CASE("a function is as good as a lambda, and one recipe serves again", "[worker]") {
    fork_server forks;
    const auto data = forks.dataset(make_numbers, 7);
    std::uint64_t size = 0;
    CHECK(delivered(data.recipe(), size) == std::vector<std::int64_t>{7, 8});
    CHECK(delivered(data.recipe(), size) == std::vector<std::int64_t>{7, 8});
    CHECK(size == 5);
}

TEST_CASE("arguments of every kind arrive as they were", "[worker]") {
    using table = std::vector<std::pair<std::string, std::optional<float>>>;
    fork_server forks;
    const auto data = forks.dataset(
        [](const std::string& text, std::filesystem::path path, table rows, std::vector<bool> bits,
           std::tuple<std::array<short, 2>, color> rest) {
            const bool same = text == "train/" && path == "/data/x" && rows.size() == 2 &&
                              rows[0].first == "a" && rows[0].second == 1.5F && !rows[1].second &&
                              bits == std::vector<bool>{true, false, true} &&
                              std::get<0>(rest)[1] == -4 && std::get<1>(rest) == color::green;
            return numbers{same ? 1 : -1, 2};
        },
        "train/", std::filesystem::path("/data/x"), table{{"a", 1.5F}, {"", std::nullopt}},
        std::vector<bool>{true, false, true},
        std::tuple(std::array<short, 2>{3, -4}, color::green));
    std::uint64_t size = 0;
    CHECK(delivered(data.recipe(), size).at(0) == 1);
}

TEST_CASE("threads that start after the object do not matter", "[worker]") {
    fork_server forks;
    std::vector<std::int64_t> values;
    std::thread([&] {
        std::uint64_t size = 0;
        values = delivered(forks.dataset(make_numbers, 3).recipe(), size);
    }).join();
    CHECK(values == std::vector<std::int64_t>{3, 4});
}

TEST_CASE("threads that run before the object are refused", "[worker]") {
    int go[2];
    REQUIRE(::pipe(go) == 0);
    std::thread thread([&] {
        char byte = 0;
        [[maybe_unused]] const auto got = ::read(go[0], &byte, 1);
    });
    std::optional<errc> refusal;
    try {
        fork_server forks;
    } catch (const error& failure) {
        refusal = failure.code();
    }
    ::close(go[1]);
    thread.join();
    ::close(go[0]);
    CHECK(refusal == errc::threads_at_fork);
}

TEST_CASE("the object's process ends with it, also when it is assigned to", "[worker]") {
    fork_server forks;
    const auto gone = [](pid_t pid) {
        return test_support::holds_within(5s, [pid] { return !alive(pid); });
    };
    const pid_t first = forks.pid();
    CHECK(alive(first));
    forks = fork_server();
    CHECK(gone(first));
    const pid_t second = forks.pid();
    CHECK(alive(second));
    const auto data = forks.dataset(make_numbers, 1);
    {
        const fork_server moved = std::move(forks);
        CHECK(moved.pid() == second);
    }
    CHECK(gone(second));
    std::uint64_t size = 0;
    CHECK_THROWS_AS(delivered(data.recipe(), size), error);
    CHECK_THROWS_AS(forks.dataset(make_numbers, 1), error);
}

TEST_CASE("bytes that end too early are an error", "[worker]") {
    std::vector<std::byte> bytes;
    detail::argument_writer(bytes).write(std::vector<std::string>{"one", "two"});
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        detail::argument_reader in({bytes.data(), size});
        CHECK_THROWS_AS(in.read<std::vector<std::string>>(), error);
    }
    bytes.clear();
    detail::argument_writer(bytes).write(~std::uint64_t{0});
    CHECK_THROWS_AS(detail::argument_reader(bytes).read<std::vector<double>>(), error);
    bytes.clear();
    detail::argument_writer(bytes).write(std::vector<double>{1, 2});
    CHECK(detail::argument_reader(bytes).read<std::vector<double>>() == std::vector<double>{1, 2});
}

}  // namespace
}  // namespace stoker
