// expect: stoker: next() needs an executor to complete on
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <stoker/loader/loader.hpp>
#include <vector>

void ask(stoker::loader<std::vector<float>>& from, boost::asio::io_context& io) {
    auto handler = [](const std::exception_ptr&, const stoker::batch<float>&) {};
#ifdef CONTROL
    from.next(boost::asio::bind_executor(io.get_executor(), handler));
#else
    static_cast<void>(io);
    from.next(handler);
#endif
}
