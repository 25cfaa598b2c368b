#include <algorithm>
#include <stoker/sampler/batch_count.hpp>
#include <stoker/sampler/default_source.hpp>
#include <utility>

#include "sampler/permutation.hpp"

namespace stoker::detail {

namespace {

struct sequential_order {
    sequential_order(std::uint64_t /*size*/, std::uint64_t /*seed*/, std::uint64_t /*epoch*/) {}
    index operator()(std::uint64_t position) const noexcept { return position; }
};

/// `Order` maps positions to indices and is made anew for each epoch.
template <class Order>
class default_source final : public index_source {
  public:
    default_source(std::uint64_t size, std::uint64_t batch_size, bool drop_last, std::uint64_t seed)
        : size_{size},
          batch_size_{batch_size},
          batch_count_{batch_count(size, batch_size, drop_last)},
          seed_{seed},
          order_{size, seed, 0} {}

    void begin(std::uint64_t epoch) override {
        order_ = Order{size_, seed_, epoch};
        batch_ = 0;
    }

    bool next(std::vector<index>& indices) override {
        std::uint64_t position = std::min(batch_ * batch_size_, size_);
        indices.resize(static_cast<std::size_t>(std::min(batch_size_, size_ - position)));
        for (index& each : indices) {
            each = order_(position++);
        }
        const bool more = batch_ < batch_count_;
        batch_ += more ? 1 : 0;
        return more;
    }

    std::optional<std::uint64_t> length() const override { return batch_count_; }

    /// No batch is larger than the whole set, however large batch_size is.
    std::optional<std::uint64_t> largest_batch() const override {
        return std::clamp(size_, std::uint64_t{1}, batch_size_);
    }

  private:
    std::uint64_t size_;
    std::uint64_t batch_size_;
    std::uint64_t batch_count_;
    std::uint64_t seed_;
    Order order_;
    std::uint64_t batch_ = 0;
};

}  // namespace

std::unique_ptr<index_source> make_default_source(std::uint64_t size, std::uint64_t batch_size,
                                                  bool shuffle, bool drop_last,
                                                  std::uint64_t seed) {
    if (shuffle) {
        return std::make_unique<default_source<permutation>>(size, batch_size, drop_last, seed);
    }
    return std::make_unique<default_source<sequential_order>>(size, batch_size, drop_last, seed);
}

}  // namespace stoker::detail
