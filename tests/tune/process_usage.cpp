#include "tune/process_usage.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace stoker::detail;

namespace {

const std::string rollup =
    R"(55e0c9c5d000-7ffd5b1b3000 ---p 00000000 00:00 0                          [rollup]
Rss:                3400 kB
Pss:                1214 kB
Pss_Dirty:           212 kB
Pss_Anon:            212 kB
Pss_File:            970 kB
Pss_Shmem:            32 kB
Shared_Clean:       2200 kB
SwapPss:               0 kB
)";

void replace(std::string& text, const std::string& old, const std::string& by) {
    text.replace(text.find(old), old.size(), by);
}

/// A child that runs `body` and then sleeps until it is killed, which the destructor does.
class child {
  public:
    template <class Body>
    explicit child(Body body) {
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        process_ = ::fork();
        if (process_ == 0) {
            body();
            if (::write(ready[1], "x", 1) != 1)
                ::_exit(1);
            ::pause();
            ::_exit(0);
        }
        char byte = 0;
        const bool came = ::read(ready[0], &byte, 1) == 1;
        ::close(ready[0]);
        ::close(ready[1]);
        REQUIRE(came);
    }
    ~child() { end(); }
    void end() {
        if (process_ <= 0)
            return;
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        process_ = 0;
    }
    pid_t process() const { return process_; }

  private:
    pid_t process_ = 0;
};

void burn(double seconds) {
    while (cpu_seconds_of(::getpid()).value_or(seconds) < seconds) {
    }
}

}  // namespace

TEST_CASE("memory is read from smaps_rollup in bytes", "[tune]") {
    const auto usage = parse_memory_usage(rollup);
    REQUIRE(usage);
    CHECK(usage->anonymous_bytes == 212 * 1024);
    CHECK(usage->file_bytes == 970 * 1024);
    CHECK(usage->shared_bytes == 32 * 1024);
}

TEST_CASE("a smaps_rollup that is cut off or of another form is not taken for zero", "[tune]") {
    CHECK_FALSE(parse_memory_usage(""));
    for (const std::string line : {"Pss_Anon:", "Pss_File:", "Pss_Shmem:"}) {
        std::string without = rollup;
        replace(without, line, "Other:");
        CHECK_FALSE(parse_memory_usage(without));
    }
    std::string in_megabytes = rollup;
    replace(in_megabytes, "970 kB", "970 MB");
    CHECK_FALSE(parse_memory_usage(in_megabytes));
    std::string no_number = rollup;
    replace(no_number, "970 kB", "many kB");
    CHECK_FALSE(parse_memory_usage(no_number));
}

TEST_CASE("a line whose name only ends like the wanted one is passed over", "[tune]") {
    const auto usage = parse_memory_usage("Swap_Pss_Anon: 9 kB\nPss_Anonymous: 8 kB\n" + rollup);
    REQUIRE(usage);
    CHECK(usage->anonymous_bytes == 212 * 1024);
}

TEST_CASE("ticks of reaped children are found behind any process name", "[tune]") {
    const std::string rest = " S 1 2 3 0 -1 4194304 100 200 0 0 31 41 59 26 20 0 1 0 9999 8888 77";
    CHECK(parse_reaped_ticks("12 (cat)" + rest) == 59U + 26U);
    CHECK(parse_reaped_ticks("12 (a b) R 7 (c))" + rest) == 59U + 26U);
    CHECK_FALSE(parse_reaped_ticks(""));
    CHECK_FALSE(parse_reaped_ticks("12 (cat) S 1 2 3"));
    CHECK_FALSE(parse_reaped_ticks("12 cat" + rest));
}

TEST_CASE("a process's own pages are told from those it shares with its parent", "[tune]") {
    constexpr std::size_t bytes = 32 << 20;
    const std::vector<char> before_fork(bytes, 1);
    const child idle{[] {}};
    const child busy{[] {
        static std::vector<char> after_fork;
        after_fork.assign(bytes, 1);
    }};
    const auto idle_usage = memory_usage_of(idle.process());
    const auto busy_usage = memory_usage_of(busy.process());
    REQUIRE(idle_usage);
    REQUIRE(busy_usage);
    CHECK(idle_usage->anonymous_bytes < bytes * 3 / 4);  // a third of what the three share
    CHECK(busy_usage->anonymous_bytes > idle_usage->anonymous_bytes + bytes * 3 / 4);
}

TEST_CASE("processor time of a living child and of a reaped one is counted", "[tune]") {
    constexpr double seconds = 0.1;
    const double reaped_before = reaped_cpu_seconds_of(::getpid()).value_or(-1);
    REQUIRE(reaped_before >= 0);
    child busy{[] { burn(seconds); }};
    const auto living = cpu_seconds_of(busy.process());
    REQUIRE(living);
    CHECK(*living >= seconds);
    CHECK(reaped_cpu_seconds_of(::getpid()) == reaped_before);
    busy.end();
    CHECK(reaped_cpu_seconds_of(::getpid()).value_or(0) >= reaped_before + seconds - 0.02);
}

TEST_CASE("of a process that is gone nothing is known", "[tune]") {
    child gone{[] {}};
    const pid_t process = gone.process();
    gone.end();
    CHECK_FALSE(memory_usage_of(process));
    CHECK_FALSE(cpu_seconds_of(process));
    CHECK_FALSE(reaped_cpu_seconds_of(process));
}
