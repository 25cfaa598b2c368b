#include "digits.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include <stoker/core/error.hpp>
#include <stoker/dataset/random.hpp>

namespace demo {
namespace {

// A small file can unpack into a huge one; the real one has 265 kB.
constexpr std::size_t largest_file_bytes = 64 << 20;
constexpr std::size_t pixels_a_line = 64;
constexpr int most_ink = 16;

[[noreturn]] void fail(const std::string& path, std::string text) {
    stoker::error_details details{};
    details.code = stoker::errc::invalid_dataset;
    details.text = std::move(text);
    details.file = path;
    details.remedy =
        "give lines of 64 pixels (0 to 16) and a label (0 to 9), as in examples/data/digits.csv.gz";
    throw stoker::error(std::move(details));
}

/// One line of the file, read field by field.
class line_reader {
  public:
    line_reader(std::string_view line, std::size_t number, const std::string& path)
        : line_(line), number_(number), path_(path) {}

    /// The next number, which must be in [0, largest].
    int next(int largest, const char* what) {
        int value = 0;
        const char* first = line_.data() + at_;
        const char* last = line_.data() + line_.size();
        const auto [end, problem] = std::from_chars(first, last, value);
        if (problem != std::errc{})
            refuse(std::string("expected a number for ") + what);
        if (value < 0 || value > largest) {
            refuse(std::string(what) + " is " + std::to_string(value) + ", expected 0 to " +
                   std::to_string(largest));
        }
        at_ = static_cast<std::size_t>(end - line_.data());
        return value;
    }

    void comma() {
        if (at_ == line_.size())
            refuse("the line ends early, expected 65 numbers");
        if (line_[at_] != ',')
            refuse("expected a comma");
        ++at_;
    }

    void finish() const {
        if (at_ != line_.size())
            refuse("expected the end of the line after 65 numbers");
    }

  private:
    [[noreturn]] void refuse(const std::string& reason) const {
        fail(path_, "line " + std::to_string(number_) + ", column " + std::to_string(at_ + 1) +
                        ": " + reason);
    }

    std::string_view line_;
    std::size_t number_;
    const std::string& path_;
    std::size_t at_ = 0;
};

digit parse_line(line_reader line) {
    digit result{};
    for (std::size_t i = 0; i < pixels_a_line; ++i) {
        result.pixels.data()[i] = static_cast<std::uint8_t>(line.next(most_ink, "a pixel"));
        line.comma();
    }
    result.label = line.next(9, "the label");
    line.finish();
    return result;
}

/// zlib's own texts repeat the path.
std::string reason(int zlib_code) {
    if (zlib_code == Z_BUF_ERROR)
        return "the archive ends early";
    if (zlib_code == Z_DATA_ERROR)
        return "the archive is damaged";
    return zlib_code == Z_ERRNO ? std::strerror(errno) : zError(zlib_code);
}

std::vector<char> read_unpacked(const std::string& path) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file{gzopen(path.c_str(), "rb"), gzclose_r};
    if (!file)
        fail(path, std::string("cannot be opened: ") + std::strerror(errno));
    std::vector<char> bytes;
    constexpr unsigned step = 1 << 16;
    for (;;) {
        const std::size_t held = bytes.size();
        bytes.resize(held + step);
        const int got = gzread(file.get(), bytes.data() + held, step);
        bytes.resize(held + static_cast<std::size_t>(std::max(got, 0)));
        int code = Z_OK;
        gzerror(file.get(), &code);
        // A cut-off archive yields its data first and says so only here.
        if (got < 0 || code == Z_BUF_ERROR)
            fail(path, "cannot be read after " + std::to_string(bytes.size()) +
                           " bytes: " + reason(code));
        if (got == 0)
            return bytes;
        if (bytes.size() > largest_file_bytes)
            fail(path, "has more than 64 MiB");
    }
}

}  // namespace

std::vector<digit> parse_digits(std::span<const char> text, const std::string& path) {
    std::vector<digit> digits;
    std::string_view rest{text.data(), text.size()};
    for (std::size_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        digits.push_back(parse_line(line_reader{line, number, path}));
    }
    if (digits.empty())
        fail(path, "has no lines");
    return digits;
}

std::vector<digit> read_digits(const std::string& path) {
    return parse_digits(read_unpacked(path), path);
}

split_digits split(std::vector<digit> digits, std::uint64_t seed) {
    stoker::random random{seed};
    random.shuffle(digits);
    const auto first_kept = digits.begin() + static_cast<std::ptrdiff_t>(digits.size() / 5);
    return {{first_kept, digits.end()}, {digits.begin(), first_kept}};
}

}  // namespace demo
