#include "arguments.hpp"

#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace demo {
namespace {

template <class Integer>
Integer number(std::string_view name, std::string_view text, Integer least) {
    Integer value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || value < least) {
        throw std::invalid_argument(std::string(name) + " is '" + std::string(text) +
                                    "', expected a number of " + std::to_string(least) + " up");
    }
    return value;
}

}  // namespace

const char* const usage =
    R"(usage: demo [--data FILE] [--seed N] [--epochs N] [--workers N] [--no-sweep]

Trains a small model on scanned digits that worker processes enlarge, turn and shift, then
measures which number of workers loads them fastest.

  --data FILE   digits as CSV, gzipped or not: 64 pixels of 0 to 16 and a label a line
  --seed N      of the split, the order, the augmentation and the first weights (1)
  --epochs N    of training (30)
  --workers N   that load during the training (2)
  --no-sweep    only train

Ends with status 1 when less than 95 % of the held-out digits are told right.
)";

std::optional<arguments> parse_arguments(int count, const char* const* values) {
    arguments result;
    for (int i = 1; i < count; ++i) {
        const std::string_view name = values[i];
        if (name == "-h" || name == "--help")
            return std::nullopt;
        if (name == "--no-sweep") {
            result.sweep = false;
            continue;
        }
        const bool known =
            name == "--data" || name == "--seed" || name == "--epochs" || name == "--workers";
        if (!known)
            throw std::invalid_argument("no argument is named " + std::string(name));
        if (i + 1 == count)
            throw std::invalid_argument(std::string(name) + " needs a value");
        const std::string_view value = values[++i];
        if (name == "--data")
            result.data = value;
        else if (name == "--seed")
            result.seed = number<std::uint64_t>(name, value, 0);
        else if (name == "--epochs")
            result.epochs = number<int>(name, value, 1);
        else
            result.num_workers = number<int>(name, value, 0);
    }
    return result;
}

}  // namespace demo
