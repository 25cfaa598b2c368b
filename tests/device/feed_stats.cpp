#include <stoker/device/feed_stats.hpp>

#include "device/device_rig.hpp"

using namespace device_rig;

TEST_CASE("a feed's figures read as one line") {
    stoker::feed_stats stats;
    stats.mode = stoker::pinning::bounce;
    stats.batches = 12;
    stats.copies = 11;
    stats.copied_bytes = 3 << 20;
    stats.bounced = 9;
    CHECK(contains(stats.text(), "12 batches, 3.0 MiB in 11 copies"));
    CHECK(contains(stats.text(), "pinning: bounce"));
    CHECK(contains(stats.text(), "9 bounced"));
}

TEST_CASE("each way of pinning has a name of its own") {
    CHECK(std::string_view(name_of(stoker::pinning::none)) == "none");
    CHECK(std::string_view(name_of(stoker::pinning::registered)) == "registered");
    CHECK(std::string_view(name_of(stoker::pinning::bounce)) == "bounce");
    CHECK(std::string_view(name_of(stoker::pinning::pageable)) == "pageable");
}
