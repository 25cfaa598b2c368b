#pragma once
// Datasets of coroutines and of batches for the tests of composition, and a loop to run them.

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/dataset/dataset.hpp>

namespace stoker::test_dataset {

namespace asio = boost::asio;

/// Shows a sample that is destroyed twice: too few are alive then.
struct counted {
    std::shared_ptr<int> alive = nullptr;
    std::int64_t value = 0;
};
/// One for all samples of a test.
inline std::shared_ptr<int> life = std::make_shared<int>(0);
inline counted make_counted(std::int64_t value) {
    return {life, value};
}
inline bool none_alive() {
    return life.use_count() == 1;
}

/// Sample i is i, after a turn of the loop's.
struct waiting {
    int* opened = nullptr;
    int size() const { return 5; }
    asio::awaitable<void> open() {
        co_await turn();
        ++*opened;
    }
    asio::awaitable<counted> get(index i) {
        co_await turn();
        counted made = make_counted(static_cast<std::int64_t>(i));
        co_return made;
    }
    static asio::awaitable<void> turn() { co_return; }
};
struct waiting_with_context {
    int size() const { return 5; }
    asio::awaitable<counted> get(index i, context& c) {
        counted made = make_counted(static_cast<std::int64_t>(i + 100 * c.position()));
        co_return made;
    }
};
/// Counts its calls.
struct batched {
    int* calls = nullptr;
    int size() const { return 5; }
    std::vector<counted> get(std::span<const index> indices) {
        ++*calls;
        std::vector<counted> all;
        for (const index i : indices)
            all.push_back(make_counted(static_cast<std::int64_t>(i)));
        return all;
    }
};
struct batched_with_context {
    int* calls = nullptr;
    int size() const { return 5; }
    std::vector<counted> get(std::span<const index> indices, const batch_context& c) {
        ++*calls;
        std::vector<counted> all;
        for (const index i : indices) {
            const auto own = c.sample(all.size());
            all.push_back(make_counted(static_cast<std::int64_t>(i + 100 * own.position())));
        }
        return all;
    }
};
struct batched_waiting {
    int size() const { return 5; }
    asio::awaitable<std::vector<counted>> get(std::span<const index> indices) {
        co_await waiting::turn();
        std::vector<counted> all;
        for (const index i : indices)
            all.push_back(make_counted(static_cast<std::int64_t>(i)));
        co_return all;
    }
};

template <class Result>
Result run(asio::awaitable<Result> work) {
    asio::io_context loop;
    std::optional<Result> result;
    std::exception_ptr failure;
    asio::co_spawn(loop, std::move(work), [&](std::exception_ptr thrown, Result given) {
        failure = std::move(thrown);
        result.emplace(std::move(given));
    });
    loop.run();
    if (failure)
        std::rethrow_exception(failure);
    return std::move(*result);
}
inline void run(asio::awaitable<void> work) {
    asio::io_context loop;
    std::exception_ptr failure;
    asio::co_spawn(loop, std::move(work),
                   [&](std::exception_ptr thrown) { failure = std::move(thrown); });
    loop.run();
    if (failure)
        std::rethrow_exception(failure);
}

/// The values of these samples, in one batch where the dataset makes batches.
template <class D>
std::vector<std::int64_t> awaited_values(D&& dataset, std::vector<index> indices) {
    using access = detail::dataset_access<std::remove_cvref_t<D>>;
    std::vector<counted> made;
    const batch_context all{1, 0, 0};
    const auto take = [&](auto&& given) {
        if constexpr (access::waits) {
            return run(std::move(given));
        } else {
            return given;
        }
    };
    if constexpr (access::batched && access::uses_context) {
        made = take(dataset.get(indices, all));
    } else if constexpr (access::batched) {
        made = take(dataset.get(indices));
    } else {
        for (const index i : indices) {
            context own = all.sample(made.size());
            if constexpr (access::uses_context) {
                made.push_back(take(dataset.get(i, own)));
            } else {
                made.push_back(take(dataset.get(i)));
            }
        }
    }
    std::vector<std::int64_t> values;
    for (const counted& each : made)
        values.push_back(each.value);
    return values;
}

}  // namespace stoker::test_dataset
