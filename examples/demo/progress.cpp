#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace demo {
namespace {

constexpr std::size_t bar_width = 20;
constexpr std::chrono::milliseconds between_drawings{50};

double seconds(progress::clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace

progress::progress(int epochs, std::size_t samples_an_epoch)
    : epochs_(epochs), samples_an_epoch_(samples_an_epoch), terminal_(::isatty(1) == 1) {}

void progress::ask() {
    asked_ = clock::now();
}

void progress::got() {
    const auto now = clock::now();
    waiting_ += now - asked_;
    asked_ = now;
}

void progress::trained(const score& batch) {
    const auto now = clock::now();
    working_ += now - asked_;
    total_ += batch;
    if (terminal_ && now - drawn_ >= between_drawings) {
        drawn_ = now;
        draw_bar();
    }
}

std::string progress::figures() const {
    const double spent = seconds(waiting_ + working_);
    std::array<char, 160> text{};
    std::snprintf(text.data(), text.size(),
                  "loss %.3f  accuracy %5.1f %%  %6.0f samples/s  waiting for data %2.0f %%",
                  total_.mean_loss(), 100 * total_.accuracy(),
                  static_cast<double>(total_.count) / std::max(spent, 1e-9),
                  100 * seconds(waiting_) / std::max(spent, 1e-9));
    return text.data();
}

void progress::draw_bar() {
    const std::size_t done =
        std::min(bar_width, bar_width * total_.count / std::max<std::size_t>(samples_an_epoch_, 1));
    const std::string bar = std::string(done, '=') + std::string(bar_width - done, ' ');
    std::printf("\r\033[Kepoch %2d/%d [%s] %s", epoch_, epochs_, bar.c_str(), figures().c_str());
    std::fflush(stdout);
}

void progress::end_of_epoch(const score& held_out) {
    std::printf("%sepoch %2d/%d  %s  held out %5.1f %%\n", terminal_ ? "\r\033[K" : "", epoch_,
                epochs_, figures().c_str(), 100 * held_out.accuracy());
    std::fflush(stdout);
    ++epoch_;
    total_ = {};
    waiting_ = {};
    working_ = {};
}

}  // namespace demo
