#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <stoker/core/index.hpp>

namespace stoker {

/// What went wrong. Every value has a message (its cause) and a remedy: `message(code)`,
/// `remedy(code)`.
enum class errc : int {
    invalid_option = 1,   ///< an option, or a mix of options, that cannot work
    invalid_dataset,      ///< the dataset cannot be described or loaded
    index_out_of_range,   ///< a sampler gave an index that the dataset does not have
    sample_failed,        ///< the dataset threw while it made a sample
    shape_mismatch,       ///< samples of one batch differ in a shape that must agree
    collate_failed,       ///< samples could not be made one batch
    worker_start_failed,  ///< a worker could not be started, or its start hook threw
    worker_died,          ///< a worker process ended by itself or by a signal
    worker_stopped,       ///< a worker process was stopped (SIGSTOP, debugger, freezer)
    timed_out,            ///< a batch that was awaited, or a sample, did not come in time
    no_free_slot,         ///< every slot is held by the user
    batch_too_large,      ///< a batch does not fit into the largest slot allowed
    memory_limit,         ///< memory would pass a limit: an option, a ulimit or a cgroup
    threads_at_fork,      ///< the process has other threads, whose locks a fork would copy
    fork_server_died,     ///< the process that forks the workers is gone
    protocol,             ///< a worker sent what it must not send
    busy,                 ///< a second operation on a loader that already has one pending
    resource,             ///< a system call failed
    no_device,            ///< there is no such device, or none at all
    device_failed,        ///< a device's call failed
    stream_captured,      ///< a stream that is captured into a graph cannot wait for a batch
};

/// The cause, in a few words; never empty, one of its own for each value.
std::string_view message(errc code) noexcept;
/// What a user can do about it; never empty.
std::string_view remedy(errc code) noexcept;

/// The category "stoker"; its messages are `message(code)`.
const std::error_category& error_category() noexcept;
/// For std::error_code, which finds it by argument-dependent lookup.
std::error_code make_error_code(errc code) noexcept;

/// Everything an error knows. Empty or unset where it does not apply.
///
///     throw stoker::error{{.code = stoker::errc::sample_failed, .text = "bad header", .file =
///     path}};
struct error_details {
    /// Unset where a dataset throws it: becomes `sample_failed`, or what fits the place.
    errc code{};
    /// What failed; for a dataset's exception its own what(), whole, but for the place in Boost's
    /// headers with which Boost's end.
    std::string text{};
    std::string remedy{};           ///< empty: that of the code
    std::optional<index> sample{};  ///< the sample that failed
    std::string file{};             ///< the file that failed
    int worker = -1;                ///< worker number; -1: none, or the calling process
    long pid = 0;                   ///< process id of that worker
    std::string type{};             ///< type of the dataset's exception, demangled
    std::string loader{};           ///< `loader_options::name` of the loader it came out of
};

/// The one exception class of stoker. `what()` is one sentence made of all details: cause, text,
/// where, remedy.
///
///     the dataset threw while it made a sample: bad header (std::runtime_error, sample 17,
///     file train/17.png, worker 2, pid 4711); look at that sample, or handle …
///
/// Copying allocates nothing and cannot throw; moving copies, so that a moved-from error still
/// knows everything.
///
/// Thread safety: like std::runtime_error, copies share their contents, which never change.
class error : public std::runtime_error {
  public:
    explicit error(error_details details);
    error(errc code, std::string text);
    error(const error&) noexcept = default;
    error& operator=(const error&) noexcept = default;
    ~error() override = default;

    errc code() const noexcept { return details().code; }
    const std::optional<index>& sample() const noexcept { return details().sample; }
    const std::string& file() const noexcept { return details().file; }
    int worker() const noexcept { return details().worker; }
    long pid() const noexcept { return details().pid; }
    const std::string& type() const noexcept { return details().type; }
    const std::string& loader() const noexcept { return details().loader; }
    /// The text alone, without the details that what() adds.
    const std::string& text() const noexcept { return details().text; }
    /// What to do about it: the one given, or that of the code; never empty.
    const std::string& remedy() const noexcept { return details().remedy; }
    const error_details& details() const noexcept { return *details_; }

  private:
    std::shared_ptr<const error_details> details_;
};

namespace detail {

/// Whether this is one of `errc`'s values: it has a message and a remedy of its own.
bool is_known(errc code) noexcept;

/// The details of an exception in flight, as a worker would report it: an `error` keeps its own,
/// but for a code that is none, which becomes `fallback`, and its type, where it is one derived
/// from `error`. Anything else becomes `fallback` with its type and its text. Codes of
/// std::system_error and nested exceptions are appended to the text, to that of a stream's
/// exception also errno as it is now; the path of a std::filesystem error, nested ones included,
/// becomes `file`. A null pointer gives `fallback` without text.
error_details describe(const std::exception_ptr& exception, errc fallback);

}  // namespace detail

}  // namespace stoker

/// @cond
template <>
struct std::is_error_code_enum<stoker::errc> : std::true_type {};
/// @endcond
