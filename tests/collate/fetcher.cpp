#include <stoker/collate/fetcher.hpp>

#include <array>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "collate/fetch_limits.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::detail;
namespace asio = boost::asio;

namespace {

class plain_fetcher final : public fetcher {
  public:
    std::uint64_t size() const override { return 3; }
    const schema& columns() const override { return columns_; }
    void open(int worker, int, std::uint64_t) override { opened = worker; }
    std::uint64_t fetch(const fetch_task& task, batch_memory&, column_record*,
                        fetch_monitor&) override {
        return task.indices.size() * 10;
    }
    int opened = -1;

  private:
    schema columns_{};
};

class no_memory final : public batch_memory {
  public:
    std::byte* data(std::uint64_t) override { return nullptr; }
};
class no_monitor final : public fetch_monitor {
  public:
    void begin_sample(stoker::index) noexcept override {}
    bool abandoned() const noexcept override { return false; }
};

}  // namespace

TEST_CASE("a fetcher that does not wait can be awaited all the same", "[collate]") {
    plain_fetcher source;
    CHECK_FALSE(source.waits());
    asio::io_context io;
    const fetch_limits limits(io.get_executor(), 2, std::chrono::milliseconds(0));
    no_memory memory;
    no_monitor monitor;
    const std::vector<stoker::index> indices{1, 2};
    const fetch_task task{indices};
    std::array<column_record, 1> records{};
    std::uint64_t bytes = 0;
    auto work = [&]() -> asio::awaitable<void> {
        co_await source.async_open(7, 8, 9);
        bytes = co_await source.async_fetch(task, memory, records.data(), monitor, limits);
    };
    std::exception_ptr failure;
    asio::co_spawn(io, work, [&](const std::exception_ptr& thrown) { failure = thrown; });
    io.run();
    CHECK_FALSE(failure);
    CHECK(source.opened == 7);
    CHECK(bytes == 20);
}
