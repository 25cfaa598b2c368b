#pragma once

namespace stoker {

/// What a loader does with a sample that fails, or that kills each worker that makes it.
///
/// Thread safety: plain values.
enum class on_bad {
    fail,  ///< its batch fails with an error that names it; the next batch follows
    skip,  ///< it is left out, counted and listed
    /// Another sample comes in its place: the one that the loader's `replace_bad` part names.
    replace,
};

}  // namespace stoker
