#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <stoker/collate/column.hpp>
#include <stoker/collate/fetcher.hpp>
#include <stoker/collate/member_types.hpp>
#include <stoker/core/index.hpp>

namespace stoker::detail {

/// Where the columns of a batch begin.
template <std::size_t Columns>
std::array<std::byte*, Columns> column_starts(std::byte* data, const column_record* records) {
    std::array<std::byte*, Columns> starts;
    for (std::size_t column = 0; column < Columns; ++column)
        starts[column] = data + records[column].offset;
    return starts;
}

/// Makes batches of samples as their members' types say (`collation`).
///
/// A collator has
/// - `columns()`: the schema of its batches;
/// - `fixed`: a batch's layout follows from its number of samples. Samples are then stored one by
///   one, in any order, as soon as they are made;
/// - `collate`: makes a batch of samples that are all there, whatever their shapes; gives the bytes
///   used.
template <class Sample>
class default_collator {
    using collation_type = collation<Sample>;
    using plan_type = typename collation_type::plan;

  public:
    static constexpr std::size_t column_count = collation_type::column_count;
    static constexpr bool fixed = collation_type::fixed;

    const schema& columns() const { return schema_; }

    /// Only when fixed.
    static void store(const Sample& sample, std::byte* const* starts, std::uint64_t number) {
        plan_type{}.store(std::addressof(sample), starts, number);
    }

    std::uint64_t collate(std::span<Sample> samples, std::span<const index> indices,
                          batch_memory& memory, column_record* records) const {
        plan_type plan;
        for (std::size_t i = 0; i < samples.size(); ++i)
            plan.add(std::addressof(samples[i]), indices[i], schema_.columns.data());
        plan.finish(samples.size(), schema_.columns.data(), records);
        const std::uint64_t bytes = place_columns(schema_.columns, records);
        const auto starts = column_starts<column_count>(memory.data(bytes), records);
        plan.begin(starts.data());
        for (std::size_t i = 0; i < samples.size(); ++i)
            plan.store(std::addressof(samples[i]), starts.data(), i);
        return bytes;
    }

  private:
    schema schema_ = schema_of<Sample>();
};

}  // namespace stoker::detail
