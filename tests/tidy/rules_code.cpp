#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tidy/rules.hpp"

namespace stoker::tidy {
namespace {

/// The rooms in the order of the flow. `trace` and `metrics` stand beside it: all may use them,
/// and they use core alone.
constexpr std::array<std::string_view, 12> rooms = {"core",    "runtime", "tensor", "dataset",
                                                    "sampler", "collate", "ipc",    "worker",
                                                    "loader",  "source",  "device", "tune"};
constexpr std::array<std::string_view, 2> side_rooms = {"trace", "metrics"};

template <class Names>
std::optional<std::size_t> position_in(const Names& names, std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
}

bool is_room(std::string_view name) {
    return position_in(rooms, name) || position_in(side_rooms, name);
}

/// What stands between the start and the next slash.
std::string_view first_part(std::string_view path) {
    return path.substr(0, path.find('/'));
}

/// "core" of lib/core/x.cpp and of include/stoker/core/x.hpp; empty elsewhere.
std::string_view room_of(const source_file& file) {
    std::string_view path = file.path;
    for (const std::string_view prefix : {"lib/", "include/stoker/"}) {
        if (!path.starts_with(prefix))
            continue;
        path.remove_prefix(prefix.size());
        return path.find('/') == std::string_view::npos ? std::string_view{} : first_part(path);
    }
    return {};
}

/// The header that an include line names.
std::optional<std::string> included(const std::string& line) {
    if (!line.starts_with("#"))
        return std::nullopt;
    const auto at = line.find("include");
    if (at == std::string::npos)
        return std::nullopt;
    const auto open = line.find_first_of("<\"", at);
    if (open == std::string::npos)
        return std::nullopt;
    const auto close = line.find(line[open] == '<' ? '>' : '"', open + 1);
    if (close == std::string::npos)
        return std::nullopt;
    return line.substr(open + 1, close - open - 1);
}

bool may_include(std::string_view from, std::string_view to) {
    if (from == to)
        return true;
    if (position_in(side_rooms, from))
        return to == "core";
    if (position_in(side_rooms, to))
        return from != "core";
    const auto from_rank = position_in(rooms, from);
    const auto to_rank = position_in(rooms, to);
    return !from_rank || !to_rank || *to_rank < *from_rank;
}

void check_room(const source_file& file, std::size_t number, std::string_view header,
                report& found) {
    const auto room = room_of(file);
    if (room.empty())
        return;
    if (header.starts_with("stoker/"))
        header.remove_prefix(7);
    const auto other = first_part(header);
    if (!is_room(other) || may_include(room, other))
        return;
    found.add(file, number, "room-order",
              std::string(room) + " comes before " + std::string(other) +
                  ": move the shared part to an earlier room");
}

void check_weight(const source_file& file, std::size_t number, std::string_view header,
                  report& found) {
    static constexpr std::array<std::string_view, 7> heavy = {
        "boost/asio.hpp",   "boost/process",   "boost/interprocess",
        "range/v3/all.hpp", "boost/beast.hpp", "Random123/",
        "iostream"};
    if (!file.is_under("include/"))
        return;
    for (const auto name : heavy) {
        if (!header.starts_with(name))
            continue;
        found.add(file, number, "heavy-header",
                  "include " + std::string(name) + " in lib/, or a narrow header here");
    }
}

struct forbidden_text {
    std::string_view text;
    std::string_view rule;
    std::string_view cure;
};

void check_queue_calls(const source_file& file, std::size_t number, report& found) {
    static constexpr std::array<forbidden_text, 6> calls = {{
        {"timed_send(", "blocking-queue", "use try_send behind the gate: this hangs with its peer"},
        {"timed_receive(", "blocking-queue", "use try_receive behind the gate"},
        {".send(", "blocking-queue", "use try_send behind the gate: this hangs with its peer"},
        {".receive(", "blocking-queue", "use try_receive behind the gate"},
        {"->send(", "blocking-queue", "use try_send behind the gate: this hangs with its peer"},
        {"->receive(", "blocking-queue", "use try_receive behind the gate"},
    }};
    for (const auto& call : calls) {
        if (file.code[number - 1].find(call.text) == std::string::npos)
            continue;
        found.add(file, number, std::string(call.rule), std::string(call.cure));
    }
}

void check_library_calls(const source_file& file, std::size_t number, report& found) {
    static constexpr std::array<std::string_view, 4> printers = {"cout", "cerr", "printf", "puts"};
    const auto& code = file.code[number - 1];
    if (!file.is_under("lib/ipc/") && code.find("get_num_msg") != std::string::npos) {
        found.add(file, number, "queue-count", "ask lib/ipc: the count takes the queue's lock");
    }
    if (file.is_under("lib/tune/") || code.find("flush(") != std::string::npos)
        return;
    for (const auto name : printers) {
        if (find_word(code, name) == std::string::npos)
            continue;
        found.add(file, number, "prints",
                  "throw, or call the notice callback: a library is silent");
    }
}

void check_macros(const source_file& file, std::size_t number, report& found) {
    const auto& code = file.code[number - 1];
    const auto define = code.find("define BOOST_ASIO_");
    if (define != std::string::npos) {
        found.add(file, number, "asio-macro", "leave Asio as the host has it");
    }
    const bool is_directive = code.find('#') != std::string::npos;
    if (is_directive && code.find("CUDA") != std::string::npos && !file.is_under("lib/device/")) {
        found.add(file, number, "cuda-macro", "choose a file in lib/device by the build instead");
    }
}

void check_namespace(const source_file& file, std::size_t number, report& found) {
    const auto& code = file.code[number - 1];
    if (!code.starts_with("namespace ") && !code.starts_with("inline namespace "))
        return;
    if (code.find('=') != std::string::npos)
        return;
    const auto from = find_word(code, "namespace") + 10;
    const auto name = code.substr(from, code.find_first_of(" {", from) - from);
    static constexpr std::array<std::string_view, 5> ours = {"", "stoker", "stoker::detail",
                                                             "detail", "std"};
    if (position_in(ours, name))
        return;
    found.add(file, number, "namespace", "use stoker or stoker::detail");
}

bool is_library(const source_file& file) {
    return file.is_under("lib/") || file.is_under("include/");
}

}  // namespace

void check_headers(const source_tree& tree, report& found) {
    for (const auto& file : tree.files) {
        if (!file.is_cpp())
            continue;
        const auto once = std::find(file.lines.begin(), file.lines.end(), "#pragma once");
        if (file.is_header() && once == file.lines.end()) {
            found.add(file, 1, "pragma-once", "begin with #pragma once");
        }
        for (std::size_t number = 1; number <= file.code.size(); ++number) {
            if (is_library(file))
                check_namespace(file, number, found);
            if (!file.is_header())
                continue;
            if (file.code[number - 1].find("using namespace") == std::string::npos)
                continue;
            found.add(file, number, "using-namespace", "name what is used");
        }
    }
}

void check_includes(const source_tree& tree, report& found) {
    for (const auto& file : tree.files) {
        if (!file.is_cpp())
            continue;
        const auto room = room_of(file);
        if (!room.empty() && !is_room(room)) {
            found.add(file, 1, "room-order",
                      "give the room its place in tests/tidy/rules_code.cpp");
        }
        for (std::size_t number = 1; number <= file.lines.size(); ++number) {
            const auto header = included(file.lines[number - 1]);
            if (!header)
                continue;
            check_room(file, number, *header, found);
            check_weight(file, number, *header, found);
        }
    }
}

void check_calls(const source_tree& tree, report& found) {
    for (const auto& file : tree.files) {
        if (!file.is_cpp() || file.is_under("tests/tidy/"))
            continue;
        const bool has_queue = std::any_of(
            file.code.begin(), file.code.end(),
            [](const auto& line) { return find_word(line, "message_queue") != std::string::npos; });
        for (std::size_t number = 1; number <= file.code.size(); ++number) {
            if (has_queue)
                check_queue_calls(file, number, found);
            if (is_library(file))
                check_library_calls(file, number, found);
            check_macros(file, number, found);
        }
    }
}

}  // namespace stoker::tidy
