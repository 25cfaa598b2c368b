#pragma once
// A group of workers over their slots, as a machine sets one up, driven by hand.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <stoker/collate/dataset_fetcher.hpp>
#include "loader/slot_pool.hpp"
#include "loader/worker_group.hpp"
#include "support/leaks.hpp"

namespace stoker::test_loader {

using detail::doorbell;
using detail::fetcher;
using detail::loader_clock;
using detail::plan_slots;
using detail::server_link;
using detail::slab;
using detail::slot_pool;
using detail::task_message;
using detail::worker_environment;
using detail::worker_group;

struct squares {
    std::size_t size() const { return 1000; }
    std::int64_t get(stoker::index i) const { return static_cast<std::int64_t>(i * i); }
};

struct group_rig {
    std::unique_ptr<fetcher> source = detail::make_fetcher(squares{});
    std::shared_ptr<slot_pool> pool;
    std::unique_ptr<worker_group> group;

    explicit group_rig(int workers) {
        server_link link = server_link::fork_here(*source, "group", false);
        pool = std::make_shared<slot_pool>(slab::create(plan_slots(8, source->columns(), 4, 0)),
                                           doorbell::create(), workers);
        group = std::make_unique<worker_group>(std::move(link), worker_group::limits{workers, 8},
                                               pool->bell());
        group->link().set_up(environment());
        group->start_missing();
    }
    worker_environment environment() const {
        worker_environment environment{};
        environment.geometry = pool->slots().geometry();
        environment.slab_memory = pool->slots().memory_descriptor();
        environment.control_memory = group->control_memory();
        environment.result_bell = pool->bell().number();
        environment.num_workers = group->count();
        environment.name = "group";
        return environment;
    }
    task_message task(std::uint64_t sequence, std::uint32_t slot) {
        for (stoker::index i = 0; i < 4; ++i)
            pool->slots().indices(slot)[i] = sequence + i;
        task_message message{};
        message.sequence = sequence;
        message.slot = slot;
        message.index_count = 4;
        return message;
    }
    bool wait_for(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
        return stoker::test_support::holds_within(limit, [&] {
            group->take_events();
            group->settle_deaths(loader_clock::now());
            return condition();
        });
    }
};

}  // namespace stoker::test_loader
