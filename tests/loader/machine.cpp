#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <range/v3/view/chunk.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/iota.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test_support::holds_within;

namespace {

/// A signal every millisecond, which interrupts system calls, while it lives.
class signal_storm {
  public:
    signal_storm() {
        struct sigaction nothing {};
        nothing.sa_handler = [](int) {};  // without SA_RESTART
        ::sigaction(SIGALRM, &nothing, &before_);
        const itimerval every_millisecond{{0, 1000}, {0, 1000}};
        ::setitimer(ITIMER_REAL, &every_millisecond, nullptr);
    }
    ~signal_storm() {
        const itimerval never{};
        ::setitimer(ITIMER_REAL, &never, nullptr);
        ::sigaction(SIGALRM, &before_, nullptr);
    }
    signal_storm(const signal_storm&) = delete;
    signal_storm& operator=(const signal_storm&) = delete;

  private:
    struct sigaction before_ {};
};

/// How often a process has gone to sleep or was put aside, in all.
std::uint64_t switches(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    std::uint64_t sum = 0;
    for (std::string word; file >> word;) {
        std::uint64_t count = 0;
        if (word.ends_with("voluntary_ctxt_switches:") && file >> count)
            sum += count;
    }
    return sum;
}

/// Whether none of them has run for a fifth of a second.
bool all_sleep(const std::vector<pid_t>& processes) {
    std::vector<std::uint64_t> before, after;
    for (const pid_t process : processes)
        before.push_back(switches(process));
    std::this_thread::sleep_for(200ms);
    for (const pid_t process : processes)
        after.push_back(switches(process));
    return before == after && std::find(before.begin(), before.end(), 0U) == before.end();
}

struct image {
    tensor<std::uint8_t, dynamic, dynamic, dynamic> pixels;
};
/// 32 images, [3, 20, 16] each, but for the one at 21.
struct images {
    std::size_t odd_channels = 3;
    std::size_t odd_width = 16;
    std::size_t size() const { return 32; }
    image get(stoker::index i) const {
        return {i == 21
                    ? tensor<std::uint8_t, dynamic, dynamic, dynamic>(odd_channels, 20, odd_width)
                    : tensor<std::uint8_t, dynamic, dynamic, dynamic>(3, 20, 16)};
    }
};

struct word_list {
    tensor<std::int32_t, dynamic> words;
};
/// List i has i + 1 words.
struct word_lists {
    std::size_t size() const { return 2; }
    word_list get(stoker::index i) const { return {tensor<std::int32_t, dynamic>(i + 1)}; }
};

/// The text of the mismatch that the next batch must be.
template <class Loader>
std::string mismatch(Loader& loader) {
    try {
        loader.next_blocking();
    } catch (const error& e) {
        CHECK(e.code() == errc::shape_mismatch);
        return e.text();
    }
    return "no error";
}

}  // namespace

TEST_CASE("values and order equal the dataset's for any number of workers", "[loader]") {
    for (const int workers : {0, 1, 3, 4}) {
        for (const int prefetch : {1, 2, 5}) {
            loader loader{numbers{23},
                          {.batch_size = 5, .num_workers = workers, .prefetch_factor = prefetch}};
            CAPTURE(workers, prefetch);
            for (int epoch = 0; epoch < 3; ++epoch) {
                const auto batches = read_epoch(loader);
                REQUIRE(batches.size() == 5);
                CHECK(batches.back().size() == 3);
                CHECK(flatten(batches) == count_to(23));
            }
            CHECK(loader.length() == 5);
            CHECK(loader.size() == 23);
        }
    }
}

TEST_CASE("all columns of a sample arrive, with indices, epoch and number", "[loader]") {
    loader loader{numbers{10}, {.batch_size = 4, .num_workers = 2}};
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
        std::uint64_t number_in_epoch = 0;
        while (auto batch = loader.next_blocking()) {
            CHECK(batch.epoch() == epoch);
            CHECK(batch.number() == number_in_epoch++);
            auto [value, squared] = batch.columns();
            REQUIRE(batch.size() == value.extent(0));
            for (std::size_t i = 0; i < batch.size(); ++i) {
                CHECK(static_cast<std::int64_t>(batch.indices()[i]) == value(i));
                CHECK(squared(i) == value(i) * value(i));
            }
        }
        CHECK(number_in_epoch == 3);
    }
}

TEST_CASE("drop_last leaves out the short batch", "[loader]") {
    for (const int workers : {0, 2}) {
        loader loader{numbers{11}, {.batch_size = 4, .num_workers = workers, .drop_last = true}};
        CHECK(loader.length() == 2);
        CHECK(flatten(read_epoch(loader)) == count_to(8));
    }
}

TEST_CASE("an empty dataset gives epochs without batches and does not hang", "[loader]") {
    for (const int workers : {0, 2}) {
        loader loader{numbers{0}, {.batch_size = 4, .num_workers = workers}};
        for (int epoch = 0; epoch < 3; ++epoch)
            CHECK(read_epoch(loader).empty());
        loader.restart();
        CHECK(read_epoch(loader).empty());
    }
}

TEST_CASE("drop_last with a batch larger than the dataset is refused", "[loader][B070]") {
    for (const int workers : {0, 2}) {
        CHECK_THROWS_WITH(
            (loader{numbers{5}, {.batch_size = 8, .num_workers = workers, .drop_last = true}}),
            ContainsSubstring("drop_last leaves no batch") &&
                ContainsSubstring("batch_size is 8") &&
                ContainsSubstring("the epoch has 5 samples"));
        CHECK_THROWS_WITH((loader{numbers{100},
                                  {.batch_size = 8, .num_workers = workers, .drop_last = true},
                                  stoker::sampler{std::vector<int>{1, 2, 3, 4, 5}}}),
                          ContainsSubstring("the epoch has 5 samples"));
    }
}

TEST_CASE("drop_last that leaves no batch is told by the epoch's end when no size is known before",
          "[loader][B070]") {
    const auto five_then_ten = [](std::uint64_t epoch) {
        std::vector<int> chosen(epoch == 0 ? 5 : 10);
        std::iota(chosen.begin(), chosen.end(), 0);
        return chosen;
    };
    for (const int workers : {0, 2}) {
        for (const int epochs : {0, 3, endless}) {
            CAPTURE(workers, epochs);
            loader loader{
                numbers{100},
                {.batch_size = 8, .num_workers = workers, .drop_last = true, .epochs = epochs},
                stoker::sampler{five_then_ten}};
            REQUIRE_FALSE(loader.length());
            CHECK_THROWS_WITH(loader.next_blocking(),
                              ContainsSubstring("drop_last leaves no batch") &&
                                  ContainsSubstring("the epoch has 5 samples"));
            if (epochs != endless)
                CHECK_FALSE(loader.next_blocking());
            const auto batch = loader.next_blocking();
            REQUIRE(batch);
            CHECK(batch.epoch() == 1);
            CHECK(batch.indices().size() == 8);
        }
    }
}

TEST_CASE("epochs without end that have no batch fail each time, and never end", "[loader][B070]") {
    const auto nothing = [](std::uint64_t /*epoch*/) { return std::vector<int>(); };
    for (const int workers : {0, 2}) {
        loader loader{numbers{100},
                      {.batch_size = 8, .num_workers = workers, .epochs = endless},
                      stoker::sampler{nothing}};
        for (int i = 0; i < 10; ++i)
            CHECK_THROWS_WITH(loader.next_blocking(), ContainsSubstring("epochs is endless"));
    }
}

TEST_CASE("a loader refuses bad mixes when it is made, and runs with all others",
          "[loader][B075]") {
    int refused = 0;
    const auto try_one = [&refused](const loader_options& options) {
        const bool bad = options.num_workers < 0 || options.prefetch_factor < 1 ||
                         options.timeout.count() < 0 || options.batch_size < 1;
        CAPTURE(options.num_workers, options.prefetch_factor, options.timeout.count(),
                options.persistent_workers, options.batch_size);
        if (bad) {
            CHECK_THROWS_WITH((loader{numbers{3}, options}),
                              ContainsSubstring("an option cannot work"));
            ++refused;
            return;
        }
        loader loader{numbers{3}, options};
        CHECK(flatten(read_epoch(loader)) == count_to(3));
        CHECK(flatten(read_epoch(loader)) == count_to(3));
    };
    for (const int workers : {-1, 0, 1}) {
        for (const int prefetch : {loader_options{}.prefetch_factor, 0, 1}) {
            for (const int seconds : {-1, 0, 1}) {
                for (const bool persistent : {true, false}) {
                    for (const int batch : {-1, 0, 1}) {
                        try_one({.batch_size = batch,
                                 .num_workers = workers,
                                 .timeout = std::chrono::seconds(60 * seconds),
                                 .prefetch_factor = prefetch,
                                 .persistent_workers = persistent});
                    }
                }
            }
        }
    }
    CHECK(refused == 162 - 16);
}

TEST_CASE("shuffle delivers each sample once, differently each epoch, the same for any workers",
          "[loader]") {
    std::vector<std::vector<std::int64_t>> reference;
    for (const int workers : {0, 1, 4}) {
        loader loader{numbers{101},
                      {.batch_size = 8, .shuffle = true, .num_workers = workers, .seed = 7}};
        for (std::size_t epoch = 0; epoch < 3; ++epoch) {
            const auto order = flatten(read_epoch(loader));
            auto sorted = order;
            std::sort(sorted.begin(), sorted.end());
            CHECK(sorted == count_to(101));
            if (workers == 0) {
                for (const auto& earlier : reference)
                    CHECK(order != earlier);
                reference.push_back(order);
            } else {
                CHECK(order == reference[epoch]);
            }
        }
    }
}

TEST_CASE("a sample's random numbers follow from seed, epoch and position alone", "[loader]") {
    std::vector<std::uint64_t> reference;
    for (const int workers : {0, 1, 2, 5}) {
        loader loader{draws{30},
                      {.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 3}};
        std::vector<std::uint64_t> bits;
        for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
            std::uint64_t position = 0;
            while (auto batch = loader.next_blocking()) {
                auto [drawn_bits, epochs, positions] = batch.columns();
                for (std::size_t i = 0; i < batch.size(); ++i) {
                    bits.push_back(drawn_bits(i));
                    CHECK(epochs(i) == epoch);
                    CHECK(positions(i) == position++);
                }
            }
        }
        CHECK(std::set<std::uint64_t>(bits.begin(), bits.end()).size() == 60);
        if (workers == 0)
            reference = bits;
        CHECK(bits == reference);
    }
}

TEST_CASE("more workers than batches cost nothing and end, under a storm of signals",
          "[loader][B011]") {
    const signal_storm storm;
    for (int round = 0; round < 10; ++round) {
        loader loader{numbers{10}, {.batch_size = 2, .num_workers = 12, .drop_last = true}};
        for (auto& batch : loader) {
            CHECK(batch.size() == 2);
            break;
        }
        if (round == 0) {
            CHECK(holds_within(10s, [&] { return loader.worker_processes().size() == 12; }));
            CHECK(holds_within(20s, [&] { return all_sleep(loader.worker_processes()); }));
        }
        if (round % 2 == 1)
            CHECK(read_epoch(loader).size() == 4);
    }
    CHECK(holds_within(5s, [] { return test_support::descendants().empty(); }));
}

TEST_CASE("shapes that differ are told in the same words with and without workers",
          "[loader][B072][B074]") {
    std::vector<std::vector<std::string>> texts;
    for (const int workers : {0, 2}) {
        const loader_options options{.batch_size = 16, .num_workers = workers};
        loader narrow{images{3, 15}, options};
        loader grey{images{1, 16}, options};
        loader lists{word_lists{}, {.batch_size = 2, .num_workers = workers}};
        CHECK(narrow.next_blocking().size() == 16);
        CHECK(grey.next_blocking().size() == 16);
        texts.push_back({mismatch(narrow), mismatch(grey), mismatch(lists)});
        CHECK_FALSE(narrow.next_blocking());
    }
    CHECK(texts[0] == texts[1]);
    CHECK(texts[0] ==
          std::vector<std::string>{
              "field 'pixels' of sample 21 has shape [3, 20, 15], that of sample 16, in the same "
              "batch, [3, 20, 16]",
              "field 'pixels' of sample 21 has shape [1, 20, 16], that of sample 16, in the same "
              "batch, [3, 20, 16]",
              "field 'words' of sample 1 has shape [2], that of sample 0, in the same batch, [1]"});
}

TEST_CASE("ranges are samplers and batch samplers", "[loader]") {
    for (const int workers : {0, 2}) {
        loader thirds{numbers{20},
                      {.batch_size = 3, .num_workers = workers},
                      sampler{ranges::views::iota(0, 20) |
                              ranges::views::filter([](int i) { return i % 3 == 0; })}};
        CHECK(flatten(read_epoch(thirds)) == std::vector<std::int64_t>{0, 3, 6, 9, 12, 15, 18});
        CHECK(read_epoch(thirds).size() == 3);
        loader sevens{numbers{20},
                      {.num_workers = workers},
                      batch_sampler{ranges::views::iota(0, 20) | ranges::views::chunk(7)}};
        const auto batches = read_epoch(sevens);
        REQUIRE(batches.size() == 3);
        CHECK(batches[0].size() == 7);
        CHECK(batches[2].size() == 6);
        CHECK(flatten(read_epoch(sevens)) == count_to(20));
    }
}

TEST_CASE("try_next and ready report without waiting", "[loader]") {
    loader loader{slow_numbers{2, [](stoker::index) { return 200; }},
                  {.batch_size = 1, .num_workers = 1}};
    CHECK_FALSE(loader.ready());
    CHECK_FALSE(loader.try_next());
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!loader.ready() && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    auto batch = loader.try_next();
    REQUIRE(batch);
    CHECK((*batch)[&number::value](0) == 0);
}

TEST_CASE("worker_init and open run once a worker; their failure is told whole", "[loader]") {
    struct needs_open {
        bool opened = false;
        std::size_t size() const { return 4; }
        void open() { opened = true; }
        number get(stoker::index i) const {
            if (!opened)
                throw std::logic_error("not opened");
            return {static_cast<std::int64_t>(i), 0};
        }
    };
    for (const int workers : {0, 2}) {
        loader good{needs_open{}, {.batch_size = 2, .num_workers = workers}};
        CHECK(flatten(read_epoch(good)) == count_to(4));
        loader bad{needs_open{},
                   {.batch_size = 2, .num_workers = workers},
                   worker_init{[](worker_info) { throw std::runtime_error("no such device"); }}};
        try {
            bad.next_blocking();
            FAIL("a worker started though its worker_init threw");
        } catch (const error& failure) {
            CHECK(failure.code() == errc::worker_start_failed);
            CHECK(failure.text() == "worker_init threw: no such device");
            CHECK(failure.type() == "std::runtime_error");
        }
    }
}

TEST_CASE("a single value is a sample", "[loader]") {
    loader loader{std::vector<float>{1, 2, 3}, {.batch_size = 2, .num_workers = 1}};
    auto batch = loader.next_blocking();
    auto [value] = batch.columns();
    CHECK(value(1) == 2.0F);
}

TEST_CASE("a loader can be moved, also while it is in an epoch", "[loader]") {
    loader first{numbers{8}, {.batch_size = 2, .num_workers = 2}};
    CHECK(first.next_blocking().number() == 0);
    loader second{std::move(first)};
    CHECK(second.next_blocking().number() == 1);
    loader other{numbers{4}, {.batch_size = 2, .num_workers = 1}};
    other = std::move(second);
    CHECK(other.next_blocking().number() == 2);
}

TEST_CASE("a batch sampler's memory is that of its longest list", "[loader]") {
    struct wide {
        tensor<std::uint8_t, 4096> bytes;
    };
    struct wides {
        std::size_t size() const { return 100; }
        wide get(stoker::index) const { return {}; }
    };
    loader few{
        wides{}, {.num_workers = 2}, batch_sampler{std::vector<std::vector<int>>{{1, 2}, {3}}}};
    CHECK(few.memory().batch_bytes < 5 * 4096);
    int lists = 0;
    for (auto& batch : few)
        lists += batch ? 1 : 0;
    CHECK(lists == 2);
    // Lists that only their epoch can tell: more than anybody expected.
    loader many{wides{}, {.num_workers = 1}, batch_sampler{[](std::uint64_t) {
                    return std::vector<std::vector<int>>{std::vector<int>(6000, 7), {1}};
                }}};
    CHECK(many.next_blocking().size() == 6000);
    CHECK(many.next_blocking().size() == 1);
    loader short_sampler{wides{}, {.batch_size = 1 << 24}, sampler{std::vector<int>{5, 6}}};
    CHECK(short_sampler.memory().batch_bytes < 5 * 4096);
    CHECK(short_sampler.next_blocking().size() == 2);
}

TEST_CASE("a dataset that cannot be opened is never asked, with and without workers", "[loader]") {
    struct closed {
        bool opened = false;
        std::size_t size() const { return 4; }
        void open() { throw std::runtime_error("no route to host"); }
        number get(stoker::index) const { throw std::logic_error("get before open"); }
    };
    for (const int workers : {0, 2}) {
        loader source{closed{}, {.batch_size = 2, .num_workers = workers}};
        for (int batch = 0; batch < 2; ++batch) {
            CHECK_THROWS_WITH(source.next_blocking(), ContainsSubstring("no route to host"));
        }
        CHECK_FALSE(source.next_blocking());
    }
}
