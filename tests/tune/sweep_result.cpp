#include <stoker/tune/sweep_result.hpp>

#include <stoker/core/error.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using stoker::sweep_result;
using stoker::sweep_row;

namespace {

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
    const stoker::loader_options pasted{.batch_size = 64,
                                        .shuffle = true,
                                        .num_workers = 2,
                                        .timeout = std::chrono::milliseconds{3000},
                                        .prefetch_factor = 4,
                                        .persistent_workers = false};
    CHECK(pasted.batch_size == options.batch_size);
}
