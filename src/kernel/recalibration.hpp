// Logistic recalibration: Cox's intercept and slope on the log-odds of cells, and how much likelihood they gain.
#pragma once

#include "keys.hpp"

#include <cmath>
#include <vector>

namespace truecal {

// Cells [0, size): log-odds x of the predictions, n rows, k of them positive.
class Recalibration {
  public:
    Recalibration(const double *x, const Index *n, const Index *k, Index size) : x_(x), n_(n), k_(k), size_(size) {
        base_.reserve(static_cast<std::size_t>(size));
        for (Index i = 0; i < size; ++i) base_.push_back(softplus(x[i]));
    }

    struct Fit {
        double intercept = 0, slope = 1, gain = 0;
    };

    // The intercept and slope of the largest log-likelihood, and what it gains over 0 and 1, by Newton's method with steps
    // that never lose, until they are too short for that to show. Where the labels are separable, coefficients grow without
    // bound and the gain ends.
    Fit fit(bool slope) const {
        Fit best;
        for (int i = 0; i < 100; ++i) {
            double da, db, farthest = 0;
            find_step(best.intercept, best.slope, slope, da, db);
            for (Index c = 0; c < size_; ++c) farthest = std::max(farthest, std::abs(da + db * x_[c]));
            if (!(farthest > 1e-11)) break;
            double size = std::min(1.0, 4 / farthest);
            Fit next = move(best, size * da, size * db);
            while (farthest > 1e-4 && next.gain < best.gain && size > 1e-6) {
                size /= 2;
                next = move(best, size * da, size * db);
            }
            if (farthest > 1e-4 && !(next.gain > best.gain)) break;
            best = next;
        }
        return best;
    }

  private:
    const double *x_;
    const Index *n_, *k_;
    Index size_;
    std::vector<double> base_;

    static double softplus(double t) { return std::max(t, 0.0) + std::log1p(std::exp(-std::abs(t))); }

    Fit move(const Fit &from, double da, double db) const {
        const double a = from.intercept + da, b = from.slope + db;
        return {a, b, gain_at(a, b)};
    }

    double gain_at(double a, double b) const {
        double sum = 0;
        for (Index i = 0; i < size_; ++i) {
            const double eta = a + b * x_[i];
            const double n = static_cast<double>(n_[i]), k = static_cast<double>(k_[i]);
            sum += k * (eta - x_[i]) - n * (softplus(eta) - base_[static_cast<std::size_t>(i)]);
        }
        return sum;
    }

    void find_step(double a, double b, bool slope, double &da, double &db) const {
        double g = 0, gx = 0, h = 0, hx = 0, hxx = 0;
        for (Index i = 0; i < size_; ++i) {
            const double eta = a + b * x_[i], e = std::exp(-std::abs(eta)), small = e / (1 + e);
            const double n = static_cast<double>(n_[i]), k = static_cast<double>(k_[i]);
            const double r = eta < 0 ? k - n * small : n * small - (n - k), w = n * small / (1 + e);
            g += r;
            gx += r * x_[i];
            h += w;
            hx += w * x_[i];
            hxx += w * x_[i] * x_[i];
        }
        const double middle = h > 0 ? hx / h : 0, along = hxx - hx * middle;
        db = slope && along > 1e-12 * hxx ? (gx - middle * g) / along : 0;
        da = (h > 0 ? g / h : 0) - db * middle;
    }
};

} // namespace truecal
