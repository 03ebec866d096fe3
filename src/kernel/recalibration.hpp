// Logistic recalibration: Cox's intercept and slope on the log-odds of cells, and how much likelihood they gain.
#pragma once

#include "keys.hpp"

#include <cmath>
#include <vector>

namespace truecal {

// exp(-|a + b x|) of each x, to within a few units of the last place, by plain arithmetic that is done for several at once:
// 2^m exp(r) with |r| below log(2) / 2, where powers of r from the 14th on vanish.
static TRUECAL_CLONES void exp_of_odds(const double *__restrict x, Index size, double a, double b, double *__restrict found) {
    constexpr double inverse[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                  1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5, 1, 1};
    constexpr double shifter = 0x1.8p52;
    for (Index i = 0; i < size; ++i) {
        const double t = std::max(-std::abs(a + b * x[i]), -708.0), shifted = t * 1.4426950408889634 + shifter;
        const double m = shifted - shifter, r = (t - m * 0x1.62e42fefa38p-1) - m * 0x1.ef35793c7673p-45;
        double sum = inverse[0];
        for (int j = 1; j < 14; ++j) sum = sum * r + inverse[j];
        found[i] = bit_cast<double>(bit_cast<std::uint64_t>(sum) + (bit_cast<std::uint64_t>(shifted) << 52));
    }
}

// log(1 + e) of e from 0 to 1: twice the area hyperbolic tangent of s = e / (2 + e), whose powers from s^37 on vanish.
static TRUECAL_CLONES void log_of_more(const double *__restrict e, Index size, double *__restrict found) {
    constexpr double inverse[] = {1.0 / 35, 1.0 / 33, 1.0 / 31, 1.0 / 29, 1.0 / 27, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19,
                                  1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1};
    for (Index i = 0; i < size; ++i) {
        const double s = e[i] / (2 + e[i]), z = s * s;
        double sum = inverse[0];
        for (int j = 1; j < 18; ++j) sum = sum * z + inverse[j];
        found[i] = 2 * s * sum;
    }
}

// Positives beyond those that log-odds a + b x expect of each cell, and their variance, given exp(-|a + b x|).
static TRUECAL_CLONES void weigh_odds(const double *__restrict x, const double *__restrict n, const double *__restrict k,
                                      const double *__restrict exp, Index size, double a, double b,
                                      double *__restrict surplus, double *__restrict variance) {
    for (Index i = 0; i < size; ++i) {
        const double small = n[i] * (exp[i] / (1 + exp[i])), few = k[i] - small, many = small - (n[i] - k[i]);
        surplus[i] = a + b * x[i] < 0 ? few : many;
        variance[i] = small / (1 + exp[i]);
    }
}

// Cells [0, size): log-odds x of the predictions, n rows, k of them positive.
class Recalibration {
  public:
    Recalibration(const double *x, const Index *n, const Index *k, Index size)
        : x_(x), size_(size), n_(n, n + size), k_(k, k + size), exp_(n_.size()), log_(n_.size()), other_(n_.size()) {
        for (Index i = 0; i < size; ++i) {
            rows_ += n_[static_cast<std::size_t>(i)];
            widest_ = std::max(widest_, std::abs(x[i]));
        }
    }

    struct Fit {
        double intercept = 0, slope = 1;
    };

    // The intercept and slope of the largest log-likelihood, by Newton's method with steps that never lose, until they are
    // too short for that to show. Where the labels are separable, coefficients grow without bound and the gain ends.
    Fit fit(bool slope) {
        Fit best;
        double moved = 0;  // how far any log-odds can be from where they were
        for (int i = 0; i < 100; ++i) {
            const Step step = find_step(best, slope);
            double farthest = 0;
            for (Index c = 0; c < size_; ++c) farthest = std::max(farthest, std::abs(step.da + step.db * x_[c]));
            if (!(farthest > 1e-11)) break;
            double size = std::min(1.0, 4 / farthest);
            moved += size * farthest;
            if (farthest > 1e-4 && !surely_gains(step, farthest, moved)) {
                const double before = gain(best);
                double after = gain(move(best, step, size));
                while (after < before && size > 1e-6) {
                    size /= 2;
                    after = gain(move(best, step, size));
                }
                if (!(after > before)) break;
            }
            best = move(best, step, size);
        }
        return best;
    }

    // How much log-likelihood a fit gains over an intercept of 0 and a slope of 1.
    double gain(const Fit &at) {
        if (base_.empty()) {
            find_logs({});
            base_ = log_;
        }
        find_logs(at);
        double sum = 0;
        for (Index i = 0; i < size_; ++i) {
            const auto own = static_cast<std::size_t>(i);
            const double eta = at.intercept + at.slope * x_[i], grown = std::max(eta, 0.0) - std::max(x_[i], 0.0);
            sum += k_[own] * (eta - x_[i]) - n_[own] * (grown + (log_[own] - base_[own]));
        }
        return sum;
    }

  private:
    const double *x_;
    Index size_;
    double rows_ = 0, widest_ = 0;
    std::vector<double> n_, k_;
    std::vector<double> exp_, log_, other_, base_; // exp(-|eta|), log(1 + exp(-|eta|)) or two other columns; that of eta = x

    struct Step {
        double da, db;
        double rise, bend;  // the first derivative of the log-likelihood along the step, and minus the second
    };

    void find_logs(const Fit &at) {
        exp_of_odds(x_, size_, at.intercept, at.slope, exp_.data());
        log_of_more(exp_.data(), size_, log_.data());
    }

    static Fit move(const Fit &from, const Step &step, double size) {
        return {from.intercept + size * step.da, from.slope + size * step.db};
    }

    // Whether a whole step gains likelihood, by more than what rounding could take from the difference of two sums. Along
    // the step no weight p (1 - p) grows by more than exp(farthest), which is below 1.5.
    bool surely_gains(const Step &step, double farthest, double moved) const {
        const double size = static_cast<double>(size_), wide = std::abs(step.da) + widest_ * std::abs(step.db);
        const double terms = 8 * (2 * widest_ + moved + 1) + size * (2 * moved + wide + wide * wide);
        return farthest < 0.4 && step.rise - 0.75 * step.bend > 1e-15 * rows_ * terms;
    }

    Step find_step(const Fit &at, bool slope) {
        const double a = at.intercept, b = at.slope;
        std::vector<double> &surplus = log_, &variance = other_;
        exp_of_odds(x_, size_, a, b, exp_.data());
        weigh_odds(x_, n_.data(), k_.data(), exp_.data(), size_, a, b, surplus.data(), variance.data());
        double g = 0, gx = 0, h = 0, hx = 0, hxx = 0;
        for (Index i = 0; i < size_; ++i) {
            const double r = surplus[static_cast<std::size_t>(i)], w = variance[static_cast<std::size_t>(i)];
            g += r;
            gx += r * x_[i];
            h += w;
            hx += w * x_[i];
            hxx += w * x_[i] * x_[i];
        }
        const double middle = h > 0 ? hx / h : 0, along = hxx - hx * middle;
        const double db = slope && along > 1e-12 * hxx ? (gx - middle * g) / along : 0;
        const double da = (h > 0 ? g / h : 0) - db * middle;
        return {da, db, g * da + gx * db, (h * da + 2 * hx * db) * da + hxx * db * db};
    }
};

} // namespace truecal
