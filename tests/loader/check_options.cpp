#include "loader/check_options.hpp"

#include <chrono>
#include <string>

#include <stoker/core/error.hpp>
#include "support/catch.hpp"

using namespace stoker;
using namespace std::chrono_literals;

namespace {

std::string complaint(const loader_options& options, bool sampler = false,
                      bool batch_sampler = false) {
    try {
        detail::check_options(options, sampler, batch_sampler);
    } catch (const error& e) {
        REQUIRE(e.code() == errc::invalid_option);
        return e.what();
    }
    return {};
}

bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the full grid of bad option mixes is refused by name, harmless ones pass",
          "[loader][B075]") {
    for (const int workers : {-1, 0, 1}) {
        for (const int prefetch : {-1, 0, 1, 2}) {
            for (const auto timeout : {-1ms, 0ms, 1000ms}) {
                for (const bool persistent : {false, true}) {
                    for (const int batch : {-1, 0, 1}) {
                        loader_options options{};
                        options.num_workers = workers;
                        options.prefetch_factor = prefetch;
                        options.timeout = timeout;
                        options.persistent_workers = persistent;
                        options.batch_size = batch;
                        const std::string text = complaint(options);
                        CAPTURE(workers, prefetch, timeout.count(), persistent, batch, text);
                        CHECK(mentions(text, "num_workers is -1") == (workers < 0));
                        CHECK(mentions(text, "prefetch_factor is") == (prefetch < 1));
                        CHECK(mentions(text, "timeout") == (timeout < 0ms));
                        CHECK(mentions(text, "batch_size is") == (batch < 1));
                        const bool bad = workers < 0 || prefetch < 1 || timeout < 0ms || batch < 1;
                        CHECK(text.empty() == !bad);
                    }
                }
            }
        }
    }
}

TEST_CASE("a message names the option, its value and its range", "[loader]") {
    loader_options options{};
    options.batch_size = 0;
    options.epochs = -7;
    const std::string text = complaint(options);
    CHECK(mentions(text, "batch_size is 0, it must be from 1 to 1073741824"));
    CHECK(mentions(text, "epochs is -7"));
}

TEST_CASE("samplers refuse what they decide themselves", "[loader]") {
    loader_options options{};
    options.shuffle = true;
    CHECK(mentions(complaint(options, true), "shuffle"));
    CHECK(complaint(options).empty());
    options = {};
    options.batch_size = 4;
    CHECK(mentions(complaint(options, false, true), "batch sampler"));
    CHECK(complaint(options, true).empty());
    options = {};
    options.drop_last = true;
    CHECK(mentions(complaint(options, false, true), "drop_last"));
    options = {};
    CHECK(mentions(complaint(options, true, true), "both"));
    CHECK(complaint(options, false, true).empty());
}

TEST_CASE("too many tasks at once are refused with the product", "[loader]") {
    loader_options options{};
    options.num_workers = 4096;
    options.prefetch_factor = 1 << 20;
    CHECK(mentions(complaint(options), "num_workers × prefetch_factor"));
    options.num_workers = 5000;
    CHECK(mentions(complaint(options), "num_workers is 5000"));
}

TEST_CASE("drop_last that leaves nothing is an error, an empty dataset is not", "[loader][B070]") {
    loader_options options{};
    options.batch_size = 8;
    options.drop_last = true;
    const auto complaint_of = [&options](std::uint64_t samples_left_out) {
        const std::exception_ptr found =
            detail::complaint_of_empty_epoch(options, samples_left_out);
        return found ? detail::describe(found, errc::protocol) : stoker::error_details{};
    };
    CHECK(complaint_of(0).text.empty());
    CHECK(complaint_of(5).code == errc::invalid_option);
    CHECK(mentions(complaint_of(5).text, "batch_size is 8"));
    CHECK(mentions(complaint_of(5).text, "the epoch has 5 samples"));
    options.epochs = endless;
    CHECK(complaint_of(0).code == errc::invalid_dataset);
    CHECK(complaint_of(5).code == errc::invalid_option);
}

TEST_CASE("an enumeration's value that has no name is refused", "[loader]") {
    loader_options options{};
    options.on_bad = static_cast<on_bad>(99);
    CHECK(mentions(complaint(options), "on_bad is 99"));
    options.restart_workers = static_cast<restart>(77);
    CHECK(mentions(complaint(options), "restart_workers is 77"));
}
