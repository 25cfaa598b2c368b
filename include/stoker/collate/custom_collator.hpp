#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include <stoker/collate/batch_struct.hpp>
#include <stoker/collate/column_writer.hpp>
#include <stoker/collate/fetcher.hpp>
#include <stoker/collate/writer.hpp>
#include <stoker/core/index.hpp>

namespace stoker::detail {

/// Makes batches by a user's function; a collator as `default_collator` is one.
template <class Sample, class Function, class Batch>
class custom_collator {
    static_assert(std::is_invocable_v<Function&, std::span<Sample>, writer<Batch>&>,
                  "stoker: a collate's function takes (std::span<const Sample>, "
                  "stoker::writer<Batch>&), where Sample is what the dataset makes");
    static_assert(!std::is_same_v<Sample, bool>,
                  "stoker: a collate needs samples that lie in memory one after the other: put the "
                  "bool into a struct");

  public:
    static constexpr std::size_t column_count = batch_struct<Batch>::column_count;
    static constexpr bool fixed = false;

    explicit custom_collator(Function function) : function_(std::move(function)) {}

    const schema& columns() const { return schema_; }

    std::uint64_t collate(std::span<Sample> samples, std::span<const index>, batch_memory& memory,
                          column_record* records) {
        try {
            column_writer columns(schema_, memory, records);
            writer<Batch> out(columns);
            static_assert(std::is_void_v<decltype(std::invoke(function_, samples, out))>,
                          "stoker: a collate's function returns void");
            std::invoke(function_, samples, out);
            return columns.finish();
        } catch (...) {
            throw_collate_failed(std::current_exception());
        }
    }

  private:
    Function function_;
    schema schema_ = batch_struct<Batch>::describe();
};

}  // namespace stoker::detail
