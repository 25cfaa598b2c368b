// Errors cross from a worker to main as bytes in the slot that the batch would have had: texts of
// any length fit there, and no message grows. The layout is a header of numbers, then the strings
// one after the other. The reader checks every number against the bytes it was given, since a
// worker may have died or scribbled while it wrote.

#include "worker/error_report.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace stoker::detail {
namespace {

constexpr std::uint64_t report_mark = 0x7374'6f6b'6572'2101;  // "stoker!", layout 1
constexpr std::size_t text_count = 4;
constexpr std::string_view shortened = " [shortened]";

struct report_header {
    std::uint64_t mark = report_mark;
    std::int64_t pid = 0;
    std::uint64_t sample = 0;
    std::int32_t code = 0;
    std::int32_t worker = -1;
    std::uint32_t has_sample = 0;
    std::uint32_t reserved = 0;
    std::array<std::uint64_t, text_count> lengths{};
};

using texts = std::array<std::string_view, text_count>;

texts texts_of(const error_details& details) noexcept {
    return {details.text, details.type, details.file, details.remedy};
}

/// Takes bytes off the longest text until all of them fit into `room`.
void shorten(texts& all, std::uint64_t room) noexcept {
    std::uint64_t total = 0;
    for (const auto text : all)
        total += text.size();
    while (total > room) {
        auto longest = std::max_element(all.begin(), all.end(), [](auto left, auto right) {
            return left.size() < right.size();
        });
        const std::uint64_t cut = std::min<std::uint64_t>(total - room, longest->size());
        *longest = longest->substr(0, longest->size() - cut);
        total -= cut;
    }
}

error_details damaged(std::string_view what) {
    error_details details;
    details.code = errc::protocol;
    details.text = "a worker's error report is damaged: " + std::string(what);
    return details;
}

}  // namespace

std::uint64_t report_bytes(const error_details& details) {
    std::uint64_t total = sizeof(report_header);
    for (const auto text : texts_of(details))
        total += text.size();
    return total;
}

std::uint64_t write_report(std::span<std::byte> room, const error_details& details) noexcept {
    if (room.size() < sizeof(report_header))
        return 0;
    texts all = texts_of(details);
    const std::uint64_t space = room.size() - sizeof(report_header);
    const bool too_long = report_bytes(details) > room.size();
    if (too_long)
        shorten(all, space);

    report_header header;
    header.pid = details.pid;
    header.sample = details.sample.value_or(0);
    header.code = static_cast<std::int32_t>(details.code);
    header.worker = details.worker;
    header.has_sample = details.sample ? 1 : 0;
    for (std::size_t i = 0; i < text_count; ++i)
        header.lengths[i] = all[i].size();
    std::byte* next = room.data();
    std::memcpy(next, &header, sizeof header);
    next += sizeof header;
    for (const auto text : all) {
        if (!text.empty())
            std::memcpy(next, text.data(), text.size());
        next += text.size();
    }
    // The mark overwrites the end of the text, so that it costs no room.
    const std::size_t text_length = all[0].size();
    if (too_long && text_length >= shortened.size() && text_length < details.text.size())
        std::memcpy(room.data() + sizeof header + text_length - shortened.size(), shortened.data(),
                    shortened.size());
    return static_cast<std::uint64_t>(next - room.data());
}

error_details read_report(std::span<const std::byte> bytes) {
    report_header header;
    if (bytes.size() < sizeof header)
        return damaged("too short");
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.mark != report_mark)
        return damaged("no mark");
    if (!is_known(static_cast<errc>(header.code)))
        return damaged("unknown code " + std::to_string(header.code));
    std::uint64_t left = bytes.size() - sizeof header;
    for (const std::uint64_t length : header.lengths) {
        if (length > left)
            return damaged("texts longer than the report");
        left -= length;
    }

    error_details details;
    details.code = static_cast<errc>(header.code);
    details.worker = header.worker;
    details.pid = static_cast<long>(header.pid);
    if (header.has_sample != 0)
        details.sample = header.sample;
    const char* next = reinterpret_cast<const char*>(bytes.data()) + sizeof header;
    std::size_t number = 0;
    for (std::string* text : {&details.text, &details.type, &details.file, &details.remedy}) {
        text->assign(next, header.lengths[number]);
        next += header.lengths[number++];
    }
    return details;
}

}  // namespace stoker::detail
