#pragma once

#include <sys/types.h>

#include <chrono>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/collate/stream_fetcher.hpp>
#include <stoker/worker/fetcher_recipe.hpp>
#include <stoker/worker/forked_dataset.hpp>
#include <stoker/worker/recipe_arguments.hpp>

namespace stoker {

namespace detail {

class recipe_connection;

template <class Factory>
inline constexpr bool is_function_pointer =
    std::is_pointer_v<Factory>&& std::is_function_v<std::remove_pointer_t<Factory>>;

/// A callable whose code is all there is to it.
template <class Factory>
concept captureless = is_function_pointer<Factory> ||
    (std::is_empty_v<Factory>&& std::default_initializable<Factory>);

/// Runs in the other process: makes the dataset, and the fetcher around it.
template <class Factory, class... Stored>
std::unique_ptr<fetcher> build_recipe(std::span<const std::byte> bytes) {
    argument_reader in(bytes);
    Factory factory{};
    if constexpr (is_function_pointer<Factory>)
        factory = reinterpret_cast<Factory>(in.read<std::uintptr_t>());
    auto arguments = in.read<std::tuple<Stored...>>();
    return make_any_fetcher(std::apply(factory, std::move(arguments)));
}

}  // namespace detail

/// Lets a process that has threads make loaders at any time. Constructed first in main, it forks a
/// small process that stays as the program was then; datasets are built and workers are forked
/// there, so that no thread of the host, nor its CUDA context, is ever copied.
///
///     int main() {
///         stoker::fork_server forks;
///         …threads start, requests come…
///         stoker::loader loader{
///             forks.dataset([](std::string root) { return image_folder{root}; }, "train/"),
///             {.num_workers = 4}};
///
/// While the object lives, a loader whose own fork server dies gets another one through it: the
/// dataset is built again from its recipe, `next()` waits for that (`build_limit` at most), and the
/// epoch goes on exactly. It counts as one of `max_restarts`.
///
/// Destroying the object ends its process. Loaders that were made from it live on, but cannot
/// replace a fork server of theirs that dies.
///
/// Thread safety: `dataset` from any thread.
class fork_server {
  public:
    /// `build_limit` is how long a recipe may take to make its dataset. Throws
    /// error{threads_at_fork} when the process has other threads already.
    explicit fork_server(std::chrono::milliseconds build_limit = std::chrono::seconds(60));
    fork_server(fork_server&&) noexcept;
    fork_server& operator=(fork_server&&) noexcept;
    ~fork_server();

    /// A dataset that `factory(arguments…)` will make in another process: when a loader is
    /// constructed from it, which then throws what the factory throws. The factory is a lambda
    /// without captures or a function of this program or of a library that was loaded before the
    /// object was made; another one is error{invalid_dataset}. Arguments travel as values
    /// (`recipe_argument`), together with the current directory, the environment and the
    /// processors that this thread may use.
    ///
    /// What the program has changed since the object was made does not exist there: variables,
    /// locales, registrations.
    template <class Factory, class... Arguments>
    auto dataset(Factory factory, Arguments&&... arguments) const;

    /// The process behind it.
    pid_t pid() const noexcept;

  private:
    std::shared_ptr<const detail::recipe_origin> origin_for(
        std::initializer_list<const void*> functions) const;

    std::shared_ptr<const detail::recipe_connection> connection_;
};

template <class Factory, class... Arguments>
auto fork_server::dataset(Factory factory, Arguments&&... arguments) const {
    static_assert(
        detail::captureless<Factory>,
        "stoker: fork_server::dataset needs a lambda without captures, or a function: it runs in "
        "another process. Give what it needs as further arguments.");
    static_assert(
        (detail::recipe_argument<detail::stored_argument<Arguments>> && ...),
        "stoker: fork_server::dataset: arguments travel to another process as values: arithmetic "
        "types, enums, strings, paths, and vectors, arrays, pairs, tuples and optionals "
        "of those.");
    static_assert(
        std::is_invocable_v<Factory, detail::stored_argument<Arguments>...>,
        "stoker: fork_server::dataset: the factory cannot be called with these arguments (texts "
        "arrive as std::string).");
    using made = std::decay_t<std::invoke_result_t<Factory, detail::stored_argument<Arguments>...>>;

    detail::fetcher_recipe recipe;
    recipe.build = &detail::build_recipe<Factory, detail::stored_argument<Arguments>...>;
    const auto* builder = reinterpret_cast<const void*>(recipe.build);
    detail::argument_writer out(recipe.arguments);
    if constexpr (detail::is_function_pointer<Factory>) {
        out.write(reinterpret_cast<std::uintptr_t>(factory));
        recipe.origin = origin_for({builder, reinterpret_cast<const void*>(factory)});
    } else {
        recipe.origin = origin_for({builder});
    }
    out.write(std::tuple<detail::stored_argument<Arguments>...>(
        detail::stored_argument<Arguments>(std::forward<Arguments>(arguments))...));
    return forked_dataset<made>(std::move(recipe));
}

}  // namespace stoker
