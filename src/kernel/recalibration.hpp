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
        for (Index i = 0; i < size; ++i) {
            rows_ += static_cast<double>(n[i]);
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
        for (Index i = static_cast<Index>(base_.size()); i < size_; ++i) base_.push_back(softplus(x_[i]));
        double sum = 0;
        for (Index i = 0; i < size_; ++i) {
            const double eta = at.intercept + at.slope * x_[i];
            const double n = static_cast<double>(n_[i]), k = static_cast<double>(k_[i]);
            sum += k * (eta - x_[i]) - n * (softplus(eta) - base_[static_cast<std::size_t>(i)]);
        }
        return sum;
    }

  private:
    const double *x_;
    const Index *n_, *k_;
    Index size_;
    double rows_ = 0, widest_ = 0;
    std::vector<double> base_;

    struct Step {
        double da, db;
        double rise, bend;  // the first derivative of the log-likelihood along the step, and minus the second
    };

    static double softplus(double t) { return std::max(t, 0.0) + std::log1p(std::exp(-std::abs(t))); }

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

    Step find_step(const Fit &at, bool slope) const {
        const double a = at.intercept, b = at.slope;
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
        const double db = slope && along > 1e-12 * hxx ? (gx - middle * g) / along : 0;
        const double da = (h > 0 ? g / h : 0) - db * middle;
        return {da, db, g * da + gx * db, (h * da + 2 * hx * db) * da + hxx * db * db};
    }
};

} // namespace truecal
