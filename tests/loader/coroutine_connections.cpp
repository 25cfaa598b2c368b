#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;
namespace asio = boost::asio;

namespace {

/// A server that answers each 8-byte number with its square, on a thread of its own.
class square_server {
  public:
    square_server() : acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {
        asio::co_spawn(io_, accept(), [](const std::exception_ptr&) {});
        thread_ = std::thread([this] { io_.run(); });
    }
    ~square_server() {
        io_.stop();
        thread_.join();
    }
    unsigned short port() const { return acceptor_.local_endpoint().port(); }

  private:
    asio::awaitable<void> accept() {
        for (;;) {
            asio::ip::tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
            asio::co_spawn(io_, answer(std::move(socket)), [](const std::exception_ptr&) {});
        }
    }
    asio::awaitable<void> answer(asio::ip::tcp::socket socket) {
        for (;;) {
            std::int64_t value = 0;
            co_await asio::async_read(socket, asio::buffer(&value, sizeof value),
                                      asio::use_awaitable);
            value *= value;
            co_await asio::async_write(socket, asio::buffer(&value, sizeof value),
                                       asio::use_awaitable);
        }
    }

    asio::io_context io_{1};
    asio::ip::tcp::acceptor acceptor_;
    std::thread thread_{};
};

/// A connection for each worker, opened there, kept over epochs.
struct remote_squares {
    unsigned short port = 0;
    std::unique_ptr<asio::ip::tcp::socket> connection{};
    std::size_t size() const { return 20; }
    asio::awaitable<void> open() {
        connection = std::make_unique<asio::ip::tcp::socket>(co_await asio::this_coro::executor);
        co_await connection->async_connect({asio::ip::address_v4::loopback(), port},
                                           asio::use_awaitable);
    }
    asio::awaitable<number> get(stoker::index i) {
        std::int64_t value = static_cast<std::int64_t>(i);
        co_await asio::async_write(*connection, asio::buffer(&value, sizeof value),
                                   asio::use_awaitable);
        co_await asio::async_read(*connection, asio::buffer(&value, sizeof value),
                                  asio::use_awaitable);
        co_return number{value, 0};
    }
};

}  // namespace

TEST_CASE("connections are opened in each worker, on its loop, and last over epochs", "[loader]") {
    for (const int workers : {0, 2}) {
        // The loader comes first: the server has a thread.
        unsigned short port = 0;
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        const pid_t server = ::fork();
        if (server == 0) {
            square_server serving;
            port = serving.port();
            (void)!::write(ends[1], &port, sizeof port);
            ::pause();
        }
        REQUIRE(::read(ends[0], &port, sizeof port) == sizeof port);
        {
            loader source{remote_squares{port},
                          {.batch_size = 3, .num_workers = workers, .in_flight = 1}};
            for (int epoch = 0; epoch < 3; ++epoch) {
                std::int64_t expected = 0;
                for (auto& batch : source) {
                    for (const auto value : batch[&number::value]) {
                        CHECK(value == expected * expected);
                        ++expected;
                    }
                }
                CHECK(expected == 20);
            }
        }
        ::kill(server, SIGKILL);
        ::waitpid(server, nullptr, 0);
        ::close(ends[0]);
        ::close(ends[1]);
    }
}
