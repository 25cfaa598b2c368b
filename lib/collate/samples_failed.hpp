#pragma once

#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace stoker::detail {

/// One sample of a batch that failed.
struct failed_sample {
    std::size_t number = 0;        ///< in the batch, from 0
    std::exception_ptr failure{};  ///< an `error` with its sample
};

/// What `make_samples` throws when it was to go on behind failures: all of them, by number.
class samples_failed final : public std::exception {
  public:
    explicit samples_failed(std::vector<failed_sample> all) : all_(std::move(all)) {}
    const char* what() const noexcept override { return "samples of a batch failed"; }
    const std::vector<failed_sample>& all() const { return all_; }

  private:
    std::vector<failed_sample> all_;
};

}  // namespace stoker::detail
