#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

#include <stoker/collate/column.hpp>
#include <stoker/collate/fetcher.hpp>

namespace stoker::detail {

/// What `writer` does, with its types taken away: first all shapes, then the memory.
class column_writer {
  public:
    /// All are kept by reference.
    column_writer(const schema& described, batch_memory& memory, column_record* records);

    /// Declares the extents of a column, all axes. May be called again until there is memory.
    /// Throws error{collate_failed or batch_too_large}.
    void shape(std::size_t column, std::span<const std::int64_t> extents);
    /// Where the column begins; the first call takes the memory. Throws error{collate_failed} when
    /// a column has no shape yet, error{batch_too_large or memory_limit}.
    std::byte* place(std::size_t column);
    const column_record& record(std::size_t column) const { return records_[column]; }
    /// At the end: the bytes of the batch. Throws as `place` does.
    std::uint64_t finish();

  private:
    const schema& schema_;
    batch_memory& memory_;
    column_record* records_;
    std::byte* data_ = nullptr;
    std::uint64_t bytes_ = 0;
};

/// Throws what a collate function threw: an `error` of the batch or of a sample that it names as it
/// is; all else as error{collate_failed} with its text and type, which blames no sample.
[[noreturn]] void throw_collate_failed(const std::exception_ptr& thrown);

}  // namespace stoker::detail
