#include "device/simulated_stream.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using stoker::detail::simulated_stamp;
using stoker::detail::simulated_stream;

TEST_CASE("a stream's work is done in order, late or not") {
    std::vector<int> order;
    {
        simulated_stream stream(0, 1, std::chrono::microseconds(200));
        for (int i = 0; i < 50; ++i) {
            const auto work = [&order, i] { order.push_back(i); };
            if (i % 2 == 0)
                stream.push(work);
            else
                stream.push_late(work);
        }
    }
    REQUIRE(order.size() == 50);
    for (int i = 0; i < 50; ++i)
        CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a stamp is waited for by streams and by threads") {
    simulated_stamp first;
    simulated_stamp second;
    int seen = 0;
    int value = 0;
    simulated_stream writer(0, 1, std::chrono::microseconds(500));
    simulated_stream reader(0, 2, std::chrono::microseconds(0));
    reader.push([&] {
        first.wait();
        seen = value;
        second.set();
    });
    writer.push_late([&] {
        value = 7;
        first.set();
    });
    second.wait();
    CHECK(second.is_set());
    CHECK(seen == 7);
}

TEST_CASE("work knows that it runs on a stream") {
    std::atomic<bool> there{false};
    CHECK_FALSE(simulated_stream::is_here());
    {
        simulated_stream stream(0, 1, std::chrono::microseconds(0));
        stream.push([&] { there = simulated_stream::is_here(); });
    }
    CHECK(there);
}
