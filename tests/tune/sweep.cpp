#include <stoker/tune/sweep.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <stoker/core/error.hpp>
#include <stoker/loader/loader.hpp>

#include "support/catch.hpp"
#include "support/leaks.hpp"
#include "tune/process_usage.hpp"

using stoker::loader_options;
using stoker::sweep;
using stoker::sweep_options;
using stoker::detail::cpu_seconds_of;

namespace {

struct plain_batch {
    std::uint64_t samples = 0;
    std::uint64_t size() const { return samples; }
};

/// What happened to all plain loaders of a sweep.
struct journal {
    std::vector<loader_options> made;
    std::vector<int> epochs;  ///< begun, of each loader
    int batches = 0;          ///< read, of all loaders
    int alive = 0;
    int most_alive = 0;
};

/// A loader that is none of ours: three batches an epoch, of 4, 4 and 2 samples.
class plain_loader {
  public:
    plain_loader(std::shared_ptr<journal> notes, loader_options options)
        : notes_(std::move(notes)), epochs_left_(options.epochs), order_(notes_->epochs.size()) {
        notes_->made.push_back(options);
        notes_->epochs.push_back(0);
        notes_->most_alive = std::max(notes_->most_alive, ++notes_->alive);
    }
    plain_loader(const plain_loader&) = delete;
    ~plain_loader() { --notes_->alive; }

    struct iterator {
        plain_loader* owner;
        std::vector<plain_batch>::iterator at;
        plain_batch& operator*() const {
            ++owner->notes_->batches;
            return *at;
        }
        iterator& operator++() {
            ++at;
            return *this;
        }
        bool operator==(std::default_sentinel_t) const { return at == owner->batches_.end(); }
    };
    iterator begin() {
        if (epochs_left_-- <= 0)
            batches_.clear();
        ++notes_->epochs[order_];
        return {this, batches_.begin()};
    }
    std::default_sentinel_t end() const { return {}; }

  private:
    std::shared_ptr<journal> notes_;
    std::vector<plain_batch> batches_{{4}, {4}, {2}};
    int epochs_left_;
    std::size_t order_;
};

/// The same with a process that stands for its workers.
class busy_loader : public plain_loader {
  public:
    busy_loader(std::shared_ptr<journal> notes, loader_options options)
        : plain_loader(std::move(notes), options) {
        int ready[2];
        if (::pipe(ready) != 0)
            throw std::runtime_error("pipe");
        worker_ = ::fork();
        if (worker_ == 0) {
            static std::vector<char> own;
            own.assign(own_bytes, 1);
            if (::write(ready[1], "x", 1) != 1)
                ::_exit(1);
            for (;;)
                static_cast<void>(::getppid());
        }
        char byte = 0;
        const ssize_t got = ::read(ready[0], &byte, 1);
        ::close(ready[0]);
        ::close(ready[1]);
        if (got != 1)
            throw std::runtime_error("the worker did not start");
    }
    ~busy_loader() {
        ::kill(worker_, SIGKILL);
        ::waitpid(worker_, nullptr, 0);
    }
    /// Begins once the worker has got some processor time, on however busy a machine.
    iterator begin() {
        const double wanted = cpu_seconds_of(worker_).value_or(0) + cpu_seconds_an_epoch;
        const bool worked = stoker::test_support::holds_within(std::chrono::seconds(20), [&] {
            return cpu_seconds_of(worker_).value_or(0) >= wanted;
        });
        if (!worked)
            throw std::runtime_error("the worker got no processor time");
        return plain_loader::begin();
    }
    std::vector<pid_t> worker_processes() const { return {worker_}; }
    loader_options options() const {
        loader_options result{};
        result.batch_size = 4;
        return result;
    }

    static constexpr std::size_t own_bytes = 24 << 20;
    static constexpr double cpu_seconds_an_epoch = 0.001;

  private:
    pid_t worker_ = 0;
};

auto plain_factory(std::shared_ptr<journal> notes) {
    return [notes](loader_options options) { return plain_loader{notes, options}; };
}

sweep_options quick(std::vector<int> num_workers) {
    sweep_options options{};
    options.num_workers = std::move(num_workers);
    options.repeats = 2;
    return options;
}

/// An odd number of equal epochs: the median of rates belongs to the median of times.
sweep_options thrice(std::vector<int> num_workers) {
    auto options = quick(std::move(num_workers));
    options.repeats = 3;
    return options;
}

struct no_loader {};

struct slow_numbers {
    std::size_t size() const { return 20; }
    std::int64_t get(stoker::index i) const {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return static_cast<std::int64_t>(i);
    }
};

bool no_relatives_left() {
    return stoker::test_support::holds_within(
        std::chrono::seconds(20), [] { return stoker::test_support::relatives().empty(); });
}

}  // namespace

static_assert(stoker::loader_factory<decltype(plain_factory(nullptr))>);
static_assert(!stoker::loader_factory<no_loader (*)(loader_options)>);
static_assert(!stoker::loader_factory<plain_loader (*)()>);

TEST_CASE("a sweep makes one loader after the other, one for each value", "[tune]") {
    auto notes = std::make_shared<journal>();
    const auto result = sweep(plain_factory(notes), quick({0, 3, 1}));
    REQUIRE(notes->made.size() == 3);
    REQUIRE(result.rows.size() == 3);
    const std::vector<int> values{0, 3, 1};
    for (std::size_t i = 0; i < values.size(); ++i) {
        CHECK(notes->made[i].num_workers == values[i]);
        CHECK(result.rows[i].num_workers == values[i]);
        CHECK(result.rows[i].seconds_per_epoch > 0);
        CHECK(result.rows[i].fastest_seconds <= result.rows[i].seconds_per_epoch);
        CHECK(result.rows[i].slowest_seconds >= result.rows[i].seconds_per_epoch);
        CHECK(result.rows[i].samples_per_second > 0);
    }
    CHECK(notes->most_alive == 1);
    CHECK(notes->alive == 0);
}

TEST_CASE("warm-up and timed epochs are read whole, and one more is announced", "[tune]") {
    auto notes = std::make_shared<journal>();
    auto options = quick({2});
    options.warm_up_epochs = 3;
    options.repeats = 4;
    sweep(plain_factory(notes), options);
    CHECK(notes->epochs == std::vector<int>{7});
    CHECK(notes->made[0].epochs == 8);
    CHECK(notes->batches == 7 * 3);
}

TEST_CASE("with a limit only so many batches of each epoch are read", "[tune]") {
    auto notes = std::make_shared<journal>();
    auto options = quick({2});
    options.batches_per_epoch = 2;
    sweep(plain_factory(notes), options);
    CHECK(notes->batches == 3 * 2);
}

TEST_CASE("each row is handed over as soon as it is measured", "[tune]") {
    auto notes = std::make_shared<journal>();
    std::vector<std::size_t> made;
    auto options = quick({0, 5});
    options.on_row = [&](const stoker::sweep_row& row) {
        CHECK(row.num_workers == (made.empty() ? 0 : 5));
        made.push_back(notes->made.size());
    };
    sweep(plain_factory(notes), options);
    CHECK(made == std::vector<std::size_t>{1, 2});
}

TEST_CASE("of a loader that tells nothing of its processes only time is known", "[tune]") {
    const auto result = sweep(plain_factory(std::make_shared<journal>()), quick({1}));
    CHECK_FALSE(result.rows[0].worker_bytes);
    CHECK_FALSE(result.rows[0].shared_bytes);
    CHECK_FALSE(result.rows[0].worker_cpu_seconds);
    CHECK(result.paste() == "{.num_workers = 1}");
}

TEST_CASE("memory and processor time of worker processes are measured", "[tune]") {
    auto notes = std::make_shared<journal>();
    const auto make = [notes](loader_options options) { return busy_loader{notes, options}; };
    const auto result = sweep(make, quick({1}));
    const auto& row = result.rows[0];
    REQUIRE(row.worker_bytes);
    CHECK(*row.worker_bytes > busy_loader::own_bytes / 2);  // shares nothing but what it had before
    CHECK(*row.worker_bytes < busy_loader::own_bytes * 2);
    REQUIRE(row.worker_cpu_seconds);
    CHECK(*row.worker_cpu_seconds >= busy_loader::cpu_seconds_an_epoch * 0.999);
    CHECK(result.paste() == "{.batch_size = 4, .num_workers = 1}");
}

TEST_CASE("options out of range are refused with name, value and range", "[tune]") {
    const auto refused = [](sweep_options options) -> std::string {
        try {
            sweep(plain_factory(std::make_shared<journal>()), std::move(options));
        } catch (const stoker::error& error) {
            CHECK(error.code() == stoker::errc::invalid_option);
            return error.what();
        }
        return "";
    };
    using Catch::Matchers::ContainsSubstring;
    CHECK_THAT(refused(quick({})), ContainsSubstring("num_workers is empty"));
    CHECK_THAT(refused(quick({1, -2})),
               ContainsSubstring("num_workers is -2, expected values of 0"));
    auto options = quick({1});
    options.repeats = 0;
    CHECK_THAT(refused(options), ContainsSubstring("repeats is 0, expected 1 up"));
    options = quick({1});
    options.warm_up_epochs = 0;
    CHECK_THAT(refused(options), ContainsSubstring("warm_up_epochs is 0, expected 1 up"));
    options = quick({1});
    options.tolerance = 1;
    CHECK_THAT(refused(options), ContainsSubstring("tolerance is 1"));
    options.tolerance = std::numeric_limits<double>::quiet_NaN();
    CHECK_THAT(refused(options), ContainsSubstring("tolerance is nan"));
}

TEST_CASE("a factory that keeps fewer epochs than it is given is told so", "[tune]") {
    auto notes = std::make_shared<journal>();
    const auto make = [notes](loader_options options) {
        options.epochs = 2;
        return plain_loader{notes, options};
    };
    CHECK_THROWS_WITH(sweep(make, quick({1})),
                      Catch::Matchers::ContainsSubstring("must keep the epochs"));
}

TEST_CASE("what the factory throws reaches the caller", "[tune]") {
    const auto make = [](loader_options options) -> plain_loader {
        if (options.num_workers == 2)
            throw std::runtime_error("no such folder");
        return plain_loader{std::make_shared<journal>(), options};
    };
    CHECK_THROWS_WITH(sweep(make, quick({0, 2})), "no such folder");
}

TEST_CASE("a real loader is swept with its workers measured and nothing left behind", "[tune]") {
    const auto result = sweep(
        [](loader_options options) {
            options.batch_size = 4;
            return stoker::loader{slow_numbers{}, options};
        },
        thrice({0, 2}));
    REQUIRE(result.rows.size() == 2);
    CHECK(result.rows[0].worker_bytes == 0U);
    CHECK(result.rows[0].worker_cpu_seconds == 0.0);
    for (const auto& row : result.rows) {
        CHECK(row.seconds_per_epoch > 0);
        CHECK(row.samples_per_second == Catch::Approx(20 / row.seconds_per_epoch));
    }
    REQUIRE(result.rows[1].worker_bytes);
    CHECK(*result.rows[1].worker_bytes > 0);
    REQUIRE(result.rows[1].worker_cpu_seconds);
    CHECK(*result.rows[1].worker_cpu_seconds > 0);
    CHECK_THAT(result.paste(), Catch::Matchers::StartsWith("{.batch_size = 4, .num_workers = "));
    CHECK(no_relatives_left());
}

TEST_CASE("workers that live for one epoch are measured too", "[tune]") {
    const auto result = sweep(
        [](loader_options options) {
            options.batch_size = 4;
            options.persistent_workers = false;
            return stoker::loader{slow_numbers{}, options};
        },
        quick({2}));
    REQUIRE(result.rows[0].worker_bytes);
    CHECK(*result.rows[0].worker_bytes > 0);
    CHECK(no_relatives_left());
}

TEST_CASE("a stream without ends is swept by so many batches", "[tune]") {
    auto options = thrice({0, 2});
    options.batches_per_epoch = 3;
    const auto result = sweep(
        [](loader_options given) {
            given.batch_size = 2;
            given.epochs = stoker::endless;
            return stoker::loader{slow_numbers{}, given};
        },
        options);
    for (const auto& row : result.rows)
        CHECK(row.samples_per_second == Catch::Approx(6 / row.seconds_per_epoch));
    CHECK(no_relatives_left());
}
