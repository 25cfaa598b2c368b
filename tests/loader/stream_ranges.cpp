// Plain ranges as streams, through real workers.

#include <cstdint>
#include <forward_list>
#include <list>
#include <map>
#include <ranges>
#include <sstream>
#include <vector>

#include <range/v3/view/filter.hpp>
#include <range/v3/view/iota.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;

namespace {

template <class Loader>
std::vector<std::int64_t> values_of_epoch(Loader& loader) {
    std::vector<std::int64_t> values;
    while (auto batch = loader.next_blocking()) {
        const auto column = batch[&number::value];
        values.insert(values.end(), column.begin(), column.end());
    }
    return values;
}

/// A generator: a range that can be walked once, and must not be begun twice.
class countdown {
  public:
    explicit countdown(std::int64_t from) : left_(from) {}
    countdown(countdown&&) = default;
    countdown& operator=(countdown&&) = default;

    class iterator {
      public:
        using value_type = number;
        using difference_type = std::ptrdiff_t;
        explicit iterator(countdown& owner) : owner_(&owner) {}
        iterator(iterator&&) = default;
        iterator& operator=(iterator&&) = default;
        number operator*() const { return {owner_->left_, 0}; }
        iterator& operator++() {
            if (--owner_->left_ < 0)
                throw std::logic_error("resumed after the end");
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return owner_->left_ == 0; }

      private:
        countdown* owner_;
    };
    iterator begin() {
        if (std::exchange(begun_, true))
            throw std::logic_error("begun twice");
        return iterator(*this);
    }
    std::default_sentinel_t end() const { return {}; }

  private:
    std::int64_t left_;
    bool begun_ = false;
};
static_assert(stream<countdown>);

number to_number(std::int64_t i) {
    return {i, 0};
}

}  // namespace

TEST_CASE("Ranges without random access are loaded in their order, each epoch anew", "[loader]") {
    const std::list<number> list{{3, 0}, {1, 0}, {4, 0}, {1, 0}, {5, 0}};
    const auto odd = std::views::iota(0, 10) |
                     std::views::filter([](int i) { return i % 2 == 1; }) |
                     std::views::transform([](int i) { return to_number(i); });
    for (const int workers : {0, 1, 3}) {
        loader of_list{list, {.batch_size = 2, .num_workers = workers}};
        CHECK(of_list.length() == 3);
        loader of_view{odd, {.batch_size = 2, .num_workers = workers}};
        CHECK_FALSE(of_view.length());
        loader shared{std::make_shared<const std::list<number>>(list), {.num_workers = workers}};
        for (int epoch = 0; epoch < 2; ++epoch) {
            CHECK(values_of_epoch(of_list) == std::vector<std::int64_t>{3, 1, 4, 1, 5});
            CHECK(values_of_epoch(of_view) == std::vector<std::int64_t>{1, 3, 5, 7, 9});
            CHECK(values_of_epoch(shared).size() == 5);
        }
        const auto first = of_list.next_blocking();
        CHECK(first.size() == 2);
        of_list.restart();
        CHECK(values_of_epoch(of_list) == std::vector<std::int64_t>{3, 1, 4, 1, 5});
    }
}

TEST_CASE("Mapped streams are loaded by workers", "[loader]") {
    const auto squared = std::list{1, 2, 3, 4, 5} | map([](int i, context& c) {
                             return number{i * i, static_cast<std::int32_t>(c.position())};
                         });
    for (const int workers : {0, 2}) {
        loader loader{squared, {.batch_size = 2, .num_workers = workers}};
        CHECK(loader.length() == 3);
        CHECK(values_of_epoch(loader) == std::vector<std::int64_t>{1, 4, 9, 16, 25});
    }
}

TEST_CASE("A range that goes on for ever is one endless epoch", "[loader]") {
    loader loader{std::views::iota(std::int64_t{0}) | std::views::transform(to_number),
                  {.batch_size = 10, .num_workers = 2}};
    for (std::int64_t i = 0; i < 50; ++i) {
        const auto batch = loader.next_blocking();
        CHECK(batch[&number::value](9) == 10 * i + 9);
    }
}

TEST_CASE("A generator is begun once; after its end all epochs are empty", "[loader]") {
    for (const int workers : {0, 1, 4}) {
        loader loader{countdown(5), {.batch_size = 2, .num_workers = workers}};
        CHECK(values_of_epoch(loader) == std::vector<std::int64_t>{5, 4, 3, 2, 1});
        CHECK(values_of_epoch(loader).empty());
        CHECK(values_of_epoch(loader).empty());
    }
    std::istringstream text("1 2 3");
    loader words{std::views::istream<int>(text), {.batch_size = 2}};
    CHECK(words.next_blocking().size() == 2);
    words.restart();
    const auto rest = words.next_blocking();
    CHECK(rest.size() == 1);  // what was read is gone
    CHECK_FALSE(words.next_blocking());
}

TEST_CASE("An element that throws is one error, what comes after it is loaded", "[loader]") {
    for (const int workers : {0, 2}) {
        const auto view = std::views::iota(0, 10) | std::views::filter([](int) { return true; }) |
                          std::views::transform([](int i) {
                              if (i == 4)
                                  throw std::out_of_range("four");
                              return to_number(i);
                          });
        loader loader{view, {.batch_size = 3, .num_workers = workers}};
        std::vector<std::int64_t> values;
        int errors = 0;
        for (bool ended = false; !ended;) {
            try {
                auto batch = loader.next_blocking();
                ended = !batch;
                if (!ended) {
                    const auto column = batch[&number::value];
                    values.insert(values.end(), column.begin(), column.end());
                }
            } catch (const error& e) {
                CHECK(e.text() == "four");
                ++errors;
            }
        }
        CHECK(errors == 1);
        CHECK(values == std::vector<std::int64_t>{0, 1, 2, 5, 6, 7, 8, 9});
    }
}
