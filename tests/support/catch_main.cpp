// The main function of every test program. Catch2 v2's takes some 19 s to compile, so that it is
// compiled once, by itself; v3 brings a compiled one, and this file is left out.
#define CATCH_CONFIG_MAIN
#include "support/catch.hpp"
