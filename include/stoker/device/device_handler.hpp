#pragma once

#include <exception>
#include <utility>

#include <boost/asio/associator.hpp>

#include <stoker/device/device_batch.hpp>
#include <stoker/device/device_lease.hpp>

namespace stoker::detail {

/// Turns a feed engine's untyped result into a device batch for the user's handler, with whose
/// executor, allocator and cancellation slot it is associated.
template <class Handler, class Sample>
struct device_handler {
    Handler handler;

    void operator()(std::exception_ptr failure, device_lease held) {
        std::move(handler)(std::move(failure), device_batch<Sample>(std::move(held)));
    }
};

}  // namespace stoker::detail

template <template <class, class> class Associator, class Handler, class Sample, class Default>
struct boost::asio::associator<Associator, stoker::detail::device_handler<Handler, Sample>, Default>
    : Associator<Handler, Default> {
    static auto get(const stoker::detail::device_handler<Handler, Sample>& wrapped) noexcept {
        return Associator<Handler, Default>::get(wrapped.handler);
    }
    static auto get(const stoker::detail::device_handler<Handler, Sample>& wrapped,
                    const Default& fallback) noexcept {
        return Associator<Handler, Default>::get(wrapped.handler, fallback);
    }
};
