#include "worker/error_report.hpp"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace stoker::detail {
namespace {

error_details full() {
    error_details details;
    details.code = errc::sample_failed;
    details.text = std::string(64 * 1024, 'x') + "end";
    details.remedy = "a remedy of its own";
    details.sample = 17;
    details.file = "train/17.png";
    details.worker = 3;
    details.pid = 4711;
    details.type = "std::runtime_error";
    return details;
}

std::vector<std::byte> written(const error_details& details) {
    std::vector<std::byte> bytes(report_bytes(details));
    bytes.resize(write_report(bytes, details));
    return bytes;
}

TEST_CASE("a report keeps every detail and a text of 64 KiB whole", "[worker]") {
    const error_details sent = full();
    const error_details read = read_report(written(sent));
    CHECK(read.code == sent.code);
    CHECK(read.text == sent.text);
    CHECK(read.remedy == sent.remedy);
    CHECK(read.sample == sent.sample);
    CHECK(read.file == sent.file);
    CHECK(read.worker == sent.worker);
    CHECK(read.pid == sent.pid);
    CHECK(read.type == sent.type);
}

TEST_CASE("a report of almost nothing comes back as it was", "[worker]") {
    error_details sent;
    sent.code = errc::resource;
    const error_details read = read_report(written(sent));
    CHECK(read.code == errc::resource);
    CHECK(read.text.empty());
    CHECK_FALSE(read.sample.has_value());
    CHECK(read.worker == -1);
    CHECK(read.pid == 0);
}

TEST_CASE("a report can have every code there is, and no other", "[worker]") {
    int codes = 0;
    for (int value = -1; value < 1000; ++value) {
        CAPTURE(value);
        error_details sent = full();
        sent.code = static_cast<errc>(value);
        const error_details read = read_report(written(sent));
        if (is_known(sent.code)) {
            ++codes;
            CHECK(read.code == sent.code);
            CHECK(read.text == sent.text);
        } else {
            CHECK(read.code == errc::protocol);
            CHECK(read.text.find("unknown code " + std::to_string(value)) != std::string::npos);
        }
    }
    CHECK(codes >= static_cast<int>(errc::stream_captured));
}

TEST_CASE("texts that do not fit are shortened, the longest first, and say so", "[worker]") {
    const error_details sent = full();
    std::vector<std::byte> room(1024);
    const auto bytes = write_report(room, sent);
    REQUIRE(bytes == room.size());
    const error_details read = read_report(room);
    CHECK(read.type == sent.type);
    CHECK(read.file == sent.file);
    CHECK(read.sample == sent.sample);
    CHECK(read.text.starts_with("xxxx"));
    CHECK(read.text.ends_with("[shortened]"));
}

TEST_CASE("without room for the numbers nothing is written", "[worker]") {
    std::vector<std::byte> room(8);
    CHECK(write_report(room, full()) == 0);
}

TEST_CASE("a damaged report becomes a protocol error and is never read beyond its end",
          "[worker]") {
    const std::vector<std::byte> good = written(full());
    SECTION("cut anywhere") {
        for (std::size_t size = 0; size < 128; ++size)
            CHECK(read_report({good.data(), size}).code == errc::protocol);
        CHECK(read_report({good.data(), good.size() - 1}).code == errc::protocol);
    }
    SECTION("any byte of the header changed") {
        std::mt19937 random(1);
        for (int round = 0; round < 2000; ++round) {
            std::vector<std::byte> bad = good;
            for (int change = 0; change < 4; ++change)
                bad[random() % 96] = static_cast<std::byte>(random());
            const error_details read = read_report(bad);
            CHECK(read.text.size() <= bad.size());
        }
    }
    SECTION("lengths whose sum wraps around") {
        std::vector<std::byte> bad = good;
        const std::uint64_t huge = ~std::uint64_t{0} - 10;
        for (std::size_t at = 40; at + 8 <= 72; at += 8)
            std::memcpy(bad.data() + at, &huge, sizeof huge);
        CHECK(read_report(bad).code == errc::protocol);
    }
}

}  // namespace
}  // namespace stoker::detail
