#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <stoker/collate/fetcher.hpp>

namespace stoker::detail {

/// Where a recipe was given: the connection to the fork server's process, the directory, the
/// environment and the processors of that moment.
class recipe_origin;

/// How another process of the same program makes a fetcher: a function of the program, which lies
/// at the same address there, and bytes that it understands.
///
/// Thread safety: like a struct of values.
struct fetcher_recipe {
    using builder = std::unique_ptr<fetcher> (*)(std::span<const std::byte> arguments);

    builder build = nullptr;
    std::vector<std::byte> arguments{};
    std::shared_ptr<const recipe_origin> origin{};
};

}  // namespace stoker::detail
