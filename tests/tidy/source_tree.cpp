#include "tidy/source_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>

namespace stoker::tidy {
namespace {

namespace fs = std::filesystem;

bool is_identifier(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Walks over C++ text one token of interest at a time and blanks what is no code.
class blanker {
  public:
    explicit blanker(std::string_view text) : text_(text), out_(text) {}

    std::string run() {
        while (at_ < text_.size())
            step();
        return std::move(out_);
    }

  private:
    void step() {
        if (starts("//"))
            return blank_until(text_.find('\n', at_));
        if (starts("/*"))
            return blank_until(after(text_.find("*/", at_ + 2), 2));
        if (text_[at_] == '"')
            return is_raw_string() ? blank_raw_string() : blank_quoted('"');
        const bool is_separator = at_ > 0 && is_identifier(text_[at_ - 1]);
        if (text_[at_] == '\'' && !is_separator)
            return blank_quoted('\'');
        ++at_;
    }

    bool starts(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

    static std::size_t after(std::size_t found, std::size_t length) {
        return found == std::string_view::npos ? found : found + length;
    }

    bool is_raw_string() const {
        return at_ > 0 && text_[at_ - 1] == 'R' && (at_ < 2 || !is_identifier(text_[at_ - 2]));
    }

    void blank_raw_string() {
        const auto open = text_.find('(', at_);
        if (open == std::string_view::npos)
            return blank_until(open);
        const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
        blank_until(after(text_.find(close, open), close.size()));
    }

    void blank_quoted(char quote) {
        const auto first = ++at_;
        while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
            at_ += text_[at_] == '\\' ? 2 : 1;
        }
        const auto last = std::min(at_, text_.size());
        at_ = first;
        blank_until(last);
        at_ = std::min(last + 1, text_.size());
    }

    void blank_until(std::size_t end) {
        end = std::min(end, text_.size());
        for (; at_ < end; ++at_) {
            if (out_[at_] != '\n')
                out_[at_] = ' ';
        }
    }

    std::string_view text_;
    std::string out_;
    std::size_t at_ = 0;
};

bool is_text_of_ours(const fs::path& path) {
    static const std::array<std::string, 9> extensions = {".hpp", ".cpp",   ".md",   ".txt", ".py",
                                                          ".sh",  ".build", ".wrap", ".cu"};
    const auto extension = path.extension().string();
    if (std::find(extensions.begin(), extensions.end(), extension) != extensions.end())
        return true;
    return extension.empty() && path.filename().string() != "LICENSE";
}

bool is_skipped_directory(const std::string& name) {
    return name.starts_with("build") || name == "subprojects" || name == "data" ||
           (name.starts_with(".") && name != ".ci");
}

std::string read_file(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

std::string source_file::stem() const {
    return fs::path(path).stem().string();
}

std::string source_file::directory() const {
    return fs::path(path).parent_path().string();
}

const source_file* source_tree::find(std::string_view path) const {
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const source_file& file) { return file.path == path; });
    return found == files.end() ? nullptr : &*found;
}

bool source_tree::has_directory(std::string_view path) const {
    const std::string prefix = std::string(path) + "/";
    return std::any_of(files.begin(), files.end(),
                       [&](const source_file& file) { return file.path.starts_with(prefix); });
}

source_file make_file(std::string path, std::string text) {
    source_file file;
    file.path = std::move(path);
    file.text = std::move(text);
    file.lines = split_lines(file.text);
    file.code = file.is_cpp() ? split_lines(blank_comments_and_literals(file.text)) : file.lines;
    return file;
}

source_tree read_tree(const fs::path& root) {
    source_tree tree;
    for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
        if (it->is_directory()) {
            if (is_skipped_directory(it->path().filename().string()))
                it.disable_recursion_pending();
            continue;
        }
        if (!it->is_regular_file() || !is_text_of_ours(it->path()))
            continue;
        auto path = fs::relative(it->path(), root).generic_string();
        if (path.starts_with(".") && !path.starts_with(".ci/"))
            continue;
        auto text = read_file(it->path());
        if (text.find('\0') != std::string::npos)
            continue;
        tree.files.push_back(make_file(std::move(path), std::move(text)));
    }
    std::sort(tree.files.begin(), tree.files.end(),
              [](const source_file& a, const source_file& b) { return a.path < b.path; });
    return tree;
}

std::string blank_comments_and_literals(std::string_view text) {
    return blanker(text).run();
}

std::vector<std::string> split_lines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos)
            break;
        text.remove_prefix(end + 1);
    }
    return lines;
}

std::size_t find_word(std::string_view line, std::string_view word, std::size_t from) {
    for (auto at = line.find(word, from); at != std::string_view::npos;
         at = line.find(word, at + 1)) {
        const auto end = at + word.size();
        const bool starts = at == 0 || !is_identifier(line[at - 1]);
        if (starts && (end == line.size() || !is_identifier(line[end])))
            return at;
    }
    return std::string_view::npos;
}

}  // namespace stoker::tidy
