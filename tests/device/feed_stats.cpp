#include <stoker/device/feed_stats.hpp>

#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

template <class Element>
struct picture {
    stoker::tensor<Element, 16, 16, 3> pixels;
};

template <class Element>
struct pictures {
    std::size_t size() const { return 64; }
    picture<Element> get(stoker::index) const { return {}; }
};

/// What an epoch of these pictures sends, and what crossed the simulated bus.
template <class Element>
std::uint64_t bytes_of_an_epoch() {
    const simulated_platform platform(quick());
    stoker::loader loader{pictures<Element>{}, {.batch_size = 16, .num_workers = 0}};
    stoker::device_feed feed{std::move(loader), simulated_device()};
    while (feed.next_blocking()) {
    }
    CHECK(feed.stats().copies == 4);
    CHECK(platform.traffic().host_to_device_copies == 4);
    CHECK(platform.traffic().host_to_device_bytes == feed.stats().copied_bytes);
    return feed.stats().copied_bytes;
}

}  // namespace

TEST_CASE("bytes are sent as bytes: a quarter of what the same samples are as float32") {
    const std::uint64_t narrow = bytes_of_an_epoch<std::uint8_t>();
    CHECK(narrow == 64 * 16 * 16 * 3);
    CHECK(bytes_of_an_epoch<float>() == 4 * narrow);
}

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
