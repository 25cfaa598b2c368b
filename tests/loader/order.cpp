// How a loader treats the user's sampler.

#include <cstddef>
#include <iterator>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;

namespace {

/// What was asked of a range of indices.
struct questions {
    int begins = 0;
    int after_end = 0;
};

/// 0 up to, but not including, `count`; would go on, were it asked after its end.
class forgetful_range {
  public:
    forgetful_range(int count, questions& asked) : count_(count), asked_(&asked) {}

    class iterator {
      public:
        using value_type = int;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        explicit iterator(forgetful_range& range) : range_(&range) {}
        int operator*() const { return at_; }
        iterator& operator++() {
            ++at_;
            return *this;
        }
        iterator operator++(int) {
            iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const iterator& other) const { return at_ == other.at_; }
        bool operator==(std::default_sentinel_t) const {
            if (at_ != range_->count_)
                return false;
            const bool first = !range_->ended_;
            range_->ended_ = true;
            range_->asked_->after_end += first ? 0 : 1;
            return first;
        }

      private:
        forgetful_range* range_ = nullptr;
        int at_ = 0;
    };

    iterator begin() {
        ++asked_->begins;
        ended_ = false;
        return iterator(*this);
    }
    std::default_sentinel_t end() const { return {}; }

  private:
    int count_;
    questions* asked_;
    bool ended_ = false;
};

}  // namespace

TEST_CASE("a sampler that has ended is not asked again until a new epoch", "[loader][B033]") {
    for (const int workers : {0, 1, 4}) {
        for (const int epochs : {0, 2}) {
            questions asked;
            {
                loader source{numbers{10},
                              {.batch_size = 3, .num_workers = workers, .epochs = epochs},
                              sampler{forgetful_range(10, asked)}};
                for (int epoch = 0; epoch < 2; ++epoch)
                    CHECK(flatten(read_epoch(source)) == count_to(10));
            }
            CAPTURE(workers, epochs);
            CHECK(asked.begins == 2);
            CHECK(asked.after_end == 0);
        }
    }
}

TEST_CASE("all bytes of a batch are the same for any number of workers", "[loader]") {
    // 13 samples: a short batch lies in a slot that had a full one before.
    const auto bytes_of = [](int workers) {
        loader source{numbers{13}, {.batch_size = 8, .shuffle = true, .num_workers = workers}};
        std::vector<std::vector<std::byte>> all;
        for (int epoch = 0; epoch < 6; ++epoch) {
            while (const auto batch = source.next_blocking())
                all.emplace_back(batch.bytes().begin(), batch.bytes().end());
        }
        return all;
    };
    const auto expected = bytes_of(0);
    REQUIRE(expected.size() == 12);
    CHECK(bytes_of(1) == expected);
    CHECK(bytes_of(2) == expected);
}
