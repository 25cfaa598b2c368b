#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "tidy/rules.hpp"

namespace stoker::tidy {
namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
        text.remove_prefix(1);
    }
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
        text.remove_suffix(1);
    }
    return text;
}

void check_case_name(const source_file& file, std::size_t number, report& found) {
    const auto& code = file.code[number - 1];
    auto at = code.find("TEST_CASE(");
    if (at == std::string::npos)
        return;
    at += 10;
    auto line = number;
    std::string_view text = std::string_view(file.lines[number - 1]).substr(at);
    if (trimmed(text).empty() && number < file.lines.size())
        text = file.lines[line++];
    const auto open = text.find('"');
    if (open == std::string_view::npos)
        return;
    const auto name = text.substr(open + 1, text.find('"', open + 1) - open - 1);
    if (name.find(' ') != std::string_view::npos)
        return;
    found.add(file, number, "test-name", "name the test by a sentence about what happens");
}

/// Whether the meson.build beside the file names it, with or without its extension.
bool is_built(const source_tree& tree, const source_file& file) {
    for (auto directory = file.directory(); !directory.empty();) {
        const auto* build = tree.find(directory + "/meson.build");
        if (build != nullptr) {
            const auto name = file.path.substr(directory.size() + 1);
            const auto stem = name.substr(0, name.size() - 4);
            return build->text.find("'" + name + "'") != std::string::npos ||
                   build->text.find("'" + stem + "'") != std::string::npos;
        }
        const auto slash = directory.rfind('/');
        directory = slash == std::string::npos ? std::string{} : directory.substr(0, slash);
    }
    return false;
}

/// Lines with the number of the first class that a public header defines outside `detail`.
std::size_t first_public_class(const source_file& file) {
    bool is_detail = false;
    for (std::size_t number = 1; number <= file.code.size(); ++number) {
        const auto& code = file.code[number - 1];
        if (code.starts_with("namespace ")) {
            is_detail = find_word(code, "detail") != std::string::npos;
        }
        if (file.lines[number - 1].starts_with("}  // namespace"))
            is_detail = false;
        const bool is_class = code.starts_with("class ");
        if (is_class && !is_detail && code.find(';') == std::string::npos)
            return number;
    }
    return 0;
}

/// Lower case letters and digits only.
std::string letters(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0)
            result += static_cast<char>(std::tolower(byte));
    }
    return result;
}

void check_restatement(const source_file& file, std::size_t number, report& found) {
    const auto comment = trimmed(file.lines[number - 1]);
    if (!comment.starts_with("/// ") || number >= file.lines.size())
        return;
    if (number > 1 && trimmed(file.lines[number - 2]).starts_with("///"))
        return;
    auto said = letters(comment);
    for (const std::string_view article : {"the", "a"}) {
        if (said.starts_with(article) && comment.find(' ', 4) == 4 + article.size()) {
            said.erase(0, article.size());
        }
    }
    const auto& code = file.code[number];
    std::string name;
    for (const char c : code + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
            name += c;
            continue;
        }
        if (!name.empty() && letters(name) == said) {
            found.add(file, number, "restatement", "say what the name does not, or nothing");
        }
        name.clear();
    }
}

/// The lines of the fenced block that starts at `open`, one line end after each.
std::string block_text(const source_file& file, std::size_t open) {
    std::string text;
    for (auto number = open + 1; number <= file.lines.size(); ++number) {
        if (file.lines[number - 1].starts_with("```"))
            break;
        text += file.lines[number - 1] + "\n";
    }
    return text;
}

/// What the line before a block of code says that it shows.
struct code_marker {
    std::string path{};
    std::string region{};  ///< empty: the whole file
};

/// Of `<!-- examples/x.cpp -->` or `<!-- docs/snippets/x.cpp: REGION -->`; empty for other lines.
code_marker marker_of(std::string_view line) {
    line = trimmed(line);
    if (!line.starts_with("<!--") || !line.ends_with("-->"))
        return {};
    const auto inside = trimmed(line.substr(4, line.size() - 7));
    const auto colon = inside.find(": ");
    const auto path = inside.substr(0, colon);
    if (!path.ends_with(".cpp"))
        return {};
    const auto region =
        colon == std::string_view::npos ? std::string_view{} : trimmed(inside.substr(colon + 2));
    return {std::string(path), std::string(region)};
}

/// The lines without the indentation that all of them have.
std::string dedented(const std::vector<std::string>& lines) {
    std::size_t common = std::string::npos;
    for (const auto& line : lines) {
        if (!trimmed(line).empty())
            common = std::min(common, line.find_first_not_of(' '));
    }
    std::string text;
    for (const auto& line : lines)
        text += (trimmed(line).empty() ? std::string{} : line.substr(common)) + "\n";
    return text;
}

/// What lies between the lines `// [REGION]` and `// [end]`.
std::string region_text(const source_file& file, const std::string& region) {
    std::vector<std::string> lines;
    bool is_inside = false;
    for (const auto& line : file.lines) {
        if (is_inside && trimmed(line) == "// [end]")
            return dedented(lines);
        if (is_inside)
            lines.push_back(line);
        if (trimmed(line) == "// [" + region + "]")
            is_inside = true;
    }
    return {};
}

/// The text from the first line on that is no comment.
std::string_view without_head_comment(std::string_view text) {
    while (text.starts_with("//")) {
        const auto end = text.find('\n');
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return text;
}

/// What an example says that it prints: the lines of its last comment, below "// Output:".
constexpr std::string_view output_heading = "\n// Output:\n";

std::string output_of(const source_file& example) {
    const auto at = example.text.find(output_heading);
    std::string output;
    if (at == std::string::npos)
        return output;
    for (const auto& line : split_lines(example.text.substr(at + output_heading.size()))) {
        output += line.substr(std::min<std::size_t>(line.size(), 3)) + "\n";
    }
    return output;
}

/// What users read first, and copy from: all code there is compiled.
bool shows_compiled_code(const source_file& page) {
    return page.path == "README.md" || page.is_under("docs/");
}

/// The block of code at `open`, and the block of its output where one follows at once.
void check_code_block(const source_tree& tree, const source_file& page, std::size_t open,
                      report& found) {
    const auto marker = open > 1 ? marker_of(page.lines[open - 2]) : code_marker{};
    if (marker.path.empty()) {
        if (shows_compiled_code(page)) {
            found.add(page, open, "code-block",
                      "put <!-- PATH.cpp --> or <!-- PATH.cpp: REGION --> on the line before, and "
                      "show what is compiled there");
        }
        return;
    }
    const auto* file = tree.find(marker.path);
    if (file == nullptr)
        return found.add(page, open, "code-block", marker.path + " does not exist");
    const auto code = block_text(page, open);
    const auto program = file->text.substr(0, file->text.find(output_heading));
    const bool same = marker.region.empty()
                          ? trimmed(program) == trimmed(code) ||
                                trimmed(without_head_comment(program)) == trimmed(code)
                          : trimmed(region_text(*file, marker.region)) == trimmed(code);
    if (!same) {
        const auto what =
            marker.region.empty() ? marker.path : marker.region + " of " + marker.path;
        found.add(page, open, "code-block", "copy " + what + " here: they differ");
    }
    const auto close = open + split_lines(code).size() + 1;
    if (!marker.path.starts_with("examples/") || close >= page.lines.size() ||
        page.lines[close] != "```")
        return;
    if (trimmed(output_of(*file)) != trimmed(block_text(page, close + 1)))
        found.add(page, close + 1, "code-block", "copy the output of " + marker.path + " here");
}

void check_code_blocks(const source_tree& tree, const source_file& page, report& found) {
    bool is_inside = false;
    for (std::size_t number = 1; number <= page.lines.size(); ++number) {
        const auto& line = page.lines[number - 1];
        if (!line.starts_with("```"))
            continue;
        is_inside = !is_inside;
        if (is_inside && line.starts_with("```cpp"))
            check_code_block(tree, page, number, found);
    }
}

bool is_path_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./-").find(c) != std::string_view::npos;
}

void check_mentioned_files(const source_tree& tree, const source_file& page, report& found) {
    static constexpr std::array<std::string_view, 3> extensions = {".hpp", ".cpp", ".md"};
    static constexpr std::array<std::string_view, 4> bases = {"", "lib/", "include/stoker/",
                                                              "include/"};
    for (std::size_t number = 1; number <= page.lines.size(); ++number) {
        std::string word;
        for (const char c : page.lines[number - 1] + " ") {
            if (is_path_character(c)) {
                word += c;
                continue;
            }
            const bool is_file =
                word.find('/') != std::string::npos && word.find("//") == std::string::npos &&
                std::any_of(extensions.begin(), extensions.end(),
                            [&](auto extension) { return word.ends_with(extension); });
            const bool exists = std::any_of(bases.begin(), bases.end(), [&](auto base) {
                return tree.find(std::string(base) + word) != nullptr;
            });
            const bool is_system = tree.find(word) == nullptr && word.starts_with("boost/");
            if (is_file && !exists && !is_system) {
                found.add(page, number, "room-map", word + " does not exist");
            }
            word.clear();
        }
    }
}

void check_room_map(const source_tree& tree, const source_file& page, report& found) {
    for (const auto& file : tree.files) {
        const auto directory = file.directory();
        if (!directory.starts_with("lib/") || !file.path.ends_with("/meson.build"))
            continue;
        const auto room = directory.substr(4);
        if (find_word(page.text, room) != std::string::npos)
            continue;
        found.add(page, 1, "room-map", "tell what " + room + " is for");
    }
}

}  // namespace

void check_tests(const source_tree& tree, report& found) {
    const auto* listed = tree.find("include/meson.build");
    for (const auto& file : tree.files) {
        if (file.is_source() && file.is_under("lib/") &&
            tree.find("tests/" + file.path.substr(4)) == nullptr) {
            found.add(file, 1, "untested", "write tests/" + file.path.substr(4));
        }
        const bool has_own_build = file.is_under("tests/consumer/") || file.is_under("bench/") ||
                                   file.path.find("/refused/") != std::string::npos;
        if (file.is_source() && !has_own_build && !is_built(tree, file)) {
            found.add(file, 1, "not-built", "name it in its meson.build, or remove it");
        }
        if (file.is_header() && file.is_under("include/") && listed != nullptr &&
            listed->text.find("'" + file.path.substr(8) + "'") == std::string::npos) {
            found.add(file, 1, "unlisted-header",
                      "add '" + file.path.substr(8) + "' to include/meson.build");
        }
        if (!file.is_cpp() || !file.is_under("tests/"))
            continue;
        for (std::size_t number = 1; number <= file.code.size(); ++number) {
            check_case_name(file, number, found);
        }
    }
}

void check_comments(const source_tree& tree, report& found) {
    for (const auto& file : tree.files) {
        if (!file.is_cpp())
            continue;
        if (file.is_under("include/")) {
            const auto line = first_public_class(file);
            if (line != 0 && file.text.find("Thread safety:") == std::string::npos) {
                found.add(file, line, "thread-safety", "say 'Thread safety: …' in its comment");
            }
        }
        for (std::size_t number = 1; number <= file.lines.size(); ++number) {
            check_restatement(file, number, found);
        }
    }
}

void check_documents(const source_tree& tree, report& found) {
    for (const auto& file : tree.files) {
        if (file.path.ends_with(".md"))
            check_code_blocks(tree, file, found);
        if (file.path == "lib/README.md") {
            check_mentioned_files(tree, file, found);
            check_room_map(tree, file, found);
        }
    }
    for (const char* page : {"README.md", "lib/README.md"}) {
        if (tree.find(page) == nullptr) {
            found.add(make_file(page, ""), 1, "missing-page", "write it");
        }
    }
}

report check_all(const source_tree& tree) {
    report found;
    for (const auto rule :
         {check_lines, check_sizes, check_leftovers, check_headers, check_includes, check_calls,
          check_tests, check_comments, check_documents}) {
        rule(tree, found);
    }
    return found;
}

}  // namespace stoker::tidy
