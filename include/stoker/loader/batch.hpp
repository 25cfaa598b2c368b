#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stoker/collate/batch_struct.hpp>
#include <stoker/collate/column_access.hpp>
#include <stoker/loader/lease.hpp>

namespace stoker {

/// One batch, or, when it converts to false, the end of an epoch.
///
/// A false batch has size 0 and nothing else: its columns, epoch and number must not be asked for.
///
/// Move-only: it leases the memory that a worker wrote, and gives it back when it is destroyed or
/// assigned to. While it is held its contents never change; a loader has num_workers ×
/// prefetch_factor + 2 slots, so holding many at once ends in errc::no_free_slot. It may outlive
/// its loader. Views from `columns()` and `[]` point into it, hence both are deleted on
/// temporaries.
///
///     auto [pixels, label] = batch.columns();     // views [n, 8, 8] and [n]
///     auto labels = batch[&digit::label];         // by member
///     auto any = batch["label"];                  // by name: type and shape at run time
///     auto mine = batch.clone();                  // in ordinary memory, holds no slot
///
/// The type of a member says how it is collated, what its view is, and what its columns are named:
///
///     member                            view                      columns
///     float, bool, an enum              tensor_view [n]           "label"
///     tensor, std::array                tensor_view [n, axes…]    "pixels"
///     padded<T, value>                  padded_view [n, longest]  "tokens" "tokens.lengths"
///     ragged<T>                         ragged_view               "weights" "weights.offsets"
///     ragged<a struct>                  ragged_struct_view        "boxes.x" … "boxes.offsets"
///     std::string                       strings_view              "path" "path.offsets"
///     std::optional of one of these     optional_view             its own and "mask.present"
///     a struct of these                 struct_view               "inner.x" …
///
/// Where a `collate` part made the batch, `Batch` is the struct that it names, whose members are
/// the columns with the shapes that were declared: `batch[&padded_pair::mask]`.
///
/// Thread safety: distinct batches are independent, on any threads; one batch is like a container.
template <class Sample, class Batch = void>
class batch {
    static constexpr bool by_sample = std::is_void_v<Batch>;
    using columns_type = std::conditional_t<by_sample, Sample, Batch>;
    using access =
        typename std::conditional_t<by_sample,
                                    std::type_identity<detail::column_access<columns_type>>,
                                    std::type_identity<detail::batch_struct<columns_type>>>::type;

  public:
    using sample = Sample;

    batch() = default;
    explicit batch(detail::lease held) noexcept : lease_(std::move(held)) {}

    explicit operator bool() const noexcept { return static_cast<bool>(lease_); }

    /// Views of all members, in order, for structured bindings.
    auto columns() & { return access::columns(data(), records()); }
    auto columns() const& { return access::columns(constant_data(), records()); }
    auto columns() && = delete;
    auto columns() const&& = delete;

    /// View of one member; made by its type, it has a row for each sample.
    template <class Member, std::same_as<columns_type> Owner>
    auto operator[](Member Owner::*member) & {
        return access::member(data(), records(), member);
    }
    template <class Member, std::same_as<columns_type> Owner>
    auto operator[](Member Owner::*member) const& {
        return access::member(constant_data(), records(), member);
    }
    template <class Member, std::same_as<columns_type> Owner>
    auto operator[](Member Owner::*member) && = delete;
    template <class Member, std::same_as<columns_type> Owner>
    auto operator[](Member Owner::*member) const&& = delete;

    /// View of a column by its name ("label", "inner.label"); throws error{invalid_option} with the
    /// names there are.
    auto operator[](std::string_view name) & { return access::named(data(), records(), name); }
    auto operator[](std::string_view name) const& {
        return access::named(constant_data(), records(), name);
    }
    auto operator[](std::string_view name) && = delete;
    auto operator[](std::string_view name) const&& = delete;

    /// Samples in this batch.
    std::size_t size() const noexcept { return lease_ ? record().indices.size() : 0; }
    /// The dataset's indices of its samples, in order.
    std::span<const index> indices() const& noexcept {
        return lease_ ? std::span<const index>(record().indices) : std::span<const index>();
    }
    std::span<const index> indices() && = delete;
    /// The epoch it belongs to, from 0.
    std::uint64_t epoch() const noexcept { return record().epoch; }
    /// Its number within the epoch, from 0, in the sampler's order.
    std::uint64_t number() const noexcept { return record().number; }
    /// Bytes of its columns, zeros between them included; they are contiguous from
    /// `bytes().data()`.
    std::span<const std::byte> bytes() const& noexcept { return {record().data, record().bytes}; }
    std::span<const std::byte> bytes() && = delete;
    /// A copy in ordinary memory: holds no slot, outlives everything, and is used like this one.
    /// A false batch gives a false one. Throws std::bad_alloc.
    batch clone() const { return batch(lease_.copy()); }

  private:
    const detail::slot_record& record() const noexcept {
        assert(lease_ && "stoker: a false batch, the end of an epoch, has no columns");
        return lease_.record();
    }
    const detail::column_record* records() const noexcept { return record().records.data(); }
    std::byte* data() noexcept { return record().data; }
    const std::byte* constant_data() const noexcept { return record().data; }

    detail::lease lease_;
};

}  // namespace stoker
