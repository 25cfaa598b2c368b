// Objects fetched over HTTP: `get` is a coroutine, each worker keeps a pool of connections that it
// opened itself, and has up to `in_flight` requests under way. The server, which takes 20 ms for
// an answer, is a child of this program.
//
//     build/examples/10_remote
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <stoker/stoker.hpp>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using namespace std::chrono_literals;

struct connection {
    explicit connection(const asio::any_io_executor& executor) : socket(executor) {}
    tcp::socket socket;
    boost::beast::flat_buffer buffer;
};

struct remote_object {
    std::int64_t id;
    stoker::tensor<std::uint8_t, 64> bytes;
};

class remote_objects {
  public:
    explicit remote_objects(std::uint16_t port) : port_(port) {}
    std::size_t size() const { return 400; }

    asio::awaitable<remote_object> get(stoker::index i) {
        auto one = co_await take_connection();
        http::request<http::empty_body> request{http::verb::get, "/" + std::to_string(i), 11};
        request.set(http::field::host, "localhost");
        co_await http::async_write(one->socket, request, asio::use_awaitable);
        http::response<http::string_body> response;
        co_await http::async_read(one->socket, one->buffer, response, asio::use_awaitable);
        idle_.push_back(std::move(one));  // only now: one that failed half-way is not used again
        if (response.result() != http::status::ok)
            throw std::runtime_error("/" + std::to_string(i) + ": " +
                                     std::string(response.reason()));
        remote_object made{std::int64_t(i), {}};
        if (response.body().size() != made.bytes.size())
            throw std::runtime_error("/" + std::to_string(i) + ": wrong length");
        std::copy(response.body().begin(), response.body().end(), made.bytes.begin());
        co_return made;
    }

  private:
    // Connections belong to the worker that opened them: one made in main would be dead here.
    asio::awaitable<std::unique_ptr<connection>> take_connection() {
        if (!idle_.empty()) {
            auto one = std::move(idle_.back());
            idle_.pop_back();
            co_return one;
        }
        auto one = std::make_unique<connection>(co_await asio::this_coro::executor);
        co_await one->socket.async_connect({asio::ip::address_v4::loopback(), port_},
                                           asio::use_awaitable);
        co_return one;
    }

    std::uint16_t port_;
    std::vector<std::unique_ptr<connection>> idle_{};
};

asio::awaitable<void> answer(tcp::socket socket) {
    boost::beast::flat_buffer buffer;
    asio::steady_timer timer(socket.get_executor());
    for (;;) {
        http::request<http::empty_body> request;
        co_await http::async_read(socket, buffer, request, asio::use_awaitable);
        timer.expires_after(20ms);
        co_await timer.async_wait(asio::use_awaitable);
        http::response<http::string_body> response{http::status::ok, request.version()};
        response.body().assign(64, request.target().back());
        if (request.target() == "/113")
            response.result(http::status::not_found);
        response.prepare_payload();
        co_await http::async_write(socket, response, asio::use_awaitable);
    }
}

// Ends the server whichever way main is left.
struct server_guard {
    pid_t server;
    ~server_guard() {
        ::kill(server, SIGKILL);
        ::waitpid(server, nullptr, 0);
    }
};

// Forked before the loader is made, so that there is no thread for it in this process.
pid_t start_server(std::uint16_t& port) {
    asio::io_context io;
    tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
    port = acceptor.local_endpoint().port();
    io.notify_fork(asio::io_context::fork_prepare);
    const pid_t child = ::fork();
    if (child != 0)
        return child;
    io.notify_fork(asio::io_context::fork_child);
    auto serve = [&]() -> asio::awaitable<void> {
        for (;;) {
            tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
            asio::co_spawn(io, answer(std::move(socket)), [](const std::exception_ptr&) {});
        }
    };
    asio::co_spawn(io, serve, stoker::rethrow);
    io.run();
    ::_exit(0);
}

asio::awaitable<void> train(stoker::loader<remote_objects>& loader) {
    std::size_t samples = 0;
    for (int errors = 0; errors < 5;) {  // in a row: then it is no single object's fault
        auto [failure, batch] = co_await loader.next(asio::as_tuple(asio::use_awaitable));
        if (failure) {
            ++errors;
            try {
                std::rethrow_exception(failure);
            } catch (const stoker::error& told) {
                std::cout << "sample " << told.sample().value_or(0) << ": " << told.text() << '\n';
            }
        } else if (!batch) {
            break;
        } else {
            errors = 0;
            samples += batch.size();
        }
    }
    std::cout << samples << " of " << loader.size() << " objects\n";
}

int main() try {
    std::uint16_t port = 0;
    const server_guard server{start_server(port)};
    stoker::loader loader{remote_objects{port},
                          {.batch_size = 16,
                           .num_workers = 2,
                           .in_flight = 64,
                           .timeout = 30s,
                           .sample_timeout = 5s,
                           .prefetch_factor = 4}};
    asio::io_context io;
    asio::co_spawn(io, train(loader), stoker::rethrow);
    io.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// sample 113: /113: Not Found
// 384 of 400 objects
