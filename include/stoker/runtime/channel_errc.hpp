#pragma once

#include <type_traits>

#include <boost/system/error_code.hpp>

namespace stoker {

/// Why an operation on a channel was refused. Cancellation is
/// `boost::asio::error::operation_aborted`.
enum class channel_errc : int {
    closed = 1,  ///< the channel was closed, or its receiver is gone: nothing more can be sent
    busy,        ///< another receive is pending: a channel has one waiter on its receiving side
};

/// The category "stoker.channel".
const boost::system::error_category& channel_category() noexcept;
/// For boost::system::error_code, which finds it by argument-dependent lookup.
boost::system::error_code make_error_code(channel_errc code) noexcept;

}  // namespace stoker

/// @cond
template <>
struct boost::system::is_error_code_enum<stoker::channel_errc> : std::true_type {};
/// @endcond
