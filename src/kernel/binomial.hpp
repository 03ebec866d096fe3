// The exact two-sided binomial test, by smaller likelihood.
//
// For k successes in n trials the p-value of a probability p adds up every outcome at most (1 + 1e-7) times as likely
// as k (SciPy's factor). Seen from below, p < k/n, it is
//     f(p) = P(X >= k) + P(X <= j(p)),
// where j grows by one at each p_j at which outcome j becomes as unlikely as k: f jumps up there. Between two jumps
// f falls, then rises (its derivative changes sign once, at a point known in closed form), so the accepted
// p form an interval with at most a hole behind the jump that first lifts f over the significance. Everything is
// computed in the log-odds t = log(p / (1 - p)): p and 1 - p keep their precision, jumps and turning points are linear
// in log C(n, j), and the upper side of k is the lower side of n - k with -t.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace truecal {

// log n! - ((n + 1/2) log n - n + log(2 pi) / 2)
inline double stirling_error(double n) {
    if (n < 16) return std::lgamma(n + 1) - ((n + 0.5) * std::log(n) - n + 0.91893853320467274178);
    const double r = 1 / (n * n);
    return (1. / 12 - (1. / 360 - (1. / 1260 - (1. / 1680 - r / 1188) * r) * r) * r) / n;
}

// x log(x / m) + m - x without cancellation
inline double deviance(double x, double m) {
    const double d = x - m;
    if (std::abs(d) >= 0.1 * (x + m)) return x * std::log(x / m) - d;
    const double v = d / (x + m), v2 = v * v;
    double sum = d * v, term = 2 * x * v;
    for (int i = 3; i < 1000; i += 2) {
        term *= v2;
        const double next = sum + term / i;
        if (next == sum) break;
        sum = next;
    }
    return sum;
}

struct Odds {
    double p, q; // q = 1 - p, both to full relative precision
    explicit Odds(double t) {
        const double e = std::exp(-std::abs(t)), big = 1 / (1 + e), small = e / (1 + e);
        p = t < 0 ? small : big;
        q = t < 0 ? big : small;
    }
    Odds(double p_, double q_) : p(p_), q(q_) {}
};

class Trials;

// k successes in so many trials: what its probability has in common at all odds.
class Outcome {
  public:
    Outcome(const Trials &trials, double k);
    double pmf(Odds o) const {
        if (k_ < 0 || m_ < 0) return 0;
        if (k_ == 0) return std::exp(n_ * (o.p < 0.5 ? std::log1p(-o.p) : std::log(o.q)));
        if (m_ == 0) return std::exp(n_ * (o.q < 0.5 ? std::log1p(-o.q) : std::log(o.p)));
        return std::exp(error_ - deviance(k_, n_ * o.p) - deviance(m_, n_ * o.q)) * scale_;
    }

  private:
    double n_, k_, m_, error_ = 0, scale_ = 0;
};

class Trials {
  public:
    explicit Trials(double n) : n_(n), error_(stirling_error(n)) {}

    double pmf(double k, Odds o) const { return Outcome(*this, k).pmf(o); }

    // P(X >= k) for k above the mean, P(X <= j) for j below it.
    double upper(double k, Odds o) const { return upper(k, o, pmf(k, o)); }
    double lower(double j, Odds o) const { return lower(j, o, pmf(j, o)); }
    double upper(double k, Odds o, double pmf_k) const {
        if (k <= 0) return 1;
        return pmf_k == 0 ? 0 : pmf_k * o.q * fraction(k, n_ - k + 1, o.p, o.q);
    }
    double lower(double j, Odds o, double pmf_j) const {
        if (j < 0) return 0;
        return pmf_j == 0 ? 0 : pmf_j * o.p * fraction(n_ - j, j + 1, o.q, o.p);
    }

    // log C(n, j) - log C(n, k), j < k
    double log_ratio(double j, double k) const {
        return log_factorials(k, j) - log_factorials(n_ - j, n_ - k);
    }

    double n() const { return n_; }
    double error() const { return error_; }

  private:
    double n_, error_;

    // log(a! / b!), a > b, without the cancellation of two large logarithms
    static double log_factorials(double a, double b) {
        if (b == 0) return std::lgamma(a + 1);
        const double d = a - b, l = std::log1p(d / b);
        return (a + 0.5) * l + d * (std::log(b) - 1) + stirling_error(a) - stirling_error(b);
    }

    // I_x(a, b) a B(a, b) / (x^a (1 - x)^b) by the even part of the continued fraction DLMF 8.17.22, whose terms are
    // all positive for x below (a + 1) / (a + b), as convergents of its forward recurrence: no division stands
    // in the way of the next step.
    static double fraction(double a, double b, double x, double y) { // y = 1 - x
        const double gap = x < 0.5 ? a + 1 - (a + b) * x : (a + b) * y - (b - 1);
        double above_old = 0, above = 1, below_old = 1, below = a * gap / (a + 1), f = 1 / below;
        for (double m = 1; m < 1e7; ++m) {
            const double a1 = a + 2 * m - 1, mix = m * (b - m) * x / a1;
            const double numerator = (a + m - 1) * (a + b + m - 1) * x / a1 * mix;
            const double denominator = m + mix + (a + m) * (gap + m * (2 - x)) / (a1 + 2);
            const double above_new = denominator * above + numerator * above_old;
            const double below_new = denominator * below + numerator * below_old;
            above_old = above;
            below_old = below;
            above = above_new;
            below = below_new;
            const double before = f;
            f = above / below;
            if (std::abs(f - before) <= 1e-13 * f) break;
            if (below > 1e200) {
                above_old *= 1e-200;
                below_old *= 1e-200;
                above *= 1e-200;
                below *= 1e-200;
            }
        }
        return a * f;
    }
};

inline Outcome::Outcome(const Trials &trials, double k) : n_(trials.n()), k_(k), m_(n_ - k) {
    if (k_ <= 0 || m_ <= 0) return;
    error_ = trials.error() - stirling_error(k_) - stirling_error(m_);
    scale_ = std::sqrt(n_ / (6.28318530717958647693 * k_ * m_));
}

// A log-odds and how far it moves with a relative error of 1e-9 in f.
struct Cut {
    double at, reach;
};

// The lower side of the accepted probabilities of k: accepted in [first, hole) and from `last` on.
// `fragile`: a comparison on the way was so close that such an error could change more than the place of a cut.
struct LowerSide {
    Cut first, hole, last;
    bool fragile;
};

// The normal quantile of an upper tail, roughly; 0 from a tail of one half on.
inline double rough_quantile(double tail) {
    const double u = std::sqrt(-2 * std::log(tail));
    return std::max(u - (2.30753 + 0.27061 * u) / (1 + (0.99229 + 0.04481 * u) * u), 0.0);
}

// Halley's step, of Newton's one and of what the slope turns by, as a share of itself; far away, where that says little, it
// stays near Newton's.
inline double halley_step(double newton, double turn) { return newton / std::clamp(1 + newton * turn / 2, 0.5, 2.0); }

class BinomialTest {
  public:
    BinomialTest(double k, double n, double significance, double log_factor)
        : trials_(n), k_(k), significance_(significance), log_factor_(log_factor) {}

    // `generous`: should there ever be more than one hole, count what lies between them as accepted, else as not.
    LowerSide lower_side(bool generous) {
        if (k_ == 0) {
            const Cut everything{-std::numeric_limits<double>::infinity(), 0};
            return {everything, everything, everything, false};
        }
        double lifted = 1; // f at that jump; before it, f was lower by the probability of j
        const double j = first_lifting_jump(lifted);
        const double t = jump(j);
        const bool before = accepts(lifted - trials_.pmf(j, Odds(t)));
        const Cut start = before ? rising_root(j - 1, t) : jump_cut(j);
        LowerSide side{start, start, start, false};
        int holes = 0;
        for (double i = j; i < k_ - 1; ++i) {
            const double begin = jump(i), turn = turning_point(i), end = jump(i + 1);
            if (turn <= begin) break;
            const double bottom = std::min(turn, end);
            if (accepts(value(i, bottom))) break;
            if (++holes == 1) side.hole = root(i, begin, bottom, false);
            side.last = accepts(value(i, end)) ? root(i, bottom, end, true) : jump_cut(i + 1);
        }
        if (holes > 1) {
            if (generous) side.last = side.hole = side.first;
            else side.first = side.hole = side.last;
        }
        side.fragile = fragile_ || holes > 1;
        return side;
    }

  private:
    Trials trials_;
    double k_, significance_, log_factor_;
    bool fragile_ = false;
    static constexpr double doubt = 1e-8; // ten times the error that is granted

    bool accepts(double value) {
        fragile_ |= std::abs(value - significance_) < 1e-6 * significance_;
        return value > significance_;
    }

    // Where outcome j becomes as unlikely as k.
    double jump(double j) const { return (trials_.log_ratio(j, k_) - log_factor_) / (k_ - j); }

    Cut jump_cut(double j) const { return {jump(j), doubt / (k_ - j)}; }

    // Where f stops falling between the jumps of j and j + 1.
    double turning_point(double j) const {
        if (j < 0) return -std::numeric_limits<double>::infinity();
        return (trials_.log_ratio(j, k_) + std::log((trials_.n() - j) / k_)) / (k_ - j - 1);
    }

    double value(double j, double t) const {
        const Odds o(t);
        return trials_.upper(k_, o) + trials_.lower(j, o);
    }

    // The smallest j whose jump leaves f above the significance. f at the jumps grows with j, nearly as
    // exp(-j^2): a few secant steps on its logarithm inside a shrinking bracket find it.
    double first_lifting_jump(double &lifted) {
        double below = -1, above = k_ - 1; // f is 0 before every jump and 1 at the last one
        double guess = std::floor(starting_guess()), step = 1;
        double log_below = 0, log_above = 0;
        bool know_below = false, know_above = false;
        const double goal = std::log(significance_);
        while (above - below > 1) {
            guess = std::min(std::max(guess, below + 1), above - 1);
            const double there = value(guess, jump(guess)), found = std::log(there);
            if (accepts(there)) {
                above = guess;
                lifted = there;
                log_above = found;
                know_above = true;
            } else {
                below = guess;
                log_below = found;
                know_below = true;
            }
            if (know_below && know_above && log_above > log_below)
                guess = std::round(below + (goal - log_below) / (log_above - log_below) * (above - below));
            else if (know_above) guess = above - step;
            else guess = below + step;
            step *= 4;
            if (step > 4096) guess = std::floor((below + above) / 2);
        }
        return above;
    }

    // The mirror image of k in the lower end of the score interval of about the same level.
    double starting_guess() const {
        const double n = trials_.n(), z = rough_quantile(significance_ / 2), rate = k_ / n, z2 = z * z / n;
        const double p = (rate + z2 / 2 - std::sqrt(z2 * rate * (1 - rate) + z2 * z2 / 4)) / (1 + z2);
        return 2 * n * p - k_;
    }

    // Where f reaches the significance on its way up between the jumps of j and j + 1, the second at `end`.
    Cut rising_root(double j, double end) {
        if (j >= 0) return root(j, std::max(jump(j), turning_point(j)), end, true);
        // P(X >= k) <= (n p)^k / k!: a p that is certainly below
        const double begin =
            (std::log(significance_) + std::lgamma(k_ + 1)) / k_ - std::log(trials_.n());
        return root(j, std::min(begin, end), end, true);
    }

    // Halley's method on log f inside a bracket.
    Cut root(double j, double begin, double end, bool rising) {
        const double n = trials_.n(), goal = std::log(significance_);
        double t = (begin + end) / 2;
        for (int i = 0; i < 200; ++i) {
            const Odds o(t);
            const double pmf_k = trials_.pmf(k_, o), pmf_j = trials_.pmf(j, o);
            const double f = trials_.upper(k_, o, pmf_k) + trials_.lower(j, o, pmf_j);
            const double up = pmf_k * k_ * o.q / f, down = pmf_j * (n - j) * o.p / f, slope = up - down;
            const double miss = std::log(f) - goal;
            if ((miss > 0) == rising) end = t;
            else begin = t;
            const double turn = (up * (k_ - (n + 1) * o.p) - down * (j + 1 - (n + 1) * o.p)) / slope - slope;
            const double newton = -miss / slope;
            double next = t + halley_step(newton, turn);
            const bool near = std::abs(miss) <= 1e-6 && std::abs(newton * turn) <= 1e-6; // which leaves the cube of that
            if (!near && !(next > begin && next < end)) next = (begin + end) / 2;
            if (near || next == begin || next == end) {
                fragile_ |= std::abs(slope) < 1e-2;
                return {next, doubt / std::abs(slope)};
            }
            t = next;
        }
        fragile_ = true;
        return {t, doubt};
    }
};

// first, hole, last from below and last, hole, first from above, as probabilities with their reach. Returns whether either
// side is fragile.
inline bool binomial_accepted(double k, double n, double significance, double log_factor, bool generous,
                              double *cuts, double *reach) {
    const LowerSide low = BinomialTest(k, n, significance, log_factor).lower_side(generous);
    const LowerSide high = BinomialTest(n - k, n, significance, log_factor).lower_side(generous);
    const Cut all[6] = {low.first, low.hole, low.last, high.last, high.hole, high.first};
    for (int c = 0; c < 6; ++c) {
        const Odds o(c < 3 ? all[c].at : -all[c].at);
        cuts[c] = o.p;
        reach[c] = o.p * o.q * all[c].reach + 4e-16 * o.p;
    }
    return low.fragile || high.fragile;
}

// The last whole number from `low`, for which something holds, to below `high`, where it does not: looked for around a guess,
// ever farther away until it lies between two, and then by halves.
template <class Holds> double last_whole(double low, double high, double guess, Holds holds) {
    double step = 1;
    for (bool over = false, under = false; high - low > 1; step *= 2) {
        const double at = std::min(std::max(std::floor(guess), low + 1), high - 1);
        if (holds(at)) low = at, under = true;
        else high = at, over = true;
        guess = over && under ? (low + high) / 2 : under ? low + step : high - step;
    }
    return low;
}

inline double binomial_p_value(double k, double n, double p) {
    if (p <= 0) return k == 0;
    if (p >= 1) return k == n;
    if (k == p * n) return 1;
    Odds o(p, 1 - p);
    if (k < p * n) {
        std::swap(o.p, o.q);
        k = n - k;
    }
    const Trials trials(n);
    const double limit = trials.pmf(k, o) * (1 + 1e-7);
    // the last outcome below the mean that is no likelier than k, about as far from the mean
    const double mean = n * o.p, away = k - mean, skewed = (o.q - o.p) * away * away / (3 * mean * o.q);
    const double j = last_whole(-1, std::min(std::floor(mean), k - 1) + 1, mean - away + skewed,
                                [&](double i) { return trials.pmf(i, o) <= limit; });
    return std::min(1.0, trials.upper(k, o) + trials.lower(j, o));
}

// The p at which P(X >= k) = level, for k in 1..n: Halley's method on the logarithm of the smaller tail, in log-odds, within
// a bracket. It begins with the rough quantile of the beta distribution in Abramowitz and Stegun 26.5.22.
inline double binomial_rate(double k, double n, double level) {
    const Trials trials(n);
    const Outcome at(trials, k), before(trials, k - 1);
    const bool above = level <= 0.5;
    const double smaller = above ? level : 1 - level, goal = std::log(smaller), z = (above ? 1 : -1) * rough_quantile(smaller);
    const double few = 1 / (2 * k - 1), rest = 1 / (2 * (n - k) + 1), size = 2 / (few + rest), bend = (z * z - 3) / 6;
    const double width = z * std::sqrt(size + bend) / size - (rest - few) * (bend + 5. / 6 - 2 / (3 * size));
    double low = -745, high = 745, t = std::log(k / (n - k + 1)) - 2 * width;
    for (int i = 0; i < 200; ++i) {
        const Odds o(t);
        const double pmf = at.pmf(o);
        const bool beyond = (n + 1) * o.p <= k; // the smaller tail is computed, the other is its complement
        const double found = beyond ? trials.upper(k, o, pmf) : trials.lower(k - 1, o, before.pmf(o));
        const double tail = beyond == above ? found : 1 - found;
        const double miss = goal - std::log(tail), slope = (above ? 1 : -1) * pmf * k * o.q / tail;
        (above == (miss > 0) ? low : high) = t;
        const double last = t, next = t + halley_step(miss / slope, k - (n + 1) * o.p - slope);
        if (std::abs(miss) <= 1e-6) return Odds(next).p; // which leaves the cube of that
        t = next > low && next < high ? next : (low + high) / 2;
        if (std::abs(t - last) <= 4e-16 * std::max(1.0, std::abs(t))) break;
    }
    return Odds(t).p;
}

} // namespace truecal
