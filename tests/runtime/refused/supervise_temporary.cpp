// expect: child_factory
// A temporary factory that owns something must not compile; one with a name must, and so must a
// temporary that only refers.
#include <memory>

#include <stoker/runtime/supervise.hpp>

boost::asio::awaitable<void> parent(std::shared_ptr<int> owned) {
    const auto named = [owned]() -> boost::asio::awaitable<void> { co_return; };
#ifdef REFUSED
    co_await stoker::supervise({}, [owned]() -> boost::asio::awaitable<void> { co_return; });
#else
    co_await stoker::supervise({}, named);
    co_await stoker::supervise({}, [&]() -> boost::asio::awaitable<void> { co_return; });
#endif
}
