// Checks the repository against the house rules and prints one line for each place that breaks
// one: file:line: rule: cure. Exits with 1 when there is any.
//
// usage: tidy ROOT

#include <exception>
#include <iostream>

#include "tidy/rules.hpp"

int main(int argument_count, char** arguments) {
    if (argument_count != 2) {
        std::cerr << "usage: tidy ROOT\n";
        return 2;
    }
    try {
        const auto tree = stoker::tidy::read_tree(arguments[1]);
        const auto report = stoker::tidy::check_all(tree);
        for (const auto& finding : report.findings()) {
            std::cout << finding.path << ':' << finding.line << ": " << finding.rule << ": "
                      << finding.cure << '\n';
        }
        std::cout << tree.files.size() << " files, " << report.findings().size() << " findings\n";
        return report.findings().empty() && !tree.files.empty() ? 0 : 1;
    } catch (const std::exception& failure) {
        std::cerr << "tidy: " << failure.what() << '\n';
        return 2;
    }
}
