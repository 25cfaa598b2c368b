#pragma once
// The machinery behind a loader: decides what is loaded next and who loads it, and in which order
// batches leave. Passive: it runs only inside the user's calls (`poll`, `wake`, `restart`), never
// between them, and has no executor of its own.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <stoker/core/error.hpp>
#include <stoker/loader/engine.hpp>
#include "ipc/memory_limits.hpp"
#include "loader/ledger.hpp"
#include "loader/local_loop.hpp"
#include "loader/slot_pool.hpp"
#include "loader/stream_order.hpp"
#include "loader/wait_clock.hpp"
#include "loader/worker_group.hpp"
#include "runtime/restart_budget.hpp"
#include "worker/skip_report.hpp"

namespace stoker::detail {

class engine::machine {
  public:
    explicit machine(engine_parts parts);
    ~machine();

    /// Takes the next batch if one is ready; throws what failed in its place. Demand-driven: also
    /// hands out tasks and collects results.
    outcome poll(lease& batch);
    bool ready();

    /// After `pending`: a short spin when batches have lately come that soon. True when something
    /// came, as `poll` would tell.
    bool spin(lease& batch);
    // Waiting. poll → arm → poll → (descriptor gets readable) → wake → poll …
    /// Asks for bells and sets the deadline timer.
    void arm();
    int wait_descriptor() const { return group_->wait_descriptor(); }
    /// Takes note of events, deaths and deadlines; their failures come out of the next `poll`.
    void wake();
    /// The sleep is over, with or without a batch; the clock of the one that is due runs on.
    void end_wait();
    /// For callers that never wait, after a look in vain: from the first one on, deadlines count.
    /// `wake`, but at most every few milliseconds.
    void glance();

    void restart();
    void restart(std::uint64_t epoch);
    void close() noexcept;
    bool closed() const { return closed_; }

    std::uint64_t size() const { return size_; }
    std::optional<std::uint64_t> length() const {
        return stream_ ? stream_->length() : order_->length();
    }
    const loader_options& options() const { return options_; }
    memory_use memory() const;
    std::vector<pid_t> worker_processes();
    const skipped_samples& skipped() const { return skipped_; }
    pid_t fork_server_process() const { return group_->link().pid(); }
    slot_memory slots() const;
    void populate_slots() const;
    void ring() const { pool_->bell().ring(); }

    bool pending = false;  ///< an operation of the engine waits

  private:
    /// A sample that stands in the place of a bad one.
    struct stand_in {
        std::uint64_t place = 0;  ///< in its batch
        index wanted = 0;
        int attempts = 0;
    };
    /// A slot that a worker writes.
    struct loan {
        bool lent = false;
        bool live = false;     ///< its epoch was not abandoned
        int worker = -1;       ///< -1: it died, and nobody else has the task yet
        bool probing = false;  ///< a single sample is tried out there
        pid_t keeper = 0;      ///< of a worker that cannot be killed, and may still write it
        std::uint64_t sequence = 0;
        task_message task{};
        std::vector<std::uint64_t> numbers{};  ///< of its samples, once some were left out
        std::vector<stand_in> stand_ins{};
    };
    static constexpr std::chrono::milliseconds server_look_interval{2000};

    /// Why we killed a worker.
    struct blame {
        errc code = errc::worker_died;
        std::string text{};
    };

    server_link make_link(engine_parts& parts);
    void make_slots();
    bool has_workers() const { return options_.num_workers > 0; }
    bool finished() const;
    std::uint64_t last_epoch_allowed() const;

    // Handing out (machine.cpp).
    void demand_epoch();
    void pump();
    void begin_epoch();
    void refuse_empty_epochs();
    void fail_order(std::exception_ptr failure);
    void finish_order(bool any, std::uint64_t left_out);
    void end_order();
    bool room_in_ledger() const;
    bool issue_one();
    bool look_ahead();
    bool refuse_bad_indices();
    task_message write_task(std::uint32_t slot, std::uint64_t sequence);
    void open_here();
    void load_here(std::uint64_t sequence, const task_message& task);

    // Streams (machine_stream.cpp).
    void make_order(engine_parts& parts);
    bool issue_from_stream();
    std::optional<int> worker_for(std::optional<std::uint64_t> lane);
    std::optional<int> worker_for_orphan(std::uint32_t slot);
    void write_request_again(std::uint32_t slot);
    std::string leave_shard(const ledger_entry& entry);
    void accuse_shard(std::uint32_t slot, const error_details& death);
    task_message write_stream_task(std::uint32_t slot, std::uint64_t sequence);
    bool settle_stream(ledger_entry& entry, const result_message& result);
    void count_delivery(const ledger_entry& entry);
    std::span<std::uint64_t> words_of(std::uint32_t slot) const;

    // Collecting (machine_collect.cpp).
    outcome look(lease& batch);
    void collect_results();
    void accept(int worker, const result_message& result);
    void settle(ledger_entry& entry, const result_message& result);
    // Samples left out or replaced (machine_skip.cpp).
    bool leave_out_skipped(std::uint32_t slot, const result_message& result);
    void note_skipped(error_details failure);
    void drop_empty(ledger_entry& entry, std::uint64_t sequence);
    bool skip_suspect(std::uint32_t slot, const error_details& accusation);
    bool replace_failed(ledger_entry& entry, const result_message& result);
    bool replace_suspect(std::uint32_t slot, error_details& accusation);
    bool replace_sample(loan& held, std::size_t place, error_details& failure);
    void make_again(std::uint32_t slot);
    void sort_orphans();
    bool read_records(slot_record& record, std::uint64_t data_bytes) const;
    outcome deliver(std::uint64_t sequence, lease& batch);
    void end_epoch();
    void begin_again(std::uint64_t epoch);
    void abandon(std::uint64_t next_epoch);
    void reclaim(std::uint32_t slot);

    // Deaths and deadlines (machine_wait.cpp).
    void look_at_clock();
    bool was_stopped(loader_clock::time_point now) const;
    void check_deaths(loader_clock::time_point now);
    void check_deadlines(loader_clock::time_point now);
    void check_timeout(loader_clock::time_point now);
    void kill_holders_of_stale_tasks();
    void check_free_slot(loader_clock::time_point now);
    bool starved_of_slots();
    int awaited_worker();
    bool waits_for_another();
    std::optional<loader_clock::time_point> next_deadline();
    std::optional<index> sample_in_hand(int worker) const;
    std::string describe_worker(int worker) const;
    void kill(int worker, errc code, std::string reason);

    // The fork server (machine_server.cpp).
    worker_environment environment() const;
    void lose_server(const error& death);
    std::optional<server_link> make_successor(error_details& death);
    void check_server(loader_clock::time_point now);
    bool wake_server(loader_clock::time_point now);
    void bury_orphaned_workers();

    // Recovery (machine_recovery.cpp).
    void bury(int worker);
    void leave_behind(int worker, loader_clock::time_point now);
    std::optional<std::uint32_t> quarantine(std::uint32_t slot, pid_t keeper);
    void free_quarantined();
    void settle_losses(int worker, std::vector<std::uint32_t> lost, const error_details& death);
    std::vector<std::uint32_t> lost_slots(int worker) const;
    bool may_replace(int worker, const error_details& death);
    error_details describe_death(int worker);
    void recover(int worker, const std::vector<std::uint32_t>& lost, const error_details& death);
    void give_up(const std::vector<std::uint32_t>& lost, error_details death);
    void accuse(std::uint32_t slot, const error_details& death);
    void finish_probe(loan& held, std::uint32_t slot);
    void hand_out_orphans();
    void send_again(std::uint32_t slot, int worker);

    loader_options options_;
    schema columns_;
    bool fixed_layout_ = false;
    std::unique_ptr<local_loop> local_loop_{};  // outlives what the dataset has open on it
    std::unique_ptr<fetcher> source_;           // outlives the fork server's copies
    std::uint64_t size_ = 0;
    bool waits_ = false;                    // the dataset has coroutines
    std::unique_ptr<index_source> order_;   // unless it is a stream
    std::unique_ptr<stream_order> stream_;  // if it is one
    std::optional<stream_shape> shape_{};   // the same
    std::vector<stream_ticket> tickets_;    // by slot: what its task reads of the stream
    std::vector<stream_request> requests_;  // the same, for another worker
    stream_answer answer_{};
    std::optional<fetcher_recipe> recipe_{};  // for another fork server
    std::shared_ptr<slot_pool> pool_;
    std::unique_ptr<worker_group> group_;
    std::vector<loan> loans_;  // by slot
    std::unique_ptr<ledger> ledger_;
    std::uint64_t ledger_room_ = 2;  ///< entries it may hold
    std::uint64_t window_ = 1;       ///< most batches issued and not delivered
    std::uint64_t outstanding_ = 0;
    std::uint64_t parked_ = 0;  ///< of these, ready
    std::uint64_t generation_ = 1;

    // The epoch that tasks are handed out of.
    bool source_active_ = false;
    bool have_lookahead_ = false;
    std::vector<index> lookahead_;
    std::uint64_t issuing_epoch_ = 0;
    std::uint64_t next_epoch_to_issue_ = 0;
    std::uint64_t next_number_ = 0;
    std::uint64_t next_position_ = 0;
    std::uint64_t demanded_epoch_ = 0;

    // The epoch that batches are delivered of.
    std::uint64_t delivering_epoch_ = 0;
    std::uint64_t delivered_ = 0;
    std::uint64_t counted_epoch_ = 0;  ///< streams: of `counted_`
    std::uint64_t counted_ = 0;        ///< streams: batches and failures of the epoch, delivered

    bool opened_here_ = false;
    std::optional<error_details> start_failure_{};  ///< num_workers = 0: open() threw
    bool workers_missing_ = false;
    bool closed_ = false;
    const pid_t owner_ = ::getpid();
    bool beyond_repair_ = false;      ///< `fault_` is for good
    std::exception_ptr fault_{};      ///< ends the epoch when nothing is deliverable
    std::exception_ptr complaint_{};  ///< thrown once, ends nothing
    std::vector<blame> blame_;        ///< by worker
    oom_kills oom_before_{};  ///< when the workers were started, or one was last killed by it
    restart_budget restarts_;
    std::function<index(bad_sample&)> replacement_;
    int replacement_attempts_ = 0;
    skipped_samples skipped_{};
    std::uint64_t empty_in_a_row_ = 0;      ///< batches of which nothing was left
    skip_report skips_{};                   ///< kept for its memory
    std::vector<std::uint32_t> orphans_{};  ///< slots whose worker died, in order of delivery
    std::uint64_t largest_batch_bytes_ = 0;

    std::optional<int> armed_for_;  ///< the worker that is to ring, -1 for all, while armed
    wait_clock clock_{loader_clock::now()};  ///< of the batch that is due next
    std::optional<loader_clock::time_point> deadline_;
    loader_clock::time_point last_glance_{};
    loader_clock::time_point next_server_look_{};
    int slightly_late_ = 0;       ///< times in this wait that the timer was
    bool server_woken_ = false;   ///< it was found stopped, and told to go on
    unsigned spins_to_skip_ = 0;  ///< after spins in vain: twice as many each time
    unsigned spins_in_vain_ = 0;
};

}  // namespace stoker::detail
