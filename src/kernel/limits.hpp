// Tails of the distributions that the verdict takes as limits: gamma, and the range of Brownian motion.
#pragma once

#include <algorithm>
#include <cmath>

namespace truecal {

// The probability that a gamma variable of scale 1 exceeds x.
inline double gamma_tail(double shape, double x) {
    if (!(x > 0)) return 1;
    const double density = std::exp(shape * std::log(x) - x - std::lgamma(shape));
    if (x < shape + 1) { // the series of the other tail
        double term = 1 / shape, total = term;
        for (double i = 1; term > 0 && term >= 1e-16 * total; ++i) {
            term *= x / (shape + i);
            total += term;
        }
        return std::max(0.0, 1 - density * total);
    }
    double b = x + 1 - shape, c = 1e300, d = 1 / b, total = d; // Lentz's continued fraction
    for (double i = 1;; ++i) {
        const double numerator = -i * (i - shape);
        b += 2;
        d = 1 / (numerator * d + b);
        c = b + numerator / c;
        total *= d * c;
        if (!(std::abs(d * c - 1) >= 1e-15)) return density * total;
    }
}

// The probability that the range of Brownian motion over a unit of time exceeds x (Feller 1951).
inline double range_tail(double x) {
    if (x < 0.5) return 1; // the series needs more terms than it has digits there, and the answer is 1 to 15 digits
    // up to where terms vanish, or are 1e-30 of the first
    const double last = std::min(std::ceil(39 / x), std::ceil(std::sqrt(1 + 140 / (x * x))));
    double sum = 0, lost = 0; // what rounding took from the sum
    for (double k = 1, sign = 1; k <= last; ++k, sign = -sign) {
        const double term = sign * k * std::erfc(k * x / 1.4142135623730951), next = sum + term;
        lost += std::abs(sum) >= std::abs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    return std::min(1.0, std::max(0.0, 4 * (sum + lost)));
}

} // namespace truecal
