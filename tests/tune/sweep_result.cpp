#include <stoker/tune/sweep_result.hpp>

#include <stoker/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using stoker::sweep_result;
using stoker::sweep_row;

namespace {

struct anything {
    template <class Type>
    operator Type() const;  // NOLINT(google-explicit-constructor): that is its purpose
};

template <std::size_t Count>
concept has_members = []<std::size_t... Number>(std::index_sequence<Number...>) {
    return requires {
        stoker::loader_options{(static_cast<void>(Number), anything{})...};
    };
}
(std::make_index_sequence<Count>{});

/// An option that is added must be pasted, too, and set in the test below.
constexpr std::size_t option_count = 20;
static_assert(has_members<option_count> && !has_members<option_count + 1>,
              "stoker: options were added or removed: name them in sweep_result.cpp and here");

sweep_row row(int num_workers, double samples_per_second) {
    sweep_row result{};
    result.num_workers = num_workers;
    result.samples_per_second = samples_per_second;
    result.seconds_per_epoch = 1000 / samples_per_second;
    result.fastest_seconds = result.seconds_per_epoch;
    result.slowest_seconds = result.seconds_per_epoch;
    return result;
}

sweep_result of(const std::vector<std::pair<int, double>>& rates, double tolerance = 0.05) {
    sweep_result result{};
    result.tolerance = tolerance;
    for (const auto& [workers, rate] : rates)
        result.rows.push_back(row(workers, rate));
    return result;
}

}  // namespace

TEST_CASE("the elbow is the fewest workers within the tolerance of the best", "[tune]") {
    CHECK(of({{0, 100}, {1, 200}, {2, 390}, {4, 400}, {8, 395}}).elbow().num_workers == 2);
    CHECK(of({{0, 100}, {1, 200}, {2, 379}, {4, 400}, {8, 395}}).elbow().num_workers == 4);
    CHECK(of({{0, 100}, {1, 200}, {2, 400}, {4, 800}}).elbow().num_workers == 4);
    CHECK(of({{0, 500}, {1, 300}, {2, 510}}).elbow().num_workers == 0);
    CHECK(of({{3, 7}}).elbow().num_workers == 3);
}

TEST_CASE("the elbow's rule holds at its very edge and with no tolerance", "[tune]") {
    CHECK(of({{1, 75}, {2, 100}}, 0.25).elbow().num_workers == 1);
    CHECK(of({{1, 74.9}, {2, 100}}, 0.25).elbow().num_workers == 2);
    CHECK(of({{1, 99}, {2, 100}}, 0).elbow().num_workers == 2);
    CHECK(of({{1, 100}, {2, 100}}, 0).elbow().num_workers == 1);
}

TEST_CASE("the order in which values were tried changes neither elbow nor speed-up", "[tune]") {
    const auto result = of({{8, 395}, {2, 390}, {0, 100}, {4, 400}});
    CHECK(result.elbow().num_workers == 2);
    CHECK(result.speed_up(result.rows[0]) == Catch::Approx(3.95));
    CHECK(result.speed_up(result.rows[2]) == Catch::Approx(1));
}

TEST_CASE("a result without rows has an empty table and no elbow", "[tune]") {
    const sweep_result nothing{};
    CHECK(nothing.table().empty());
    CHECK_THROWS_AS(nothing.elbow(), stoker::error);
}

TEST_CASE("the table has aligned columns, marks the elbow and says the rule", "[tune]") {
    auto result = of({{0, 1000}, {2, 19'500}, {16, 20'000}});
    result.rows[0].main_cpu_seconds = 0.98;
    result.rows[0].shared_bytes = 0;
    result.rows[1].main_cpu_seconds = 0.00123;
    result.rows[1].worker_bytes = 3'250'000;
    result.rows[1].shared_bytes = 1'600'000;
    result.rows[1].worker_cpu_seconds = 0.1;
    result.rows[1].fastest_seconds *= 0.9;
    result.rows[1].slowest_seconds *= 1.1;
    const std::string expected =
        "workers  s/epoch  spread  samples/s  speed-up  workers MB  batches MB  workers CPU s"
        "  main CPU s\n"
        "      0     1.00     ±0%      1,000      1.00           -         0.0              -"
        "       0.980\n"
        "      2   0.0513    ±10%     19,500     19.50         3.2         1.6          0.100"
        "     0.00123  <- elbow\n"
        "     16   0.0500     ±0%     20,000     20.00           -           -              -"
        "        0.00\n"
        "elbow: 2 workers, the fewest within 5 % of the best samples/s\n";
    result.rows[1].worker_bytes = 3'240'000;
    result.rows[2].main_cpu_seconds = 0;
    CHECK(result.table() == expected);
}

TEST_CASE("the sentence about the elbow counts in English", "[tune]") {
    CHECK(of({{0, 100}, {1, 200}}).table().find("elbow: 1 worker, the fewest") !=
          std::string::npos);
    CHECK(of({{0, 100}, {1, 50}}).table().find("elbow: 0 workers (the calling process loads)") !=
          std::string::npos);
}

TEST_CASE("settings to paste name what differs from the defaults, in the options' order",
          "[tune]") {
    auto result = of({{0, 100}, {2, 200}});
    CHECK(result.paste() == "{.num_workers = 2}");
    stoker::loader_options options{};
    options.batch_size = 64;
    options.shuffle = true;
    options.num_workers = 2;
    options.prefetch_factor = 4;
    options.epochs = 7;
    options.persistent_workers = false;
    options.timeout = std::chrono::seconds{3};
    result.options = options;
    CHECK(result.paste() ==
          "{.batch_size = 64, .shuffle = true, .num_workers = 2, "
          ".timeout = std::chrono::milliseconds{3000}, .prefetch_factor = 4, "
          ".persistent_workers = false}");
}

TEST_CASE("settings to paste name every option that is not the sweep's own", "[tune]") {
    // What is pasted is compiled here, so that names, order and types are those of the options.
    const stoker::loader_options given{.batch_size = 64,
                                       .shuffle = true,
                                       .num_workers = 2,
                                       .in_flight = 32,
                                       .drop_last = true,
                                       .timeout = std::chrono::milliseconds{3000},
                                       .sample_timeout = std::chrono::milliseconds{200},
                                       .on_bad = stoker::on_bad::skip,
                                       .prefetch_factor = 4,
                                       .persistent_workers = false,
                                       .in_order = false,
                                       .seed = 7,
                                       .epochs = 9,
                                       .restart_workers = stoker::restart::never,
                                       .max_restarts = 5,
                                       .restart_window = std::chrono::milliseconds{1500},
                                       .memory_limit_bytes = 1000000,
                                       .worker_threads = 3,
                                       .name = "the \"train\" \\ set\t\xc3\xa9",
                                       .fork_with_threads = true};
    auto result = of({{0, 100}, {2, 200}});
    result.options = given;
    const std::string text = result.paste();
    CHECK(text ==
          "{.batch_size = 64, .shuffle = true, .num_workers = 2, .in_flight = 32, "
          ".drop_last = true, .timeout = std::chrono::milliseconds{3000}, "
          ".sample_timeout = std::chrono::milliseconds{200}, .on_bad = stoker::on_bad::skip, "
          ".prefetch_factor = 4, .persistent_workers = false, .in_order = false, .seed = 7, "
          ".restart_workers = stoker::restart::never, .max_restarts = 5, "
          ".restart_window = std::chrono::milliseconds{1500}, .memory_limit_bytes = 1000000, "
          ".worker_threads = 3, .name = \"the \\\"train\\\" \\\\ set\\011\xc3\xa9\", "
          ".fork_with_threads = true}");
    const auto named = static_cast<std::size_t>(std::count(text.begin(), text.end(), '='));
    CHECK(named + 1 == option_count);  // all but epochs
}

TEST_CASE("the elbow's workers are what is pasted, not those that the options had", "[tune]") {
    auto result = of({{0, 100}, {2, 200}});
    result.options = stoker::loader_options{
        .num_workers = 8, .restart_workers = stoker::restart::always, .name = "a"};
    CHECK(result.paste() ==
          "{.num_workers = 2, .restart_workers = stoker::restart::always, .name = \"a\"}");
}
