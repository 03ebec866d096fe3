// Seeded draws of labels: the same numbers on every platform, whatever the number of threads.
#pragma once

#include "keys.hpp"

#include <cmath>

namespace truecal {

// xoshiro256++ (Blackman, Vigna), seeded by splitmix64.
class Random {
  public:
    explicit Random(std::uint64_t seed) {
        for (auto &word : state_) {
            seed += 0x9e3779b97f4a7c15;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
            z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
            word = z ^ (z >> 31);
        }
    }

    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    // What every draw of a law begins with, which takes longer than the rest: P(X = 0), or the logarithms of factorials at
    // the likeliest number.
    static double start(Index trials, double p) {
        const double n = static_cast<double>(trials), small = p > 0.5 ? 1 - p : p;
        if (by_inversion(n, small)) return std::exp(n * std::log1p(-small));
        const double mode = std::floor((n + 1) * small);
        return std::lgamma(mode + 1) + std::lgamma(n - mode + 1);
    }

    Index binomial(Index n, double p) { return binomial(n, p, start(n, p)); }
    Index binomial(Index n, double p, double start) {
        if (p > 0.5) return n - small_binomial(n, 1 - p, start);
        return small_binomial(n, p, start);
    }

  private:
    std::uint64_t state_[4];

    static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0], t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    static bool by_inversion(double n, double p) { return n * p < 10; }

    Index small_binomial(Index n, double p, double start) {
        return by_inversion(static_cast<double>(n), p) ? invert(n, p, start) : reject(n, p, start);
    }

    // Walk up the distribution function.
    Index invert(Index n, double p, double first) {
        if (p <= 0) return 0;
        double u = uniform(), mass = first;
        if (!(u > mass)) return 0;
        const double odds = p / (1 - p);
        Index k = 0;
        while (u > mass) {
            u -= mass;
            if (++k > n) { // the masses add up to less than u by rounding: draw again
                u = uniform();
                mass = first;
                k = 0;
                continue;
            }
            mass *= odds * static_cast<double>(n - k + 1) / static_cast<double>(k);
        }
        return k;
    }

    // BTRS: transformed rejection with squeeze (Hormann 1993), exact for n p >= 10.
    Index reject(Index trials, double p, double top) {
        const double n = static_cast<double>(trials), q = 1 - p, sd = std::sqrt(n * p * q);
        const double b = 1.15 + 2.53 * sd, a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5;
        const double squeeze = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * sd;
        for (;;) {
            const double u = uniform() - 0.5, v = uniform(), us = 0.5 - std::abs(u);
            const double k = std::floor((2 * a / us + b) * u + c);
            if (k < 0 || k > n) continue;
            if (us >= 0.07 && v <= squeeze) return static_cast<Index>(k);
            const double mode = std::floor((n + 1) * p), log_odds = std::log(p / q);
            const double limit = top - std::lgamma(k + 1) - std::lgamma(n - k + 1) + (k - mode) * log_odds;
            if (std::log(v * alpha / (a / (us * us) + b)) <= limit) return static_cast<Index>(k);
        }
    }
};

// Positives at each score, if `probability` is calibrated. `start` is that of each score's law.
template <class Pause>
void draw_positives(const double *probability, const Index *n, const double *start, Index size, std::uint64_t seed,
                    Index *pos, Pause pause) {
    Random random(seed);
    for (Index i = 0; i < size; ++i) {
        if (i % stretch == 0) pause();
        pos[i] = n[i] == 1 ? random.uniform() < probability[i] : random.binomial(n[i], probability[i], start[i]);
    }
}

} // namespace truecal
