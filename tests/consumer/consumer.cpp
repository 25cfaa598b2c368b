// Uses stoker as a stranger would: with its public headers and its library alone.
#include <iostream>
#include <stoker/core/error.hpp>

int main() {
    const stoker::error problem(stoker::errc{1}, "a text");
    std::cout << problem.what() << '\n';
    return problem.text() == "a text" ? 0 : 1;
}
