#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stoker/worker/fork_server.hpp>
#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
namespace asio = boost::asio;

namespace {

constexpr stoker::index dataset_size = 50;

bool is_bad(stoker::index i) {
    return i == 3 || i == 4 || i == 17 || (i >= 40 && i < 48);
}
[[noreturn]] void complain(stoker::index i) {
    throw std::runtime_error("file " + std::to_string(i) + " is damaged");
}

struct damaged {
    std::size_t size() const { return dataset_size; }
    drawn get(stoker::index i, context& c) const {
        if (is_bad(i))
            complain(i);
        return {c.random(), i, c.position()};
    }
};
struct damaged_rows {
    std::size_t size() const { return dataset_size; }
    void read(stoker::index i, row<drawn> place, context& c) const {
        place[&drawn::epoch] = 99;  // half written
        if (is_bad(i))
            complain(i);
        place = drawn{c.random(), i, c.position()};
    }
};
struct damaged_coroutines {
    std::size_t size() const { return dataset_size; }
    asio::awaitable<drawn> get(stoker::index i, context& c) const {
        asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
        co_await timer.async_wait(asio::use_awaitable);
        if (is_bad(i))
            complain(i);
        co_return drawn{c.random(), i, c.position()};
    }
};
/// Names the culprit, as only it can.
struct damaged_batches {
    std::size_t size() const { return dataset_size; }
    std::vector<drawn> get(std::span<const stoker::index> all, const batch_context& c) const {
        std::vector<drawn> made;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (is_bad(all[i]))
                throw error{{.code = errc::sample_failed,
                             .text = "file " + std::to_string(all[i]) + " is damaged",
                             .sample = all[i]}};
            context one = c.sample(i);
            made.push_back({one.random(), all[i], one.position()});
        }
        return made;
    }
};
/// Kills its worker for bad samples; without workers nobody may call it.
struct deadly {
    std::size_t size() const { return dataset_size; }
    drawn get(stoker::index i, context& c) const {
        if (is_bad(i))
            ::kill(::getpid(), SIGKILL);
        return {c.random(), i, c.position()};
    }
};

/// Another one at random; the first attempt for 3 is 4, which is bad, too.
stoker::index choose(bad_sample& bad) {
    if (bad.sample == 3)
        return 4;
    return bad.random.integer(0, bad.size);
}

/// Everything that a batch has, byte by byte.
struct seen {
    std::vector<std::uint64_t> words;
    std::vector<std::size_t> sizes;
    bool operator==(const seen&) const = default;
};

template <class Loader>
seen read(Loader& source) {
    seen all;
    while (const auto batch = source.next_blocking()) {
        all.sizes.push_back(batch.size());
        all.words.push_back(batch.epoch());
        all.words.push_back(batch.number());
        for (std::size_t i = 0; i < batch.size(); ++i) {
            CHECK(batch[&drawn::epoch][i] == batch.indices()[i]);
            CHECK_FALSE(is_bad(batch.indices()[i]));
            all.words.insert(all.words.end(), {batch.indices()[i], batch[&drawn::bits][i],
                                               batch[&drawn::position][i]});
        }
    }
    return all;
}

loader_options options_for(int workers, bool shuffle, bool drop_last) {
    return {.batch_size = 8,
            .shuffle = shuffle,
            .num_workers = workers,
            .drop_last = drop_last,
            .seed = 6,
            .max_restarts = 1000};
}

template <class Dataset>
void check_replacing(Dataset dataset, std::vector<int> workers = {0, 1, 4}) {
    for (const bool shuffle : {false, true}) {
        for (const bool drop_last : {false, true}) {
            loader reference{damaged{}, options_for(0, shuffle, drop_last), replace_bad{choose}};
            const seen wanted = read(reference);
            CHECK(wanted.sizes.size() == (drop_last ? 6U : 7U));
            CHECK(std::all_of(wanted.sizes.begin(), wanted.sizes.begin() + 6,
                              [](std::size_t size) { return size == 8; }));
            for (const int count : workers) {
                loader source{dataset, options_for(count, shuffle, drop_last), replace_bad{choose}};
                CHECK(read(source) == wanted);
                CHECK(source.skipped().count == reference.skipped().count);
                CHECK(source.skipped().latest.size() == source.skipped().count);
                for (const error_details& each : source.skipped().latest) {
                    REQUIRE(each.sample);
                    CHECK(is_bad(*each.sample));
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("bad samples are replaced by what a function names, the same for any number of workers",
          "[loader][B080]") {
    check_replacing(damaged{});
}
TEST_CASE("so are those that a dataset writes into rows", "[loader]") {
    check_replacing(damaged_rows{});
}
TEST_CASE("so are those that coroutines make", "[loader]") {
    check_replacing(damaged_coroutines{});
}
TEST_CASE("so are those that a get() of whole batches names", "[loader]") {
    check_replacing(damaged_batches{});
}
TEST_CASE("so are those that kill each worker", "[loader]") {
    check_replacing(deadly{}, {1, 3});
}

TEST_CASE("a replacement keeps its place, and only its place", "[loader]") {
    for (const int workers : {0, 2}) {
        loader source{damaged{},
                      {.batch_size = 10, .num_workers = workers, .on_bad = on_bad::replace},
                      replace_bad{[](const bad_sample& bad) { return bad.sample - 20; }}};
        std::vector<stoker::index> indices;
        std::vector<std::uint64_t> positions;
        CHECK(source.options().on_bad == on_bad::replace);
        try {
            while (const auto batch = source.next_blocking()) {
                indices.insert(indices.end(), batch.indices().begin(), batch.indices().end());
                positions.insert(positions.end(), batch[&drawn::position].begin(),
                                 batch[&drawn::position].end());
            }
            FAIL("3 − 20 was taken for an index");
        } catch (const error& failure) {
            CHECK(failure.code() == errc::index_out_of_range);
            CHECK(failure.sample() == 3);
            CHECK_THAT(failure.text(), ContainsSubstring("replace_bad named") &&
                                           ContainsSubstring("the dataset has 50 samples") &&
                                           ContainsSubstring("file 3 is damaged"));
        }
    }
}

TEST_CASE("what a replacing function is told", "[loader]") {
    for (const int workers : {0, 3}) {
        std::map<std::uint64_t, std::vector<bad_sample>> told;  // by position
        loader source{damaged{},
                      {.batch_size = 8, .num_workers = workers, .seed = 4, .epochs = 2},
                      replace_bad{[&told](bad_sample& bad) -> stoker::index {
                          told[bad.epoch * 1000 + bad.position].push_back(bad);
                          return bad.attempt < 3 ? 40U : 10U;
                      }}};
        CHECK(read(source).sizes.size() == 7);
        CHECK(read(source).sizes.size() == 7);
        CHECK(told.size() == 22);
        CHECK(source.skipped().count == 66);
        std::set<std::uint64_t> draws;
        for (auto& [key, all] : told) {
            REQUIRE(all.size() == 3);
            for (std::size_t i = 0; i < all.size(); ++i) {
                bad_sample& bad = all[i];
                CHECK(bad.wanted == key % 1000);  // without a shuffle
                CHECK(bad.sample == (i == 0 ? bad.wanted : 40));
                CHECK(bad.attempt == static_cast<int>(i) + 1);
                CHECK(bad.size == dataset_size);
                CHECK(bad.failure.text == "file " + std::to_string(bad.sample) + " is damaged");
                CHECK(bad.failure.type == "std::runtime_error");
                draws.insert(bad.random());
            }
        }
        CHECK(draws.size() == 66);
    }
}

TEST_CASE("after so many bad replacements the batch fails and its neighbours are whole",
          "[loader]") {
    for (const int workers : {0, 1, 4}) {
        loader source{damaged{},
                      {.batch_size = 5, .num_workers = workers},
                      replace_bad{[](bad_sample& bad) -> stoker::index {
                                      return bad.wanted == 17
                                                 ? 40 + static_cast<stoker::index>(bad.attempt)
                                                 : 5;
                                  },
                                  4}};
        std::vector<std::uint64_t> numbers;
        int failures = 0;
        for (bool more = true; more;) {
            try {
                const auto batch = source.next_blocking();
                more = bool{batch};
                if (batch)
                    numbers.push_back(batch.number());
            } catch (const error& failure) {
                ++failures;
                CHECK(failure.code() == errc::sample_failed);
                CHECK(failure.sample() == 44);
                CHECK_THAT(failure.text(),
                           ContainsSubstring("sample 17 is bad, and so were the 4") &&
                               ContainsSubstring("file 44 is damaged"));
                CHECK((failure.worker() >= 0) == (workers > 0));
            }
        }
        CHECK(failures == 1);
        CHECK(numbers == std::vector<std::uint64_t>{0, 1, 2, 4, 5, 6, 7, 8, 9});
    }
}

TEST_CASE("an index that comes twice in a batch is replaced where it failed", "[loader]") {
    /// Fails by position, so that the index alone does not tell which of them it was.
    struct by_position {
        std::size_t size() const { return 8; }
        drawn get(stoker::index i, context& c) const {
            if (i == 2 && c.position() == 3)
                complain(i);
            return {c.random(), i, c.position()};
        }
    };
    for (const int workers : {0, 1}) {
        loader source{by_position{},
                      {.batch_size = 4, .num_workers = workers},
                      sampler{std::vector<int>{2, 1, 2, 2, 2, 0, 1, 3}},
                      replace_bad{[](const bad_sample&) { return 7; }}};
        std::vector<stoker::index> indices;
        while (const auto batch = source.next_blocking())
            indices.insert(indices.end(), batch.indices().begin(), batch.indices().end());
        CHECK(indices == std::vector<stoker::index>{2, 1, 2, 7, 2, 0, 1, 3});
    }
}

TEST_CASE("what a replacing function throws costs the batch, with both reasons", "[loader]") {
    for (const int workers : {0, 2}) {
        loader source{damaged{},
                      {.batch_size = 25, .num_workers = workers},
                      replace_bad{[](const bad_sample&) -> stoker::index {
                          throw std::logic_error("nothing is good enough");
                      }}};
        for (int batch = 0; batch < 2; ++batch) {
            try {
                (void)source.next_blocking();
                FAIL("a batch came");
            } catch (const error& failure) {
                CHECK_THAT(failure.text(),
                           ContainsSubstring("replace_bad threw: nothing is good enough") &&
                               ContainsSubstring("is damaged"));
                CHECK(failure.type() == "std::logic_error");
                CHECK(failure.sample().has_value());
            }
        }
        CHECK_FALSE(source.next_blocking());
        CHECK(source.skipped().count == 0);
    }
}

TEST_CASE("after a break nothing of a replaced batch comes late", "[loader]") {
    loader source{damaged{}, options_for(3, true, false), replace_bad{choose}};
    loader reference{damaged{}, options_for(0, true, false), replace_bad{choose}};
    for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
        source.restart(epoch);
        for (std::uint64_t taken = 0; taken < epoch % 5; ++taken)
            CHECK(source.next_blocking().epoch() == epoch);
    }
    source.restart(20);
    reference.restart(20);
    CHECK(read(source) == read(reference));
}

TEST_CASE("a dataset that a fork server builds has its bad samples replaced here", "[loader]") {
    fork_server forks;
    loader source{forks.dataset([] { return damaged{}; }), options_for(2, true, false),
                  replace_bad{choose}};
    loader reference{damaged{}, options_for(0, true, false), replace_bad{choose}};
    CHECK(read(source) == read(reference));
}

TEST_CASE("replacing is refused where it is half said", "[loader]") {
    const auto refusal = [](auto make) -> std::string {
        try {
            make();
        } catch (const error& failure) {
            CHECK(failure.code() == errc::invalid_option);
            return failure.text();
        }
        return "it was accepted";
    };
    CHECK_THAT(refusal([] {
                   loader{damaged{}, {.on_bad = on_bad::replace}};
               }),
               ContainsSubstring("stoker::replace_bad"));
    CHECK_THAT(refusal([] {
                   loader{damaged{}, {.on_bad = on_bad::skip}, replace_bad{choose}};
               }),
               ContainsSubstring("on_bad is skip"));
    CHECK_THAT(refusal([] {
                   loader{damaged{}, {}, replace_bad{choose, 0}};
               }),
               ContainsSubstring("attempts is 0"));
}
