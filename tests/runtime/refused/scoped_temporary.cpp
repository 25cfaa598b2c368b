// expect: deleted function
// A temporary body must not compile: g++ 12 would destroy twice what it owns. The same body with a
// name must, which shows that it is the temporary that is refused.
#include <stoker/runtime/scope.hpp>

boost::asio::awaitable<void> parent() {
#ifdef REFUSED
    co_await stoker::scoped([](stoker::scope&) -> boost::asio::awaitable<void> { co_return; });
#else
    const auto body = [](stoker::scope&) -> boost::asio::awaitable<void> { co_return; };
    co_await stoker::scoped(body);
#endif
}
