#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
namespace asio = boost::asio;

namespace {

bool is_bad(stoker::index i) {
    return i == 3 || i == 4 || i == 17 || (i >= 40 && i < 48);
}
[[noreturn]] void complain(stoker::index i) {
    throw std::runtime_error("file " + std::to_string(i) + " is damaged");
}

/// Each draws from the sample's own generator: what is left out must not shift the others' numbers.
struct damaged_draws {
    std::size_t size() const { return 50; }
    drawn get(stoker::index i, context& c) const {
        if (is_bad(i))
            complain(i);
        return {c.random(), i, c.position()};
    }
};
struct damaged_rows {
    std::size_t size() const { return 50; }
    void read(stoker::index i, row<drawn> place, context& c) const {
        place[&drawn::epoch] = 99;  // half written
        if (is_bad(i))
            complain(i);
        place = drawn{c.random(), i, c.position()};
    }
};
struct damaged_coroutines {
    std::size_t size() const { return 50; }
    asio::awaitable<drawn> get(stoker::index i, context& c) const {
        asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
        co_await timer.async_wait(asio::use_awaitable);
        if (is_bad(i))
            complain(i);
        co_return drawn{c.random(), i, c.position()};
    }
};
struct whole_draws {
    std::size_t size() const { return 50; }
    drawn get(stoker::index i, context& c) const { return {c.random(), i, c.position()}; }
};
struct growing {
    std::int64_t value = 0;
    tensor<float, dynamic> list{};
};
struct damaged_lists {
    std::size_t size() const { return 50; }
    growing get(stoker::index i) const {
        if (is_bad(i))
            complain(i);
        growing made{static_cast<std::int64_t>(i), tensor<float, dynamic>(3)};
        made.list[2] = static_cast<float>(i);
        return made;
    }
};

struct line {
    std::uint64_t number;
    stoker::index index;
    std::uint64_t bits;
    std::uint64_t position;
    bool operator==(const line&) const = default;
};

template <class Loader>
std::vector<line> lines_of(Loader& source) {
    std::vector<line> all;
    while (const auto batch = source.next_blocking()) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
            CHECK(batch[&drawn::epoch][i] == batch.indices()[i]);
            all.push_back({batch.number(), batch.indices()[i], batch[&drawn::bits][i],
                           batch[&drawn::position][i]});
        }
    }
    return all;
}

std::vector<line> expected(loader_options options) {
    options.num_workers = 0;
    options.on_bad = on_bad::fail;
    loader source{whole_draws{}, options};
    std::vector<line> all = lines_of(source);
    std::erase_if(all, [](const line& each) { return is_bad(each.index); });
    return all;
}

template <class Dataset>
void check_skipping(Dataset dataset) {
    for (const bool shuffle : {false, true}) {
        for (const int workers : {0, 1, 4}) {
            const loader_options options{.batch_size = 4,
                                         .shuffle = shuffle,
                                         .num_workers = workers,
                                         .on_bad = on_bad::skip,
                                         .seed = 6};
            loader source{dataset, options};
            CHECK(lines_of(source) == expected(options));
            CHECK(source.skipped().count == 11);
            std::set<stoker::index> culprits;
            for (const error_details& each : source.skipped().latest) {
                REQUIRE(each.sample);
                culprits.insert(*each.sample);
                CHECK(each.text == "file " + std::to_string(*each.sample) + " is damaged");
                CHECK(each.type == "std::runtime_error");
                CHECK((each.worker >= 0) == (workers > 0));
            }
            CHECK(culprits.size() == 11);
            CHECK(std::all_of(culprits.begin(), culprits.end(), is_bad));
        }
    }
}

}  // namespace

TEST_CASE("bad samples are left out, counted and listed [B080]", "[loader]") {
    check_skipping(damaged_draws{});
}
TEST_CASE("so are those that a dataset writes in place", "[loader]") {
    check_skipping(damaged_rows{});
}
TEST_CASE("so are those of coroutines", "[loader]") {
    check_skipping(damaged_coroutines{});
}

TEST_CASE("batches of lists are whole without their bad samples", "[loader]") {
    loader source{damaged_lists{},
                  {.batch_size = 8, .num_workers = 2, .drop_last = true, .on_bad = on_bad::skip}};
    std::vector<std::size_t> sizes;
    while (const auto batch = source.next_blocking()) {
        sizes.push_back(batch.size());
        const auto [value, list] = batch.columns();
        for (std::size_t i = 0; i < batch.size(); ++i)
            CHECK(list(i, 2) == static_cast<float>(value[i]));
    }
    // The list 40 … 47 was all bad, and 48, 49 are dropped as ever.
    CHECK(sizes == std::vector<std::size_t>{6, 8, 7, 8, 8});
}

namespace {

/// Some throw, and some kill their worker.
struct deadly_and_damaged {
    std::size_t size() const { return 60; }
    drawn get(stoker::index i, context& c) const {
        if (i == 10 || i == 11)
            ::kill(::getpid(), SIGKILL);
        if (i == 9 || i == 30)
            complain(i);
        return {c.random(), i, c.position()};
    }
};
struct all_damaged {
    std::size_t size() const { return 8; }
    number get(stoker::index i) const { complain(i); }
};
struct batched_damage {
    std::size_t size() const { return 8; }
    std::vector<number> get(std::span<const stoker::index>) const {
        throw std::runtime_error("one of them");
    }
};

}  // namespace

TEST_CASE("samples that kill their workers are left out, too", "[loader]") {
    for (const int workers : {1, 2}) {
        loader source{
            deadly_and_damaged{},
            {.batch_size = 6, .num_workers = workers, .on_bad = on_bad::skip, .max_restarts = 100}};
        std::vector<stoker::index> indices;
        std::vector<std::uint64_t> positions;
        while (const auto batch = source.next_blocking()) {
            indices.insert(indices.end(), batch.indices().begin(), batch.indices().end());
            for (const auto position : batch[&drawn::position])
                positions.push_back(position);
        }
        std::vector<stoker::index> good;
        for (stoker::index i = 0; i < 60; ++i) {
            if (i != 9 && i != 10 && i != 11 && i != 30)
                good.push_back(i);
        }
        CHECK(indices == good);
        CHECK(positions == good);
        CHECK(source.skipped().count == 4);
    }
}

namespace {

/// Counts its calls; each eighth sample never comes.
struct counted_late {
    int* calls;
    std::size_t size() const { return 64; }
    asio::awaitable<number> get(stoker::index i) const {
        ++*calls;
        asio::steady_timer timer(co_await asio::this_coro::executor,
                                 i % 8 == 3 ? std::chrono::milliseconds(1h) : 1ms);
        co_await timer.async_wait(asio::use_awaitable);
        number made{static_cast<std::int64_t>(i), 0};
        co_return made;
    }
};

}  // namespace

TEST_CASE("the rest of a batch is made once more for all late samples, not for each", "[loader]") {
    int calls = 0;
    loader source{
        counted_late{&calls},
        {.batch_size = 64, .in_flight = 64, .sample_timeout = 300ms, .on_bad = on_bad::skip}};
    const auto batch = source.next_blocking();
    REQUIRE(batch);
    CHECK(batch.size() + source.skipped().count == 64);
    CHECK(source.skipped().count >= 8);
    if (source.skipped().count == 8)  // more are late where the machine is busy
        CHECK(calls == 64 + 56);
    for (std::size_t i = 0; i < batch.size(); ++i)
        CHECK(batch[&number::value][i] == static_cast<std::int64_t>(batch.indices()[i]));
}

TEST_CASE("an epoch of nothing but bad samples is empty, an endless one says so", "[loader]") {
    for (const int workers : {0, 2}) {
        loader once{all_damaged{}, {.num_workers = workers, .on_bad = on_bad::skip}};
        CHECK_FALSE(once.next_blocking());
        CHECK(once.skipped().count == 8);
        loader forever{all_damaged{},
                       {.num_workers = workers, .on_bad = on_bad::skip, .epochs = endless}};
        try {
            (void)forever.next_blocking();
            FAIL("a batch came");
        } catch (const error& failure) {
            CHECK(failure.code() == errc::sample_failed);
            CHECK_THAT(failure.text(), ContainsSubstring("nothing but bad samples") &&
                                           ContainsSubstring("is damaged"));
        }
    }
}

TEST_CASE("nobody is left out when it is not known who failed", "[loader]") {
    for (const int workers : {0, 1}) {
        loader source{batched_damage{},
                      {.batch_size = 4, .num_workers = workers, .on_bad = on_bad::skip}};
        try {
            (void)source.next_blocking();
            FAIL("a batch came");
        } catch (const error& failure) {
            CHECK(failure.text() == "one of them");
            CHECK_FALSE(failure.sample());
        }
        CHECK(source.skipped().count == 0);
    }
}

TEST_CASE("without skip a bad sample costs its batch [B080]", "[loader]") {
    loader source{damaged_draws{}, {.batch_size = 4, .num_workers = 2}};
    int errors = 0;
    std::size_t samples = 0;
    for (bool more = true; more;) {
        try {
            const auto batch = source.next_blocking();
            samples += batch.size();
            more = static_cast<bool>(batch);
        } catch (const error&) {
            ++errors;
        }
    }
    CHECK(errors == 5);  // 0…3, 4…7, 16…19, 40…43, 44…47
    CHECK(samples == 30);
    CHECK(source.skipped().count == 0);
}
