#pragma once

#include <stoker/dataset/member.hpp>
#include <stoker/dataset/sequence.hpp>

namespace stoker {

/// A member of a sample: a list whose length differs from sample to sample. In a batch all lists
/// lie one after the other, with 64-bit offsets that say where each begins: see `ragged_view`.
///
///     struct box { float x, y; std::int32_t label; };
///     struct scene { stoker::ragged<float> weights; stoker::ragged<box> boxes; };
///     scene s{{0.5f, 0.25f}, {{1, 2, 7}, {3, 4, 8}}};
///
/// Filled like a std::vector: it is made from one (moved in, without a copy), from a std::span or a
/// list, and has size, empty, reserve, resize, clear, push_back, assign, data, [], begin, end.
/// `T` is an element, a tensor or std::array of static extents, or a plain struct of these, whose
/// members become columns that share one list of offsets: see `ragged_struct_view`.
///
/// Columns: "weights" and "weights.offsets"; of a struct "boxes.x", "boxes.y", "boxes.label" and
/// "boxes.offsets" (i64).
///
/// Thread safety: that of a container.
template <class T>
class ragged : public detail::sequence<T> {
    static_assert(detail::inline_columns<T>() > 0,
                  "stoker: ragged<T> holds elements, tensors and std::arrays of static extents, or "
                  "plain structs of these");

  public:
    using detail::sequence<T>::sequence;
};

}  // namespace stoker
