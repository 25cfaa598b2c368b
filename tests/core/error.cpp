#include <boost/assert/source_location.hpp>
#include <boost/system/system_error.hpp>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <stoker/core/error.hpp>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using stoker::errc;
using stoker::error;
using stoker::error_details;
using stoker::detail::describe;

static_assert(std::is_nothrow_copy_constructible_v<error>);
static_assert(std::is_nothrow_copy_assignable_v<error>);
static_assert(std::is_base_of_v<std::runtime_error, error>);
static_assert(std::is_error_code_enum_v<errc>);

namespace {

constexpr int first_value = static_cast<int>(errc::invalid_option);
constexpr int last_value = static_cast<int>(errc::stream_captured);

/// A switch without default: the compiler names a value that these tests do not walk.
bool is_listed(errc code) {
    switch (code) {
        case errc::invalid_option:
        case errc::invalid_dataset:
        case errc::index_out_of_range:
        case errc::sample_failed:
        case errc::shape_mismatch:
        case errc::collate_failed:
        case errc::worker_start_failed:
        case errc::worker_died:
        case errc::worker_stopped:
        case errc::timed_out:
        case errc::no_free_slot:
        case errc::batch_too_large:
        case errc::memory_limit:
        case errc::threads_at_fork:
        case errc::fork_server_died:
        case errc::protocol:
        case errc::busy:
        case errc::resource:
        case errc::no_device:
        case errc::device_failed:
        case errc::stream_captured:
            return true;
    }
    return false;
}

template <class Exception>
std::exception_ptr thrown(Exception exception) {
    return std::make_exception_ptr(std::move(exception));
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

struct decode_failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct header_failure : error {
    using error::error;
};

struct no_exception_at_all {};

std::exception_ptr decoding_fails_because_of_a_file() {
    try {
        try {
            throw std::system_error{ENOENT, std::generic_category(), "open a.png"};
        } catch (...) {
            std::throw_with_nested(decode_failure{"cannot decode"});
        }
    } catch (...) {
        return std::current_exception();
    }
}

}  // namespace

TEST_CASE("every error code has a message and a remedy of its own", "[core]") {
    std::set<std::string_view> messages;
    std::set<std::string_view> remedies;
    for (int value = first_value; value <= last_value; ++value) {
        const auto code = static_cast<errc>(value);
        CAPTURE(value);
        REQUIRE(is_listed(code));
        CHECK_FALSE(stoker::message(code).empty());
        CHECK_FALSE(stoker::remedy(code).empty());
        CHECK(messages.insert(stoker::message(code)).second);
        CHECK(remedies.insert(stoker::remedy(code)).second);
        CHECK(stoker::message(code) != stoker::message(errc{}));
    }
    CHECK_FALSE(is_listed(static_cast<errc>(last_value + 1)));
    CHECK_FALSE(stoker::message(static_cast<errc>(last_value + 1)).empty());
    CHECK_FALSE(stoker::remedy(static_cast<errc>(last_value + 1)).empty());
}

TEST_CASE("a code is known exactly if it is listed", "[core]") {
    for (int value = -10; value < 1000; ++value) {
        CAPTURE(value);
        CHECK(stoker::detail::is_known(static_cast<errc>(value)) ==
              is_listed(static_cast<errc>(value)));
    }
}

TEST_CASE("error codes convert to std::error_code of the category stoker", "[core]") {
    const std::error_code code = errc::timed_out;
    CHECK(code.category() == stoker::error_category());
    CHECK(code.category().name() == std::string{"stoker"});
    CHECK(code.value() == static_cast<int>(errc::timed_out));
    CHECK(code.message() == stoker::message(errc::timed_out));
    CHECK(code == errc::timed_out);
    CHECK(code != errc::busy);
}

TEST_CASE("an error's text is one sentence with all it knows", "[core]") {
    const error failure{error_details{.code = errc::sample_failed,
                                      .text = "bad header.\n",
                                      .remedy = "delete the file",
                                      .sample = 17,
                                      .file = "train/17.png",
                                      .worker = 2,
                                      .pid = 4711,
                                      .type = "png::failure",
                                      .loader = "train"}};
    CHECK(std::string{failure.what()} ==
          "the dataset threw while it made a sample: bad header (png::failure, sample 17, "
          "file train/17.png, worker 2, pid 4711, loader train); delete the file");
    CHECK(failure.code() == errc::sample_failed);
    CHECK(failure.text() == "bad header.\n");
    CHECK(failure.remedy() == "delete the file");
    CHECK(failure.sample() == stoker::index{17});
    CHECK(failure.file() == "train/17.png");
    CHECK(failure.worker() == 2);
    CHECK(failure.pid() == 4711);
    CHECK(failure.type() == "png::failure");
    CHECK(failure.loader() == "train");
}

TEST_CASE("an error says nothing about what it does not know", "[core]") {
    const error failure{errc::busy, ""};
    CHECK(std::string{failure.what()} == std::string{stoker::message(errc::busy)} + "; " +
                                             std::string{stoker::remedy(errc::busy)});
    CHECK(failure.remedy() == stoker::remedy(errc::busy));
    CHECK_FALSE(failure.sample().has_value());
    CHECK(failure.worker() == -1);
    CHECK(failure.pid() == 0);

    const error first_worker{error_details{.code = errc::worker_died, .worker = 0}};
    CHECK(contains(first_worker.what(), "worker 0"));
    const error negative{
        error_details{.code = errc::index_out_of_range, .sample = static_cast<stoker::index>(-1)}};
    CHECK(contains(negative.what(), "sample -1"));
    CHECK(contains(error(errc::resource, "still going...").what(), "still going..."));
}

TEST_CASE("an error that was copied or moved away still knows everything", "[core]") {
    error first{errc::timed_out, "waited 3 s"};
    const error copy = first;
    const error moved = std::move(first);
    CHECK(&copy.details() == &moved.details());
    CHECK(first.text() == "waited 3 s");  // NOLINT(bugprone-use-after-move): what is tested
    CHECK(copy.what() == moved.what());
}

TEST_CASE("a described error keeps its details", "[core]") {
    const error failure{error_details{
        .code = errc::shape_mismatch, .text = "3 and 4", .sample = 5, .worker = 1, .pid = 99}};
    const error_details details = describe(thrown(failure), errc::sample_failed);
    CHECK(details.code == errc::shape_mismatch);
    CHECK(details.text == "3 and 4");
    CHECK(details.sample == stoker::index{5});
    CHECK(details.worker == 1);
    CHECK(details.pid == 99);
    CHECK(details.type.empty());
    CHECK(details.remedy == stoker::remedy(errc::shape_mismatch));
}

TEST_CASE("an error without a code keeps what it says and becomes the fallback", "[core]") {
    for (const auto code : {errc{}, static_cast<errc>(-3), static_cast<errc>(4711)}) {
        const error failure{
            error_details{.code = code, .text = "bad header", .sample = 5, .file = "train/5.png"}};
        const error_details details = describe(thrown(failure), errc::sample_failed);
        CHECK(details.code == errc::sample_failed);
        CHECK(details.text == "bad header");
        CHECK(details.sample == stoker::index{5});
        CHECK(details.file == "train/5.png");
        CHECK(details.remedy == stoker::remedy(errc::sample_failed));
    }
    const error advised{error_details{.text = "bad header", .remedy = "delete the file"}};
    CHECK(describe(thrown(advised), errc::sample_failed).remedy == "delete the file");
}

TEST_CASE("a type derived from error is told, error itself and its wrappers are not", "[core]") {
    const error_details details =
        describe(thrown(header_failure{errc::sample_failed, "bad header"}), errc::collate_failed);
    CHECK(details.code == errc::sample_failed);
    CHECK(contains(details.type, "header_failure"));
    const error named{error_details{.code = errc::sample_failed, .type = "png::failure"}};
    CHECK(describe(thrown(named), errc::collate_failed).type == "png::failure");
    try {
        try {
            throw 42;
        } catch (...) {
            std::throw_with_nested(error{errc::collate_failed, "no way"});
        }
    } catch (...) {
        CHECK(describe(std::current_exception(), errc::sample_failed).type.empty());
    }
}

TEST_CASE("an exception of the dataset's own keeps its type and its whole text", "[core]") {
    const auto details = describe(thrown(std::out_of_range{"item 3"}), errc::sample_failed);
    CHECK(details.code == errc::sample_failed);
    CHECK(details.type == "std::out_of_range");
    CHECK(details.text == "item 3");

    const std::string lines(100'000, 'x');
    const auto long_one = describe(thrown(decode_failure{lines + "\n"}), errc::sample_failed);
    CHECK(long_one.text == lines + "\n");
    CHECK(contains(long_one.type, "decode_failure"));
}

TEST_CASE("nested exceptions are appended with type and text", "[core]") {
    const auto details = describe(decoding_fails_because_of_a_file(), errc::sample_failed);
    CHECK(contains(details.type, "decode_failure"));
    CHECK_FALSE(contains(details.type, "ested"));
    CHECK(details.text.starts_with("cannot decode; because of std::system_error: open a.png"));
    CHECK(contains(details.text, "[generic:2]"));
}

TEST_CASE("an error with a cause keeps its details and gains the cause", "[core]") {
    std::exception_ptr both;
    try {
        try {
            throw 42;
        } catch (...) {
            std::throw_with_nested(error{errc::collate_failed, "no way"});
        }
    } catch (...) {
        both = std::current_exception();
    }
    const auto details = describe(both, errc::sample_failed);
    CHECK(details.code == errc::collate_failed);
    CHECK(details.text == "no way; because of int");
}

TEST_CASE("a chain of causes without end is cut off", "[core]") {
    std::exception_ptr chain = thrown(std::runtime_error{"innermost"});
    for (int depth = 0; depth < 100; ++depth) {
        try {
            try {
                std::rethrow_exception(chain);
            } catch (...) {
                std::throw_with_nested(std::runtime_error{"link"});
            }
        } catch (...) {
            chain = std::current_exception();
        }
    }
    const auto details = describe(chain, errc::sample_failed);
    CHECK(details.text.starts_with("link; because of std::runtime_error: link"));
    CHECK(details.text.size() < 2'000);
}

TEST_CASE("numbers and paths behind a text are kept", "[core]") {
    const auto system = describe(
        thrown(std::system_error{EMFILE, std::system_category(), "socket"}), errc::sample_failed);
    CHECK(contains(system.text, "socket"));
    CHECK(contains(system.text, "[system:24]"));
    CHECK(system.type == "std::system_error");

    const auto files = describe(
        thrown(std::filesystem::filesystem_error{
            "open", "train/a.png", std::make_error_code(std::errc::no_such_file_or_directory)}),
        errc::sample_failed);
    CHECK(files.file == "train/a.png");
}

TEST_CASE("an exception of Boost's tells no place in Boost's headers", "[core]") {
    static constexpr boost::source_location place = BOOST_CURRENT_LOCATION;
    const boost::system::error_code refused{111, boost::system::system_category(), &place};
    const boost::system::system_error with_text{refused, "connect"};
    CHECK(contains(with_text.what(), "error.cpp"));
    CHECK(describe(thrown(with_text), errc::sample_failed).text ==
          "connect: Connection refused [system:111]");
    CHECK(describe(thrown(boost::system::system_error{refused}), errc::sample_failed).text ==
          "Connection refused [system:111]");
}

TEST_CASE("what is no std::exception is described too", "[core]") {
    CHECK(describe(thrown(std::string{"plain"}), errc::sample_failed).text == "plain");
    CHECK(describe(thrown<const char*>("literal"), errc::sample_failed).text == "literal");
    const auto code = describe(thrown(std::make_error_code(std::errc::timed_out)), errc::resource);
    CHECK(contains(code.text, "[generic:110]"));
    CHECK(code.type == "std::error_code");
    const auto other = describe(thrown(no_exception_at_all{}), errc::worker_start_failed);
    CHECK(other.code == errc::worker_start_failed);
    CHECK(contains(other.type, "no_exception_at_all"));
    CHECK_FALSE(other.text.empty());
    CHECK(describe(nullptr, errc::protocol).code == errc::protocol);
}
