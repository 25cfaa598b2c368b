// What g++ 12.2 compiles wrongly in coroutines, and what to write instead. Each row has two ways to
// write the same thing: `right` must work with every compiler, and is a test; `left` is what one
// would write at first, and is recorded only, so that a newer compiler shows when a rule may go.
//
//     hazards ROW right    exits with 0 when every object was destroyed exactly once
//     hazards ROW left     prints what became of it and exits with 0
//
// Objects are tracked by address, so that a double destruction is seen even where the memory would
// not complain; AddressSanitizer sees the rest. What may crash runs in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

namespace {

std::set<const void*> alive;
int destroyed_twice = 0;

/// Has a destructor, and notices when it runs once too often.
class owner {
  public:
    owner() { alive.insert(this); }
    owner(const owner&) { alive.insert(this); }
    owner(owner&&) noexcept { alive.insert(this); }
    owner& operator=(const owner&) = default;
    ~owner() {
        if (alive.erase(this) == 0)
            ++destroyed_twice;
    }
};

/// Brace-initialised, with a member that has a destructor: what g++ 12.2 destroys twice.
struct aggregate {
    owner member;
    int number = 0;
};

/// The same with a constructor, which is safe.
class constructed {
  public:
    explicit constructed(int number) : number_(number) {}
    int number() const { return number_; }

  private:
    owner member_;
    int number_;
};

asio::awaitable<void> pause() {
    const auto executor = co_await asio::this_coro::executor;
    co_await asio::post(executor, asio::use_awaitable);
}

asio::awaitable<int> count_down(int& left) {
    co_await pause();
    co_return left--;
}

asio::awaitable<owner> make_owner() {
    co_await pause();
    co_return owner();
}

asio::awaitable<int> take_callable(std::function<int()> callable) {
    co_await pause();
    co_return callable();
}

asio::awaitable<int> take_aggregate(aggregate options) {
    co_await pause();
    co_return options.number;
}

asio::awaitable<int> take_constructed(constructed options) {
    co_await pause();
    co_return options.number();
}

/// Stands for a loader: made from an executor, data and options.
class machine {
  public:
    machine(const asio::any_io_executor&, aggregate options) : number_(options.number) {}
    explicit machine(aggregate options) : number_(options.number) {}
    int number() const { return number_; }

  private:
    owner member_;
    int number_;
};

int use_both(int number, const aggregate& other) {
    return number + other.number;
}

// No local variable, and an awaited condition.
asio::awaitable<void> left_condition(int& left) {
    while (co_await count_down(left)) {
    }
}
asio::awaitable<void> right_condition(int& left) {
    while (auto value = co_await count_down(left))
        static_cast<void>(value);
}

// A temporary lambda that owns something.
asio::awaitable<void> left_lambda(int&) {
    co_await take_callable([held = owner()] { return 1; });
}
asio::awaitable<void> right_lambda(int&) {
    auto callable = [held = owner()] { return 1; };
    co_await take_callable(std::move(callable));
}

// An aggregate as the argument.
asio::awaitable<void> left_argument(int&) {
    co_await take_aggregate({.member = {}, .number = 1});
}
asio::awaitable<void> right_argument(int&) {
    co_await take_constructed(constructed(1));
    auto operation = take_aggregate({.member = {}, .number = 1});
    co_await std::move(operation);
}

// A constructor that awaits its executor and is given options that own something.
asio::awaitable<void> left_constructor(int&) {
    machine made(co_await asio::this_coro::executor, {.member = {}, .number = 2});
    co_await pause();
}
asio::awaitable<void> right_constructor(int&) {
    machine made({.member = {}, .number = 2});
    co_await pause();
}

// An aggregate beside a co_await.
asio::awaitable<void> left_beside(int& left) {
    use_both(co_await count_down(left), aggregate{.member = {}, .number = 3});
}
asio::awaitable<void> right_beside(int& left) {
    aggregate named{.member = {}, .number = 3};
    use_both(co_await count_down(left), std::move(named));
}

// An aggregate built from what is awaited.
asio::awaitable<aggregate> left_built() {
    co_return aggregate{co_await make_owner(), 2};
}
asio::awaitable<void> left_result(int&) {
    const auto result = co_await left_built();
}
asio::awaitable<aggregate> right_built() {
    auto member = co_await make_owner();
    co_return aggregate{std::move(member), 2};
}
asio::awaitable<void> right_result(int&) {
    const auto result = co_await right_built();
}

// A conditional expression that gives a class.
asio::awaitable<void> left_choice(int& left) {
    const owner chosen = left > 0 ? co_await make_owner() : owner();
}
asio::awaitable<void> right_choice(int& left) {
    std::optional<owner> chosen;
    if (left > 0) {
        chosen = co_await make_owner();
    } else {
        chosen = owner();
    }
}

struct row {
    const char* name;
    asio::awaitable<void> (*left)(int&);
    asio::awaitable<void> (*right)(int&);
};

constexpr row rows[] = {
    {"condition", left_condition, right_condition},
    {"lambda", left_lambda, right_lambda},
    {"argument", left_argument, right_argument},
    {"constructor", left_constructor, right_constructor},
    {"beside", left_beside, right_beside},
    {"result", left_result, right_result},
    {"choice", left_choice, right_choice},
};

/// 0 when the coroutine ran to its end and every object was destroyed exactly once.
int run(asio::awaitable<void> (*coroutine)(int&)) {
    bool ended = false;
    int left = 3;
    {
        asio::io_context io;
        asio::co_spawn(io, coroutine(left), [&](std::exception_ptr failure) { ended = !failure; });
        io.run();
    }
    if (destroyed_twice > 0)
        return 2;
    return ended && alive.empty() ? 0 : 1;
}

void record(const row& which) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        std::freopen("/dev/null", "w", stderr);
        alarm(10);
        _exit(run(which.left));
    }
    int status = 0;
    waitpid(child, &status, 0);
    const char* const verdict = WIFSIGNALED(status)        ? "crashes"
                                : WEXITSTATUS(status) == 0 ? "is right: its rule may go"
                                : WEXITSTATUS(status) == 2 ? "destroys twice"
                                                           : "goes wrong";
    std::printf("record: %s: this compiler (%s) %s\n", which.name, __VERSION__, verdict);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3)
        return 3;
    for (const row& which : rows) {
        if (std::strcmp(which.name, arguments[1]) != 0)
            continue;
        if (std::strcmp(arguments[2], "right") == 0)
            return run(which.right);
        record(which);
        return 0;
    }
    return 3;
}
