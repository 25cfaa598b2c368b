#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <stoker/core/error.hpp>

namespace stoker::detail {

/// Bytes that `write_report` needs for all of the details.
std::uint64_t report_bytes(const error_details& details);

/// Writes the details so that another process can read them; gives the bytes used. Where there is
/// less room than `report_bytes`, texts are shortened, the longest first, and say so; 0 when not
/// even the numbers fit.
std::uint64_t write_report(std::span<std::byte> room, const error_details& details) noexcept;

/// Reads what `write_report` wrote. Nothing in the bytes is trusted: a damaged report becomes
/// error_details with errc::protocol that say so. The bytes must be private to the caller.
error_details read_report(std::span<const std::byte> bytes);

}  // namespace stoker::detail
