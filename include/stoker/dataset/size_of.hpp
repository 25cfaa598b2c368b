#pragma once

#include <cstdint>

#include <stoker/dataset/dataset.hpp>

namespace stoker::detail {

/// Throws error{invalid_dataset}: a pointer that should mean a dataset is null.
[[noreturn]] void throw_null_dataset();

/// Samples of a dataset that is to become a part of another. Throws error{invalid_dataset} for a
/// null pointer to one.
template <class Dataset>
std::uint64_t size_of(Dataset& dataset) {
    if (pointed_dataset<Dataset>::missing(dataset))
        throw_null_dataset();
    return dataset_access<Dataset>::size(dataset);
}

}  // namespace stoker::detail
