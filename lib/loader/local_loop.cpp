#include "loader/local_loop.hpp"

#include <boost/asio/post.hpp>

namespace stoker::detail {

local_loop::local_loop(int in_flight, std::chrono::milliseconds sample_timeout, bool go_on)
    : limits_(loop().get_executor(), in_flight, sample_timeout) {
    limits_.go_on = go_on;
}

boost::asio::io_context& local_loop::loop() {
    static auto* const only = new boost::asio::io_context;
    return *only;
}

std::recursive_mutex& local_loop::gate() {
    static auto* const only = new std::recursive_mutex;
    return *only;
}

bool local_loop::run_one(std::exception_ptr& stray,
                         const std::shared_ptr<boost::asio::cancellation_signal>& stop) {
    loop().restart();
    try {
        return loop().run_one() > 0;
    } catch (...) {
        if (stray)
            return true;
        stray = std::current_exception();
    }
    // On the loop, where it acts at once: otherwise it would be passed on there by a pointer to a
    // signal that may be gone by then.
    boost::asio::post(loop(), [stop] { stop->emit(boost::asio::cancellation_type::terminal); });
    return true;
}

}  // namespace stoker::detail
