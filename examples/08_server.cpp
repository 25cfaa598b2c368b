// A server that goes on answering while it trains: one thread, one io_context, the loader made
// first in main. How late a timer comes, idle and beside training, is printed to standard error.
//
//     build/examples/08_server
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <stoker/stoker.hpp>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using namespace std::chrono_literals;

struct reading {
    stoker::tensor<float, 64> values;
};
struct readings {
    std::size_t size() const { return 4000; }
    reading get(stoker::index i, stoker::context& context) const {
        if (i == 1234)
            throw std::runtime_error("the sensor was off");
        reading made;
        for (auto& value : made.values)
            value = float(context.random.normal());
        return made;
    }
};

struct progress {
    int steps = 0;
    int answered_while_training = 0;
    bool training = false;
    double sum = 0;
};

asio::awaitable<void> answer(tcp::socket socket, progress& now) {
    boost::beast::flat_buffer buffer;
    for (;;) {
        http::request<http::empty_body> request;
        co_await http::async_read(socket, buffer, request, asio::use_awaitable);
        http::response<http::string_body> response{http::status::ok, request.version()};
        response.body() = "{\"steps\": " + std::to_string(now.steps) + "}\n";
        response.keep_alive(request.keep_alive());
        response.prepare_payload();
        co_await http::async_write(socket, response, asio::use_awaitable);
    }
}
asio::awaitable<void> serve(tcp::acceptor& acceptor, progress& now) {
    const auto executor = co_await asio::this_coro::executor;
    for (;;) {
        tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
        asio::co_spawn(executor, answer(std::move(socket), now), [](const std::exception_ptr&) {});
    }
}

// Asks over and over, as a monitoring system would.
asio::awaitable<void> ask(tcp::endpoint where, progress& now) {
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect(where, asio::use_awaitable);
    boost::beast::flat_buffer buffer;
    for (;;) {
        http::request<http::empty_body> request{http::verb::get, "/status", 11};
        request.set(http::field::host, "localhost");
        co_await http::async_write(socket, request, asio::use_awaitable);
        http::response<http::string_body> response;
        co_await http::async_read(socket, buffer, response, asio::use_awaitable);
        now.answered_while_training += now.training;
    }
}

asio::awaitable<void> tell_lateness(const char* when, std::chrono::milliseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    std::vector<std::chrono::microseconds> lateness;
    const auto end = std::chrono::steady_clock::now() + span;
    while (std::chrono::steady_clock::now() < end) {
        timer.expires_after(1ms);
        co_await timer.async_wait(asio::use_awaitable);
        lateness.push_back(std::chrono::duration_cast<std::chrono::microseconds>(
            std::chrono::steady_clock::now() - timer.expiry()));
    }
    std::sort(lateness.begin(), lateness.end());
    std::cerr << "timer " << when << ": late by " << lateness[lateness.size() / 2].count()
              << " us (median), " << lateness.back().count() << " us (most)\n";
}

asio::awaitable<void> train(stoker::loader<readings>& loader, progress& now) {
    co_await tell_lateness("idle", 200ms);
    asio::co_spawn(co_await asio::this_coro::executor, tell_lateness("beside training", 200ms),
                   stoker::rethrow);
    now.training = true;
    int errors_in_a_row = 0;
    for (int epoch = 0; epoch < 10;) {
        try {
            while (auto batch = co_await loader.next()) {
                for (const float value : batch[&reading::values].elements())
                    now.sum += double(value);
                ++now.steps;
                errors_in_a_row = 0;
            }
            ++epoch;
        } catch (const stoker::error& failure) {  // costs one batch; the loop goes on after it
            if (now.steps < 200)
                std::cout << "left out a batch: " << failure.text() << '\n';
            if (++errors_in_a_row == 3)
                throw;
        }
    }
    now.training = false;
}

int main() try {
    stoker::loader loader{readings{}, {.batch_size = 16, .num_workers = 2, .epochs = 10}};
    asio::io_context io;
    tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
    progress now;
    asio::signal_set stop{io, SIGINT, SIGTERM};
    stop.async_wait([&](const boost::system::error_code&, int) { io.stop(); });
    asio::co_spawn(io, serve(acceptor, now), stoker::rethrow);
    asio::co_spawn(io, ask(acceptor.local_endpoint(), now), stoker::rethrow);
    asio::co_spawn(io, train(loader, now), [&](const std::exception_ptr& failure) {
        io.stop();
        if (failure)
            std::rethrow_exception(failure);
    });
    io.run();
    std::cout << now.steps << " steps; answered while training: " << std::boolalpha
              << (now.answered_while_training > 0) << '\n';
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// left out a batch: the sensor was off
// 2490 steps; answered while training: true
