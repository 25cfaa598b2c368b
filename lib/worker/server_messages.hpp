#pragma once
// What main and a fork server say to each other: one fixed-size message a packet, descriptors
// beside it. Both ends are the same program, so that the structs are their own format.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "ipc/slab.hpp"

namespace stoker::detail {

/// A text of bounded length inside a message.
template <std::size_t Size>
struct message_text {
    std::array<char, Size> characters{};

    void assign(std::string_view text) {
        const std::size_t length = std::min(text.size(), Size - 1);
        std::memcpy(characters.data(), text.data(), length);
        characters[length] = '\0';
    }
    std::string text() const {
        return std::string(characters.data(), ::strnlen(characters.data(), Size));
    }
};

enum class request_kind : std::uint32_t {
    set_up = 1,  ///< descriptors: slab, control words, result bell
    announce,    ///< queues that main is going to create
    spawn,       ///< descriptor: the worker's own bell
    kill,        ///< the worker, which main cannot signal itself
    build,       ///< of a recipe server only: package, report, lifeline, directory
};

/// Main → fork server.
struct server_request {
    request_kind kind{};
    std::int32_t worker = -1;
    std::int32_t num_workers = 0;
    std::int32_t in_flight = 1;
    std::int32_t worker_threads = 0;
    std::uint32_t reserved = 0;
    std::uint64_t seed = 0;
    std::int64_t skip_bad = 0;        ///< leave out samples that fail
    std::int64_t sample_timeout = 0;  ///< milliseconds
    slot_geometry geometry{};
    message_text<64> name{};
    message_text<96> tasks{};
    message_text<96> results{};
};

enum class report_kind : std::uint32_t {
    hello = 1,    ///< descriptor: pidfd of the fork server; pid
    spawned,      ///< descriptor: pidfd of the worker; pid
    not_spawned,  ///< text
    exited,       ///< pid, code, status; text: what a worker that could not start has to say
    stopped,
    continued,
    built,         ///< of a recipe: value is the dataset's size
    build_failed,  ///< the report lies in the memory file that came with the request
    server_ended,  ///< by a recipe server, of its child: code, status
    giving_up,     ///< last words of a fork server that cannot go on: text
};

/// Fork server → main.
struct server_report {
    report_kind kind{};
    std::int32_t worker = -1;
    std::int32_t pid = 0;
    std::int32_t code = 0;
    std::int32_t status = 0;
    std::uint32_t is_stream = 0;  ///< built: 1: of unknown size, 2: value is its size
    std::uint64_t value = 0;
    std::uint64_t shards = 0;  ///< built: of a stream
    message_text<512> text{};
};

template <class Message>
std::span<const std::byte> bytes_of(const Message& message) {
    static_assert(std::is_trivially_copyable_v<Message>);
    return std::as_bytes(std::span(&message, 1));
}

template <class Message>
std::span<std::byte> writable_bytes_of(Message& message) {
    static_assert(std::is_trivially_copyable_v<Message>);
    return std::as_writable_bytes(std::span(&message, 1));
}

}  // namespace stoker::detail
