#pragma once

#include <utility>

#include <stoker/worker/fetcher_recipe.hpp>

namespace stoker {

/// A dataset that is not here: `fork_server::dataset` gives it, a loader takes it in place of a
/// dataset and has it built in a process of its own.
///
/// Move-only; one loader can be made from it. It may outlive the `fork_server` object, but loaders
/// can then no longer be made from it.
///
/// Thread safety: like a container.
template <class Dataset>
class forked_dataset {
  public:
    /// What the recipe makes, in the other process.
    using dataset_type = Dataset;

    explicit forked_dataset(detail::fetcher_recipe recipe) : recipe_(std::move(recipe)) {}
    forked_dataset(forked_dataset&&) noexcept = default;
    forked_dataset& operator=(forked_dataset&&) noexcept = default;
    forked_dataset(const forked_dataset&) = delete;
    forked_dataset& operator=(const forked_dataset&) = delete;

    /// For the loader.
    const detail::fetcher_recipe& recipe() const noexcept { return recipe_; }

  private:
    detail::fetcher_recipe recipe_;
};

}  // namespace stoker
