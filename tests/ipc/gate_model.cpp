// An exhaustive model of the gate (lib/ipc/gate.hpp, gated_queue.cpp): every interleaving of main
// and worker, on processors with store buffers (a store becomes visible to the other side later,
// a fence waits for that). Both directions of a pair are modelled, with the counters that stand in
// for a look into an empty queue and without.
//
// Safe: main and worker are never both inside the queue. Live: no reachable state is stuck before
// all messages have arrived (a sleeper whose bell nobody will ring is stuck). Then every part of
// the protocol is left out in turn, and the model must find what that part is for: so the model
// bites.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

enum word : std::uint8_t {
    main_inside,
    worker_inside,
    wanted_by_main,
    wanted_by_worker,
    sent,
    word_count
};

enum class op : std::uint8_t {
    store,            ///< word = value
    store_count,      ///< word = messages this side has passed
    fence,            ///< waits for its own stores
    jump_if,          ///< to target, when word == value
    jump_if_count,    ///< to target, when word == messages this side has passed
    jump,             ///< to target
    go_in,            ///< into the queue; a locked instruction, as are the next two
    push_and_go_out,  ///< one message
    pop_and_go_out,   ///< one message; to target when there is none
    ring,             ///< the other side's bell; a system call
    sleep,            ///< until its own bell rings
    finish_if_all,    ///< ends when all messages have passed this side
};

struct instruction {
    op what{};
    int which = 0;  ///< word, when one is needed
    int value = 0;
    int target = 0;  ///< label while building, position afterwards
};

/// A program with labels.
class program {
  public:
    int label() { return next_label_++; }
    void place(int name) { places_[name] = int(code_.size()); }
    void add(op what, int which = 0, int value = 0, int target = -1) {
        code_.push_back({what, which, value, target});
    }
    std::vector<instruction> code() const {
        auto resolved = code_;
        for (instruction& each : resolved) {
            if (each.target >= 0)
                each.target = places_.at(each.target);
        }
        return resolved;
    }

  private:
    std::vector<instruction> code_;
    std::map<int, int> places_;
    int next_label_ = 0;
};

/// What the modelled protocol consists of: all of it, unless a test leaves something out.
struct protocol {
    bool gate = true;                ///< flags are looked at
    bool entry_fence = true;         ///< between raising a flag and looking at the other
    bool wanted_fence = true;        ///< between setting `wanted` and the last look
    bool exit_fence = true;          ///< between lowering a flag and looking at `wanted`
    bool last_look = true;           ///< after setting `wanted`, before sleeping
    bool ring_after_nothing = true;  ///< also when no message was moved
    bool counters = true;            ///< in place of a look into an empty queue
};

constexpr int messages = 2;

void emit_leave(program& p, const protocol& rules, bool as_main, bool moved) {
    p.add(op::store, as_main ? main_inside : worker_inside, 0);
    const int wanted = as_main ? wanted_by_worker : wanted_by_main;
    if (!moved && !rules.ring_after_nothing)
        return;
    const int quiet = p.label();
    if (rules.exit_fence)
        p.add(op::fence);
    p.add(op::jump_if, wanted, 0, quiet);
    p.add(op::store, wanted, 0);
    p.add(op::ring);
    p.place(quiet);
}

/// Raises the flag. Main goes to `withdrawn` when the worker is inside, a worker waits.
void emit_enter(program& p, const protocol& rules, bool as_main, int withdrawn) {
    p.add(op::store, as_main ? main_inside : worker_inside, 1);
    if (rules.entry_fence)
        p.add(op::fence);
    if (!rules.gate)
        return;
    const int free = p.label();
    const int wait = p.label();
    p.place(wait);
    p.add(op::jump_if, as_main ? worker_inside : main_inside, 0, free);
    p.add(op::jump, 0, 0, as_main ? withdrawn : wait);
    p.place(free);
}

void emit_want(program& p, const protocol& rules, bool as_main) {
    p.add(op::store, as_main ? wanted_by_main : wanted_by_worker, 1);
    if (rules.wanted_fence)
        p.add(op::fence);
}

std::vector<instruction> make_sender(const protocol& rules, bool as_main) {
    program p;
    const int again = p.label();
    const int push = p.label();
    const int first_withdrawal = p.label();
    const int second_withdrawal = p.label();
    const int rest = p.label();
    p.place(again);
    emit_enter(p, rules, as_main, first_withdrawal);
    p.place(push);
    p.add(op::go_in);
    p.add(op::push_and_go_out);
    p.add(op::store, as_main ? main_inside : worker_inside, 0);
    p.add(op::store_count, sent);
    emit_leave(p, rules, as_main, true);
    p.add(op::finish_if_all);
    p.add(op::jump, 0, 0, again);
    p.place(first_withdrawal);
    p.add(op::store, main_inside, 0);
    emit_want(p, rules, as_main);
    if (rules.last_look) {
        emit_enter(p, rules, as_main, second_withdrawal);
        p.add(op::jump, 0, 0, push);
    }
    p.place(second_withdrawal);
    p.add(op::store, main_inside, 0);
    p.place(rest);
    p.add(op::sleep);
    p.add(op::jump, 0, 0, again);
    return p.code();
}

/// One look into the queue: continues after a message, goes to `nothing` or `withdrawn`.
void emit_receive(program& p, const protocol& rules, bool as_main, int nothing, int withdrawn) {
    const int empty = p.label();
    const int done = p.label();
    if (rules.counters)
        p.add(op::jump_if_count, sent, 0, nothing);
    emit_enter(p, rules, as_main, withdrawn);
    p.add(op::go_in);
    p.add(op::pop_and_go_out, 0, 0, empty);
    emit_leave(p, rules, as_main, true);
    p.add(op::jump, 0, 0, done);
    p.place(empty);
    emit_leave(p, rules, as_main, false);
    p.add(op::jump, 0, 0, nothing);
    p.place(done);
    p.add(op::finish_if_all);
}

std::vector<instruction> make_receiver(const protocol& rules, bool as_main) {
    program p;
    const int again = p.label();
    const int withdrawn = p.label();
    const int nothing = p.label();
    const int last_withdrawn = p.label();
    const int rest = p.label();
    p.place(again);
    emit_receive(p, rules, as_main, nothing, withdrawn);
    p.add(op::jump, 0, 0, again);
    p.place(withdrawn);
    p.add(op::store, main_inside, 0);
    p.place(nothing);
    emit_want(p, rules, as_main);
    if (rules.last_look) {
        emit_receive(p, rules, as_main, rest, last_withdrawn);
        p.add(op::jump, 0, 0, again);
    }
    p.place(last_withdrawn);
    if (as_main)
        p.add(op::store, main_inside, 0);
    p.place(rest);
    p.add(op::sleep);
    p.add(op::jump, 0, 0, again);
    return p.code();
}

struct pending_store {
    std::uint8_t which = 0;
    std::uint8_t value = 0;
    auto operator<=>(const pending_store&) const = default;
};

struct side_state {
    std::uint8_t at = 0;
    std::uint8_t passed = 0;  ///< messages
    bool inside = false;
    bool rung = false;
    bool finished = false;
    std::vector<pending_store> buffer{};
    auto operator<=>(const side_state&) const = default;
};

struct state {
    std::array<std::uint8_t, word_count> words{};
    std::uint8_t queued = 0;
    std::array<side_state, 2> sides{};  ///< main, worker
    auto operator<=>(const state&) const = default;
};

struct verdict {
    std::size_t states = 0;
    bool both_inside = false;
    bool stuck = false;
    bool finishes = false;

    bool holds() const { return !both_inside && !stuck && finishes; }
};

class explorer {
  public:
    explorer(std::vector<instruction> main, std::vector<instruction> worker)
        : code_{std::move(main), std::move(worker)} {}

    verdict explore() {
        verdict found;
        std::set<state> seen{state{}};
        std::deque<state> open{state{}};
        while (!open.empty()) {
            const state now = open.front();
            open.pop_front();
            if (now.sides[0].inside && now.sides[1].inside)
                found.both_inside = true;
            const auto next = successors(now);
            const bool all_done = now.sides[0].finished && now.sides[1].finished;
            if (all_done)
                found.finishes = true;
            if (next.empty() && !all_done)
                found.stuck = true;
            for (const state& each : next) {
                if (seen.insert(each).second)
                    open.push_back(each);
            }
        }
        found.states = seen.size();
        return found;
    }

  private:
    std::vector<state> successors(const state& now) const {
        std::vector<state> next;
        for (std::size_t who = 0; who < 2; ++who) {
            if (!now.sides[who].buffer.empty())
                next.push_back(drained_by_one(now, who));
            state moved = now;
            if (!now.sides[who].finished && step(moved, who) && moved != now) {
                next.push_back(std::move(moved));
            }
        }
        return next;
    }

    static state drained_by_one(state now, std::size_t who) {
        auto& buffer = now.sides[who].buffer;
        now.words[buffer.front().which] = buffer.front().value;
        buffer.erase(buffer.begin());
        return now;
    }

    /// A load sees the newest store of its own side first.
    static std::uint8_t load(const state& now, std::size_t who, std::size_t which) {
        const auto& buffer = now.sides[who].buffer;
        for (auto each = buffer.rbegin(); each != buffer.rend(); ++each) {
            if (each->which == which)
                return each->value;
        }
        return now.words[which];
    }

    /// False: cannot move now.
    bool step(state& now, std::size_t who) const {
        side_state& self = now.sides[who];
        const instruction& does = code_[who].at(self.at);
        const auto next = std::uint8_t(self.at + 1);
        const auto target = std::uint8_t(does.target);
        const bool needs_empty_buffer = does.what == op::fence || does.what >= op::go_in;
        if (needs_empty_buffer && !self.buffer.empty())
            return false;
        self.at = next;
        switch (does.what) {
            case op::store:
                self.buffer.push_back({std::uint8_t(does.which), std::uint8_t(does.value)});
                break;
            case op::store_count:
                self.buffer.push_back({std::uint8_t(does.which), self.passed});
                break;
            case op::fence:
                break;
            case op::jump_if:
                if (load(now, who, std::size_t(does.which)) == does.value)
                    self.at = target;
                break;
            case op::jump_if_count:
                if (load(now, who, std::size_t(does.which)) == self.passed)
                    self.at = target;
                break;
            case op::jump:
                self.at = target;
                break;
            case op::go_in:
                self.inside = true;
                break;
            case op::push_and_go_out:
                ++now.queued;
                ++self.passed;
                self.inside = false;
                break;
            case op::pop_and_go_out:
                self.inside = false;
                if (now.queued == 0) {
                    self.at = target;
                } else {
                    --now.queued;
                    ++self.passed;
                }
                break;
            case op::ring:
                now.sides[1 - who].rung = true;
                break;
            case op::sleep:
                if (!self.rung)
                    return false;
                self.rung = false;
                break;
            case op::finish_if_all:
                self.finished = self.passed == messages;
                break;
        }
        return true;
    }

    std::array<std::vector<instruction>, 2> code_;
};

verdict explore_tasks(const protocol& rules) {
    return explorer(make_sender(rules, true), make_receiver(rules, false)).explore();
}

verdict explore_results(const protocol& rules) {
    return explorer(make_receiver(rules, true), make_sender(rules, false)).explore();
}

}  // namespace

TEST_CASE("the gate never lets both in and never leaves both asleep", "[ipc]") {
    for (const bool counters : {false, true}) {
        const protocol whole{.counters = counters};
        const verdict tasks = explore_tasks(whole);
        const verdict results = explore_results(whole);
        CAPTURE(counters, tasks.states, results.states);
        CHECK(tasks.states > 100);
        CHECK(results.states > 100);
        CHECK(tasks.holds());
        CHECK(results.holds());
    }
}

TEST_CASE("without the gate, or its entry fence, both are inside", "[ipc]") {
    CHECK(explore_tasks({.gate = false}).both_inside);
    CHECK(explore_results({.gate = false}).both_inside);
    CHECK(explore_tasks({.entry_fence = false}).both_inside);
    CHECK(explore_results({.entry_fence = false}).both_inside);
}

TEST_CASE("the first sketch, which does not look again, leaves both asleep", "[ipc]") {
    CHECK(explore_tasks({.last_look = false, .counters = false}).stuck);
    CHECK(explore_results({.last_look = false, .counters = false}).stuck);
    CHECK(explore_tasks({.last_look = false}).stuck);
}

TEST_CASE("a worker that rings only after a message leaves a withdrawn main asleep", "[ipc]") {
    CHECK(explore_tasks({.ring_after_nothing = false, .counters = false}).stuck);
}

TEST_CASE("without the fence before the last look a wake-up is lost", "[ipc]") {
    CHECK(explore_tasks({.wanted_fence = false}).stuck);
    CHECK(explore_results({.wanted_fence = false}).stuck);
}

TEST_CASE("without the fence before the look at wanted a wake-up is lost", "[ipc]") {
    CHECK(explore_tasks({.exit_fence = false}).stuck);
    CHECK(explore_results({.exit_fence = false}).stuck);
}
