#include <algorithm>
#include <cstddef>
#include <forward_list>
#include <memory>
#include <vector>

#define RUNS_ANYWHERE
#include "mlp_on.hpp"

namespace {

/// A loop in the place of threads; all has happened when a call returns.
class host {
  public:
    CUstream_st* stream() const { return nullptr; }

    float* allocate(std::size_t count) {
        memory_.emplace_front(count);
        return memory_.front().data();
    }
    int* counter() { return &counter_; }
    void fill(float* to, const std::vector<float>& values) { std::ranges::copy(values, to); }

    template <class Job>
    void run(const Job& job, std::size_t threads) {
        for (std::size_t thread = 0; thread < threads; ++thread)
            job(thread);
    }

  private:
    std::forward_list<std::vector<float>> memory_;
    int counter_ = 0;
};

}  // namespace

std::unique_ptr<mlp> make_mlp_on_host() {
    return std::make_unique<mlp_on<host>>();
}
