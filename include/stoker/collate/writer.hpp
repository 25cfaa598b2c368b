#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <stoker/collate/batch_struct.hpp>
#include <stoker/collate/column_writer.hpp>

namespace stoker {

/// Where a custom collate writes its batch: in place, in the memory that the loader's user gets.
/// `Batch` is a struct of tensors, which have all axes of the batch.
///
/// The shapes of all members are declared first, then their memory is asked for:
///
///     struct padded_pair { stoker::tensor<std::int32_t, stoker::dynamic, stoker::dynamic> tokens;
///                          stoker::tensor<bool, stoker::dynamic, stoker::dynamic> mask; };
///     void collate_pair(std::span<const sentence> samples, stoker::writer<padded_pair>& out) {
///         out.shape(&padded_pair::tokens, samples.size(), longest(samples));
///         out.shape(&padded_pair::mask, samples.size(), longest(samples));
///         auto mask = out.fill(&padded_pair::mask, false);
///         auto tokens = out[&padded_pair::tokens];        // tensor_view<std::int32_t, …>
///         …
///     }
///
/// Every element must be written: the memory still holds what a batch before this one left there.
/// Views are valid until the collate returns.
///
/// Errors: error{collate_failed} when memory is asked for while a member has no shape, when a shape
/// comes after that, is negative or contradicts the type, or is missing in the end;
/// error{batch_too_large or memory_limit} when there is not that much memory.
///
/// Thread safety: one thread; distinct elements may be written by distinct threads.
template <class Batch>
class writer {
    using columns_type = detail::batch_struct<Batch>;

  public:
    explicit writer(detail::column_writer& columns) noexcept : columns_(columns) {}
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;

    /// Declares a member's shape: one extent for each axis.
    template <class Member, std::same_as<Batch> Owner, std::integral... Extents>
    void shape(Member Owner::*member, Extents... extents) {
        static_assert(sizeof...(Extents) == columns_type::template extents_of<Member>::rank,
                      "stoker: shape() takes one extent for each axis of the member");
        const std::array<std::int64_t, sizeof...(Extents)> all{
            static_cast<std::int64_t>(extents)...};
        columns_.shape(columns_type::number_of(member), all);
    }
    /// A member's memory, a tensor_view of the shape that was declared.
    template <class Member, std::same_as<Batch> Owner>
    auto operator[](Member Owner::*member) {
        const std::size_t number = columns_type::number_of(member);
        std::byte* const place = columns_.place(number);
        return columns_type::template view<Member>(place, columns_.record(number));
    }
    /// The same, each element set to `value`.
    template <class Member, std::same_as<Batch> Owner>
    auto fill(Member Owner::*member, typename columns_type::template element_of<Member> value) {
        auto view = (*this)[member];
        std::fill_n(view.data(), view.size(), value);
        return view;
    }

  private:
    detail::column_writer& columns_;
};

}  // namespace stoker
