#pragma once

namespace stoker::detail {

/// The point below which a standard normal variable stays with probability `p`, 0 < p < 1; relative
/// error below 1e-15. The same bits with every compiler and on every machine.
double normal_quantile(double p) noexcept;

/// log(value) for 0 < value < 1, of the same kind.
double exact_logarithm(double value) noexcept;

}  // namespace stoker::detail
