// Normal numbers by inversion: one uniform number in, one normal number out, whatever its value, so
// that draws can be counted (rejection methods and pairs cannot).
//
// log and exp of a C library differ in the last bit between its versions and between processors
// (glibc picks another variant where the processor has fma). Only operations that IEEE 754 rounds
// exactly are used here: + - * / sqrt and fma. Every product that is added to something is an
// explicit std::fma, so that compilers have nothing to contract, and the logarithm is our own.
//
// The rational approximations are Wichura's PPND16 (algorithm AS 241, Applied Statistics 37, 1988).

#include "dataset/normal_quantile.hpp"

#include <cmath>
#include <initializer_list>

namespace stoker::detail {

namespace {

/// The coefficients come with the highest power first.
double polynomial(double x, std::initializer_list<double> coefficients) {
    double sum = 0;
    for (const double coefficient : coefficients) {
        sum = std::fma(sum, x, coefficient);
    }
    return sum;
}

}  // namespace

double exact_logarithm(double value) noexcept {
    // value = 2^e m with m around 1, and log m = 2 atanh((m - 1) / (m + 1)) by its series.
    int exponent = 0;
    double mantissa = std::frexp(value, &exponent);
    if (mantissa < 0.70710678118654752) {
        mantissa *= 2;
        --exponent;
    }
    const double s = (mantissa - 1) / (mantissa + 1);
    const double series =
        polynomial(s * s, {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                           2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0});
    // ln 2 in two parts, the first with zeros at its end so that its multiples are exact.
    const double exact_part = exponent * 0x1.62e42fefa3800p-1;
    return std::fma(s, series, std::fma(exponent, 0x1.ef35793c76730p-45, exact_part));
}

double normal_quantile(double p) noexcept {
    const double q = p - 0.5;
    if (std::abs(q) <= 0.425) {
        const double r = std::fma(-q, q, 0.180625);
        return q *
               polynomial(r, {2509.0809287301226727, 33430.575583588128105, 67265.770927008700853,
                              45921.953931549871457, 13731.693765509461125, 1971.5909503065514427,
                              133.14166789178437745, 3.387132872796366608}) /
               polynomial(r, {5226.495278852545925, 28729.085735721942674, 39307.89580009271061,
                              21213.794301586595867, 5394.1960214247511077, 687.1870074920579083,
                              42.313330701600911252, 1.0});
    }
    const double r = std::sqrt(-exact_logarithm(q < 0 ? p : 1 - p));
    const double tail =
        r <= 5 ? polynomial(r - 1.6, {7.7454501427834140764e-4, .0227238449892691845833,
                                      .24178072517745061177, 1.27045825245236838258,
                                      3.64784832476320460504, 5.7694972214606914055,
                                      4.6303378461565452959, 1.42343711074968357734}) /
                     polynomial(r - 1.6, {1.05075007164441684324e-9, 5.475938084995344946e-4,
                                          .0151986665636164571966, .14810397642748007459,
                                          .68976733498510000455, 1.6763848301838038494,
                                          2.05319162663775882187, 1.0})
               : polynomial(r - 5,
                            {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                             .0012426609473880784386, .026532189526576123093, .29656057182850489123,
                             1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772}) /
                     polynomial(r - 5, {2.04426310338993978564e-15, 1.4215117583164458887e-7,
                                        1.8463183175100546818e-5, 7.868691311456132591e-4,
                                        .0148753612908506148525, .13692988092273580531,
                                        .59983220655588793769, 1.0});
    return q < 0 ? -tail : tail;
}

}  // namespace stoker::detail
