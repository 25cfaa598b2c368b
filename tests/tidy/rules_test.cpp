// Each rule on a small input that it must find and on one that it must let pass, so that a rule
// that has stopped looking fails here.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tidy/rules.hpp"

namespace tidy = stoker::tidy;

namespace {

using named_texts = std::vector<std::pair<std::string, std::string>>;

/// The rules, in order and without repeats, that the given files break, but for those about files
/// that a real tree would have.
std::vector<std::string> broken(const named_texts& texts) {
    tidy::source_tree tree;
    for (const auto& [path, text] : texts)
        tree.files.push_back(tidy::make_file(path, text));
    std::vector<std::string> rules;
    const auto report = tidy::check_all(tree);
    for (const auto& finding : report.findings()) {
        const bool is_expected = finding.rule == "missing-page" || finding.rule == "not-built" ||
                                 finding.rule == "untested";
        if (!is_expected)
            rules.push_back(finding.rule);
    }
    std::sort(rules.begin(), rules.end());
    rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
    return rules;
}

std::vector<std::string> broken(const std::string& path, const std::string& text) {
    return broken(named_texts{{path, text}});
}

bool finds(const named_texts& texts, const std::string& rule) {
    tidy::source_tree tree;
    for (const auto& [path, text] : texts)
        tree.files.push_back(tidy::make_file(path, text));
    const auto report = tidy::check_all(tree);
    const auto& all = report.findings();
    return std::any_of(all.begin(), all.end(),
                       [&](const tidy::finding& one) { return one.rule == rule; });
}

std::string repeated(const std::string& text, int count) {
    std::string result;
    for (int number = 0; number < count; ++number)
        result += text;
    return result;
}

const std::string once = "#pragma once\n";

using rules = std::vector<std::string>;

}  // namespace

TEST_CASE("a line may have 100 columns but not 101, blanks at its end, or tabs", "[tidy]") {
    CHECK(broken("lib/core/x.cpp", std::string(100, 'x') + "\n") == rules{});
    CHECK(broken("lib/core/x.cpp", std::string(101, 'x') + "\n") == rules{"columns"});
    CHECK(broken("lib/core/x.cpp", "// " + repeated("é", 97) + "\n") == rules{});
    CHECK(broken("lib/core/x.cpp", "int a; \n") == rules{"line-end"});
    CHECK(broken("lib/core/x.cpp", "\tint a;\n") == rules{"tab"});
    CHECK(broken("lib/core/x.cpp", "int a;") == rules{"file-end"});
}

TEST_CASE("a header may have 300 lines and a source 500", "[tidy]") {
    CHECK(broken("lib/core/x.hpp", once + repeated("int a;\n", 299)) == rules{});
    CHECK(broken("lib/core/x.hpp", once + repeated("int a;\n", 300)) == rules{"file-length"});
    CHECK(broken("lib/core/x.cpp", repeated("int a;\n", 500)) == rules{});
    CHECK(broken("lib/core/x.cpp", repeated("int a;\n", 501)) == rules{"file-length"});
}

TEST_CASE("a function may have 70 lines, whatever its shape", "[tidy]") {
    const auto head = GENERATE(
        as<std::string>{}, "void f() {\n", "int c::f() const noexcept {\n",
        "auto f(int x) -> std::vector<int> {\n", "TEST_CASE(\"a b\") {\n",
        "c::c(int x) : a_{x}, b_(x), c_{} {\n", "template <class T> struct s { void f() {\n",
        "namespace stoker { class c : public b { public: c() : a_{1} {\n", "auto f = [](int x) {\n",
        "bool operator==(const c& a, const c& b) {\n");
    const std::string tail = head.starts_with("template")    ? "} };\n"
                             : head.starts_with("namespace") ? "} }; }\n"
                                                             : "}\n";
    CHECK(broken("lib/core/x.cpp", head + repeated("    if (a) { b(); }\n", 68) + tail) == rules{});
    CHECK(broken("lib/core/x.cpp", head + repeated("    if (a) { b(); }\n", 69) + tail) ==
          rules{"function-length"});
}

TEST_CASE("braces that open no function are not taken for one", "[tidy]") {
    const auto head = GENERATE(as<std::string>{}, "namespace stoker {\n", "class alignas(64) c {\n",
                               "enum class e {\n", "constexpr int table[] = {\n",
                               "std::vector<int> v{\n", "extern \"C\" {\n");
    CHECK(broken("lib/core/x.cpp", head + repeated("// a line {\n", 90) + "}\n") == rules{});
}

TEST_CASE("comments, strings and raw strings hide what they hold", "[tidy]") {
    const auto blanked = tidy::blank_comments_and_literals(
        "a(\"b{\"); // {\nc('{'); /* {\n{ */ d(R\"x({)\"{)x\"); 1'000'{';");
    CHECK(std::count(blanked.begin(), blanked.end(), '{') == 1);
    CHECK(std::count(blanked.begin(), blanked.end(), '\n') == 2);
}

TEST_CASE("markers of unfinished work and one machine's places are found", "[tidy]") {
    CHECK(broken("lib/core/x.cpp", "// TODO: more\n") == rules{"leftover"});
    CHECK(broken("lib/core/x.cpp", "int TODOS;\n") == rules{});
    CHECK(broken("run", "cd /home/me/stoker\n") == rules{"machine-path"});
    CHECK(broken("docs/a.md", "see issue 12\n") == rules{"machine-path"});
    CHECK(broken("docs/a.md", "one issue at hand\n") == rules{});
}

TEST_CASE("headers have their guard, name what they use and keep to our namespaces", "[tidy]") {
    CHECK(broken("lib/core/x.hpp", "int a;\n") == rules{"pragma-once"});
    CHECK(broken("lib/core/x.hpp", once + "using namespace std;\n") == rules{"using-namespace"});
    CHECK(broken("lib/core/x.cpp", "using namespace std::chrono_literals;\n") == rules{});
    CHECK(broken("lib/core/x.cpp", "namespace other {\n}\n") == rules{"namespace"});
    CHECK(broken("lib/core/x.cpp", "namespace fs = std::filesystem;\n") == rules{});
    CHECK(broken("lib/core/x.cpp", "namespace stoker::detail {\nnamespace {\n}\n}\n") == rules{});
}

TEST_CASE("a room includes only rooms before it", "[tidy]") {
    CHECK(broken("lib/core/x.cpp", "#include <stoker/loader/loader.hpp>\n") == rules{"room-order"});
    CHECK(broken("lib/ipc/x.cpp", "#include \"worker/y.hpp\"\n") == rules{"room-order"});
    CHECK(broken("lib/worker/x.cpp", "#include \"ipc/y.hpp\"\n") == rules{});
    CHECK(broken("lib/trace/x.cpp", "#include \"ipc/y.hpp\"\n") == rules{"room-order"});
    CHECK(broken("lib/ipc/x.cpp", "#include \"metrics/y.hpp\"\n") == rules{});
    CHECK(broken("lib/attic/x.cpp", "int a;\n") == rules{"room-order"});
}

TEST_CASE("heavy headers stay out of public headers", "[tidy]") {
    const auto name = GENERATE(as<std::string>{}, "boost/asio.hpp", "boost/process/v2.hpp",
                               "boost/interprocess/ipc/message_queue.hpp", "range/v3/all.hpp");
    const auto line = "#include <" + name + ">\n";
    CHECK(broken("include/stoker/core/x.hpp", once + line) == rules{"heavy-header"});
    CHECK(broken("lib/core/x.cpp", line) == rules{});
}

TEST_CASE("blocking calls on message queues are found, in files that have such queues", "[tidy]") {
    const auto call = GENERATE(as<std::string>{}, "q.send(a);", "q->receive(a);",
                               "q.timed_send(a);", "q.timed_receive(a);");
    CHECK(broken("tests/ipc/x.cpp", "message_queue q;\n" + call + "\n") == rules{"blocking-queue"});
    CHECK(broken("tests/ipc/x.cpp", "message_queue q;\nq.try_send(a);\n") == rules{});
    CHECK(broken("lib/ipc/x.cpp", "permit q;\nq.send(a);\n") == rules{});
}

TEST_CASE("the library neither counts messages, prints, nor sets macros of others", "[tidy]") {
    CHECK(broken("lib/loader/x.cpp", "q.get_num_msg();\n") == rules{"queue-count"});
    CHECK(broken("lib/ipc/x.cpp", "q.get_num_msg();\n") == rules{});
    CHECK(broken("lib/loader/x.cpp", "std::cout << 1;\n") == rules{"prints"});
    CHECK(broken("lib/loader/x.cpp", "std::cout.flush();\n") == rules{});
    CHECK(broken("lib/loader/x.cpp", "std::snprintf(a, 1, b);\n") == rules{});
    CHECK(broken("lib/core/x.cpp", "#define BOOST_ASIO_DISABLE_EPOLL\n") == rules{"asio-macro"});
    CHECK(broken("lib/core/x.cpp", "#ifdef __CUDACC__\n") == rules{"cuda-macro"});
    CHECK(broken("lib/device/x.cpp", "#ifdef __CUDACC__\n") == rules{});
}

TEST_CASE("sources need a test and a place in the build", "[tidy]") {
    const named_texts alone = {{"lib/core/x.cpp", "int a;\n"}};
    CHECK(finds(alone, "untested"));
    CHECK(finds(alone, "not-built"));
    const named_texts complete = {{"lib/core/x.cpp", "int a;\n"},
                                  {"lib/core/meson.build", "files('x.cpp')\n"},
                                  {"tests/core/x.cpp", "int a;\n"},
                                  {"tests/core/meson.build", "foreach name : ['x']\n"}};
    CHECK_FALSE(finds(complete, "untested"));
    CHECK_FALSE(finds(complete, "not-built"));
}

TEST_CASE("public headers are listed for installation", "[tidy]") {
    const std::string list = "public_headers = ['stoker/core/x.hpp']\n";
    CHECK(broken({{"include/meson.build", list}, {"include/stoker/core/x.hpp", once}}) == rules{});
    CHECK(broken({{"include/meson.build", list}, {"include/stoker/core/y.hpp", once}}) ==
          rules{"unlisted-header"});
}

TEST_CASE("names of test cases are sentences", "[tidy]") {
    CHECK(broken("tests/core/x.cpp", "TEST_CASE(\"works\") {\n}\n") == rules{"test-name"});
    CHECK(broken("tests/core/x.cpp", "TEST_CASE(\n    \"works\", \"[a b]\") {\n}\n") ==
          rules{"test-name"});
    CHECK(broken("tests/core/x.cpp", "TEST_CASE(\"it works\") {\n}\n") == rules{});
}

TEST_CASE("public classes say how threads may use them", "[tidy]") {
    const std::string text = once + "namespace stoker {\nclass x {\n};\n}  // namespace stoker\n";
    CHECK(broken("include/stoker/core/x.hpp", text) == rules{"thread-safety"});
    CHECK(broken("include/stoker/core/x.hpp", "// Thread safety: none.\n" + text) == rules{});
    CHECK(broken("include/stoker/core/x.hpp",
                 once + "namespace stoker::detail {\nclass x {\n};\n}\nclass y;\n") == rules{});
}

TEST_CASE("a comment that repeats the name below it is found", "[tidy]") {
    CHECK(broken("lib/core/x.cpp", "/// The batch size.\nint batch_size;\n") ==
          rules{"restatement"});
    CHECK(broken("lib/core/x.cpp", "/// A.\nint b;\n") == rules{});
    CHECK(broken("lib/core/x.cpp", "/// Samples in a batch.\nint batch_size;\n") == rules{});
}

TEST_CASE("code in the README is an example file", "[tidy]") {
    const std::string code = "int main() {}\n";
    const auto block = [&](const std::string& text) {
        return "<!-- examples/first.cpp -->\n```cpp\n" + text + "```\n";
    };
    const std::pair<std::string, std::string> example = {"examples/first.cpp", code};
    CHECK(broken({{"README.md", block(code)}, example}) == rules{});
    CHECK(broken({{"README.md", block("int main();\n")}, example}) == rules{"code-block"});
    CHECK(broken({{"README.md", block(code)}}) == rules{"code-block"});
    CHECK(broken("README.md", "```cpp\nint a;\n```\n") == rules{"code-block"});
    CHECK(broken("README.md", "```sh\nls\n```\n") == rules{});
    const std::pair<std::string, std::string> speaking = {"examples/first.cpp",
                                                          code + "\n// Output:\n// one\n// two\n"};
    CHECK(broken({{"README.md", block(code) + "```\none\ntwo\n```\n"}, speaking}) == rules{});
    CHECK(broken({{"README.md", block(code) + "```\none\n```\n"}, speaking}) ==
          rules{"code-block"});
}

TEST_CASE("code in the documents is a file, or a region of one", "[tidy]") {
    const std::pair<std::string, std::string> program = {
        "examples/x.cpp",
        "// Head.\nint a;\n\n    // [one]\n    int b;\n\n        int c;\n    // [end]\n"};
    const auto page = [&](const std::string& marker, const std::string& text) {
        return broken({{"docs/x.md", marker + "\n```cpp\n" + text + "```\n"}, program});
    };
    CHECK(page("<!-- examples/x.cpp: one -->", "int b;\n\n    int c;\n") == rules{});
    CHECK(page("<!-- examples/x.cpp: one -->", "int b;\n") == rules{"code-block"});
    CHECK(page("<!-- examples/x.cpp: two -->", "int b;\n") == rules{"code-block"});
    CHECK(page("<!-- examples/y.cpp: one -->", "int b;\n") == rules{"code-block"});
    CHECK(page("<!-- examples/x.cpp -->", program.second) == rules{});
    CHECK(page("<!-- examples/x.cpp -->", program.second.substr(9)) == rules{});
    CHECK(page("a sentence", "int b;\n") == rules{"code-block"});
    CHECK(broken("bench/README.md", "```cpp\nint b;\n```\n") == rules{});
}

TEST_CASE("the map of the rooms knows every room and only files that exist", "[tidy]") {
    const named_texts room = {
        {"lib/meson.build", "\n"}, {"lib/core/meson.build", "\n"}, {"lib/core/x.hpp", once}};
    const auto with_map = [&](const std::string& text) {
        auto files = room;
        files.emplace_back("lib/README.md", text);
        return broken(files);
    };
    CHECK(with_map("core: `core/x.hpp`, `lib/core/x.hpp`\n") == rules{});
    CHECK(with_map("core: `core/y.hpp`\n") == rules{"room-map"});
    CHECK(with_map("nothing\n") == rules{"room-map"});
}

TEST_CASE("a place that has a reason may break a rule", "[tidy]") {
    CHECK(broken("lib/core/x.cpp", "// tidy-allow(prints): it is the tool\ncout << 1;\n") ==
          rules{});
    CHECK(broken("lib/core/x.cpp", "// tidy-allow(prints): \ncout << 1;\n") ==
          rules{"line-end", "prints"});
    CHECK(broken("lib/core/x.cpp", "// tidy-allow(tab): no\ncout << 1;\n") == rules{"prints"});
}

TEST_CASE("a tree is read without build directories and data", "[tidy]") {
    namespace fs = std::filesystem;
    const auto root = fs::temp_directory_path() / ("stoker-tidy-" + std::to_string(::getpid()));
    fs::remove_all(root);
    for (const std::string path : {"lib/core/x.cpp", "build-a/y.cpp", "examples/data/z.md",
                                   ".git/HEAD", ".ci/run", "run", "picture.png"}) {
        fs::create_directories((root / path).parent_path());
        std::ofstream(root / path) << "text\n";
    }
    std::vector<std::string> paths;
    for (const auto& file : tidy::read_tree(root).files)
        paths.push_back(file.path);
    fs::remove_all(root);
    CHECK(paths == std::vector<std::string>{".ci/run", "lib/core/x.cpp", "run"});
}
