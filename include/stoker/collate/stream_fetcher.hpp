#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/collate/collator.hpp>
#include <stoker/collate/column.hpp>
#include <stoker/collate/dataset_fetcher.hpp>
#include <stoker/collate/fetcher.hpp>
#include <stoker/collate/shard_reader.hpp>
#include <stoker/collate/stream_lanes.hpp>
#include <stoker/core/index.hpp>
#include <stoker/dataset/range_stream.hpp>
#include <stoker/dataset/stream.hpp>
#include <stoker/dataset/worker_info.hpp>

namespace stoker::detail {

/// The batch that a stream is being read into.
///
/// Where the layout follows from the number of samples they are written as if the batch became
/// full; when it does not, the columns move together at the end.
template <class Sample, class Collator>
class stream_batch {
    static constexpr std::size_t column_count = Collator::column_count;

  public:
    explicit stream_batch(Collator collator) : collator_(std::move(collator)) {}

    const schema& columns() const { return collator_.columns(); }

    void begin(std::uint64_t wanted, batch_memory& memory, column_record* records) {
        made_.clear();
        memory_ = &memory;
        records_ = records;
        if constexpr (Collator::fixed) {
            const std::uint64_t bytes = columns().lay_out(wanted, records);
            data_ = memory.data(bytes);
            starts_ = column_starts<column_count>(data_, records);
        }
    }
    template <class Given>
    void keep(std::uint64_t number, Given&& sample) {
        if constexpr (Collator::fixed) {
            const Sample& made = sample;
            collator_.store(made, starts_.data(), number);
        } else {
            made_.push_back(std::forward<Given>(sample));
        }
    }
    /// Gives the bytes used.
    std::uint64_t end(std::uint64_t count, std::uint64_t first_position) {
        if (count == 0)
            return 0;
        if constexpr (Collator::fixed) {
            const std::uint64_t bytes = columns().lay_out(count, records_);
            for (std::size_t column = 0; column < column_count; ++column) {
                std::byte* const place = data_ + records_[column].offset;
                if (place != starts_[column])
                    std::memmove(place, starts_[column], records_[column].bytes);
            }
            return bytes;
        } else {
            std::vector<index> positions;
            for (std::uint64_t i = 0; i < count; ++i)
                positions.push_back(first_position + i);
            return collator_.collate(made_, positions, *memory_, records_);
        }
    }

  private:
    Collator collator_;
    batch_memory* memory_ = nullptr;
    column_record* records_ = nullptr;
    std::byte* data_ = nullptr;
    std::array<std::byte*, column_count> starts_{};
    std::vector<Sample> made_{};  ///< unless fixed
};

/// Makes batches of a stream. Its exceptions pass through `stream_lanes`.
template <class Stream, class WorkerInit = no_worker_init,
          class Collator = default_collator<typename stream_traits<Stream>::sample>>
class stream_fetcher final : public fetcher, private shard_source {
    using access = stream_access<Stream>;
    using sample = typename stream_traits<Stream>::sample;
    using batch_type = stream_batch<sample, Collator>;
    static_assert(std::is_invocable_v<WorkerInit&, const worker_info&>,
                  "stoker: worker_init is called with a stoker::worker_info");

  public:
    explicit stream_fetcher(Stream stream, WorkerInit worker_init = {}, Collator collator = {})
        : stream_(std::move(stream)),
          worker_init_(std::move(worker_init)),
          batch_(std::move(collator)) {}

    std::uint64_t size() const override { return this->stream()->samples.value_or(0); }
    std::optional<stream_shape> stream() const override {
        stream_shape shape;
        shape.shards = access::shard_count(stream_);
        if constexpr (access::sized)
            shape.samples = access::size(stream_);
        return shape;
    }
    const schema& columns() const override { return batch_.columns(); }

    void open(int worker, int num_workers, std::uint64_t seed) override {
        std::invoke(worker_init_, worker_info{worker, num_workers, seed});
        access::open(stream_);
    }

    std::uint64_t fetch(const fetch_task& task, batch_memory& memory, column_record* records,
                        fetch_monitor& monitor) override {
        batch_.begin(lanes_.wanted(task), memory, records);
        const std::uint64_t count = lanes_.read(task, monitor);
        monitor.begin_collate();
        return batch_.end(count, task.first_position);
    }

  private:
    class typed_reader final : public shard_reader {
        using reader = reader_of<Stream>;
        using reader_calls = reader_access<reader>;

      public:
        typed_reader(Stream& stream, std::uint64_t shard, std::uint64_t position, batch_type& batch)
            : reader_(access::open(stream, shard, position)), batch_(batch) {}

        bool next(std::uint64_t number, context& c) override {
            auto&& given = reader_calls::next(reader_, c);
            if (!given)
                return false;
            batch_.keep(number, *std::forward<decltype(given)>(given));
            return true;
        }
        bool skip(context& c) override { return static_cast<bool>(reader_calls::next(reader_, c)); }
        std::uint64_t position() override { return reader_calls::position(reader_); }

      private:
        reader reader_;
        batch_type& batch_;
    };

    std::unique_ptr<shard_reader> open_shard(std::uint64_t shard, std::uint64_t position) override {
        return std::make_unique<typed_reader>(stream_, shard, position, batch_);
    }

    // What a stream is asked may be non-const; a fetcher's answers are const for main's sake.
    mutable Stream stream_;
    WorkerInit worker_init_;
    batch_type batch_;
    stream_lanes lanes_{*this};  // its readers end before the stream
};

/// The fetcher of a stream, or of a plain range, which is moved or copied in. Throws
/// error{invalid_dataset} when it is a null pointer; what is no stream does not compile, and says
/// why.
template <class Stream, class WorkerInit = no_worker_init, class... Collator>
std::unique_ptr<fetcher> make_stream_fetcher(Stream stream, WorkerInit worker_init = {},
                                             Collator... collator) {
    if constexpr (check_stream<Stream>::value) {
        if (pointed_dataset<Stream>::missing(stream))
            throw_missing_dataset();
        if constexpr (plain_range<typename pointed_dataset<Stream>::type>) {
            using adapted = range_stream<Stream>;
            return std::make_unique<stream_fetcher<adapted, WorkerInit, Collator...>>(
                adapted(std::move(stream)), std::move(worker_init), std::move(collator)...);
        } else {
            return std::make_unique<stream_fetcher<Stream, WorkerInit, Collator...>>(
                std::move(stream), std::move(worker_init), std::move(collator)...);
        }
    } else {
        return nullptr;
    }
}

/// The fetcher of a dataset or of a stream, whichever it is.
template <class Dataset, class WorkerInit = no_worker_init, class... Collator>
std::unique_ptr<fetcher> make_any_fetcher(Dataset dataset, WorkerInit worker_init = {},
                                          Collator... collator) {
    if constexpr (streamed<Dataset>) {
        return make_stream_fetcher(std::move(dataset), std::move(worker_init),
                                   std::move(collator)...);
    } else {
        return make_fetcher(std::move(dataset), std::move(worker_init), std::move(collator)...);
    }
}

}  // namespace stoker::detail
