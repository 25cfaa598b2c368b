// What the system lets a process have: each limit ends in a sentence that names it, never in a
// signal, and leaves nothing behind.

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/instrumented.hpp"
#include "support/leaks.hpp"
#include "support/run_child.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test_support::holds_within;
using test_support::run_child;

namespace {

constexpr int refused = 77;

void set_limit(decltype(RLIMIT_AS) resource, rlim_t value) {
    rlimit limit{};
    ::getrlimit(resource, &limit);
    limit.rlim_cur = std::min(value, limit.rlim_max);
    ::setrlimit(resource, &limit);
}

/// Makes a loader under a limit and reads an epoch: 0 whole, 3 refused with the text.
int load_under(decltype(RLIMIT_AS) resource, rlim_t value, std::ostream& out) {
    set_limit(resource, value);
    try {
        loader source{numbers{40}, {.batch_size = 4, .num_workers = 2}};
        return flatten(read_epoch(source)) == count_to(40) ? 0 : 1;
    } catch (const error& failure) {
        out << failure.what();
        return 3;
    }
}

}  // namespace

TEST_CASE("any limit of open files is either enough or named", "[loader]") {
    if (test_support::instrumented)
        return;  // UBSan asks a pipe whether an object's memory can be read
    std::vector<int> statuses;
    for (rlim_t limit = 4; limit <= 64; limit += 3) {
        const auto outcome =
            run_child([=](std::ostream& out) { return load_under(RLIMIT_NOFILE, limit, out); });
        CAPTURE(limit, outcome.text);
        CHECK_FALSE(outcome.timed_out);
        CHECK(outcome.signal == 0);
        statuses.push_back(outcome.exit_status);
        if (outcome.exit_status == 3)
            CHECK_THAT(outcome.text, ContainsSubstring("EMFILE"));
        else
            CHECK(outcome.exit_status == 0);
    }
    CHECK(statuses.front() == 3);
    CHECK(statuses.back() == 0);
    CHECK(holds_within(2s, [] { return test_support::descendants().empty(); }));
}

TEST_CASE("a file-size limit is named before it kills", "[loader]") {
    for (const rlim_t limit : {0U, 4096U, 65536U}) {
        const auto outcome =
            run_child([=](std::ostream& out) { return load_under(RLIMIT_FSIZE, limit, out); });
        CAPTURE(limit, outcome.text);
        CHECK(outcome.signal == 0);
        CHECK((outcome.exit_status == 0 || outcome.exit_status == 3));
        if (outcome.exit_status == 3)
            CHECK_THAT(outcome.text, ContainsSubstring("RLIMIT_FSIZE"));
    }
}

TEST_CASE("a limit of address space is named, one of locked memory is no concern", "[loader]") {
    const auto locked =
        run_child([](std::ostream& out) { return load_under(RLIMIT_MEMLOCK, 0, out); });
    CAPTURE(locked.text);
    CHECK(locked.succeeded());
    if (test_support::instrumented)
        return;  // sanitizers reserve terabytes
    bool refused_once = false;
    for (const rlim_t mebibytes : {24U, 32U, 48U, 64U, 512U}) {
        const auto outcome = run_child(
            [=](std::ostream& out) { return load_under(RLIMIT_AS, rlim_t{mebibytes} << 20, out); });
        CAPTURE(mebibytes, outcome.text);
        CHECK(outcome.signal == 0);
        refused_once = refused_once || outcome.exit_status == 3;
        if (outcome.exit_status == 3)
            CHECK_THAT(outcome.text, ContainsSubstring("RLIMIT_AS") || ContainsSubstring("ENOMEM"));
        else
            CHECK(outcome.exit_status == 0);
    }
}

TEST_CASE("a batch beyond the limit names samples, size and limit, and costs no other",
          "[loader]") {
    struct growing {
        std::size_t size() const { return 12; }
        tensor<std::uint8_t, dynamic> get(stoker::index i) const {
            return tensor<std::uint8_t, dynamic>(i / 4 == 1 ? std::size_t{6} << 20 : 1000);
        }
    };
    for (const int workers : {0, 1, 2}) {
        const std::uint64_t slots = workers == 0 ? 2 : static_cast<std::uint64_t>(workers) * 2 + 2;
        loader source{growing{},
                      {.batch_size = 4,
                       .num_workers = workers,
                       .memory_limit_bytes = slots * (std::uint64_t{4} << 20)}};
        CHECK(source.next_blocking().number() == 0);
        try {
            (void)source.next_blocking();
            FAIL("24 MiB went into a slot of 4");
        } catch (const error& failure) {
            CHECK(failure.code() == errc::batch_too_large);
            CHECK_THAT(failure.text(), ContainsSubstring("its samples are 4, 5, 6, 7") &&
                                           ContainsSubstring("24 MiB (25165824 bytes)") &&
                                           ContainsSubstring("4 MiB") &&
                                           ContainsSubstring("memory_limit_bytes"));
        }
        const auto last = source.next_blocking();
        CHECK(last.number() == 2);
        CHECK(last.size() == 4);
        CHECK_FALSE(source.next_blocking());
    }
    loader alone{growing{},
                 {.batch_size = 1, .num_workers = 1, .memory_limit_bytes = std::uint64_t{4} << 20}};
    for (int i = 0; i < 4; ++i)
        CHECK(alone.next_blocking());
    try {
        (void)alone.next_blocking();
        FAIL("6 MiB went into a slot of 1");
    } catch (const error& failure) {
        CHECK(failure.sample() == 4);
    }
}

namespace {

/// A memory cgroup of its own for this process, of either version; false where there is none.
bool enter_memory_cgroup(std::uint64_t bytes) {
    struct place {
        const char* root;
        const char* limit;
    };
    for (const place& kind :
         {place{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
          place{"/sys/fs/cgroup", "memory.max"}, place{"/sys/fs/cgroup/unified", "memory.max"}}) {
        const std::string group = std::string(kind.root) + "/stoker-test";
        std::error_code ignored;
        std::filesystem::create_directory(group, ignored);
        std::ofstream limit(group + "/" + kind.limit);
        limit << bytes << std::flush;
        std::ofstream member(group + "/cgroup.procs");
        member << ::getpid() << std::flush;
        if (limit && member)
            return true;
        std::filesystem::remove(group, ignored);
    }
    return false;
}

void remove_memory_cgroups() {
    for (const char* root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        std::error_code ignored;
        std::filesystem::remove(std::string(root) + "/stoker-test", ignored);
    }
}

/// Sample 6 takes all the memory that its cgroup has.
struct hungry {
    std::size_t size() const { return 8; }
    number get(stoker::index i) const {
        if (i == 6) {
            std::vector<std::vector<char>> all;
            for (int mebibyte = 0; mebibyte < 1024; ++mebibyte)
                all.emplace_back(std::size_t{1} << 20, 'x');
            return {static_cast<std::int64_t>(all.size()), 0};
        }
        return {static_cast<std::int64_t>(i), 0};
    }
};

}  // namespace

TEST_CASE("a worker that the out-of-memory killer ended is named as such", "[loader]") {
    if (test_support::instrumented)
        return;  // whose own memory would count
    const auto outcome = run_child(
        [](std::ostream& out) {
            if (!enter_memory_cgroup(std::uint64_t{192} << 20))
                return refused;
            loader source{hungry{}, {.batch_size = 2, .num_workers = 2, .max_restarts = 10}};
            int batches = 0;
            for (bool more = true; more;) {
                try {
                    more = bool{source.next_blocking()};
                    batches += more ? 1 : 0;
                } catch (const error& failure) {
                    out << failure.what();
                    if (failure.sample() != 6)
                        return 2;
                }
            }
            return batches == 3 ? 0 : 1;
        },
        60s);
    CHECK(holds_within(2s, [] { return test_support::descendants().empty(); }));
    remove_memory_cgroups();
    if (outcome.exit_status == refused) {
        WARN("skipped: no memory cgroup can be made here");
        return;
    }
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
    CHECK_THAT(outcome.text, ContainsSubstring("out-of-memory killer") &&
                                 ContainsSubstring("stoker-test") &&
                                 ContainsSubstring("killed by signal 9"));
}

TEST_CASE("a cgroup's limit is looked at before slots are made or grow", "[loader]") {
    struct wide {
        std::size_t size() const { return 4; }
        tensor<std::uint8_t, dynamic> get(stoker::index i) const {
            return tensor<std::uint8_t, dynamic>(i == 1 ? std::size_t{90} << 20 : 100);
        }
    };
    struct block {
        tensor<std::uint8_t, 1 << 20> bytes;
    };
    struct blocks {
        std::size_t size() const { return 256; }
        void read(stoker::index, row<block>) const {}
    };
    if (test_support::instrumented)
        return;
    const auto outcome = run_child([](std::ostream& out) {
        if (!enter_memory_cgroup(std::uint64_t{160} << 20))
            return refused;
        try {
            loader large{blocks{}, {.batch_size = 128, .num_workers = 1}};
            return 1;
        } catch (const error& failure) {
            if (failure.code() != errc::memory_limit)
                return 2;
            out << failure.what() << '\n';
        }
        loader source{wide{}, {.batch_size = 1, .num_workers = 1}};
        if (!source.next_blocking())
            return 3;
        try {
            (void)source.next_blocking();
            return 4;
        } catch (const error& failure) {
            if (failure.code() != errc::memory_limit || failure.sample() != 1)
                return 5;
            out << failure.what() << '\n';
        }
        return source.next_blocking().number() == 2 ? 0 : 6;
    });
    CHECK(holds_within(2s, [] { return test_support::descendants().empty(); }));
    remove_memory_cgroups();
    if (outcome.exit_status == refused) {
        WARN("skipped: no memory cgroup can be made here");
        return;
    }
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
    CHECK_THAT(outcome.text, ContainsSubstring("stoker-test"));
}

TEST_CASE("5,000 batches are held with 256 descriptors", "[loader][B165]") {
    const auto outcome = run_child(
        [](std::ostream& out) {
            set_limit(RLIMIT_NOFILE, 256);
            loader source{numbers{20000},
                          {.batch_size = 4, .num_workers = 4, .prefetch_factor = 1250}};
            std::vector<decltype(source.next_blocking())> held;
            while (held.size() < 5000)
                held.push_back(source.next_blocking());
            for (std::size_t i = 0; i < held.size(); ++i) {
                for (std::size_t k = 0; k < 4; ++k) {
                    if (held[i][&number::value](k) != static_cast<std::int64_t>(i * 4 + k))
                        return 1;
                }
            }
            out << test_support::open_descriptor_count() << " descriptors";
            return test_support::open_descriptor_count() < 64 ? 0 : 2;
        },
        60s);
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
}

namespace {

/// Opened where the dataset is made, read by its position, as naive code does.
struct shard {
    explicit shard(const std::string& path) : file(std::fopen(path.c_str(), "rb")) {}
    std::FILE* file;
    std::size_t size() const { return 4000; }
    std::int64_t get(stoker::index i) const {
        std::array<std::int64_t, 32> record{};
        std::fseek(file, static_cast<long>(i * sizeof record), SEEK_SET);
        if (std::fread(record.data(), sizeof record, 1, file) != 1)
            throw std::runtime_error("short read");
        for (const std::int64_t each : record) {
            if (each != record[0])
                throw std::runtime_error("two records in one");
        }
        return record[0];
    }
};

}  // namespace

TEST_CASE("a file that a dataset opened before its workers started is each worker's own",
          "[loader][B166]") {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("stoker-shard-" + std::to_string(::getpid()));
    {
        std::ofstream out(path, std::ios::binary);
        for (std::int64_t i = 0; i < 4000; ++i) {
            std::array<std::int64_t, 32> record{};
            record.fill(i * 7);
            out.write(reinterpret_cast<const char*>(record.data()), sizeof record);
        }
    }
    loader source{shard{path.string()}, {.batch_size = 5, .shuffle = true, .num_workers = 8}};
    std::size_t right = 0;
    while (const auto batch = source.next_blocking()) {
        const auto [values] = batch.columns();
        for (std::size_t i = 0; i < batch.size(); ++i)
            right += values[i] == static_cast<std::int64_t>(batch.indices()[i]) * 7 ? 1 : 0;
    }
    CHECK(right == 4000);
    std::filesystem::remove(path);
}
