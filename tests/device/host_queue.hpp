#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <stoker/collate/member_types.hpp>
#include <stoker/device/preparation.hpp>

namespace stoker::detail {

/// Does at once on the host what it is given, from a copy of the arguments as devices do, and keeps
/// count.
class host_queue final : public kernel_queue {
  public:
    void launch(const kernel_call& call) override {
        std::vector<std::max_align_t> copy(call.argument_bytes / sizeof(std::max_align_t) + 1);
        std::memcpy(copy.data(), call.arguments, call.argument_bytes);
        call.run(copy.data());
        kernels.emplace_back(call.name);
    }
    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
        std::memcpy(to, from, bytes);
        copied_bytes += bytes;
    }

    std::vector<std::string> kernels;
    std::uint64_t copied_bytes = 0;
};

/// A batch's memory with its records, 256-byte aligned, as a worker or a feed has it.
class batch_memory {
  public:
    explicit batch_memory(std::size_t columns) : records(columns) {}
    /// Place for so many bytes, poisoned, with the 16 bytes beyond that kernels may read.
    void allocate(std::uint64_t bytes) {
        memory_.assign((bytes + 16) / sizeof(line) + 1, line{});
        std::memset(memory_.data(), 0xa5, memory_.size() * sizeof(line));
    }
    std::byte* data() { return memory_.data()->bytes; }
    column_block block() { return {data(), records.data()}; }
    /// The elements of a column.
    template <class T>
    T* column(std::size_t number) {
        return reinterpret_cast<T*>(data() + records[number].offset);
    }

    std::vector<column_record> records;

  private:
    struct alignas(256) line {
        std::byte bytes[256];
    };
    std::vector<line> memory_;
};

/// A batch of `samples` of a type whose members all have static extents.
template <class Sample>
batch_memory batch_of(std::uint64_t samples) {
    const schema columns = schema_of<Sample>();
    batch_memory made(columns.columns.size());
    made.allocate(columns.lay_out(samples, made.records.data()));
    return made;
}

/// What a preparation makes of a batch.
inline batch_memory prepared_from(const preparation& plan, batch_memory& source,
                                  host_queue& queue) {
    batch_memory made(plan.column_count());
    made.allocate(plan.lay_out(source.records.data(), made.records.data()));
    plan.enqueue(queue, source.block(), made.block());
    return made;
}

}  // namespace stoker::detail
