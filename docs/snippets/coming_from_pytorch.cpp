// The code of docs/coming-from-pytorch.md, run to see that it does what the page says.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/stoker.hpp>

namespace asio = boost::asio;

namespace {

void expect(bool good, const char* what) {
    if (good)
        return;
    std::cerr << "not as the page says: " << what << '\n';
    std::exit(1);
}

// [dataset]
struct sample {                     // what __getitem__ returns: a plain struct
    stoker::tensor<float, 3> point;
    std::int64_t label;
};

class points {
  public:
    explicit points(std::size_t count) : count_(count) {}
    std::size_t size() const { return count_; }               // __len__
    sample get(stoker::index i) const {                       // __getitem__
        const auto x = static_cast<float>(i);
        return {{x, x * x, 1}, static_cast<std::int64_t>(i % 10)};
    }

  private:
    std::size_t count_;
};
// [end]

void step(const auto&...) {}

int steps = 0;

// [loop]
asio::awaitable<void> train() {
    stoker::loader loader{points{1000}, {.batch_size = 64, .shuffle = true, .num_workers = 4}};
    for (int epoch = 0; epoch < 2; ++epoch) {
        while (auto batch = co_await loader.next()) {          // false at the end of the epoch
            auto [point, label] = batch.columns();             // [64, 3] and [64]
            step(point, label);
            ++steps;
        }
    }
}
// [end]

// [augment]
sample jitter(sample plain, stoker::context& context) {
    plain.point(0) += context.random.uniform(-0.1f, 0.1f);     // the same for any number of workers
    return plain;
}
auto augmented() {
    return points{1000} | stoker::map(jitter);
}
// [end]

// [bulk]
struct table {                                                 // __getitems__
    std::size_t size() const { return 1000; }
    std::vector<sample> get(std::span<const stoker::index> indices) const {
        std::vector<sample> rows;                              // one query for all of them
        for (const stoker::index i : indices)
            rows.push_back({{}, static_cast<std::int64_t>(i)});
        return rows;
    }
};
// [end]

// [sampler]
auto weighted(std::vector<double> weights, std::uint64_t draws) {
    for (std::size_t i = 1; i < weights.size(); ++i)
        weights[i] += weights[i - 1];
    return stoker::sampler{[weights, draws](std::uint64_t epoch) {  // called once an epoch
        stoker::random random(epoch);
        std::vector<std::size_t> indices;
        while (indices.size() < draws) {
            const double drawn = random.uniform(0.0, weights.back());
            const auto place = std::upper_bound(weights.begin(), weights.end(), drawn);
            indices.push_back(static_cast<std::size_t>(place - weights.begin()));
        }
        return indices;
    }};
}
// [end]

struct connection {
    explicit connection(const std::string&) {}
    sample query(stoker::index i) const { return {{}, static_cast<std::int64_t>(i)}; }
};

// [open]
struct rows {
    std::string server;
    std::optional<connection> database{};

    std::size_t size() const { return 100; }
    void open() { database.emplace(server); }                  // once in each worker
    sample get(stoker::index i) const { return database->query(i); }
};
// [end]

// [stream]
struct counters {                                                // shards of numbers
    struct reader {
        std::uint64_t shard, at;
        std::optional<std::uint64_t> next() {                    // false: the shard has ended
            return at < 100 ? std::optional(100 * shard + at++) : std::nullopt;
        }
        std::uint64_t position() const { return at; }            // where open() would go on
    };
    std::size_t shard_count() const { return 8; }
    reader open(std::size_t shard, std::uint64_t position) const { return {shard, position}; }
};
// [end]

struct damaged {
    std::size_t size() const { return 8; }
    sample get(stoker::index i) const {
        if (i == 5)
            throw std::runtime_error("bad header");
        return {};
    }
};

int lost = 0;

// [errors]
asio::awaitable<void> go_on_after_errors(auto& loader) {
    for (int errors = 0; errors < 10;) {
        try {
            while (auto batch = co_await loader.next()) {
                step(batch);
                errors = 0;                                    // in a row
            }
            co_return;
        } catch (const stoker::error& failure) {               // its batch is lost, no other
            std::cerr << failure.what() << '\n';
            ++errors;
            ++lost;
        }
    }
}
// [end]

// [blocking_errors]
void go_on_after_errors_blocking(auto& loader) {
    for (int errors = 0; errors < 10;) {
        try {
            while (auto batch = loader.next_blocking()) {
                step(batch);
                errors = 0;
            }
            return;
        } catch (const stoker::error& failure) {
            std::cerr << failure.what() << '\n';
            ++errors;
            ++lost;
        }
    }
}
// [end]

// [split]
auto split() {
    auto [train, validation] = stoker::random_split(points{1000}, {0.8, 0.2}, 42);
    return std::pair{std::move(train) | stoker::map(jitter), std::move(validation)};
}
// [end]

// [collate]
struct pairs {                                                 // all axes are yours
    stoker::tensor<float, stoker::dynamic, 2, 3> both;         // [pairs, 2, 3]
};
auto in_pairs() {
    return stoker::collate{[](std::span<const sample> samples, stoker::writer<pairs>& out) {
        out.shape(&pairs::both, samples.size() / 2, 2, 3);     // all shapes first, then values
        auto both = out[&pairs::both];
        for (std::size_t i = 0; i < samples.size() / 2 * 2; ++i) {
            for (std::size_t k = 0; k < 3; ++k)
                both(i / 2, i % 2, k) = samples[i].point(k);
        }
    }};
}
// [end]

// [early]
void first_batches_only(auto& loader, int epochs) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (auto& batch : loader) {                           // each loop is a fresh epoch
            step(batch);
            if (batch.number() == 2)
                break;
        }
    }
}
// [end]

void run(asio::awaitable<void> work) {
    asio::io_context io;
    asio::co_spawn(io, std::move(work), stoker::rethrow);
    io.run();
}

}  // namespace

int main() {
    run(train());
    expect(steps == 32, "two epochs of 16 batches");

    stoker::loader drawn{table{}, {.batch_size = 10, .num_workers = 1}, weighted({0, 1, 3}, 100)};
    std::int64_t ones = 0, twos = 0;
    for (auto& batch : drawn) {
        for (const auto label : batch[&sample::label]) {
            ones += label == 1 ? 1 : 0;
            twos += label == 2 ? 1 : 0;
        }
    }
    expect(ones + twos == 100 && ones < twos && ones > 0, "a weighted draw");

    stoker::loader random{augmented(), {.batch_size = 100, .num_workers = 2}};
    expect(random.length() == 10, "the length of a mapped dataset");
    first_batches_only(random, 2);
    expect(random.next_blocking().epoch() == 1, "an epoch that was left goes on");

    stoker::loader paired{points{100}, {.batch_size = 10, .num_workers = 2}, in_pairs()};
    auto five = paired.next_blocking();
    auto [both] = five.columns();
    expect(both.extent(0) == 5 && both(2, 1, 0) == 5, "a batch of pairs");

    stoker::loader opened{rows{"host"}, {.num_workers = 2}};
    expect(opened.next_blocking().size() == 1, "a dataset that is opened in workers");

    std::vector<std::vector<std::uint64_t>> firsts;
    for (const int workers : {0, 3}) {
        stoker::loader streamed{counters{}, {.batch_size = 32, .num_workers = workers}};
        auto& first = firsts.emplace_back();
        for (auto& batch : streamed)
            first.push_back(batch.bytes().empty() ? 0 : batch.size());
    }
    expect(firsts[0] == std::vector<std::uint64_t>(25, 32) && firsts[0] == firsts[1],
           "a stream's batches");

    stoker::loader failing{damaged{}, {.batch_size = 2, .num_workers = 2}};
    run(go_on_after_errors(failing));
    expect(lost == 1, "one batch is lost to one damaged sample");
    go_on_after_errors_blocking(failing);
    expect(lost == 2, "one batch is lost to it in the next epoch, too");

    auto [training, validation] = split();
    stoker::loader train_loader{std::move(training), {.batch_size = 64, .num_workers = 1}};
    stoker::loader validation_loader{std::move(validation), {.batch_size = 64}};
    expect(train_loader.size() == 800 && validation_loader.size() == 200, "a split");
}
