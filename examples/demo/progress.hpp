#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "classifier.hpp"

namespace demo {

/// Shows how the training goes: a bar that is redrawn on a terminal, otherwise a line an epoch.
class progress {
  public:
    using clock = std::chrono::steady_clock;

    progress(int epochs, std::size_t samples_an_epoch);

    /// The loop asks for a batch, and has got it: what lies between counts as waiting.
    void ask();
    void got();
    /// The batch is worked off.
    void trained(const score& batch);
    void end_of_epoch(const score& held_out);

  private:
    std::string figures() const;
    void draw_bar();

    int epochs_;
    std::size_t samples_an_epoch_;
    bool terminal_;
    int epoch_ = 1;
    score total_{};
    clock::time_point asked_{};
    clock::time_point drawn_{};
    clock::duration waiting_{};
    clock::duration working_{};
};

}  // namespace demo
