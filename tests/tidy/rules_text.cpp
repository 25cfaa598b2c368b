#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "tidy/rules.hpp"

namespace stoker::tidy {
namespace {

constexpr std::size_t column_limit = 100;
constexpr std::size_t function_limit = 70;
constexpr std::size_t header_limit = 300;
constexpr std::size_t source_limit = 500;

/// Columns, not bytes: continuation bytes of UTF-8 take none.
std::size_t column_count(std::string_view line) {
    return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

/// Tables and links of Markdown cannot be broken.
bool may_be_long(const source_file& file) {
    return file.path.ends_with(".md") || file.path.ends_with(".wrap");
}

bool mentions_numbered_issue(std::string_view line) {
    for (const std::string_view word : {"issue", "Issue"}) {
        auto at = find_word(line, word);
        if (at == std::string_view::npos)
            continue;
        at += word.size() + 1;
        if (at < line.size() && line[at] == '#')
            ++at;
        if (at < line.size() && std::isdigit(static_cast<unsigned char>(line[at])) != 0)
            return true;
    }
    return false;
}

/// The rules' own files name what they look for.
bool names_what_is_forbidden(const source_file& file) {
    return file.is_under("tests/tidy/");
}

}  // namespace

void report::add(const source_file& file, std::size_t line, const std::string& rule,
                 const std::string& cure) {
    const std::string permit = "tidy-allow(" + rule + "): ";
    for (const std::size_t near : {line, line - 1}) {
        if (near < 1 || near > file.lines.size())
            continue;
        const auto at = file.lines[near - 1].find(permit);
        if (at != std::string::npos && at + permit.size() < file.lines[near - 1].size())
            return;
    }
    findings_.push_back({file.path, line, rule, cure});
}

void check_lines(const source_tree& tree, report& found) {
    for (const auto& file : tree.files) {
        for (std::size_t number = 1; number <= file.lines.size(); ++number) {
            const auto& line = file.lines[number - 1];
            if (column_count(line) > column_limit && !may_be_long(file)) {
                found.add(file, number, "columns", "break the line: at most 100 columns");
            }
            if (line.find('\t') != std::string::npos) {
                found.add(file, number, "tab", "indent with four spaces");
            }
            if (line.ends_with(' ') || line.ends_with('\r')) {
                found.add(file, number, "line-end", "remove the blanks at the end of the line");
            }
        }
        if (!file.text.empty() && !file.text.ends_with('\n')) {
            found.add(file, file.lines.size(), "file-end", "end the file with a line end");
        }
    }
}

void check_sizes(const source_tree& tree, report& found) {
    for (const auto& file : tree.files) {
        if (!file.is_cpp())
            continue;
        const auto limit = file.is_header() ? header_limit : source_limit;
        if (file.lines.size() > limit) {
            found.add(file, limit + 1, "file-length",
                      "split the file: it has " + std::to_string(file.lines.size()) +
                          " lines, at most " + std::to_string(limit));
        }
        for (const auto& function : find_functions(file)) {
            const auto length = function.last_line - function.first_line + 1;
            if (length <= function_limit)
                continue;
            found.add(
                file, function.first_line, "function-length",
                "split the function: it has " + std::to_string(length) + " lines, at most 70");
        }
    }
}

void check_leftovers(const source_tree& tree, report& found) {
    static constexpr std::array<std::string_view, 4> markers = {"TODO", "FIXME", "XXX", "HACK"};
    static constexpr std::array<std::string_view, 6> places = {
        "/work/", "/home/", "/root/", "../shared", "DESIGN.md", "rules.md"};
    for (const auto& file : tree.files) {
        if (names_what_is_forbidden(file))
            continue;
        for (std::size_t number = 1; number <= file.lines.size(); ++number) {
            const auto& line = file.lines[number - 1];
            for (const auto marker : markers) {
                if (find_word(line, marker) == std::string::npos)
                    continue;
                found.add(file, number, "leftover", "do it, or file it where work is tracked");
            }
            for (const auto place : places) {
                if (line.find(place) == std::string::npos)
                    continue;
                found.add(file, number, "machine-path",
                          "say it without " + std::string(place) + ": no reader has that");
            }
            if (mentions_numbered_issue(line)) {
                found.add(file, number, "machine-path", "give the reason itself, not a number");
            }
        }
    }
}

}  // namespace stoker::tidy
