// The factor on the odds of unequal trials estimated from the positives, with its exact interval (Clopper and Pearson's
// construction), as a factor and as positives expected over those expected without one.
//
// Trials that are always or never positive have no odds: they count as expected, with the positives of the others.
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

// The sums of q, q^2 and q^3 of trials with all odds multiplied, where q is the probability of a positive, and from `middle` on
// that of a negative; n trials each are positive with probability p and negative with probability r.
static TRUECAL_CLONES void multiply_odds(double factor, const double *__restrict n, const double *__restrict p,
                                         const double *__restrict r, std::size_t middle, std::size_t size,
                                         double *__restrict s1, double *__restrict s2, double *__restrict s3) {
    for (std::size_t i = 0; i < middle; ++i) {
        const double moved = factor * p[i] / (r[i] + factor * p[i]);
        s1[i] = n[i] * moved;
        s2[i] = n[i] * moved * moved;
        s3[i] = n[i] * moved * moved * moved;
    }
    for (std::size_t i = middle; i < size; ++i) {
        const double moved = r[i] / (r[i] + factor * p[i]);
        s1[i] = n[i] * moved;
        s2[i] = n[i] * moved * moved;
        s3[i] = n[i] * moved * moved * moved;
    }
}

// The sums of two columns, in eight lanes.
static TRUECAL_CLONES void add_columns(const double *__restrict a, const double *__restrict b, std::size_t size,
                                       double *__restrict sums) {
    Eight first{}, second{};
    for (; size >= 8; size -= 8, a += 8, b += 8) {
        first += reinterpret_cast<const LooseEight *>(a)->all;
        second += reinterpret_cast<const LooseEight *>(b)->all;
    }
    double lanes[16];
    reinterpret_cast<LooseEight *>(lanes)->all = first;
    reinterpret_cast<LooseEight *>(lanes + 8)->all = second;
    sums[0] = sums[1] = 0;
    for (std::size_t l = 0; l < 8; ++l) {
        sums[0] += lanes[l] + (l < size ? a[l] : 0);
        sums[1] += lanes[8 + l] + (l < size ? b[l] : 0);
    }
}

// The probabilities of the positives of some trials, tilted: with all odds multiplied by f they are P(X = j) f^j, over the
// sum of these.
// One row serves all factors whose positives lie within what it holds to full precision.
class TiltedDistribution {
  public:
    static constexpr double nothing = 1e-75; // what is cut off: beyond 18 standard deviations

    // The row with all odds multiplied by exp(log_factor), `upper` added to its positives.
    void set(double log_factor, Distribution::Row &row, Index rows) {
        at_ = log_factor;
        first_ = row.first;
        whole_[0] = first_ == 0;
        whole_[1] = first_ + static_cast<Index>(row.p.size()) == rows + 1;
        p_.swap(row.p);
        known_ = true;
    }
    bool known() const { return known_; }

    struct Sums {
        double below, at, above; // probabilities of less than k positives, of k and of more, in units of their own
        double mean, v;          // of the positives less k
        bool fine;               // whether nothing is missing

        double tail(bool upper) const { return (at + (upper ? above : below)) / (below + at + above); }
    };

    Sums add(double log_factor, Index k) const {
        const auto size = static_cast<Index>(p_.size()), own = k - first_;
        if (own < 0) return {0, 0, 1, 0, 0, false};
        if (own >= size) return {1, 0, 0, 0, 0, false};
        const double up = std::exp(log_factor - at_), down = std::exp(at_ - log_factor);
        const double *p = p_.data() + own;
        const Side above = add_side(p, 1, size - own, up), below = add_side(p, -1, own + 1, down);
        const double sum = below.sum + p[0] + above.sum, mean = (above.first - below.first) / sum;
        const double least = 1e-17 * std::min(p[0] + above.sum, p[0] + below.sum);
        const bool fine = (whole_[0] || below.last <= least) && (whole_[1] || above.last <= least);
        return {below.sum, p[0], above.sum, mean, (above.second + below.second) / sum - mean * mean, fine};
    }

  private:
    std::vector<double> p_;
    Index first_ = 0;
    double at_ = 0;
    bool whole_[2] = {}, known_ = false; // whether nothing is cut off before and behind the row

    struct Side {
        double sum = 0, first = 0, second = 0, last = 0;
    };

    static Side add_side(const double *p, Index way, Index size, double ratio) {
        Side found;
        double power = 1;
        found.last = p[0];
        for (Index i = 1; i < size; ++i) {
            power *= ratio;
            const double term = p[way * i] * power, x = static_cast<double>(i);
            found.sum += term;
            found.first += x * term;
            found.second += x * x * term;
            found.last = term;
        }
        return found;
    }
};

// Trials with odds, in pools of equal ones; their odds can be multiplied.
class OpenTrials {
  public:
    double certain = 0; // positives of the trials that are always positive
    Index rows = 0, positives = 0;

    // `effect` and `freedom`: how far clusters spread the positives
    OpenTrials(const TrialCells &trials, Index begin, Index end, double effect, double freedom, Workspace &space)
        : effect_(effect), freedom_(freedom), upper_(new bool[static_cast<std::size_t>(end - begin)]), space_(space) {
        const auto size = static_cast<std::size_t>(end - begin);
        at_.reserve(size);
        n_.reserve(size);
        p_.reserve(size);
        r_.reserve(size);
        Index stop = begin; // of neighbouring cells that have odds
        for (Index first = begin, last; first < end; first = last) {
            if (!(trials.s1[first] > 0)) {
                certain += trials.upper[first] ? static_cast<double>(trials.n[first]) : 0;
                stop = last = first + 1;
                continue;
            }
            while (stop < end && trials.s1[stop] > 0) ++stop;
            Pool pool;
            last = find_pool(trials, first, stop, pool);
            Index k = 0;
            double s3 = 0;
            for (Index i = first; i < last; ++i) {
                k += trials.positives[i];
                s3 += trials.s3[i];
            }
            upper_[n_.size()] = trials.upper[first];
            middle_ += !trials.upper[first];
            n_.push_back(pool.rows);
            p_.push_back(trials.upper[first] ? 1 - pool.q() : pool.q());
            r_.push_back(trials.upper[first] ? pool.q() : 1 - pool.q());
            upper_rows_ += trials.upper[first] ? pool.rows : 0;
            expected += trials.upper[first] ? pool.rows - pool.s1 : pool.s1;
            v += pool.s1 - pool.s2;
            at_.push(pool.n(), k, pool.s1, pool.s2, s3);
            rows += pool.n();
            positives += k;
        }
    }

    double expected = 0, v = 0; // of the trials as they are, and with the odds of the last `multiply`

    void multiply(double factor) {
        const std::size_t size = n_.size();
        move_middle(factor);
        multiply_odds(factor, n_.data(), p_.data(), r_.data(), middle_, size, at_.s1.data(), at_.s2.data(), at_.s3.data());
        double low[2], high[2];
        add_columns(at_.s1.data(), at_.s2.data(), middle_, low);
        add_columns(at_.s1.data() + middle_, at_.s2.data() + middle_, size - middle_, high);
        expected = low[0] + (upper_rows_ - high[0]);
        v = (low[0] - low[1]) + (high[0] - high[1]);
    }

    // The log odds ratio with which expected equal observed positives.
    double find_mean() {
        double near = 0;
        if (law().computed) {
            tilt(0);
            near = climb(0, [&](double t) {
                const TiltedDistribution::Sums sums = tilted_.add(t, positives);
                return sums.fine ? Moments{-sums.mean, sums.v} : Moments{0, 1};
            });
        }
        return climb(near, [&](double t) { return multiplied(t); });
    }

    // The log-factor at which the observed positives are as deep as the goal in the upper or the lower tail, from the one that
    // expects them on: infinite where they are none or all. Where the distribution is computed, one row of probabilities finds
    // it; a binomial is another one for each factor.
    double find_end(double middle, bool above, double tail, double goal) {
        const double start = std::isinf(middle) ? 0 : middle, way = above ? -1 : 1;
        multiply(std::exp(start));
        if (law().computed) {
            const auto miss = [&](double t) { return way * (as_depth(tilt(t).tail(above)) - goal); };
            const double found = search(miss, [&](double t) { return tilted(t); }, start, way, tail, goal);
            multiply(factor_of(found));
            if (law().computed) return found;
        }
        const auto miss = [&](double t) { return way * (depth(t, above) - goal); };
        return search(miss, [&](double t) { return multiplied(t); }, start, way, tail, goal);
    }

  private:
    struct Columns {
        std::vector<Index> n, positives;
        std::vector<double> s1, s2, s3;
        void reserve(std::size_t size) {
            n.reserve(size);
            positives.reserve(size);
            s1.reserve(size);
            s2.reserve(size);
            s3.reserve(size);
        }
        void push(Index n_, Index positives_, double s1_, double s2_, double s3_) {
            n.push_back(n_);
            positives.push_back(positives_);
            s1.push_back(s1_);
            s2.push_back(s2_);
            s3.push_back(s3_);
        }
        TrialCells as_trials(const bool *upper) const {
            return {n.data(), positives.data(), s1.data(), s2.data(), s3.data(), upper};
        }
    };
    double effect_, freedom_;
    std::vector<double> n_, p_, r_; // the probabilities of a positive and of a negative, without a factor
    std::unique_ptr<bool[]> upper_; // whether the sums are of negatives
    std::size_t middle_ = 0;        // the first of the upper ones
    double upper_rows_ = 0;         // rows of these
    Workspace &space_;
    Columns at_;
    TiltedDistribution tilted_;

    // With all odds multiplied: the observed positives beyond those expected, and the variance.
    struct Moments {
        double surplus, v;
    };

    // Lets the sums be of whichever outcome is the rarer one with all odds multiplied: of the other one, nearly 1, the
    // variance would have no digits left.
    void move_middle(double factor) {
        const std::size_t size = n_.size();
        while (middle_ > 0 && factor * p_[middle_ - 1] >= r_[middle_ - 1]) {
            upper_[--middle_] = true;
            upper_rows_ += n_[middle_];
        }
        while (middle_ < size && factor * p_[middle_] < r_[middle_]) {
            upper_rows_ -= n_[middle_];
            upper_[middle_++] = false;
        }
    }

    static double factor_of(double log_factor) { return std::exp(std::min(std::max(log_factor, -700.0), 700.0)); }

    Law law() const { return choose_law(at_.as_trials(upper_.get()), 0, static_cast<Index>(n_.size()), positives, false); }

    Moments multiplied(double log_factor) {
        multiply(std::exp(log_factor));
        return {static_cast<double>(positives) - expected, v};
    }

    Moments tilted(double log_factor) {
        const TiltedDistribution::Sums sums = tilt(log_factor);
        return {-sums.mean, sums.v};
    }

    // The sums of tilted probabilities, of another row where the last one does not reach so far.
    TiltedDistribution::Sums tilt(double log_factor) {
        if (tilted_.known()) {
            const TiltedDistribution::Sums sums = tilted_.add(log_factor, positives);
            if (sums.fine) return sums;
        }
        multiply(factor_of(log_factor));
        const auto count = static_cast<Index>(n_.size());
        const TrialCells trials = at_.as_trials(upper_.get());
        tilted_.set(log_factor, convolve_cells(trials, 0, count, Digits::exact, TiltedDistribution::nothing, space_), rows);
        return tilted_.add(log_factor, positives);
    }

    // How deep a tail is: sqrt(-2 log P). Tails are nearly normal, so it is nearly a straight line in the log-factor, whose
    // root is soon found.
    double as_depth(double tail) const {
        return std::sqrt(-2 * std::log(std::min(std::max(spread_tail(tail, effect_, freedom_), 5e-324), 1.0)));
    }

    // How deep the positives lie with all odds multiplied: P(X >= positives), or P(X <= positives).
    double depth(double log_factor, bool above) {
        multiply(factor_of(log_factor));
        const Law own = law();
        if (own.computed) return as_depth(tilt(log_factor).tail(above));
        const Tails found = binomial_tails(own.size, own.odds, own.positives);
        return as_depth(found.at + (above != own.mirror ? found.above : found.below));
    }

    // Newton's method, whose derivative is the variance.
    template <class F> static double climb(double t, F moments) {
        for (int i = 0; i < 100; ++i) {
            const Moments at = moments(t);
            const double step = at.surplus / std::max(at.v, 1e-300);
            t = std::min(std::max(t + std::min(std::max(step, -2.0), 2.0), -36.0), 36.0);
            if (std::abs(step) < 1e-10) break;
        }
        return t;
    }

    // Where nothing is missed, one way from the start: where the normal distribution has the positives, and by secants from
    // there; else by a search.
    template <class Miss, class F>
    double search(Miss miss, F moments, double start, double way, double tail, double goal) const {
        const double z = rough_quantile(tail) * std::sqrt(effect_), spread = std::max(moments(start).v, 0.5);
        if (std::abs(start) < 36 && z > 0) {
            const double next = start + way * z / std::sqrt(spread);
            const Moments at = moments(next);
            const double v = std::max(at.v, 0.5), missing = at.surplus + way * (0.5 + z * std::sqrt(v));
            const double hazard = std::exp(-z * z / (2 * effect_)) / (std::sqrt(6.283185307179587 * effect_) * tail);
            const double found = find_near(miss, next + missing / v, hazard / goal * std::sqrt(v));
            if (!std::isnan(found)) return found;
        }
        return find_root(miss, start, (miss(start) > 0 ? -2 : 2) * std::sqrt(effect_ / spread));
    }
};

// Of the trials of cells [begin, end), with the interval of confidence 1 - significance.
inline OddsFactor find_odds_factor(const TrialCells &all, Index begin, Index end, double significance, double effect,
                                   double freedom, Workspace &space) {
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    OpenTrials trials(all, begin, end, effect, freedom, space);
    const double certain = trials.certain;
    if (trials.rows == 0) {
        const double one = certain > 0 ? 1.0 : nan;
        return {nan, 0, inf, one, one, one};
    }
    const bool none = trials.positives == 0, full = trials.positives == trials.rows;
    const double goal = std::sqrt(-2 * std::log(significance / 2)), total = trials.expected + certain;
    const double middle = none ? -inf : full ? inf : trials.find_mean();
    const double low = none ? -inf : trials.find_end(middle, true, significance / 2, goal);
    const double high = full ? inf : trials.find_end(middle, false, significance / 2, goal);
    const auto factor = [](double t) { return t > 700 ? inf : std::exp(t); };
    const auto ratio = [&](double t) {
        if (std::isinf(t)) return ((t > 0 ? static_cast<double>(trials.rows) : 0) + certain) / total;
        trials.multiply(std::exp(t));
        return (trials.expected + certain) / total;
    };
    return {factor(middle), factor(low), factor(high), ratio(middle), ratio(low), ratio(high)};
}

} // namespace truecal
