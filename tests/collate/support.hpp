#pragma once
// What a worker gives a fetcher, for tests without one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stoker/collate/column.hpp>
#include <stoker/collate/column_access.hpp>
#include <stoker/collate/dataset_fetcher.hpp>
#include <stoker/core/index.hpp>
#include <vector>

namespace stoker::test_support {

/// Memory for one batch, filled with a pattern so that a byte nobody wrote is seen.
class test_memory final : public detail::batch_memory {
  public:
    std::byte* data(std::uint64_t bytes) override {
        asked_ = bytes;
        ++times_asked_;
        return start();
    }
    std::byte* start() { return storage_.bytes.data(); }
    void fill() { storage_.bytes.fill(std::byte{0xcd}); }
    std::uint64_t asked() const { return asked_; }
    int times_asked() const { return times_asked_; }

  private:
    struct alignas(detail::column_alignment) storage {
        std::array<std::byte, 1 << 16> bytes;
    };
    storage storage_ = [] {
        storage filled;
        filled.bytes.fill(std::byte{0xcd});
        return filled;
    }();
    std::uint64_t asked_ = 0;
    int times_asked_ = 0;
};

/// Remembers which samples were begun; gives up after `stop_after` of them.
class test_monitor final : public detail::fetch_monitor {
  public:
    void begin_sample(index sample) noexcept override { begun.push_back(sample); }
    bool abandoned() const noexcept override { return begun.size() >= stop_after; }

    std::vector<index> begun;
    std::size_t stop_after = 1'000'000;
};

/// A dataset with its fetcher and the memory of its last batch.
template <class Dataset>
class test_batch {
  public:
    using sample = typename dataset_traits<Dataset>::sample;
    using access = detail::column_access<sample>;

    explicit test_batch(Dataset dataset) : fetcher_(detail::make_fetcher(std::move(dataset))) {}

    std::uint64_t fetch(const std::vector<index>& indices, std::uint64_t first_position = 0) {
        detail::fetch_task task;
        task.indices = indices;
        task.seed = 1;
        task.epoch = 2;
        task.first_position = first_position;
        task.worker = 3;
        task.num_workers = 4;
        return fetcher_->fetch(task, memory, records.data(), monitor);
    }
    auto columns() { return access::columns(memory.start(), records.data()); }
    template <class Member>
    auto operator[](Member member) {
        return access::member(memory.start(), records.data(), member);
    }
    auto named(std::string_view name) {
        return access::named(memory.start(), records.data(), name);
    }
    detail::fetcher& fetcher() { return *fetcher_; }

    test_memory memory;
    test_monitor monitor;
    std::array<detail::column_record, 16> records{};

  private:
    std::unique_ptr<detail::fetcher> fetcher_;
};

}  // namespace stoker::test_support
