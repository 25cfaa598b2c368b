#pragma once
// One system call of a whole life fails: the nth of its kind, in main, the fork server or a worker.
// The plan and its counters lie in shared memory, so that they are the same in every process.

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <string_view>
#include <type_traits>

#include "core/system.hpp"
#include "worker/process.hpp"

namespace stoker::test_support {

enum class role { main, fork_server, worker };

struct call_plan {
    std::string_view call{};
    role where = role::main;
    int nth = 1;  ///< counted from 1
    int error_number = 0;
    bool for_good = false;  ///< all later ones fail, too
};

/// While it lives, the plan is at work in this process and in those that it forks. One at a time.
class failing_call {
  public:
    explicit failing_call(const call_plan& plan) : replaced_(prepare(plan)) {}
    ~failing_call() {
        ::munmap(shared_, sizeof(shared));
        shared_ = nullptr;
    }
    failing_call(const failing_call&) = delete;
    failing_call& operator=(const failing_call&) = delete;

    /// Whether the call that was to fail was made at all.
    static bool reached() { return shared_->reached.load(); }

  private:
    struct shared {
        call_plan plan{};
        std::atomic<int> count = 0;
        std::atomic<bool> reached = false;
        std::atomic<pid_t> server = 0;
    };

    static inline shared* shared_ = nullptr;
    static inline detail::system_calls table_{};

    static role role_here() {
        if (!detail::is_forked_by_stoker())
            return role::main;
        pid_t server = 0;
        const pid_t own = ::getpid();
        if (shared_->server.compare_exchange_strong(server, own) || server == own)
            return role::fork_server;
        return role::worker;
    }

    /// Whether this call is the one.
    static bool hit(std::string_view call) {
        if (shared_ == nullptr || role_here() != shared_->plan.where || call != shared_->plan.call)
            return false;
        const int number = ++shared_->count;
        const call_plan& plan = shared_->plan;
        if (number < plan.nth || (number > plan.nth && !plan.for_good))
            return false;
        shared_->reached = true;
        return true;
    }

    template <const char* Name, auto Member, class Result, class... Arguments>
    static Result instead(Arguments... arguments) {
        if (hit(Name)) {
            errno = shared_->plan.error_number;
            if constexpr (std::is_pointer_v<Result>)
                return MAP_FAILED;
            else
                return Result(-1);
        }
        return (detail::system_calls::real().*Member)(arguments...);
    }

    template <const char* Name, auto Member, class Result, class... Arguments>
    static void put(Result (*detail::system_calls::*)(Arguments...)) {
        table_.*Member = &instead<Name, Member, Result, Arguments...>;
    }

    static const detail::system_calls& prepare(const call_plan& plan) {
        void* const memory = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        shared_ = new (memory) shared{};
        shared_->plan = plan;
        using calls = detail::system_calls;
        table_ = calls::real();
#define STOKER_PUT(name)                       \
    {                                          \
        static constexpr char text[] = #name;  \
        put<text, &calls::name>(&calls::name); \
    }
        STOKER_PUT(memfd_create)
        STOKER_PUT(ftruncate)
        STOKER_PUT(mmap)
        STOKER_PUT(madvise)
        STOKER_PUT(fallocate)
        STOKER_PUT(fcntl)
        STOKER_PUT(eventfd)
        STOKER_PUT(epoll_create1)
        STOKER_PUT(epoll_ctl)
        STOKER_PUT(epoll_wait)
        STOKER_PUT(timerfd_create)
        STOKER_PUT(timerfd_settime)
        STOKER_PUT(socketpair)
        STOKER_PUT(sendmsg)
        STOKER_PUT(recvmsg)
        STOKER_PUT(read)
        STOKER_PUT(write)
        STOKER_PUT(open)
        STOKER_PUT(poll)
        STOKER_PUT(fork)
        STOKER_PUT(pidfd_open)
        STOKER_PUT(pidfd_send_signal)
        STOKER_PUT(waitid)
        STOKER_PUT(close_range)
        STOKER_PUT(prctl)
#undef STOKER_PUT
        return table_;
    }

    detail::replaced_system_calls replaced_;
};

}  // namespace stoker::test_support
