// What of a dataset's failures reaches whoever awaits the batch: all of it, by either form of the
// call, and the same with and without workers.

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

namespace decoding {

/// A dataset's own exception: its fields are not known to anybody else.
struct failure : std::runtime_error {
    failure(const std::string& text, int line, double ratio)
        : std::runtime_error(text), line_(line), ratio_(ratio) {}
    int line_;
    double ratio_;
};

struct header_failure : stoker::error {
    using stoker::error::error;
};

}  // namespace decoding

namespace {

using namespace stoker;
using namespace stoker::test_loader;
using Catch::Matchers::ContainsSubstring;
namespace asio = boost::asio;

/// Sample `culprit` does what it may, others are plain.
struct throwing_numbers {
    std::size_t count = 0;
    stoker::index culprit = 0;
    void (*fail)() = nullptr;
    std::size_t size() const { return count; }
    number get(stoker::index i) const {
        if (i == culprit)
            fail();
        return {static_cast<std::int64_t>(i), 0};
    }
};

/// The first failure of a loader, by `catch`.
template <class Loader>
asio::awaitable<void> catch_failure(Loader& source, std::optional<error>& seen) {
    for (;;) {
        try {
            auto batch = co_await source.next();
            if (!batch)
                co_return;
        } catch (const error& failure) {
            seen = failure;
        }
    }
}

/// The same as a value.
template <class Loader>
asio::awaitable<void> receive_failure(Loader& source, std::optional<error>& seen) {
    for (;;) {
        auto [failure, batch] = co_await source.next(asio::as_tuple(asio::use_awaitable));
        if (!failure && !batch)
            co_return;
        if (!failure)
            continue;
        CHECK_FALSE(batch);
        try {
            std::rethrow_exception(failure);
        } catch (const error& known) {
            seen = known;
        }
    }
}

struct way {
    int workers;
    bool as_tuple;
};

/// With and without workers, thrown and as a tuple.
constexpr way ways[] = {{0, false}, {0, true}, {2, false}, {2, true}};

error failure_of(const throwing_numbers& data, way how) {
    loader source{data, {.batch_size = 2, .num_workers = how.workers}};
    asio::io_context io;
    std::optional<error> seen;
    if (how.as_tuple)
        asio::co_spawn(io, receive_failure(source, seen), rethrow);
    else
        asio::co_spawn(io, catch_failure(source, seen), rethrow);
    io.run_for(std::chrono::seconds(60));
    REQUIRE(seen.has_value());
    CHECK((seen->worker() >= 0) == (how.workers > 0));
    CHECK((seen->pid() > 0) == (how.workers > 0));
    return *seen;
}

std::string long_text() {
    std::string text;
    for (int line = 0; text.size() < (64U << 10); ++line)
        text += "line " + std::to_string(line) + ": \tunexpected \"ä\" in scan\n";
    return text;
}

}  // namespace

TEST_CASE("a type of the dataset's own, a text of 64 KiB and its causes arrive whole",
          "[loader][B077]") {
    const throwing_numbers data{
        8, 5, [] {
            try {
                try {
                    throw std::out_of_range("block 17");
                } catch (...) {
                    std::throw_with_nested(std::system_error(EIO, std::system_category(), "pread"));
                }
            } catch (...) {
                std::throw_with_nested(decoding::failure(long_text(), 17, 0.5));
            }
        }};
    for (const way how : ways) {
        const error seen = failure_of(data, how);
        CHECK(seen.code() == errc::sample_failed);
        CHECK(seen.type() == "decoding::failure");
        CHECK(seen.sample() == 5);
        CHECK(seen.text() == long_text() +
                                 "; because of std::system_error: pread: Input/output error "
                                 "[system:5]; because of std::out_of_range: block 17");
        CHECK_THAT(seen.what(), ContainsSubstring(long_text()));
    }
}

TEST_CASE("what is no exception class, or has no text, is an error with its type all the same",
          "[loader][B077]") {
    for (const way how : ways) {
        const error number = failure_of({4, 1, [] { throw 42; }}, how);
        CHECK(number.code() == errc::sample_failed);
        CHECK(number.type() == "int");
        CHECK(number.sample() == 1);
        const error silent = failure_of({4, 1, [] { throw std::runtime_error(""); }}, how);
        CHECK(silent.type() == "std::runtime_error");
        CHECK(silent.text().empty());
    }
}

TEST_CASE("an error of stoker's class without a code, or of a type derived from it, loses nothing",
          "[loader]") {
    const throwing_numbers without_code{
        4, 2, [] { throw error{{.text = "bad header", .file = "train/2.png"}}; }};
    const throwing_numbers derived{
        4, 2, [] { throw decoding::header_failure(errc::sample_failed, "bad header"); }};
    for (const way how : ways) {
        const error seen = failure_of(without_code, how);
        CHECK(seen.code() == errc::sample_failed);
        CHECK(seen.text() == "bad header");
        CHECK(seen.file() == "train/2.png");
        CHECK(seen.sample() == 2);
        CHECK(failure_of(derived, how).type() == "decoding::header_failure");
    }
}

TEST_CASE("an error that the dataset made with stoker's own class keeps what it said",
          "[loader][B077]") {
    const throwing_numbers data{4, 2, [] {
                                    throw error({.code = errc::shape_mismatch,
                                                 .text = "two rows are missing",
                                                 .remedy = "download it again",
                                                 .file = "shard-7.bin"});
                                }};
    for (const way how : ways) {
        const error seen = failure_of(data, how);
        CHECK(seen.code() == errc::shape_mismatch);
        CHECK(seen.text() == "two rows are missing");
        CHECK(seen.remedy() == "download it again");
        CHECK(seen.file() == "shard-7.bin");
    }
}

TEST_CASE("a file that fails is told with its path, the sample and the system's reason",
          "[loader][B082]") {
    struct trouble {
        void (*fail)();
        std::string reason;
        std::string file;
    };
    const trouble troubles[] = {
        {[] { (void)std::filesystem::file_size("/nowhere/train/a rather long name, 17.png"); },
         "No such file or directory", "/nowhere/train/a rather long name, 17.png"},
        {[] {
             try {
                 (void)std::filesystem::file_size("/nowhere/nested.png");
             } catch (...) {
                 std::throw_with_nested(std::runtime_error("cannot decode"));
             }
         },
         "cannot decode; because of std::filesystem::", "/nowhere/nested.png"},
        {[] { throw std::system_error(EACCES, std::generic_category(), "open train/17.png"); },
         "open train/17.png: Permission denied [generic:13]", ""},
        {[] {
             std::ifstream file;
             file.exceptions(std::ios::failbit | std::ios::badbit);
             file.open("/nowhere/17.png");
         },
         "errno was: No such file or directory [generic:2]", ""},
        {[] {  // a folder in place of a file opens, and fails when it is read
             std::ifstream file("/tmp");
             file.exceptions(std::ios::failbit | std::ios::badbit);
             file.get();
         },
         "Is a directory", ""},
    };
    for (const trouble& each : troubles) {
        for (const way how : ways) {
            const error seen = failure_of({6, 3, each.fail}, how);
            CHECK(seen.code() == errc::sample_failed);
            CHECK(seen.sample() == 3);
            CHECK(seen.file() == each.file);
            CHECK_THAT(seen.what(), ContainsSubstring(each.reason) &&
                                        ContainsSubstring("sample 3") &&
                                        ContainsSubstring(each.file));
        }
    }
}

TEST_CASE("a stream's exception is not given the reason of another sample's trouble", "[loader]") {
    struct unlucky {
        std::size_t size() const { return 2; }
        number get(stoker::index i) const {
            if (i == 0) {
                std::ifstream none("/nowhere/0.png");  // leaves errno, and throws nothing
                return {};
            }
            std::ifstream file("/dev/null");
            file.exceptions(std::ios::eofbit);
            file.get();
            return {};
        }
    };
    for (const int workers : {0, 1}) {
        loader source{unlucky{}, {.num_workers = workers}};
        source.next_blocking();
        CHECK_THROWS_WITH(source.next_blocking(),
                          ContainsSubstring("basic_ios") && !ContainsSubstring("errno"));
    }
}

TEST_CASE("a damaged sample costs exactly its batch, wherever it comes", "[loader][B080]") {
    struct damaged_numbers {
        std::size_t size() const { return 1'000; }
        number get(stoker::index i) const {
            if (i == 7 || i == 500 || i == 999)
                throw std::filesystem::filesystem_error(
                    "decode", "images/" + std::to_string(i) + ".png",
                    std::make_error_code(std::errc::illegal_byte_sequence));
            return {static_cast<std::int64_t>(i), 0};
        }
    };
    struct course {
        std::vector<std::int64_t> numbers;  ///< of batches; -1 - i: sample i failed
        std::vector<std::int64_t> values;
        bool operator==(const course&) const = default;
    };
    const auto run = [](loader_options options) {
        loader source{damaged_numbers{}, options};
        course seen;
        for (;;) {
            try {
                auto batch = source.next_blocking();
                if (!batch)
                    return seen;
                seen.numbers.push_back(static_cast<std::int64_t>(batch.number()));
                for (const auto value : batch[&number::value])
                    seen.values.push_back(value);
            } catch (const error& failure) {
                REQUIRE(failure.sample().has_value());
                const auto sample = static_cast<std::int64_t>(*failure.sample());
                CHECK(failure.file() == "images/" + std::to_string(sample) + ".png");
                seen.numbers.push_back(-1 - sample);
            }
        }
    };
    for (const bool shuffle : {false, true}) {
        for (const bool drop_last : {false, true}) {
            loader_options options{.batch_size = 16, .shuffle = shuffle, .drop_last = drop_last};
            options.seed = 3;
            const course here = run(options);
            options.num_workers = 4;
            CHECK(run(options) == here);
            const std::size_t batches = drop_last ? 62 : 63;
            REQUIRE(here.numbers.size() == batches);
            std::size_t lost = 0;
            for (std::size_t i = 0; i < batches; ++i) {
                lost += here.numbers[i] < 0 ? 1 : 0;
                if (here.numbers[i] >= 0)
                    CHECK(here.numbers[i] == static_cast<std::int64_t>(i));
            }
            CHECK(lost <= 3);
            CHECK(lost >= 2);  // two of them may share a batch, or be dropped with the last
            if (!shuffle && !drop_last) {
                CHECK(here.numbers.front() == -8);
                CHECK(here.numbers.back() == -1000);  // the short last batch
                CHECK(here.values.size() == 1'000 - 16 - 16 - 8);
            }
        }
    }
}

TEST_CASE("holding too many batches is an error of the next call, by either form of it",
          "[loader][B024]") {
    for (const int workers : {0, 1}) {
        loader source{numbers{40},
                      {.num_workers = workers, .timeout = std::chrono::milliseconds(200)}};
        asio::io_context io;
        std::optional<error> seen;
        std::vector<batch<number>> held;
        const auto hoard = [&]() -> asio::awaitable<void> {
            while (held.size() < 40) {
                auto [failure, batch] = co_await source.next(asio::as_tuple(asio::use_awaitable));
                if (failure) {
                    try {
                        std::rethrow_exception(failure);
                    } catch (const error& known) {
                        seen = known;
                    }
                    co_return;
                }
                held.push_back(std::move(batch));
            }
        };
        asio::co_spawn(io, hoard, rethrow);
        io.run_for(std::chrono::seconds(30));
        REQUIRE(seen.has_value());
        CHECK(seen->code() == errc::no_free_slot);
        CHECK(held.size() == source.memory().slots);
        CHECK_THAT(seen->what(),
                   ContainsSubstring(std::to_string(held.size()) + " batches are held"));
        const auto reached = held.back().number();
        held.clear();
        CHECK(source.next_blocking().number() == reached + 1);
    }
}
