// expect: stoker: next() takes a completion token, or a handler that can be called with
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <stoker/loader/loader.hpp>
#include <vector>

void ask(stoker::loader<std::vector<float>>& from, boost::asio::io_context& io) {
#ifdef CONTROL
    auto handler = [](const std::exception_ptr&, const stoker::batch<float>&) {};
#else
    auto handler = [](const stoker::batch<float>&) {};
#endif
    from.next(boost::asio::bind_executor(io.get_executor(), handler));
}
