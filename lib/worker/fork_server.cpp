#include <stoker/worker/fork_server.hpp>

#include <utility>

#include "worker/recipe_server.hpp"

namespace stoker {

fork_server::fork_server(std::chrono::milliseconds build_limit)
    : connection_(std::make_shared<const detail::recipe_connection>(build_limit)) {}

fork_server::fork_server(fork_server&&) noexcept = default;

fork_server& fork_server::operator=(fork_server&& other) noexcept {
    if (this != &other) {
        if (connection_)
            connection_->end();
        connection_ = std::move(other.connection_);
    }
    return *this;
}

fork_server::~fork_server() {
    if (connection_)
        connection_->end();
}

pid_t fork_server::pid() const noexcept {
    return connection_ ? connection_->pid : 0;
}

std::shared_ptr<const detail::recipe_origin> fork_server::origin_for(
    std::initializer_list<const void*> functions) const {
    if (connection_ == nullptr)
        throw error(errc::fork_server_died, "the stoker::fork_server object was moved from");
    for (const void* function : functions)
        connection_->require_known(function);
    return std::make_shared<const detail::recipe_origin>(connection_);
}

}  // namespace stoker
