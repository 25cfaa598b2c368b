#pragma once

#include <exception>
#include <utility>

#include <boost/asio/associator.hpp>

#include <stoker/device/device_lease.hpp>

namespace stoker::detail {

/// Turns a feed engine's untyped result into a device batch for the user's handler, with whose
/// executor, allocator and cancellation slot it is associated.
template <class Handler, class Batch>
struct device_handler {
    Handler handler;

    void operator()(std::exception_ptr failure, device_lease held) {
        std::move(handler)(std::move(failure), Batch(std::move(held)));
    }
};

}  // namespace stoker::detail

template <template <class, class> class Associator, class Handler, class Batch, class Default>
struct boost::asio::associator<Associator, stoker::detail::device_handler<Handler, Batch>, Default>
    : Associator<Handler, Default> {
    static auto get(const stoker::detail::device_handler<Handler, Batch>& wrapped) noexcept {
        return Associator<Handler, Default>::get(wrapped.handler);
    }
    static auto get(const stoker::detail::device_handler<Handler, Batch>& wrapped,
                    const Default& fallback) noexcept {
        return Associator<Handler, Default>::get(wrapped.handler, fallback);
    }
};
