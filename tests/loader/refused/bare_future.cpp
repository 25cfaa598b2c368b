// expect: stoker: a bare use_future completes on hidden threads of Asio's own
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <stoker/loader/loader.hpp>
#include <vector>

auto ask(stoker::loader<std::vector<float>>& from, boost::asio::io_context& io) {
#ifdef CONTROL
    return from.next(boost::asio::bind_executor(io.get_executor(), boost::asio::use_future));
#else
    static_cast<void>(io);
    return from.next(boost::asio::use_future);
#endif
}
