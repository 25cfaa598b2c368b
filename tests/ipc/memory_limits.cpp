#include "ipc/memory_limits.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <stoker/core/error.hpp>
#include "support/catch.hpp"
#include "support/run_child.hpp"

using namespace stoker::detail;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

/// A tree with /proc files and cgroup directories as a kernel would show them.
class fake_system {
  public:
    fake_system() {
        std::string pattern = (std::filesystem::temp_directory_path() / "stoker-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        root_ = pattern;
    }
    ~fake_system() { std::filesystem::remove_all(root_); }
    fake_system(const fake_system&) = delete;
    fake_system& operator=(const fake_system&) = delete;

    void write(const std::string& path, const std::string& text) const {
        const std::filesystem::path whole = root_ + path;
        std::filesystem::create_directories(whole.parent_path());
        std::ofstream(whole) << text;
    }
    const std::string& root() const { return root_; }

  private:
    std::string root_;
};

void make_version_2(const fake_system& host, const std::string& mount_root = "/") {
    host.write("/proc/self/cgroup", "0::/jobs/mine/step\n");
    host.write("/proc/self/mountinfo",
               "22 1 0:20 / /proc rw - proc proc rw\n"
               "30 22 0:26 " +
                   mount_root + " /cg rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
}

}  // namespace

TEST_CASE("the tightest ancestor of a version 2 cgroup decides", "[ipc]") {
    const fake_system host;
    make_version_2(host);
    host.write("/cg/jobs/mine/step/memory.max", "max\n");
    host.write("/cg/jobs/mine/step/memory.current", "500\n");
    host.write("/cg/jobs/mine/memory.max", "4000\n");
    host.write("/cg/jobs/mine/memory.current", "3000\n");
    host.write("/cg/jobs/memory.max", "100000\n");
    host.write("/cg/jobs/memory.current", "99500\n");
    const auto headroom = read_memory_headroom(host.root());
    REQUIRE(headroom);
    CHECK(headroom->limit_bytes == 100000);
    CHECK(headroom->left_bytes == 500);
    CHECK_THAT(headroom->path, ContainsSubstring("/cg/jobs"));
    CHECK_NOTHROW(check_memory_headroom(500, "a test", host.root()));
    CHECK_THROWS_WITH(check_memory_headroom(501, "a test", host.root()),
                      ContainsSubstring("a test needs 501 bytes") &&
                          ContainsSubstring("500 bytes are left") &&
                          ContainsSubstring("100000 bytes"));
}

TEST_CASE("file pages that the kernel can drop do not count as used", "[ipc]") {
    const fake_system host;
    make_version_2(host);
    host.write("/cg/jobs/mine/memory.max", "4000\n");
    host.write("/cg/jobs/mine/memory.current", "3900\n");
    host.write("/cg/jobs/mine/memory.stat",
               "anon 1000\nfile 2900\nshmem 400\ninactive_file 2000\nactive_file 500\n");
    const auto headroom = read_memory_headroom(host.root());
    REQUIRE(headroom);
    CHECK(headroom->left_bytes == 2600);
}

TEST_CASE("a container's mount shows a part of the tree", "[ipc]") {
    const fake_system host;
    make_version_2(host, "/jobs/mine");
    host.write("/cg/memory.max", "1000\n");
    host.write("/cg/memory.current", "400\n");
    host.write("/cg/step/memory.max", "800\n");
    host.write("/cg/step/memory.current", "100\n");
    const auto headroom = read_memory_headroom(host.root());
    REQUIRE(headroom);
    CHECK(headroom->left_bytes == 600);
}

TEST_CASE("a version 1 cgroup is read too", "[ipc]") {
    const fake_system host;
    host.write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/box\n0::/\n");
    host.write("/proc/self/mountinfo",
               "30 22 0:26 / /cg/memory rw - cgroup cgroup rw,memory\n"
               "31 22 0:27 / /cg/cpuset rw - cgroup cgroup rw,cpuset\n"
               "32 22 0:28 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    host.write("/cg/memory/box/memory.limit_in_bytes", "10000\n");
    host.write("/cg/memory/box/memory.usage_in_bytes", "7000\n");
    host.write("/cg/memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\n");
    host.write("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
    host.write("/cg/memory/memory.usage_in_bytes", "7000\n");
    const auto headroom = read_memory_headroom(host.root());
    REQUIRE(headroom);
    CHECK(headroom->limit_bytes == 10000);
    CHECK(headroom->left_bytes == 4000);
}

TEST_CASE("what cannot be read is no limit", "[ipc]") {
    const fake_system host;
    CHECK_FALSE(read_memory_headroom(host.root()));
    make_version_2(host);
    CHECK_FALSE(read_memory_headroom(host.root()));
    host.write("/cg/jobs/mine/memory.max", "garbage\n");
    host.write("/cg/jobs/mine/memory.current", "12\n");
    CHECK_FALSE(read_memory_headroom(host.root()));
    CHECK_NOTHROW(check_memory_headroom(none, "a test", host.root()));
    CHECK_NOTHROW(read_memory_headroom());
}

TEST_CASE("ulimits are read before they hurt", "[ipc]") {
    const auto outcome = stoker::test_support::run_child([](std::ostream& out) {
        const rlimit file{.rlim_cur = 4096, .rlim_max = 4096};
        ::setrlimit(RLIMIT_FSIZE, &file);
        if (file_size_limit() != 4096)
            return 1;
        make_sealed_memory("test", 4096, "a test");
        try {
            make_sealed_memory("test", 4097, "a test");
        } catch (const stoker::error& failure) {
            out << failure.what();
            return 0;
        }
        return 2;
    });
    INFO(outcome.text);
    CHECK(outcome.succeeded());
    CHECK_THAT(outcome.text, ContainsSubstring("ulimit -f") && ContainsSubstring("4097 bytes"));
    CHECK(address_space_left() > 0);
}

TEST_CASE("sealed memory has its size for ever and is zero", "[ipc]") {
    const descriptor memory = make_sealed_memory("test", 10'000, "a test");
    struct stat status {};
    REQUIRE(::fstat(memory.get(), &status) == 0);
    CHECK(status.st_size == 10'000);
    CHECK(::ftruncate(memory.get(), 10) == -1);
    CHECK(errno == EPERM);
    CHECK((::fcntl(memory.get(), F_GET_SEALS) & F_SEAL_SEAL) != 0);
}

TEST_CASE("bytes are given exactly and readably", "[ipc]") {
    CHECK(format_bytes(12) == "12 bytes");
    CHECK(format_bytes(1536) == "1.5 KiB (1536 bytes)");
    CHECK(format_bytes(std::uint64_t{3} << 30) == "3 GiB (3221225472 bytes)");
    CHECK(format_bytes(none) == "1.638e+04 PiB (18446744073709551615 bytes)");
}

TEST_CASE("what the out-of-memory killer did is read where the kernel counts it", "[ipc]") {
    const fake_system host;
    CHECK(describe_oom_kill({}, read_oom_kills(host.root())).empty());
    make_version_2(host);
    host.write("/proc/vmstat", "nr_free_pages 1\noom_kill 7\npgfault 2\n");
    host.write("/cg/jobs/mine/step/memory.events", "low 0\noom 3\noom_kill 2\n");
    const oom_kills before = read_oom_kills(host.root());
    CHECK(before.on_host == 7);
    CHECK(before.in_cgroup == 2);
    CHECK(describe_oom_kill(before, before).empty());

    host.write("/proc/vmstat", "oom_kill 8\n");
    CHECK_THAT(describe_oom_kill(before, read_oom_kills(host.root())),
               ContainsSubstring("on this host"));
    host.write("/cg/jobs/mine/step/memory.events", "oom_kill 3\n");
    CHECK_THAT(describe_oom_kill(before, read_oom_kills(host.root())),
               ContainsSubstring("/cg/jobs/mine/step"));
}

TEST_CASE("so it is in a version 1 cgroup", "[ipc]") {
    const fake_system host;
    host.write("/proc/self/cgroup", "4:cpu,memory:/box\n");
    host.write("/proc/self/mountinfo", "30 22 0:26 / /cg/memory rw - cgroup cgroup rw,memory\n");
    host.write("/cg/memory/box/memory.oom_control",
               "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    CHECK(read_oom_kills(host.root()).in_cgroup == 4);
}
