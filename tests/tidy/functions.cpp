// Functions are found without a parser: outside of functions, an opening brace is told apart by
// what stands before it. `namespace`, `class` and their like open a scope to look into; a head
// with parentheses opens a function; anything else is an initialiser. The one trap is the
// constructor, whose member initialisers may have braces too: after its colon a brace that
// follows a name belongs to a member, one that follows `)` or `}` opens the body.

#include <array>
#include <string>
#include <string_view>

#include "tidy/rules.hpp"

namespace stoker::tidy {
namespace {

enum class brace { scope, function, member, other };

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n';
}

/// The head without what stands in parentheses and template argument lists.
std::string outline(std::string_view head) {
    std::string text;
    int parentheses = 0;
    int angles = 0;
    for (std::size_t at = 0; at < head.size(); ++at) {
        const char c = head[at];
        const bool arrow = at > 0 && head[at - 1] == '-';
        if (c == '(')
            ++parentheses;
        if (c == '<' && parentheses == 0)
            ++angles;
        if (parentheses == 0 && angles == 0)
            text += c;
        if (c == ')')
            --parentheses;
        if (c == ')' && parentheses == 0 && angles == 0)
            text += c;
        if (c == '>' && !arrow && parentheses == 0 && angles > 0)
            --angles;
    }
    return text;
}

bool has_member_initialisers(std::string_view outlined) {
    for (auto at = outlined.find(')'); at < outlined.size(); ++at) {
        if (outlined[at] != ':')
            continue;
        if (at + 1 < outlined.size() && outlined[at + 1] == ':') {
            ++at;
            continue;
        }
        return true;
    }
    return false;
}

brace classify(std::string_view head) {
    while (!head.empty() && is_blank(head.back()))
        head.remove_suffix(1);
    const auto outlined = outline(head);
    for (const std::string_view word : {"namespace", "class", "struct", "union", "enum"}) {
        if (find_word(outlined, word) != std::string::npos)
            return brace::scope;
    }
    if (head.find('(') == std::string_view::npos) {
        return find_word(head, "extern") != std::string_view::npos ? brace::scope : brace::other;
    }
    if (head.back() == '=' && outlined.find("operator") == std::string::npos)
        return brace::other;
    const bool after_name = head.back() != ')' && head.back() != '}';
    return after_name && has_member_initialisers(outlined) ? brace::member : brace::function;
}

class function_finder {
  public:
    explicit function_finder(const source_file& file) : file_(file) {}

    std::vector<function_extent> run() {
        bool continued = false;
        for (std::size_t number = 0; number < file_.code.size(); ++number) {
            const auto& line = file_.code[number];
            const auto first = line.find_first_not_of(" \t");
            const bool directive = continued || (first != line.npos && line[first] == '#');
            continued = directive && line.ends_with('\\');
            if (directive)
                continue;
            for (const char c : line)
                take(c, number + 1);
            take('\n', number + 1);
        }
        return std::move(found_);
    }

  private:
    struct frame {
        brace kind{};
        std::size_t first_line = 0;
        int parentheses = 0;
        std::string head{};
    };

    void take(char c, std::size_t line) {
        if (c == '{')
            return open();
        if (c == '}')
            return close(line);
        if (in_function_ > 0)
            return;
        if (c == '(')
            ++parentheses_;
        if (c == ')')
            --parentheses_;
        if (c == ';' && parentheses_ == 0)
            return head_.clear();
        if (head_.empty() && is_blank(c))
            return;
        if (head_.empty())
            head_line_ = line;
        head_ += c;
    }

    void open() {
        if (in_function_ > 0) {
            ++in_function_;
            return;
        }
        frame opened{parentheses_ > 0 ? brace::other : classify(head_), head_line_, parentheses_,
                     head_};
        if (opened.kind == brace::function)
            in_function_ = 1;
        stack_.push_back(std::move(opened));
        head_.clear();
        parentheses_ = 0;
    }

    void close(std::size_t line) {
        if (in_function_ > 1) {
            --in_function_;
            return;
        }
        in_function_ = 0;
        head_.clear();
        if (stack_.empty())
            return;
        const frame closed = std::move(stack_.back());
        stack_.pop_back();
        parentheses_ = closed.parentheses;
        if (closed.kind == brace::function)
            found_.push_back({closed.first_line, line});
        if (closed.kind == brace::member || closed.parentheses > 0) {
            head_ = closed.head + "{}";
            head_line_ = closed.first_line;
        }
    }

    const source_file& file_;
    std::vector<function_extent> found_;
    std::vector<frame> stack_;
    std::string head_;
    std::size_t head_line_ = 0;
    int parentheses_ = 0;
    int in_function_ = 0;
};

}  // namespace

std::vector<function_extent> find_functions(const source_file& file) {
    return function_finder(file).run();
}

}  // namespace stoker::tidy
