#include "ipc/control.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <utility>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "ipc/memory_limits.hpp"

namespace stoker::detail {

static_assert(sizeof(control_words) % alignof(worker_words) == 0, "worker words follow");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "words are shared by processes");

namespace {

std::size_t control_bytes(int worker_count) noexcept {
    return sizeof(control_words) + std::size_t(worker_count) * sizeof(worker_words);
}

}  // namespace

worker_words* control_words::worker(int number) noexcept {
    return reinterpret_cast<worker_words*>(this + 1) + number;
}

control_block control_block::create(int worker_count) {
    control_block made;
    made.memory_ = make_sealed_memory("stoker-control", control_bytes(worker_count),
                                      "the words that main and its workers share");
    made.map(worker_count);
    // In this order nothing is written that a worker could have written before: there is none yet.
    std::construct_at(made.words_);
    for (int number = 0; number < worker_count; ++number) {
        std::construct_at(made.words_->worker(number));
    }
    return made;
}

control_block control_block::open(descriptor memory, int worker_count) {
    struct stat status {};
    if (::fstat(memory.get(), &status) != 0 ||
        std::uint64_t(status.st_size) < control_bytes(worker_count)) {
        throw error{errc::protocol, "the words shared with main are fewer than agreed"};
    }
    control_block made;
    made.memory_ = std::move(memory);
    made.map(worker_count);
    return made;
}

void control_block::map(int worker_count) {
    bytes_ = control_bytes(worker_count);
    worker_count_ = worker_count;
    std::byte* const memory =
        system::map(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0,
                    "the words that main and workers share");
    words_ = reinterpret_cast<control_words*>(memory);
    system::advise(memory, bytes_, MADV_DONTFORK);
    owner_ = ::getpid();
}

void control_block::unmap() noexcept {
    control_words* const words = std::exchange(words_, nullptr);
    // A fork never had the mapping: by now the addresses may be those of something of its own.
    if (words != nullptr && ::getpid() == owner_)
        system::unmap(words, bytes_);
}

control_block::control_block(control_block&& other) noexcept
    : memory_(std::move(other.memory_)),
      words_(std::exchange(other.words_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      worker_count_(std::exchange(other.worker_count_, 0)),
      owner_(other.owner_) {}

control_block& control_block::operator=(control_block&& other) noexcept {
    if (this != &other) {
        unmap();
        memory_ = std::move(other.memory_);
        words_ = std::exchange(other.words_, nullptr);
        bytes_ = std::exchange(other.bytes_, 0);
        worker_count_ = std::exchange(other.worker_count_, 0);
        owner_ = other.owner_;
    }
    return *this;
}

control_block::~control_block() {
    unmap();
}

worker_words& control_block::worker(int number) const {
    if (number < 0 || number >= worker_count_) {
        throw error{errc::protocol, "there is no worker " + std::to_string(number)};
    }
    return *words_->worker(number);
}

void control_block::reset_worker(int number) const {
    std::construct_at(&worker(number));
}

}  // namespace stoker::detail
