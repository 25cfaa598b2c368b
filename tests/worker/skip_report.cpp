#include "worker/skip_report.hpp"

#include <string>

#include "support/catch.hpp"
#include "worker/worker_rig.hpp"

using namespace stoker;
using namespace stoker::detail;
using namespace stoker::detail::worker_test;

namespace {

error_details failure_of(stoker::index sample, std::string text) {
    error_details details{};
    details.code = errc::sample_failed;
    details.sample = sample;
    details.text = std::move(text);
    return details;
}

struct written {
    written() : slots(slab::create(plan_slots(2, one_number(), 16, 0, true, words_for_gaps(16)))) {
        result.slot = 1;
        result.data_bytes = 3 * 8;
        const std::vector<std::uint64_t> numbers{0, 2, 5};
        const std::vector<error_details> errors{failure_of(7, "seven"), failure_of(8, "eight"),
                                                failure_of(9, std::string(300'000, 'n'))};
        write_skips(slots, numbers, errors, result);
    }
    bool read(std::vector<std::uint64_t> known = {0, 1, 2, 3, 4, 5}) {
        return read_skips(slots, result, known, report);
    }
    slab slots;
    result_message result{};
    skip_report report{};
};

}  // namespace

TEST_CASE("what was left out comes back, long texts shortened", "[worker]") {
    written all;
    REQUIRE(all.read());
    CHECK(all.report.numbers == std::vector<std::uint64_t>{0, 2, 5});
    REQUIRE(all.report.errors.size() == 3);
    CHECK(all.report.errors[0].sample == std::optional<stoker::index>(7));
    CHECK(all.report.errors[1].text == "eight");
    CHECK(all.report.errors[2].text.size() < 70'000);
    CHECK(all.report.errors[2].text.find("[shortened]") != std::string::npos);
}

TEST_CASE("a report that does not fit what is known is refused", "[worker]") {
    written all;
    CHECK_FALSE(all.read({0, 1, 2, 3, 4}));     // the counts
    CHECK_FALSE(all.read({0, 1, 2, 3, 4, 6}));  // a number that was never there
    CHECK(all.read({0, 1, 2, 4, 5, 9}));
    numbers_of(all.slots, 1)[1] = 0;  // one twice
    CHECK_FALSE(all.read());
    written torn;
    *reinterpret_cast<std::uint64_t*>(torn.slots.data(1) + 24) = 1 << 30;  // a length
    CHECK_FALSE(torn.read());
    written long_one;
    long_one.result.report_bytes = ~std::uint32_t{0};
    CHECK_FALSE(long_one.read());
    written many;
    many.result.samples = 17;
    CHECK_FALSE(many.read());
}
