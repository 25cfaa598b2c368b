#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include "support/catch.hpp"

namespace stoker::test_support {

/// No further file may be opened while this lives, but for `spare` of them.
class no_descriptors {
  public:
    explicit no_descriptors(rlim_t spare = 0) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int free = ::dup(STDIN_FILENO);
        REQUIRE(free >= 0);
        ::close(free);
        const rlimit none{static_cast<rlim_t>(free) + spare, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    no_descriptors(const no_descriptors&) = delete;
    no_descriptors& operator=(const no_descriptors&) = delete;
    ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

  private:
    rlimit before_{};
};

}  // namespace stoker::test_support
