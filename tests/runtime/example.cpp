// The example of docs/runtime.md: actors that pass work along, one of which fails now and then.
#include <iostream>
#include <stdexcept>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

#include <stoker/runtime/channel.hpp>
#include <stoker/runtime/rethrow.hpp>
#include <stoker/runtime/scope.hpp>
#include <stoker/runtime/supervise.hpp>

namespace asio = boost::asio;

asio::awaitable<void> read(stoker::sender<std::string> lines) {
    for (const std::string line : {"one", "two", "bad", "three"}) {
        auto permit = co_await lines.reserve();  // waits for room
        permit.send(line);                       // cannot fail or wait
    }
}

asio::awaitable<void> print(stoker::receiver<std::string>& lines) {
    while (auto line = co_await lines.receive()) {  // false when all senders are gone
        if (*line == "bad")
            throw std::runtime_error("cannot print " + *line);
        std::cout << *line << '\n';
    }
}

asio::awaitable<void> run() {
    auto [tx, rx] = stoker::channel<std::string>(co_await asio::this_coro::executor, 16);
    auto make_printer = [&] { return print(rx); };
    auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
        children.spawn(read(std::move(tx)));
        co_await stoker::supervise({.max_restarts = 3}, make_printer);
    };
    co_await stoker::scoped(body);  // returns when every child has ended
    std::cout << "done\n";
}

int main() {
    asio::io_context io;
    asio::co_spawn(io, run(), stoker::rethrow);  // an exception leaves io.run()
    io.run();
}
