#pragma once
// The one include point of the test framework: Debian 12 ships Catch2 v2, upstream v3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
