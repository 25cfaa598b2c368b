#include <stoker/collate/column_writer.hpp>

#include <string>
#include <utility>

#include <stoker/core/error.hpp>

namespace stoker::detail {
namespace {

[[noreturn]] void refuse(std::string text, std::string remedy) {
    throw error(
        {.code = errc::collate_failed, .text = std::move(text), .remedy = std::move(remedy)});
}

std::string quoted(const column& described) {
    return "'" + described.name + "'";
}

}  // namespace

column_writer::column_writer(const schema& described, batch_memory& memory, column_record* records)
    : schema_(described), memory_(memory), records_(records) {
    for (std::size_t i = 0; i < schema_.columns.size(); ++i)
        records_[i] = {};  // rank 0: no shape yet
}

void column_writer::shape(std::size_t number, std::span<const std::int64_t> extents) {
    const column& described = schema_.columns[number];
    if (data_ != nullptr) {
        refuse("the shape of " + quoted(described) + " was declared after memory was asked for",
               "declare the shapes of all members, then ask for their memory");
    }
    column_record record{};
    record.rank = extents.size();
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        const auto extent = static_cast<std::uint64_t>(extents[axis]);
        const std::uint64_t known = described.extents[axis];
        if (extents[axis] < 0) {
            refuse("the extent of axis " + std::to_string(axis) + " of " + quoted(described) +
                       " is " + std::to_string(extents[axis]),
                   "give extents that are 0 or more");
        }
        if (known != unknown_extent && known != extent) {
            refuse("the extent of axis " + std::to_string(axis) + " of " + quoted(described) +
                       " is " + std::to_string(extent) + ", by its type it is " +
                       std::to_string(known),
                   "give the extent of the type, or make it stoker::dynamic");
        }
        record.extents[axis] = extent;
    }
    set_bytes(record, described);
    records_[number] = record;
}

std::byte* column_writer::place(std::size_t number) {
    if (data_ == nullptr) {
        for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
            if (records_[i].rank == 0) {
                refuse("no shape was declared for " + quoted(schema_.columns[i]),
                       "declare the shapes of all members, then ask for their memory");
            }
        }
        bytes_ = place_columns(schema_.columns, records_);
        data_ = memory_.data(bytes_);
    }
    return data_ + records_[number].offset;
}

std::uint64_t column_writer::finish() {
    place(0);
    return bytes_;
}

void throw_collate_failed(const std::exception_ptr& thrown) {
    error_details details = describe(thrown, errc::collate_failed);
    const bool of_the_batch = details.code == errc::batch_too_large ||
                              details.code == errc::memory_limit ||
                              details.code == errc::shape_mismatch;
    if (!details.sample && !of_the_batch)
        details.code = errc::collate_failed;
    throw error(std::move(details));
}

}  // namespace stoker::detail
