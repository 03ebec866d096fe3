// The factor on the odds of unequal coins that the heads speak for, with its exact interval (Clopper and Pearson's
// construction), as a factor and as heads expected over those expected without one.
//
// Coins that always or never show heads have no odds: they count as expected, with the heads of the others.
#pragma once

#include "clusters.hpp"
#include "poisson_binomial.hpp"

#include <memory>

namespace truecal {

struct OddsFactor {
    double value, low, high, ratio, ratio_low, ratio_high;
};

// The root of an increasing function, from a point on one side of it towards the other (Illinois' rule); infinite beyond
// 700.
template <class F> double find_root(F f, double start, double step) {
    double a = start, fa = f(a), b = a + step, fb = f(b);
    while (fa * fb > 0 && std::abs(b) < 700) {
        a = b;
        fa = fb;
        step *= 1.6;
        b = a + step;
        fb = f(b);
    }
    if (fa * fb > 0) return std::copysign(std::numeric_limits<double>::infinity(), step);
    int side = 0;
    for (int i = 0; i < 60; ++i) {
        const double c = fb != fa ? (a * fb - b * fa) / (fb - fa) : (a + b) / 2, fc = f(c);
        if (std::abs(fc) < 1e-9 || std::abs(b - a) < 1e-12 * (1 + std::abs(a))) return c;
        if (fc * fb > 0) {
            b = c;
            fb = fc;
            if (side == 1) fa /= 2;
            side = 1;
        } else {
            a = c;
            fa = fc;
            if (side == -1) fb /= 2;
            side = -1;
        }
    }
    return (a + b) / 2;
}

// The root of a function that is nearly a straight line of some slope, by secants from a guess; NaN where these do not close
// in at once.
template <class F> double find_near(F f, double guess, double slope) {
    double a = guess, fa = f(a), b = a - fa / slope;
    if (std::abs(fa) < 1e-9) return a;
    for (int i = 0; i < 6; ++i) {
        const double fb = f(b);
        if (std::abs(fb) < 1e-9) return b;
        if (!(std::abs(fb) < std::abs(fa) / 2)) break;
        const double next = b - fb * (b - a) / (fb - fa);
        a = b;
        fa = fb;
        b = next;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

// Coins with odds, in pools of equal ones; their odds can be multiplied.
class OpenCoins {
  public:
    double certain = 0; // heads of the coins that always show them
    Index rows = 0, heads = 0;

    // `effect` and `freedom`: how far clusters spread the heads
    OpenCoins(const Coins &coins, Index begin, Index end, double effect, double freedom, Workspace &space)
        : effect_(effect), freedom_(freedom), upper_(new bool[static_cast<std::size_t>(end - begin)]), space_(space) {
        Columns open;
        std::unique_ptr<bool[]> upper(new bool[static_cast<std::size_t>(end - begin)]);
        for (Index i = begin; i < end; ++i) {
            if (coins.s1[i] > 0) {
                upper[open.n.size()] = coins.upper[i];
                open.push(coins.n[i], coins.heads[i], coins.s1[i], coins.s2[i], coins.s3[i]);
            } else if (coins.upper[i]) {
                certain += static_cast<double>(coins.n[i]);
            }
        }
        const Coins all = open.as_coins(upper.get());
        for_pools(all, 0, static_cast<Index>(open.n.size()), [&](Index first, Index last, const Pool &pool) {
            Index k = 0;
            double s3 = 0;
            for (Index i = first; i < last; ++i) {
                k += all.heads[i];
                s3 += all.s3[i];
            }
            upper_[q_.size()] = all.upper[first];
            q_.push_back(pool.q());
            expected += upper_[q_.size() - 1] ? pool.rows - pool.s1 : pool.s1;
            v += pool.s1 - pool.s2;
            at_.push(pool.n(), k, pool.s1, pool.s2, s3);
            rows += pool.n();
            heads += k;
        });
    }

    double expected = 0, v = 0; // of the coins as they are, and with the odds of the last `multiply`

    void multiply(double factor) {
        expected = v = 0;
        for (std::size_t i = 0; i < q_.size(); ++i) {
            const double q = q_[i], n = static_cast<double>(at_.n[i]);
            // p' = f p / (1 - p + f p); the upper ones' 1 - p' = q / (q + f (1 - q))
            const double moved = upper_[i] ? q / (q + factor * (1 - q)) : factor * q / (1 - q + factor * q);
            at_.s1[i] = n * moved;
            at_.s2[i] = n * moved * moved;
            at_.s3[i] = n * moved * moved * moved;
            expected += upper_[i] ? n - at_.s1[i] : at_.s1[i];
            v += at_.s1[i] - at_.s2[i];
        }
    }

    // How deep the heads lie in the upper or the lower tail with all odds multiplied: sqrt(-2 log P(X >= heads)), or of
    // P(X <= heads). Tails are nearly normal, so it is nearly a straight line, whose root is soon found.
    double depth(double log_factor, bool above) {
        multiply(std::exp(std::min(std::max(log_factor, -700.0), 700.0)));
        const Tails found = tails(at_.as_coins(upper_.get()), 0, static_cast<Index>(q_.size()), false, false, space_);
        const double tail = spread_tail(found.at + (above ? found.above : found.below), effect_, freedom_);
        return std::sqrt(-2 * std::log(std::min(std::max(tail, 5e-324), 1.0)));
    }

    // The log-factor at which the heads that came are as deep as the goal: where the normal distribution has them, from
    // the log-factor that expects them on, and by secants from there; else by a search.
    double find_end(double middle, bool above, double tail, double goal) {
        const auto miss = [&](double t) { return above ? goal - depth(t, true) : depth(t, false) - goal; };
        const double way = above ? -1 : 1, z = rough_quantile(tail) * std::sqrt(effect_), farthest = 36;
        if (std::abs(middle) < farthest && z > 0) {
            multiply(std::exp(middle));
            const double start = middle + way * z / std::sqrt(std::max(v, 0.5));
            multiply(std::exp(start));
            const double spread = std::max(v, 0.5), missing = static_cast<double>(heads) + way * (0.5 + z * std::sqrt(spread)) - expected;
            const double hazard = std::exp(-z * z / (2 * effect_)) / (std::sqrt(6.283185307179587 * effect_) * tail);
            const double found = find_near(miss, start + missing / spread, hazard / goal * std::sqrt(spread));
            if (!std::isnan(found)) return found;
        }
        multiply(1);
        const double step = 2 * std::sqrt(effect_ / std::max(v, 0.5));
        return find_root(miss, above ? std::min(middle, farthest) : std::max(middle, -farthest), way * step);
    }

    // The log-factor that makes as many heads expected as came: Newton's method, whose derivative is the variance.
    double find_mean() {
        double t = 0;
        for (int i = 0; i < 100; ++i) {
            multiply(std::exp(t));
            const double step = (static_cast<double>(heads) - expected) / std::max(v, 1e-300);
            t = std::min(std::max(t + std::min(std::max(step, -2.0), 2.0), -36.0), 36.0);
            if (std::abs(step) < 1e-10) break;
        }
        return t;
    }

  private:
    struct Columns {
        std::vector<Index> n, heads;
        std::vector<double> s1, s2, s3;
        void push(Index n_, Index heads_, double s1_, double s2_, double s3_) {
            n.push_back(n_);
            heads.push_back(heads_);
            s1.push_back(s1_);
            s2.push_back(s2_);
            s3.push_back(s3_);
        }
        Coins as_coins(const bool *upper) const {
            return {n.data(), heads.data(), s1.data(), s2.data(), s3.data(), upper};
        }
    };
    double effect_, freedom_;
    std::vector<double> q_; // the chance of heads, or of tails where `upper_`, without a factor
    std::unique_ptr<bool[]> upper_;
    Workspace &space_;
    Columns at_;
};

// Of the coins of cells [begin, end), with the interval of confidence 1 - significance.
inline OddsFactor find_odds_factor(const Coins &all, Index begin, Index end, double significance, double effect,
                                   double freedom, Workspace &space) {
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    OpenCoins coins(all, begin, end, effect, freedom, space);
    const double certain = coins.certain;
    if (coins.rows == 0) {
        const double one = certain > 0 ? 1.0 : nan;
        return {nan, 0, inf, one, one, one};
    }
    const bool none = coins.heads == 0, full = coins.heads == coins.rows;
    const double goal = std::sqrt(-2 * std::log(significance / 2)), total = coins.expected + certain;
    const double middle = none ? -inf : full ? inf : coins.find_mean();
    const double low = none ? -inf : coins.find_end(middle, true, significance / 2, goal);
    const double high = full ? inf : coins.find_end(middle, false, significance / 2, goal);
    const auto factor = [](double t) { return t > 700 ? inf : std::exp(t); };
    const auto ratio = [&](double t) {
        if (std::isinf(t)) return ((t > 0 ? static_cast<double>(coins.rows) : 0) + certain) / total;
        coins.multiply(std::exp(t));
        return (coins.expected + certain) / total;
    };
    return {factor(middle), factor(low), factor(high), ratio(middle), ratio(low), ratio(high)};
}

} // namespace truecal
