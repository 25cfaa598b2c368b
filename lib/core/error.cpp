// Two jobs: the words for each kind of error, kept in one table so that no value can lack any, and
// turning whatever a user's code throws into details that survive the way to another process.
//
// An exception cannot travel between processes; its type's name and its text can. `describe` is
// therefore greedy: it keeps the demangled type, the numbers behind std::system_error, the path of
// a filesystem error and every nested cause, because what it drops nobody sees again.

#include <cxxabi.h>
#include <array>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <ios>
#include <stoker/core/error.hpp>
#include <typeinfo>
#include <utility>

namespace stoker {

namespace {

struct wording {
    errc code{};
    std::string_view cause{};
    std::string_view remedy{};
};

constexpr std::array wordings{
    wording{errc::invalid_option, "an option cannot work", "correct the option that is named"},
    wording{errc::invalid_dataset, "the dataset cannot be used",
            "check that the dataset's files are there and that it has size() and get(index)"},
    wording{errc::index_out_of_range, "the sampler gave an index that the dataset does not have",
            "give indices from 0 up to, but not including, the dataset's size()"},
    wording{errc::sample_failed, "the dataset threw while it made a sample",
            "look at that sample, or handle the exception in the dataset's get(); the next call "
            "goes on with the following batch"},
    wording{errc::shape_mismatch, "samples of one batch differ in shape",
            "make the shapes equal in the dataset: crop, pad or resize there"},
    wording{errc::collate_failed, "the samples could not be made one batch",
            "check the collate function against samples like these; the next call goes on with "
            "the following batch"},
    wording{errc::worker_start_failed, "a worker could not start",
            "look at the dataset's open() and at the limits on processes (ulimit -u) and open "
            "files (ulimit -n)"},
    wording{errc::worker_died, "a worker process ended before its work was done",
            "look for a crash or an exit in the dataset's code, and in dmesg for the system's "
            "out-of-memory killer; num_workers = 0 runs the same code under a debugger"},
    wording{errc::worker_stopped, "a worker process was stopped",
            "find out what stopped it: a debugger, kill -STOP, a frozen cgroup; the next epoch has "
            "another one"},
    wording{errc::timed_out, "the time limit has passed",
            "find out what the dataset waits for, raise timeout, or set it to 0 for no limit"},
    wording{errc::no_free_slot, "every batch slot is in use",
            "let go of batches before asking for more, copy out what is kept, or raise "
            "prefetch_factor"},
    wording{errc::batch_too_large, "a batch does not fit into its slot",
            "lower batch_size, or raise memory_limit_bytes"},
    wording{errc::memory_limit, "memory would pass a limit",
            "lower batch_size, num_workers or prefetch_factor, or raise the limit that is named"},
    wording{errc::threads_at_fork, "the process has other threads, whose locks a fork would copy",
            "construct loaders first in main, or put `stoker::fork_server forks;` there and build "
            "loaders later from forks.dataset(…)"},
    wording{errc::fork_server_died, "the process that forks the workers is gone",
            "look in dmesg for the system's out-of-memory killer, and for whoever sent it a "
            "signal; then construct the loader anew"},
    wording{errc::protocol, "a worker sent what it must not send",
            "look for code in the dataset that writes outside its memory (build it with "
            "-fsanitize=address)"},
    wording{errc::busy, "the loader already has an operation pending",
            "await next() before calling it again, and use a loader from one thread at a time"},
    wording{errc::resource, "a system call failed",
            "look at the limits of the process (ulimit -a) and at what the system has left"},
    wording{errc::no_device, "there is no such device",
            "check the device's number, the driver (nvidia-smi) and CUDA_VISIBLE_DEVICES, or use "
            "stoker::host_device()"},
    wording{errc::device_failed, "a call of the device failed",
            "look for an earlier failure of the program's own kernels (compute-sanitizer finds "
            "them), and for device memory that others hold; then construct the feed anew"},
    wording{errc::stream_captured, "the stream is being captured into a graph",
            "call on() before the capture or just before the graph's launch, and release the "
            "batch after it"},
};

constexpr wording unknown{{}, "an unknown error", "report the number as a bug of stoker"};

constexpr const wording& words_for(errc code) noexcept {
    for (const wording& words : wordings) {
        if (words.code == code) {
            return words;
        }
    }
    return unknown;
}

class category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "stoker"; }
    std::string message(int value) const override {
        return std::string{stoker::message(static_cast<errc>(value))};
    }
};

/// Texts of users end as they like; a sentence of ours goes on after them.
std::string_view without_full_stop(std::string_view text) {
    const auto last = text.find_last_not_of(" \t\r\n.");
    const bool ellipsis = text.ends_with("..");
    return last == std::string_view::npos || ellipsis ? text : text.substr(0, last + 1);
}

void add_detail(std::string& list, std::string_view word, std::string_view value) {
    list += list.empty() ? "" : ", ";
    list += word;
    list += value;
}

std::string sentence(const error_details& details) {
    std::string result{message(details.code)};
    if (!details.text.empty()) {
        result += ": ";
        result += without_full_stop(details.text);
    }
    std::string where;
    if (!details.type.empty()) {
        add_detail(where, "", details.type);
    }
    if (details.sample) {
        add_detail(where, "sample ", detail::describe_index(*details.sample));
    }
    if (!details.file.empty()) {
        add_detail(where, "file ", details.file);
    }
    if (details.worker >= 0) {
        add_detail(where, "worker ", std::to_string(details.worker));
    }
    if (details.pid != 0) {
        add_detail(where, "pid ", std::to_string(details.pid));
    }
    if (!details.loader.empty()) {
        add_detail(where, "loader ", details.loader);
    }
    if (!where.empty()) {
        result += " (" + where + ")";
    }
    result += "; ";
    result += details.remedy.empty() ? remedy(details.code) : std::string_view{details.remedy};
    return result;
}

error_details with_remedy(error_details details) {
    if (details.remedy.empty()) {
        details.remedy = remedy(details.code);
    }
    return details;
}

}  // namespace

std::string_view message(errc code) noexcept {
    return words_for(code).cause;
}

std::string_view remedy(errc code) noexcept {
    return words_for(code).remedy;
}

const std::error_category& error_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), error_category()};
}

error::error(error_details details)
    : std::runtime_error{sentence(details)},
      details_{std::make_shared<const error_details>(with_remedy(std::move(details)))} {}

error::error(errc code, std::string text)
    : error{error_details{.code = code, .text = std::move(text)}} {}

namespace detail {

bool is_known(errc code) noexcept {
    return words_for(code).code == code && code != errc{};
}

namespace {

/// Deeper causes are cut off: a chain this long is a loop in disguise.
constexpr int most_nested = 16;

std::string demangle(const std::type_info* type) {
    if (type == nullptr) {
        return "unknown type";
    }
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name{
        abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), std::free};
    std::string result = status == 0 && name ? name.get() : type->name();
    // std::throw_with_nested throws a wrapper of the library's own: users know what is in it.
    for (const std::string_view wrapper :
         {"std::_Nested_exception<", "std::__1::__nested<", "std::__nested<"}) {
        if (result.starts_with(wrapper) && result.ends_with(">")) {
            result = result.substr(wrapper.size(), result.size() - wrapper.size() - 1);
            break;
        }
    }
    return result;
}

template <class Code>
std::string code_of(const Code& code) {
    return std::string{" ["} + code.category().name() + ":" + std::to_string(code.value()) + "]";
}

/// Boost's end with the place in Boost's own headers that threw, several times as long as the rest.
std::string without_place(const boost::system::system_error& exception) {
    std::string text = exception.what();
    const std::string placed = exception.code().what();
    if (text.ends_with(placed)) {
        text.resize(text.size() - placed.size());
        text += exception.code().message() + code_of(exception.code());
    }
    return text;
}

/// Writes down one exception after the other: the outermost, then its causes.
class description {
  public:
    /// `last_failure` is errno as it was when the exception was caught.
    description(error_details& details, int last_failure)
        : details_{details}, last_failure_{last_failure} {}

    void add(const std::exception& exception) {
        if (const auto* boosts = dynamic_cast<const boost::system::system_error*>(&exception)) {
            details_.text += without_place(*boosts);
            return;
        }
        const char* text = exception.what();
        details_.text += text == nullptr ? "" : text;
        if (const auto* system = dynamic_cast<const std::system_error*>(&exception)) {
            details_.text += code_of(system->code());
        }
        if (dynamic_cast<const std::ios_base::failure*>(&exception) != nullptr) {
            add_last_failure();
        }
        const auto* files = dynamic_cast<const std::filesystem::filesystem_error*>(&exception);
        if (files != nullptr && details_.file.empty()) {
            details_.file = files->path1().string();
        }
    }

    void add_causes_of(const std::exception& exception, int depth = 0) {
        const auto* nested = dynamic_cast<const std::nested_exception*>(&exception);
        if (nested == nullptr || nested->nested_ptr() == nullptr || depth == most_nested) {
            return;
        }
        details_.text += details_.text.empty() ? "because of " : "; because of ";
        try {
            nested->rethrow_nested();
        } catch (const std::exception& cause) {
            details_.text += demangle(abi::__cxa_current_exception_type()) + ": ";
            add(cause);
            add_causes_of(cause, depth + 1);
        } catch (...) {
            details_.text += demangle(abi::__cxa_current_exception_type());
        }
    }

  private:
    /// Streams of the standard library do not say why they fail: the system has, a moment ago.
    void add_last_failure() {
        if (last_failure_ != 0) {
            const std::error_code code{last_failure_, std::generic_category()};
            details_.text += "; errno was: " + code.message() + code_of(code);
        }
    }

    error_details& details_;
    int last_failure_;
};

}  // namespace

error_details describe(const std::exception_ptr& exception, errc fallback) {
    error_details details{.code = fallback};
    description written{details, errno};
    if (exception == nullptr) {
        return details;
    }
    try {
        std::rethrow_exception(exception);
    } catch (const error& own) {
        details = own.details();
        if (!is_known(details.code)) {  // a dataset's own, which names no code
            if (details.remedy == remedy(details.code))
                details.remedy = remedy(fallback);
            details.code = fallback;
        }
        if (details.type.empty()) {
            const std::string type = demangle(&typeid(own));
            static const std::string plain = demangle(&typeid(error));
            if (type != plain)
                details.type = type;
        }
        written.add_causes_of(own);
        return details;
    } catch (const std::exception& other) {
        written.add(other);
        written.add_causes_of(other);
    } catch (const char* text) {
        details.text = text == nullptr ? "" : text;
    } catch (const std::string& text) {
        details.text = text;
    } catch (const std::error_code& code) {
        details.text = code.message() + code_of(code);
    } catch (...) {
        details.text = "an exception without a text";
    }
    // Once more, since the type of an exception in flight is known only inside a handler.
    try {
        std::rethrow_exception(exception);
    } catch (...) {
        details.type = demangle(abi::__cxa_current_exception_type());
    }
    return details;
}

}  // namespace detail

}  // namespace stoker
