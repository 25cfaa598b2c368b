#pragma once
// The house rules that a program can check. Each looks at the whole tree and reports what breaks
// it; rules_test.cpp shows for each an input that it finds and one that it lets pass.

#include <cstddef>
#include <string>
#include <vector>

#include "tidy/source_tree.hpp"

namespace stoker::tidy {

/// A place that breaks a rule, and what to do about it.
struct finding {
    std::string path{};
    std::size_t line = 0;  ///< from 1
    std::string rule{};
    std::string cure{};
};

/// Collects findings. A place that has a reason says so on its line or on the line before, with
/// the rule's name: `// tidy-allow(RULE): reason`.
class report {
  public:
    void add(const source_file& file, std::size_t line, const std::string& rule,
             const std::string& cure);
    const std::vector<finding>& findings() const { return findings_; }

  private:
    std::vector<finding> findings_;
};

/// Lines of at most 100 columns, no tab, no blank at a line's end, a line end at the file's end.
void check_lines(const source_tree& tree, report& found);
/// Headers of at most 300 lines, sources of at most 500, functions of at most 70.
void check_sizes(const source_tree& tree, report& found);
/// No marker of unfinished work, and no mention of one machine's folders or of planning notes.
void check_leftovers(const source_tree& tree, report& found);
/// `#pragma once`, no `using namespace` in headers, namespaces of ours only.
void check_headers(const source_tree& tree, report& found);
/// A room includes only rooms before it; heavy headers stay out of include/.
void check_includes(const source_tree& tree, report& found);
/// No blocking call on a message queue, no count of its messages outside lib/ipc, no macro that
/// changes Asio, CUDA's macros in lib/device alone, no printing by the library.
void check_calls(const source_tree& tree, report& found);
/// Each lib/x/y.cpp has a tests/x/y.cpp, names of test cases are sentences, every source is built
/// and every public header is listed.
void check_tests(const source_tree& tree, report& found);
/// Public classes say how threads may use them; comments do not repeat the name below them.
void check_comments(const source_tree& tree, report& found);
/// Code in README.md and docs/ is that of files which are compiled; lib/README.md knows every room
/// and only files that exist.
void check_documents(const source_tree& tree, report& found);

/// Where a function starts and ends.
struct function_extent {
    std::size_t first_line = 0;  ///< from 1
    std::size_t last_line = 0;
};

/// The functions (and test cases) of a C++ file, found by their braces; nested ones belong to the
/// outermost.
std::vector<function_extent> find_functions(const source_file& file);

/// All rules.
report check_all(const source_tree& tree);

}  // namespace stoker::tidy
