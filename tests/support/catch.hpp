#pragma once
// The one include point of the test framework: Debian 12 has Catch2 v2, upstream is at v3. Tests
// use what both have, and by v3's names: Catch::Matchers::ContainsSubstring, and Approx as it is.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>

namespace Catch {
using Detail::Approx;
}
namespace Catch::Matchers {
inline StdString::ContainsMatcher ContainsSubstring(
    const std::string& text, CaseSensitive::Choice sensitivity = CaseSensitive::Yes) {
    return Contains(text, sensitivity);
}
}  // namespace Catch::Matchers
#endif
