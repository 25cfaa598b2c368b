#pragma once

#include <type_traits>

#include <boost/asio/awaitable.hpp>

namespace stoker::detail {

/// What a call gives in the end: its result, or what the coroutine that it returns will give.
template <class Result>
struct awaited : std::type_identity<Result> {
    static constexpr bool waits = false;
};
template <class Result, class Executor>
struct awaited<boost::asio::awaitable<Result, Executor>> : std::type_identity<Result> {
    static_assert(std::is_same_v<Executor, boost::asio::any_io_executor>,
                  "stoker: a dataset's coroutines are boost::asio::awaitable<T>, with its default "
                  "executor");
    static constexpr bool waits = true;
};

template <class Result>
using awaited_result = typename awaited<Result>::type;
template <class Result>
inline constexpr bool is_awaitable = awaited<Result>::waits;

}  // namespace stoker::detail
