// Samples of different lengths: the member's type says how they are made one batch. And by hand,
// for what types cannot say: a collate that builds a mask.
//
//     build/examples/04_padding
#include <array>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/stoker.hpp>

struct sentence {
    stoker::padded<std::int32_t, -100> tokens;  // [n, longest], -100 beyond each end
    stoker::ragged<float> weights;              // one after the other, with offsets
    std::string text;                           // likewise
    std::optional<std::int64_t> label;          // a presence column beside it
};

constexpr std::array<std::string_view, 5> texts{"coal", "a shovel of coal", "",
                                                "the engine never starves", "steam"};

struct sentences {
    std::size_t size() const { return texts.size(); }
    sentence get(stoker::index i) const {
        sentence made;
        made.text = texts[i];
        for (const char letter : texts[i]) {
            made.tokens.push_back(letter);
            made.weights.push_back(letter == ' ' ? 0.0f : 1.0f);
        }
        if (i % 2 == 0)
            made.label = std::int64_t(i);
        return made;
    }
};

void by_type() {
    stoker::loader loader{sentences{}, {.batch_size = 3, .num_workers = 2}};
    for (auto& batch : loader) {
        auto [tokens, weights, text, label] = batch.columns();
        std::cout << "tokens [" << tokens.extent(0) << ", " << tokens.extent(1) << "]\n";
        for (std::size_t i = 0; i < batch.size(); ++i) {
            float letters = 0;
            for (const float weight : weights[i])
                letters += weight;
            std::cout << "  \"" << text[i] << "\": " << tokens.lengths()[i] << " tokens, "
                      << letters << " letters";
            if (label.has_value(i))
                std::cout << ", label " << label.values()[i];
            std::cout << '\n';
        }
    }
}

// A batch struct of one's own: all axes of the batch are the collate's to choose.
struct model_input {
    stoker::tensor<std::int32_t, stoker::dynamic, stoker::dynamic> tokens;  // [n, longest]
    stoker::tensor<bool, stoker::dynamic, stoker::dynamic> mask;            // likewise
    stoker::tensor<std::int64_t, 1> letters;
};

void collate_by_hand(std::span<const sentence> samples, stoker::writer<model_input>& out) {
    std::size_t longest = 0;
    for (const auto& each : samples)
        longest = std::max(longest, each.tokens.size());
    out.shape(&model_input::tokens, samples.size(), longest);  // first all shapes,
    out.shape(&model_input::mask, samples.size(), longest);
    out.shape(&model_input::letters, 1);
    auto tokens = out[&model_input::tokens];  // then views of the batch's own memory
    auto mask = out[&model_input::mask];
    auto letters = out[&model_input::letters];
    letters[0] = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        for (std::size_t k = 0; k < longest; ++k) {
            mask(i, k) = k < samples[i].tokens.size();
            tokens(i, k) = mask(i, k) ? samples[i].tokens[k] : 0;
        }
        letters[0] += std::int64_t(samples[i].tokens.size());
    }
}

void by_hand() {
    stoker::loader loader{
        sentences{}, {.batch_size = 3, .num_workers = 2}, stoker::collate{collate_by_hand}};
    for (auto& batch : loader) {
        auto mask = batch[&model_input::mask];
        std::size_t set = 0;
        for (const bool each : mask.elements())
            set += each;
        std::cout << "mask [" << mask.extent(0) << ", " << mask.extent(1) << "]: " << set << " of "
                  << batch[&model_input::letters][0] << " tokens\n";
    }
}

int main() try {
    by_type();
    by_hand();
} catch (const stoker::error& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// tokens [3, 16]
//   "coal": 4 tokens, 4 letters, label 0
//   "a shovel of coal": 16 tokens, 13 letters
//   "": 0 tokens, 0 letters, label 2
// tokens [2, 24]
//   "the engine never starves": 24 tokens, 21 letters
//   "steam": 5 tokens, 5 letters, label 4
// mask [3, 16]: 20 of 20 tokens
// mask [2, 24]: 29 of 29 tokens
