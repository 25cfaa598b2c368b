#pragma once
// The files that the rules look at, read once.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::tidy {

/// One text file of the repository.
struct source_file {
    std::string path{};                ///< from the root, with slashes
    std::string text{};                ///< all of it
    std::vector<std::string> lines{};  ///< as they stand
    std::vector<std::string> code{};   ///< the same lines, comments and literals blanked (C++ only)

    bool is_header() const { return path.ends_with(".hpp"); }
    bool is_source() const { return path.ends_with(".cpp"); }
    bool is_cpp() const { return is_header() || is_source(); }
    bool is_under(std::string_view directory) const { return path.starts_with(directory); }
    std::string stem() const;       ///< "index" of lib/core/index.cpp
    std::string directory() const;  ///< "lib/core" of lib/core/index.cpp
};

/// All text files of the repository, sorted by path.
struct source_tree {
    std::vector<source_file> files{};

    const source_file* find(std::string_view path) const;
    bool has_directory(std::string_view path) const;
};

/// Makes a file of a text, for the rules' own tests and for `read_tree`.
source_file make_file(std::string path, std::string text);

/// Reads what is ours under `root`: no build directories, no subprojects, no data.
source_tree read_tree(const std::filesystem::path& root);

/// The text with the contents of comments, strings and character literals replaced by spaces;
/// line ends stay where they are.
std::string blank_comments_and_literals(std::string_view text);

std::vector<std::string> split_lines(std::string_view text);

/// Where `word` stands in `line` as a whole identifier, or npos.
std::size_t find_word(std::string_view line, std::string_view word, std::size_t from = 0);

}  // namespace stoker::tidy
