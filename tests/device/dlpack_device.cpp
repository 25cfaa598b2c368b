// Batches in a device's memory, lent by DLPack: the borrower's stream sees whole batches alone, and
// what it still reads when it deletes an array is not written again before.

#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <stoker/device/borrowed_tensor.hpp>
#include <stoker/device/dlpack.hpp>
#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

using word_batch = stoker::device_batch<words>;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int batches = 100;
#else
constexpr int batches = 400;
#endif

/// A library that borrows: looks at arrays on a stream of its own, as late as that is.
class borrower {
  public:
    explicit borrower(simulated_platform& platform, const feed_plan& plan = {})
        : eyes_(platform, plan) {}

    void look_at(const stoker::dl_managed_tensor& values, const stoker::dl_managed_tensor& labels,
                 std::vector<stoker::index> indices, cuda_stream stream) {
        device_record record;
        record.data = static_cast<std::byte*>(values.tensor.data);
        const auto between = static_cast<const std::byte*>(labels.tensor.data) - record.data;
        record.records.resize(2);
        record.records[1].offset = static_cast<std::uint64_t>(between);
        record.indices = std::move(indices);
        eyes_.enqueue(stream, record);
    }
    cuda_stream stream() const { return eyes_.stream(); }
    int bad() { return eyes_.bad(); }

  private:
    consumer eyes_;
};

/// Lends batches, each of which is deleted as soon as the look at it has been enqueued; how many
/// looks were wrong.
int lend_batches(const feed_plan& plan, std::uint64_t seed, stoker::dl_stream* reader = nullptr) {
    simulated_platform platform(late(seed));
    const auto feed = make_feed(plan, simulated_device());
    int bad = 0;
    {
        borrower library(platform);
        for (int i = 0; i < batches; ++i) {
            word_batch batch(feed->next_blocking());
            const std::vector<stoker::index> indices(batch.indices().begin(),
                                                     batch.indices().end());
            const stoker::dl_stream asked = reader != nullptr ? *reader : library.stream();
            auto [values, labels] =
                stoker::to_dlpack(std::move(batch), asked, &words::values, &words::label);
            library.look_at(*values, *labels, indices, asked.handle());
        }
        REQUIRE(platform.table().device_synchronize() == 0);
        bad = library.bad();
    }
    feed->close();
    CHECK(platform.violations() == std::vector<std::string>{});
    return bad;
}

}  // namespace

TEST_CASE("a device batch is lent where it lies, with its device") {
    simulation how = quick();
    how.devices = 2;
    simulated_platform platform(how);
    feed_plan plan;
    plan.ordinal = 1;
    const auto feed = make_feed(plan, simulated_device(1));
    {
        borrower library(platform);
        word_batch batch(feed->next_blocking());
        const auto on = batch.on(library.stream());
        const void* const values = on[&words::values].data();
        auto [lent, label] = stoker::to_dlpack(std::move(batch), library.stream(), &words::values,
                                               std::string_view("label"));
        CHECK_FALSE(batch);
        CHECK(lent->tensor.data == values);
        CHECK(lent->tensor.device.type == stoker::dl_device_type::cuda);
        CHECK(lent->tensor.device.number == 1);
        CHECK(lent->flags == 0);
        CHECK(lent->version.major == 1);
        REQUIRE(lent->tensor.rank == 2);
        CHECK(lent->tensor.shape[0] == 4);
        CHECK(lent->tensor.shape[1] == std::int64_t{words_a_sample});
        CHECK(lent->tensor.strides[0] == std::int64_t{words_a_sample});
        CHECK(label->tensor.type.code == stoker::dl_type_code::signed_integer);
        CHECK(label->tensor.type.bits == 64);
    }
    feed->close();
}

TEST_CASE("on the host device a batch is lent as memory of the CPU, whatever stream is named") {
    const auto feed = make_feed({}, stoker::host_device());
    for (const stoker::dl_stream stream :
         {stoker::dl_stream(nullptr), stoker::dl_stream::numbered(2),
          stoker::dl_stream::unordered()}) {
        word_batch batch(feed->next_blocking());
        const auto first = batch.indices()[0];
        auto lent = stoker::to_dlpack(std::move(batch), stream, &words::label);
        CHECK(lent->tensor.device.type == stoker::dl_device_type::cpu);
        const stoker::borrowed_tensor<stoker::tensor_view<std::int64_t, stoker::dynamic>> seen(
            std::move(lent));
        CHECK(seen.view()[0] == static_cast<std::int64_t>(first));
    }
    feed->close();
}

TEST_CASE("a borrower's stream never sees a batch that is not whole, nor one written again") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
        CHECK(lend_batches({}, seed) == 0);
}

TEST_CASE("a borrower on the legacy or the per-thread default stream is ordered, too") {
    for (const int number : {1, 2}) {
        stoker::dl_stream reader = stoker::dl_stream::numbered(number);
        CHECK(lend_batches({}, 2, &reader) == 0);
    }
}

TEST_CASE("a borrower that orders itself is waited for with the whole device") {
    feed_plan plan;
    plan.looks_take = std::chrono::microseconds(1500);  // batches behind the feed
    simulated_platform platform(late());
    const auto feed = make_feed(plan, simulated_device());
    {
        borrower library(platform, plan);
        const consumer other(platform, plan);
        for (int i = 0; i < batches / 10; ++i) {
            word_batch batch(feed->next_blocking());
            const std::vector<stoker::index> indices(batch.indices().begin(),
                                                     batch.indices().end());
            static_cast<void>(batch.on(other.stream()));
            REQUIRE(platform.table().synchronize_stream(other.stream()) == 0);
            auto [values, labels] = stoker::to_dlpack(
                std::move(batch), stoker::dl_stream::unordered(), &words::values, &words::label);
            library.look_at(*values, *labels, indices, library.stream());
        }
        CHECK(library.bad() == 0);
    }
    feed->close();
    CHECK(platform.violations() == std::vector<std::string>{});
}

// These race on purpose, for which ThreadSanitizer would end the program.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("without either edge of a loan a borrower reads what is wrong") {
    for (bool feed_edges::*edge :
         {&feed_edges::reader_after_ready, &feed_edges::consumers_recorded}) {
        feed_plan plan;
        plan.edges.*edge = false;
        int bad = 0;
        for (std::uint64_t seed = 1; seed <= 5 && bad == 0; ++seed)
            bad = lend_batches(plan, seed);
        CHECK(bad > 0);
    }
}
#endif

TEST_CASE("arrays are deleted on any thread, also of the per-thread stream, after the feed") {
    simulated_platform platform(late());
    auto feed = make_feed({}, simulated_device());
    {
        borrower library(platform);
        for (int i = 0; i < batches / 4; ++i) {
            word_batch batch(feed->next_blocking());
            const std::vector<stoker::index> indices(batch.indices().begin(),
                                                     batch.indices().end());
            // This thread's stream of that name reads; the other thread's one has nothing to do.
            const auto reader = stoker::dl_stream::numbered(2);
            auto arrays =
                stoker::to_dlpack(std::move(batch), reader, &words::values, &words::label);
            library.look_at(*arrays[0], *arrays[1], indices, reader.handle());
            std::thread([gone = std::move(arrays)]() mutable {
                gone[0].reset();
                gone[1].reset();
            }).join();
        }
        word_batch batch(feed->next_blocking());
        auto kept = stoker::to_dlpack(std::move(batch), library.stream(), &words::label);
        feed->close();
        feed.reset();
        REQUIRE(platform.table().device_synchronize() == 0);
        CHECK(static_cast<const std::int64_t*>(kept->tensor.data) != nullptr);
        CHECK(library.bad() == 0);
    }
    CHECK(platform.violations() == std::vector<std::string>{});
    CHECK(platform.leftovers() == 0);
}

TEST_CASE("an array that is kept keeps its buffer, and the last one deleted gives it back") {
    const simulated_platform platform(quick());
    feed_plan plan;
    plan.feeding.depth = 1;
    plan.loading.timeout = std::chrono::milliseconds(50);
    const auto feed = make_feed(plan, simulated_device());
    word_batch batch(feed->next_blocking());
    auto arrays = stoker::to_dlpack(std::move(batch), nullptr, &words::values, &words::label);
    word_batch second(feed->next_blocking());
    arrays[0].reset();
    CHECK(error_of([&] { feed->next_blocking(); }).code() == stoker::errc::no_free_slot);
    arrays[1].reset();
    CHECK(feed->next_blocking());
    second = {};
    feed->close();
}

TEST_CASE("a batch that cannot be lent is given back all the same") {
    simulated_platform platform(quick());
    feed_plan plan;
    plan.feeding.depth = 1;
    const auto feed = make_feed(plan, simulated_device());
    {
        borrower library(platform);
        for (int i = 0; i < 10; ++i) {
            word_batch batch(feed->next_blocking());
            CHECK(error_of([&] {
                      stoker::to_dlpack(std::move(batch), library.stream(), "lable");
                  }).code() == stoker::errc::invalid_option);
        }
        platform.begin_capture(library.stream(), cuda_flag::capture_mode_thread_local);
        word_batch batch(feed->next_blocking());
        CHECK(error_of([&] {
                  stoker::to_dlpack(std::move(batch), library.stream(), &words::label);
              }).code() == stoker::errc::stream_captured);
        CHECK(platform.end_capture(library.stream()));
        CHECK(feed->next_blocking());
    }
    feed->close();
}

TEST_CASE("the struct of old says the same, and ends the loan") {
    const simulated_platform platform(quick());
    feed_plan plan;
    plan.feeding.depth = 1;
    const auto feed = make_feed(plan, simulated_device());
    for (int i = 0; i < 10; ++i) {
        word_batch batch(feed->next_blocking());
        auto lent = stoker::to_dlpack(std::move(batch), nullptr, &words::label);
        const stoker::dl_tensor said = lent->tensor;
        stoker::dl_unversioned_tensor* const old =
            stoker::to_unversioned(std::move(lent)).release();
        CHECK(old->tensor.data == said.data);
        CHECK(old->tensor.device.type == stoker::dl_device_type::cuda);
        CHECK(old->tensor.shape == said.shape);
        CHECK(old->tensor.shape[0] == 4);
        old->deleter(old);
    }
    feed->close();
}

TEST_CASE("an array of a device is borrowed for that device alone") {
    simulation how = quick();
    how.devices = 2;
    const simulated_platform platform(how);
    const auto feed = make_feed({}, simulated_device());
    using view = stoker::tensor_view<const std::int64_t, stoker::dynamic>;
    const auto lend = [&] {
        return stoker::to_dlpack(word_batch(feed->next_blocking()), nullptr, &words::label);
    };
    auto lent = lend();
    const void* const data = lent->tensor.data;
    const stoker::borrowed_tensor<view> seen(std::move(lent), simulated_device());
    CHECK(seen.view().data() == data);
    CHECK(seen.view().extent(0) == 4);
    const auto refused =
        error_of([&] { stoker::borrowed_tensor<view>(lend(), simulated_device(1)); });
    CHECK(contains(refused.what(), "lies on CUDA device 0, which CUDA device 1 cannot read"));
    const auto by_host = error_of([&] { stoker::borrowed_tensor<view>{lend()}; });
    CHECK(contains(by_host.what(), "which the host cannot read"));
    feed->close();
}
