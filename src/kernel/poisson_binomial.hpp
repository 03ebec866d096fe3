// The Poisson-binomial number of positives of unequal trials: P(X < k), P(X = k) and P(X > k).
//
// Bernoulli trials come in cells: n of them, with the sums of q, q^2 and q^3; q is the probability of positives below 0.5, of
// negatives above. The
// binomial of real size with the same mean and variance is right almost everywhere; its third cumulant tells where not
// (see `tails`). There a binomial that is shifted to have the third cumulant too is close enough from a variance of
// `enough` on, because the fourth cumulant of Bernoulli trials lies between -v/2 and v: at most 1.5 v / (24 v^2) x 1.4 /
// sqrt(2 pi)
// = 0.035 / v are left of the error. Elsewhere, and where the variance is below `little` or rows are `few`, the
// distribution is computed.
#pragma once

#include "binomial.hpp"
#include "keys.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

namespace truecal {

// `mid_p`: two-sided, the outcomes ordered by the smaller of P(X < k) + P(X = k) / 2 and P(X > k) + P(X = k) / 2; those
// before k count in full, those beside it by half. Its mean is 1/2, however few outcomes there are; twice the smaller
// tail would be near 1 for the only likely outcome. Where outcomes are many, it is that, and 1 - P(X = k) / 2 in the middle.
struct Tails {
    double below, at, above, mid_p;

    Tails(double below_, double at_, double above_)
        : below(below_), at(at_), above(above_), mid_p(std::min(1 - at_ / 2, 2 * std::min(below_, above_) + at_)) {}
    Tails mirrored() const { return {above, at, below}; }
};

struct TrialCells {
    const Index *n, *positives;
    const double *s1, *s2, *s3;
    const bool *upper;
};

// The sums of one side's trials.
struct Side {
    Index n = 0;
    double s1 = 0, s2 = 0, s3 = 0;
    void add(const TrialCells &trials, Index i) {
        n += trials.n[i];
        s1 += trials.s1[i];
        s2 += trials.s2[i];
        s3 += trials.s3[i];
    }
};

// Trials in eight lanes, which are convolved side by side: row[8 i + l] is the probability of i positives of the trials of
// lane l, so many in
// each. Returns how many numbers of positives have a probability of `nothing` or more in some lane.
static TRUECAL_CLONES std::size_t convolve_lanes(const double *__restrict q, std::size_t trials, double nothing,
                                             double *__restrict row) {
    constexpr std::size_t lanes = 8;
    std::size_t size = 1;
    for (std::size_t l = 0; l < lanes; ++l) row[l] = 1;
    for (; trials > 0; --trials, q += lanes) {
        double own[lanes], last[lanes], most = 0;
        for (std::size_t l = 0; l < lanes; ++l) {
            own[l] = q[l];
            last[l] = row[lanes * (size - 1) + l] * own[l];
        }
        for (std::size_t i = size - 1; i > 0; --i) {
            double *to = row + lanes * i;
            for (std::size_t l = 0; l < lanes; ++l) to[l] = to[l] + own[l] * (to[l - lanes] - to[l]);
        }
        for (std::size_t l = 0; l < lanes; ++l) {
            row[l] *= 1 - own[l];
            most = std::max(most, last[l]);
        }
        if (!(most >= nothing)) continue;
        for (std::size_t l = 0; l < lanes; ++l) row[lanes * size + l] = last[l];
        ++size;
    }
    return size;
}

// The positives of lanes l and l + 4 together: four rows, `stride` apart.
static TRUECAL_CLONES void join_lanes(const double *__restrict row, std::size_t size, std::size_t stride,
                                      double *__restrict to) {
    constexpr std::size_t lanes = 8, half = lanes / 2;
    for (std::size_t k = 0; k + 1 < 2 * size; ++k) {
        double sum[half] = {};
        for (std::size_t i = k < size ? 0 : k - size + 1; i < std::min(k + 1, size); ++i)
            for (std::size_t l = 0; l < half; ++l) sum[l] += row[lanes * i + l] * row[lanes * (k - i) + half + l];
        for (std::size_t l = 0; l < half; ++l) to[stride * l + k] = sum[l];
    }
}

// As `convolve_lanes`, of at most k positives, and of more trials than those that `row` already has.
static TRUECAL_CLONES void convolve_few(const double *__restrict q, std::size_t trials, std::size_t k, double *__restrict row) {
    constexpr std::size_t lanes = 8;
    double none[lanes];
    for (std::size_t l = 0; l < lanes; ++l) none[l] = row[l];
    for (; trials > 0; --trials, q += lanes) {
        for (std::size_t i = k; i > 1; --i) {
            double *to = row + lanes * i;
            for (std::size_t l = 0; l < lanes; ++l) to[l] = to[l] + q[l] * (to[l - lanes] - to[l]);
        }
        if (k > 0)
            for (std::size_t l = 0; l < lanes; ++l) row[lanes + l] = row[lanes + l] + q[l] * (none[l] - row[lanes + l]);
        for (std::size_t l = 0; l < lanes; ++l) none[l] *= 1 - q[l];
    }
    for (std::size_t l = 0; l < lanes; ++l) row[l] = none[l];
}

// The positives of two rows together, 16 probabilities at once. The first stands between `margin` zeros, before and behind;
// the sum has
// room for a margin more than its size.
constexpr std::size_t margin = 16;
static TRUECAL_CLONES void convolve_rows(const double *__restrict from, std::size_t size, const double *__restrict weight,
                                         std::size_t count, double *__restrict sum) {
    const auto eight = [](const double *first) { return reinterpret_cast<const LooseEight *>(first); };
    for (std::size_t k = 0; k + 1 < size + count; k += margin) {
        std::size_t j = k < size ? 0 : k - size + 1;
        const std::size_t last = std::min(count, k + margin);
        Eight low{}, high{}, more_low{}, more_high{}; // none waits for another
        for (const double *own = from + k - j; j < last; j += 2, own -= 2) {
            const double second = j + 1 < last ? weight[j + 1] : 0;
            low += eight(own)->all * weight[j];
            high += eight(own + 8)->all * weight[j];
            more_low += eight(own - 1)->all * second;
            more_high += eight(own + 7)->all * second;
        }
        reinterpret_cast<LooseEight *>(sum + k)->all = low + more_low;
        reinterpret_cast<LooseEight *>(sum + k + 8)->all = high + more_high;
    }
}

// Trials of small q by the sums T_j of the j-th powers of their odds: k P(X = k) is the sum over j of (-1)^(j-1) T_j P(X = k
// - j)
// (Newton's identities), and log P(X = 0) is minus the sum of (-1)^(j-1) T_j / j. Powers beyond the last one are below 2^-54
// of T_1. Terms have both signs, so that probabilities far from the mean have few right digits.
class SmallTrials {
  public:
    static constexpr double largest = 1.0 / 32; // q

    void clear() {
        held_ = 0;
        empty_ = true;
    }
    bool empty() const { return empty_; }

    void add(Index n, double q) {
        if (empty_) std::fill(std::begin(sums_), std::end(sums_), 0.0);
        empty_ = false;
        n_[held_] = static_cast<double>(n);
        q_[held_] = q;
        if (++held_ == lanes) flush();
    }

    // The probabilities of 0, 1, ... positives, up to where they fall below `nothing`.
    void list(double nothing, std::vector<double> &p) {
        for (; held_ > 0 && held_ < lanes; ++held_) n_[held_] = q_[held_] = 0;
        if (held_ > 0) flush();
        double power[powers + 1], exponent = 0;
        std::size_t last = 1;
        for (std::size_t j = 1; j <= powers; ++j) {
            const double *own = sums_ + (j - 1) * lanes;
            const double sum = ((own[0] + own[1]) + (own[2] + own[3])) + ((own[4] + own[5]) + (own[6] + own[7]));
            power[j] = j % 2 == 1 ? sum : -sum;
            if (sum >= 0x1p-60 * power[1]) last = j;
        }
        for (std::size_t j = last; j >= 1; --j) exponent -= power[j] / static_cast<double>(j);
        p.assign(1, std::exp(exponent));
        for (std::size_t at = 1;; ++at) {
            const auto k = static_cast<double>(at);
            double rest = 0;
            for (std::size_t j = std::min(last, at); j >= 2; --j) rest += power[j] * p[at - j];
            const double next = power[1] / k * p[at - 1] + rest / k;
            if (next < nothing && k > power[1]) break;
            p.push_back(next);
        }
    }

  private:
    static constexpr std::size_t powers = 11, lanes = 8;
    double n_[lanes], q_[lanes], sums_[powers * lanes];
    std::size_t held_ = 0;
    bool empty_ = true;

    void flush() {
        add_powers(n_, q_, sums_);
        held_ = 0;
    }

    static TRUECAL_CLONES void add_powers(const double *__restrict n, const double *__restrict q, double *__restrict sums) {
        double odds[lanes], term[lanes];
        for (std::size_t i = 0; i < lanes; ++i) {
            odds[i] = q[i] / (1 - q[i]);
            term[i] = n[i];
        }
        for (std::size_t j = 0; j < powers; ++j, sums += lanes)
            for (std::size_t i = 0; i < lanes; ++i) {
                term[i] *= odds[i];
                sums[i] += term[i];
            }
    }
};

// P(X = first + i) of a sum of trials. What is below `nothing` at either end is cut off.
// Its memory is used again after `clear`: most sums are so short that to allocate it would take longer than to add.
class Distribution {
  public:
    Distribution() {
        for (std::size_t r = 0; r < 4; ++r) std::fill_n(row_ + r * stride, margin, 0.0);
        for (std::size_t r = 0; r < 2; ++r) std::fill_n(pair_ + r * stride, margin, 0.0);
    }

    // `quick`: many trials of small q are taken together, and probabilities have few right digits where they are small.
    void clear(bool quick, double least) {
        quick_ = quick;
        nothing_ = least;
        held_ = 0;
        all_.clear();
        block_.clear();
        small_.clear();
    }

    void add(Index n, double q) {
        if (n == 1 && (q > SmallTrials::largest || (q > 0 && held_ < few && small_.empty()))) {
            waiting_q_[held_] = q;
            if (++held_ == most) convolve_waiting();
        } else if (q > 0) {
            add_several(n, q);
        }
    }

    static constexpr double nothing = 1e-40;

    struct Row {
        Index first = 0;
        std::vector<double> p;
        void clear() {
            first = 0;
            p.assign(1, 1.0);
        }
        bool sure() const { return p.size() == 1 && p[0] == 1.0; }
    };

    // The positives of two rows together, in a third one, which may be either of them.
    void convolve(const Row &a, const Row &b, Row &to) {
        const Index first = a.first + b.first;
        if (a.sure() || b.sure()) {
            const Row &other = a.sure() ? b : a;
            if (&to != &other) to.p = other.p;
            to.first = first;
            return;
        }
        const bool swap = a.p.size() < b.p.size();
        const std::vector<double> &longer = swap ? b.p : a.p, &shorter = swap ? a.p : b.p;
        const std::size_t size = longer.size(), count = shorter.size();
        wide_.resize(std::max(wide_.size(), size + 2 * margin)); // begins with zeros
        std::fill_n(std::copy(longer.begin(), longer.end(), wide_.begin() + margin), margin, 0.0);
        sum_.resize(std::max(sum_.size(), size + count + margin));
        convolve_rows(wide_.data() + margin, size, shorter.data(), count, sum_.data());
        keep(to, first, size + count - 1);
    }

    // The probabilities of the positives of `low` minus those of `high`.
    static Row &subtract(Distribution &low, Distribution &high) {
        low.finish();
        high.finish();
        std::reverse(high.all_.p.begin(), high.all_.p.end());
        high.all_.first = -high.all_.first - static_cast<Index>(high.all_.p.size()) + 1;
        low.absorb(low.all_, high.all_);
        return low.all_;
    }

    // Of a row; the mid-p-value of the outcomes themselves where it is asked for.
    static Tails tails(const Row &row, Index k, bool mid_p) {
        const std::vector<double> &p = row.p;
        const std::size_t size = p.size();
        const Index at = k - row.first;
        if (at < 0) return {0, 0, 1};
        if (at >= static_cast<Index>(size)) return {1, 0, 0};
        const auto own = static_cast<std::size_t>(at);
        const double below = add_up(p.data(), own), above = add_up(p.data() + own + 1, size - own - 1);
        Tails found{below, p[own], above};
        if (!mid_p) return found;
        const double limit = std::min(below, above) + p[own] / 2, slack = 1e-9 * limit;
        found.mid_p = limit;
        double before = 0; // on the other side, from its end on
        for (std::size_t i = 0; i < (below > above ? own : size - 1 - own); ++i) {
            const double chance = p[below > above ? i : size - 1 - i], depth = before + chance / 2;
            if (depth > limit + slack) break;
            found.mid_p += depth < limit - slack ? chance : chance / 2;
            before += chance;
        }
        return found;
    }

  private:
    static constexpr Index together = 12; // trials of equal q beyond which they are a binomial
    static constexpr Index few = 128;     // trials of small q that are convolved one by one
    static constexpr std::size_t lanes = 8, rounds = 32, most = lanes * rounds, stride = 3 * margin + 4 * rounds + 1;
    Row block_, all_, more_;
    SmallTrials small_;
    std::vector<double> sum_, wide_;
    bool quick_ = false;
    double nothing_ = nothing;
    Index held_ = 0;                     // trials that wait to be convolved
    double waiting_q_[most], lane_[most + lanes], row_[4 * stride], pair_[2 * stride];

    void add_several(Index n, double q) {
        if (quick_ && q <= SmallTrials::largest && (n > together || !small_.empty() || held_ + n > few)) {
            if (small_.empty()) give_small();
            small_.add(n, q);
        } else if (n > together) {
            set_binomial(n, q);
            absorb(block_, more_);
            if (block_.p.size() > 64) fold();
        } else {
            for (Index i = 0; i < n; ++i) {
                waiting_q_[held_] = q;
                if (++held_ == most) convolve_waiting();
            }
        }
    }

    // Leaves trials of small q, which are first, to be taken together.
    void give_small() {
        Index left = 0;
        for (Index i = 0; i < held_; ++i) {
            if (waiting_q_[i] <= SmallTrials::largest) small_.add(1, waiting_q_[i]);
            else waiting_q_[left++] = waiting_q_[i];
        }
        held_ = left;
    }

    // The trials that wait, in eight lanes that are joined two by two.
    void convolve_waiting() {
        const std::size_t trials = (static_cast<std::size_t>(held_) + lanes - 1) / lanes;
        std::fill(waiting_q_ + held_, waiting_q_ + trials * lanes, 0.0);
        held_ = 0;
        std::size_t size = convolve_lanes(waiting_q_, trials, nothing_, lane_);
        double *row = row_ + margin, *pair = pair_ + margin;
        join_lanes(lane_, size, stride, row);
        size = 2 * size - 1;
        const auto shorten = [&](double *first, std::size_t rows) { // by what is nothing in all rows
            const auto little = [&](std::size_t r) { return first[r * stride + size - 1] < nothing_; };
            while (size > 1 && little(0) && little(1) && (rows < 4 || (little(2) && little(3)))) --size;
            for (std::size_t r = 0; r < rows; ++r) std::fill_n(first + r * stride + size, margin, 0.0);
        };
        shorten(row, 4);
        for (std::size_t r = 0; r < 2; ++r)
            convolve_rows(row + r * stride, size, row + (r + 2) * stride, size, pair + r * stride);
        size = 2 * size - 1;
        shorten(pair, 2);
        sum_.resize(std::max(sum_.size(), 2 * size + margin));
        convolve_rows(pair, size, pair + stride, size, sum_.data());
        keep(more_, 0, 2 * size - 1);
        absorb(block_, more_);
        if (block_.p.size() > 64) fold();
    }

    // The positives of a row and of another one, which is not needed any more.
    void absorb(Row &row, Row &other) {
        if (!row.sure()) return convolve(row, other, row);
        std::swap(row.p, other.p);
        row.first += other.first;
    }

    // A short row keeps binomials cheap; full ones join the rest.
    void fold() {
        absorb(all_, block_);
        block_.clear();
    }

    void finish() {
        if (held_ > 0) convolve_waiting();
        if (!small_.empty()) {
            small_.list(nothing_, more_.p);
            more_.first = 0;
            absorb(block_, more_);
        }
        fold();
    }

    // In four sums, of which none waits for another.
    static double add_up(const double *p, std::size_t size) {
        double sum[4] = {};
        for (; size >= 4; size -= 4, p += 4)
            for (std::size_t i = 0; i < 4; ++i) sum[i] += p[i];
        for (std::size_t i = 0; i < size; ++i) sum[i] += p[i];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    // Cuts off what is nothing of the first probabilities of a sum, and leaves the rest to a row.
    void keep(Row &row, Index first, std::size_t end) {
        std::size_t begin = 0;
        while (end > 1 && sum_[end - 1] < nothing_) --end;
        while (begin + 1 < end && sum_[begin] < nothing_) ++begin;
        row.first = first + static_cast<Index>(begin);
        row.p.assign(sum_.begin() + static_cast<Index>(begin), sum_.begin() + static_cast<Index>(end));
    }

    void set_binomial(Index n, double q) {
        const double odds = q / (1 - q);
        const Index mode = std::min(static_cast<Index>(static_cast<double>(n + 1) * q), n);
        const double top = Trials(static_cast<double>(n)).pmf(static_cast<double>(mode), Odds(q, 1 - q));
        std::vector<double> &row = more_.p;
        row.clear();
        double p = top;
        for (Index k = mode; k > 0; --k) {
            p *= static_cast<double>(k) / (static_cast<double>(n - k + 1) * odds);
            if (p < nothing_) break;
            row.push_back(p);
        }
        std::reverse(row.begin(), row.end());
        more_.first = mode - static_cast<Index>(row.size());
        p = top;
        for (Index k = mode; p >= nothing_ || k == mode; ++k) {
            row.push_back(p);
            if (k == n) break;
            p *= static_cast<double>(n - k) * odds / static_cast<double>(k + 1);
        }
    }
};

// A binomial of real size n, its smaller tail computed and the other one as what is left.
inline Tails binomial_tails(double n, Odds odds, double k) {
    const Trials trials(n);
    const double at = trials.pmf(k, odds);
    if (k > n * odds.p) {
        const double above = trials.upper(k + 1, odds);
        return {std::max(0.0, 1 - above - at), at, above};
    }
    const double below = k < 1 ? 0 : trials.lower(k - 1, odds);
    return {below, at, std::max(0.0, 1 - below - at)};
}

// Trials that can be taken as of equal q, and the sums of q and of q^2.
struct Pool {
    double rows, s1, s2;
    Index n() const { return static_cast<Index>(rows); }
    double q() const { return s1 / rows; }
};

// Finds the pool of neighbouring cells of a side that begins with the first one, and returns its end: to take their trials as
// of
// equal q makes their variance too large by 2^-24 of itself at most. Rows of small q are many and their pools few.
inline Index find_pool(const TrialCells &trials, Index first, Index end, Pool &pool) {
    const bool upper = trials.upper[first];
    double rows = static_cast<double>(trials.n[first]), s1 = trials.s1[first], s2 = trials.s2[first];
    Index last = first + 1;
    for (; last < end && trials.upper[last] == upper; ++last) {
        const double n = rows + static_cast<double>(trials.n[last]), t1 = s1 + trials.s1[last], t2 = s2 + trials.s2[last];
        if (t2 * n - t1 * t1 > 0x1p-24 * t1 * n) break; // the spread is s2 - s1^2 / n
        rows = n;
        s1 = t1;
        s2 = t2;
    }
    pool = {rows, s1, s2};
    return last;
}

// Memory for the computed distributions of one thread.
struct Workspace {
    Distribution low, high;
};

// How precisely probabilities are computed: twelve digits of those that are not small; all digits, of pools of cells; all of
// each
// cell by itself.
enum class Digits { twelve, all, exact };

// The probabilities of the positives of cells [begin, end), cut off where they are `nothing`; trials of upper cells are
// convolved by themselves.
inline Distribution::Row &convolve_cells(const TrialCells &trials, Index begin, Index end, Digits digits, double nothing, Workspace &space) {
    Distribution &low = space.low, &high = space.high;
    low.clear(digits == Digits::twelve, nothing);
    high.clear(digits == Digits::twelve, nothing);
    Index upper = 0;
    for (Index at = begin; at < end;) {
        Index last = at + 1, n = trials.n[at];
        double q = trials.s1[at] / static_cast<double>(n);
        if (digits == Digits::all) {
            Pool pool;
            last = find_pool(trials, at, end, pool);
            n = pool.n();
            q = pool.q();
        }
        (trials.upper[at] ? high : low).add(n, q);
        upper += trials.upper[at] ? n : 0;
        at = last;
    }
    Distribution::Row &found = Distribution::subtract(low, high);
    found.first += upper;
    return found;
}

inline Distribution::Row &convolve_cells(const TrialCells &trials, Index begin, Index end, Digits digits, Workspace &space) {
    return convolve_cells(trials, begin, end, digits, digits == Digits::twelve ? 1e-22 : Distribution::nothing, space);
}

// The sums of cells [begin, end) that lie on one side, by turns in one of two, which do not wait for each other.
inline Side add_cells(const TrialCells &trials, Index begin, Index end) {
    Side even, odd;
    for (; begin + 1 < end; begin += 2) {
        even.add(trials, begin);
        odd.add(trials, begin + 1);
    }
    if (begin < end) even.add(trials, begin);
    return {even.n + odd.n, even.s1 + odd.s1, even.s2 + odd.s2, even.s3 + odd.s3};
}

// What stands for the positives of cells [begin, end): a binomial of real size, of positives or `mirror`ed of negatives, or the
// distribution itself, computed.
struct Law {
    bool computed, mirror;
    double size;
    Odds odds;
    double positives;    // observed, as the binomial counts them
    Index k, middle; // observed positives; the first of the upper cells
    double mean, v, rows; // of the positives; of the cells
    Side whole;           // the sums of all cells where they lie on one side
};

// The observed positives in cells [begin, end).
inline Index count_positives(const TrialCells &trials, Index begin, Index end) {
    Index k = 0;
    for (Index i = begin; i < end; ++i) k += trials.positives[i];
    return k;
}

// Cells [begin, end) on both sides of 0.5: the first of the upper ones, which come last, and the sums of either side.
struct Sides {
    Index middle;
    Side low, high;

    Sides() = default;
    Sides(const TrialCells &trials, Index begin, Index end)
        : middle(std::partition_point(trials.upper + begin, trials.upper + end, [](bool u) { return !u; }) - trials.upper),
          low(add_cells(trials, begin, middle)), high(add_cells(trials, middle, end)) {}
};

// If k positives were observed. `computed`: without approximation.
inline Law choose_law(Sides sides, Index begin, Index end, Index k, bool computed) {
    constexpr double gap_allowed = 5e-4, little = 5, enough = 70, few = 64;
    auto &[middle, low, high] = sides;
    const double v = (low.s1 - low.s2) + (high.s1 - high.s2), rows = static_cast<double>(low.n + high.n);
    const bool one = end - begin == 1; // equal trials: a plain binomial
    const double expected = low.s1 + static_cast<double>(high.n) - high.s1;
    const bool mirror = expected > rows / 2;
    const Side side = middle == begin ? high : low;
    const auto law = [&, at = middle](double size, Odds odds, double positives) {
        return Law{false, mirror, size, odds, positives, k, at, expected, v, rows, side};
    };
    const Law whole{true, false, 0, Odds(0.5, 0.5), 0, k, middle, expected, v, rows, side};
    if (computed || v < little || (!one && rows <= few)) return whole;
    if (mirror) std::swap(low, high);
    const double positives = static_cast<double>(mirror ? low.n + high.n - k : k);
    const double mean = low.s1 + (static_cast<double>(high.n) - high.s1);
    if (one) return law(rows, Odds(mean / rows, 1 - mean / rows), positives);
    const double square = low.s2 + (static_cast<double>(high.n) - 2 * high.s1 + high.s2);
    const double skew = (low.s1 - 3 * low.s2 + 2 * low.s3) - (high.s1 - 3 * high.s2 + 2 * high.s3);
    const double gap = std::abs(skew - v * (1 - 2 * square / mean)) / (15 * v * std::sqrt(v));
    const double matched = mean * mean / square;
    if (gap < gap_allowed && positives + 1 < matched) // beyond its size a binomial has no mass left
        return law(matched, Odds(square / mean, v / mean), positives);
    if (v < enough) return whole;
    // v (1 - 2 p) is the third cumulant of a binomial: both p v and (1 - p) v are sums of positive terms
    const double p = ((low.s2 - low.s3) + (high.s1 - 2 * high.s2 + high.s3)) / v;
    const double q = ((low.s1 - 2 * low.s2 + low.s3) + (high.s2 - high.s3)) / v;
    const double size = v / (p * q);
    return law(size, Odds(p, q), positives - mean + size * p);
}

inline Law choose_law(const TrialCells &trials, Index begin, Index end, Index k, bool computed) {
    return choose_law(Sides(trials, begin, end), begin, end, k, computed);
}

// A window whose distribution must be computed: its cells, rows and the observed positives.
struct Window {
    Index begin, end;
    double rows;
    Index k;
};

// Its tails; `row` has twelve digits of the distribution, which are enough for most.
inline Tails computed_tails(const TrialCells &trials, const Window &window, const Distribution::Row &row, bool mid_p, Workspace &space) {
    const Tails found = Distribution::tails(row, window.k, mid_p);
    const bool none = window.k == 0, all = static_cast<double>(window.k) == window.rows;
    constexpr double fine = 1e-4; // what has twelve right digits
    const double least = none || all ? 1e-9 : fine; // few positives, or few negatives, have more
    if (found.at >= fine && (found.below >= least || (none && found.below == 0)) &&
        (found.above >= least || (all && found.above == 0)))
        return found;
    constexpr double many = 4096; // rows that are pooled
    const Digits digits = window.rows > many ? Digits::all : Digits::exact;
    return Distribution::tails(convolve_cells(trials, window.begin, window.end, digits, space), window.k, mid_p);
}

// The tails of another window.
inline Tails binomial_tails(const Law &law) {
    const Tails found = binomial_tails(law.size, law.odds, law.positives);
    return law.mirror ? found.mirrored() : found;
}

// The distributions, to twelve digits, of windows that are put together from those of smaller ones, which must be asked for
// before them, and of the pieces into which the ends of all windows cut the cells.
class Tiles {
  public:
    Tiles(const TrialCells &trials, Workspace &space) : trials_(trials), space_(space) {}

    // Forgets all; windows are now of cells [first, last).
    void start(Index first, Index last) {
        first_ = first;
        count_ = 0;
        cells_.assign(static_cast<std::size_t>(last - first + 1), {});
    }
    void cut(Index at) { cell(at).cut = true; }

    const Distribution::Row &find(Index begin, Index end) {
        std::uint32_t tile = fitting(begin, end);
        if (tile == 0) tile = add_piece(begin);
        if (tiles_[tile].end == end) return tiles_[tile].positives;
        const std::uint32_t own = add(end);
        for (Index at = tiles_[tile].end; at < end;) {
            const std::uint32_t left = at == tiles_[tile].end ? tile : own;
            std::uint32_t next = fitting(at, end);
            if (next == 0) next = add_piece(at);
            space_.low.convolve(tiles_[left].positives, tiles_[next].positives, tiles_[own].positives);
            at = tiles_[next].end;
        }
        tiles_[own].shorter = cell(begin).longest;
        cell(begin).longest = own;
        return tiles_[own].positives;
    }

  private:
    struct Tile {
        Index end = 0;
        std::uint32_t shorter = 0; // that which begins where it does; 0 if there is none
        Distribution::Row positives;
    };
    struct Cell {
        std::uint32_t longest = 0; // of the tiles that begin with it
        bool cut = false;
    };
    const TrialCells &trials_;
    Workspace &space_;
    std::vector<Tile> tiles_ = std::vector<Tile>(1); // the first is none; memory is used again
    std::uint32_t count_ = 0;
    Index first_ = 0;
    std::vector<Cell> cells_;

    Cell &cell(Index at) { return cells_[static_cast<std::size_t>(at - first_)]; }

    std::uint32_t add(Index end) {
        if (tiles_.size() == ++count_) tiles_.emplace_back();
        tiles_[count_].end = end;
        tiles_[count_].shorter = 0;
        return count_;
    }

    // The piece that begins at a cell, shorter than all tiles that do.
    std::uint32_t add_piece(Index at) {
        Index end = at + 1;
        while (!cell(end).cut) ++end;
        const std::uint32_t own = add(end);
        std::swap(tiles_[own].positives, convolve_cells(trials_, at, end, Digits::twelve, space_));
        std::uint32_t *last = &cell(at).longest;
        while (*last > 0) last = &tiles_[*last].shorter;
        *last = own;
        return own;
    }

    // The longest tile that begins at a cell and ends in time.
    std::uint32_t fitting(Index at, Index end) {
        std::uint32_t found = cell(at).longest;
        while (found > 0 && tiles_[found].end > end) found = tiles_[found].shorter;
        return found;
    }
};

// Windows whose distributions are computed: small ones are part of larger ones, so that they wait for all.
class WaitingWindows {
  public:
    void add(std::size_t number, const Window &window) { waiting_.push_back({number, window}); }

    // Calls each(number, tails) for all of them. Windows that neither overlap nor are joined by others that do know nothing of
    // each other.
    template <class Each> void finish(const TrialCells &trials, bool mid_p, Workspace &space, Each each) {
        if (waiting_.empty()) return;
        Index first_cell = waiting_[0].window.begin, last_cell = waiting_[0].window.end;
        for (const Numbered &own : waiting_) {
            first_cell = std::min(first_cell, own.window.begin);
            last_cell = std::max(last_cell, own.window.end);
        }
        std::vector<Index> part(static_cast<std::size_t>(last_cell - first_cell) + 1, 0); // of each cell
        const auto of = [&](Index cell) -> Index & { return part[static_cast<std::size_t>(cell - first_cell)]; };
        for (const Numbered &own : waiting_) {
            ++of(own.window.begin + 1); // windows that hold a cell and the one before it
            --of(own.window.end);
        }
        Index last = -1, open = 0;
        for (Index &own : part) {
            open += own;
            last += open == 0;
            own = last;
        }
        std::vector<Index> begin(static_cast<std::size_t>(last) + 2, 0); // the first window of each part, then the end
        const auto start = [&](const Window &window) -> Index & { return begin[static_cast<std::size_t>(of(window.begin))]; };
        for (const Numbered &own : waiting_) ++(&start(own.window))[1];
        for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
        std::vector<const Numbered *> sorted(waiting_.size());
        for (const Numbered &own : waiting_) sorted[static_cast<std::size_t>(start(own.window)++)] = &own;
        Tiles tiles(trials, space);
        for (auto first = sorted.begin(); first != sorted.end();) {
            const auto next = sorted.begin() + start((*first)->window);
            find_part(first, next, tiles, [&](const Numbered &own) {
                const Window &w = own.window;
                each(own.number, computed_tails(trials, w, tiles.find(w.begin, w.end), mid_p, space));
            });
            first = next;
        }
        waiting_.clear();
    }

  private:
    struct Numbered {
        std::size_t number;
        Window window;
    };
    std::vector<Numbered> waiting_;

    // Small windows before larger ones, on tiles of their own.
    template <class Iterator, class Use> static void find_part(Iterator first, Iterator last, Tiles &tiles, Use use) {
        std::sort(first, last, [](const Numbered *a, const Numbered *b) {
            const Index size = a->window.end - a->window.begin, other = b->window.end - b->window.begin;
            return size != other ? size < other : a->window.begin < b->window.begin;
        });
        Index begin = (*first)->window.begin, end = (*first)->window.end;
        for (auto at = first; at != last; ++at) {
            begin = std::min(begin, (*at)->window.begin);
            end = std::max(end, (*at)->window.end);
        }
        tiles.start(begin, end);
        for (auto at = first; at != last; ++at) {
            tiles.cut((*at)->window.begin);
            tiles.cut((*at)->window.end);
        }
        for (auto at = first; at != last; ++at) use(**at);
    }
};

// How much of a window is rejected as too low and as too high.
struct Shares {
    double low, high;
};

constexpr Index most_positives = 16; // whose probabilities are computed by themselves

// On one side, whose tail must be below the limit.
inline double rejected_share(double limit, double tail, double at) {
    if (!(at > 0)) return tail < limit ? 1 : 0;
    return std::min(std::max((limit - tail) / at, 0.0), 1.0);
}

// Whether both P(X > positives) and P(X < positives) of a binomial are above the limit, if P(X = positives) is `at` or more:
// probabilities
// beside it are added up until they are, which takes few of them in the middle.
inline bool surely_inside(double size, Odds odds, double positives, double at, double limit) {
    constexpr int most = 40;
    const double goal = limit * (1 + 1e-6), ratio = odds.p / odds.q;
    double sum = 0, term = at, x = positives;
    for (int i = 0; i < most && sum <= goal && x + 1 < size; ++i, ++x) sum += term *= (size - x) / (x + 1) * ratio;
    if (!(sum > goal)) return false;
    sum = 0, term = at, x = positives;
    for (int i = 0; i < most && sum <= goal && x >= 1; ++i, --x) sum += term *= x / ((size - x + 1) * ratio);
    return sum > goal;
}

// The same, P(X = positives) at first by a bound that is quick: the divergence of x / n from p, whose second derivative is
// n / (x (n - x)), is at most (x - n p)^2 / 2 times the larger of that at both ends; what Stirling's formula leaves of x! is
// below 1 / (12 x).
inline bool surely_inside(double size, Odds odds, double positives, double limit) {
    const double others = size - positives, gap = positives - size * odds.p;
    if (positives >= 1 && others >= 1) {
        const double spread = std::min(size * odds.p * odds.q, positives * others / size);
        const double exponent = -(gap * gap / (2 * spread)) - size / (12 * positives * others);
        double power = std::max(1 + exponent / 64, 0.0); // (1 + x / 64)^64 is less than exp(x)
        for (int i = 0; i < 6; ++i) power *= power;
        const double least = power * std::sqrt(size / (6.283185307179587 * positives * others));
        if (surely_inside(size, odds, positives, least, limit)) return true;
    }
    return surely_inside(size, odds, positives, Trials(size).pmf(positives, odds), limit);
}

// Whether P(X < k) and P(X > k) of trials of q <= `top` <= 1/2 are both above the limit, by their sums alone. P(X = j) is P(0)
// times e_j, the sum of all products of j of the odds o = q / (1 - q). With p_i the sum of o^i, Newton's identities
// j e_j = p_1 e_(j-1) - p_2 e_(j-2) + p_3 e_(j-3) - ... are too large after an odd number of terms and too small after an
// even one. What the powers of q from the fourth on add to p_i and to log P(0) lies between the multiples of s3^2 / s2 and
// s3 top that bound sums of q^4.
inline bool surely_inside(const Side &trials, double top, Index k, double limit) {
    const double goal = limit * (1 + 1e-5), rest = 1 / (1 - top);
    if (k < 1 || !(top <= 0.5)) return false;
    const double less = trials.s3 * trials.s3 / trials.s2, more = trials.s3 * top * rest; // bounds of sums of q^4, q^4 / (1 - q)
    const double first[2] = {trials.s1 + trials.s2 + trials.s3 + less, trials.s1 + trials.s2 + trials.s3 + more};
    const double second[2] = {trials.s2 + 2 * trials.s3 + 3 * less, trials.s2 + 2 * trials.s3 + more * (3 - 2 * top) * rest};
    const double third = trials.s3 * rest * rest * rest, slack = (more - less) / 4;
    if (!(slack < 0.5)) return false;
    const double least = std::exp(-(trials.s1 + trials.s2 / 2 + trials.s3 / 3 + more / 4)), most = least / (1 - slack); // P(0)
    double low[3] = {0, 0, 1}, high[3] = {0, 0, 1}; // of e_(j-3), e_(j-2) and e_(j-1)
    double below = 1, within = 1;                   // sums of e_0 to e_(k-1), at least, and to e_k, at most
    for (Index j = 1; j <= k; ++j) {
        const double by = 1 / static_cast<double>(j);
        const double lower = std::max((first[0] * low[2] - second[1] * high[1]) * by, 0.0);
        const double upper = (first[1] * high[2] - second[0] * low[1] + third * high[0]) * by;
        if (j < k) below += lower;
        within += upper;
        low[0] = low[1], low[1] = low[2], low[2] = lower;
        high[0] = high[1], high[1] = high[2], high[2] = upper;
    }
    return least * below > goal && 1 - most * within > goal;
}

// The same of any trials of a variance v of 2 or more, by the binomial of as many trials that are alike. Two trials that become
// alike, their sum kept, change P(X <= k) by d (P(T = k) - P(T = k - 1)), T the positives of the others, and v by 2 d. The
// characteristic function of T is at most exp(-2 s sin^2(t / 2)) with its variance s >= v - 1/2, so that this difference is at
// most 4 / pi D(x) / x with Dawson's integral D, x^2 = 2 s, and D(x) <= (1 + 1 / x^2) / (2 x) from x^2 = 3 on.
inline bool surely_inside(double mean, double v, double rows, Index k, double limit) {
    const double others = rows - mean, change = std::max(mean * others / rows - v, 0.0), s = v - 0.5;
    const double doubt = change / 2 * (1 + 0.5 / s) / (3.141592653589793 * s);
    return surely_inside(rows, Odds(mean / rows, others / rows), static_cast<double>(k), limit * (1 + 1e-5) + doubt);
}

// The probabilities of fewer than k positives, and of k, of cells [begin, end) that lie on one side; false where one of them
// has many rows.
inline bool few_positives(const TrialCells &trials, Index begin, Index end, std::size_t k, double &below, double &at) {
    constexpr std::size_t lanes = 8;
    constexpr Index together = 12, most = 256;
    double trial[most * together + lanes], row[lanes * (most_positives + 1)], all[most_positives + 1] = {1};
    for (std::size_t i = 0; i < lanes * (k + 1); ++i) row[i] = i < lanes;
    for (Index first = begin; first < end; first += most) {
        const Index size = std::min(most, end - first);
        std::copy_n(trials.s1 + first, size, trial);
        double *next = trial + size;
        for (Index i = 0; i < size; ++i)
            if (const Index n = trials.n[first + i]; n > 1) { // most cells have one row
                if (n > together) return false;
                trial[i] /= static_cast<double>(n);
                next = std::fill_n(next, n - 1, trial[i]);
            }
        std::fill_n(next, lanes, 0.0);
        convolve_few(trial, (static_cast<std::size_t>(next - trial) + lanes - 1) / lanes, k, row);
    }
    for (std::size_t l = 0; l < lanes; ++l)
        for (std::size_t i = k + 1; i-- > 0;) {
            double sum = 0;
            for (std::size_t j = 0; j <= i; ++j) sum += all[i - j] * row[lanes * j + l];
            all[i] = sum;
        }
    below = 0;
    for (std::size_t i = 0; i < k; ++i) below += all[i];
    at = all[k];
    return true;
}

// The shares that the tails of cells [begin, end) give under a law, where few numbers tell them, as of most windows; else
// false.
inline bool decide(const TrialCells &trials, Index begin, Index end, const Law &law, double limit, Shares &found) {
    found = {0, 0};
    if (!law.computed) {
        if (surely_inside(law.size, law.odds, law.positives, limit)) return true;
        const Tails own = binomial_tails(law);
        found = {rejected_share(limit, own.above, own.at), rejected_share(limit, own.below, own.at)};
        return true;
    }
    if (law.v >= 2 && surely_inside(law.mean, law.v, law.rows, law.k, limit)) return true;
    const bool upper = law.middle == begin;
    const Index few = upper ? static_cast<Index>(law.rows) - law.k : law.k; // positives, or negatives if these are rare
    if (!(upper || law.middle == end) || few < 0 || few > most_positives || (law.v >= 5 && law.rows > 64)) return false;
    const Index outer = upper ? begin : end - 1; // the cell of the largest q, which differ by 1/2048 at most
    const double top = trials.s1[outer] / static_cast<double>(trials.n[outer]) * (1 + 0x1p-10);
    if (surely_inside(law.whole, top, few, limit)) return true;
    double below, at;
    if (!few_positives(trials, begin, end, static_cast<std::size_t>(few), below, at)) return false;
    const double above = 1 - below - at; // right to 1e-15
    if (at < 1e-4 && above < limit * (1 + 1e-6)) return false;
    found = {rejected_share(limit, above, at), rejected_share(limit, below, at)};
    if (upper) std::swap(found.low, found.high);
    return true;
}

inline Shares decide(const TrialCells &trials, Index begin, Index end, Index k, double limit, Workspace &space) {
    const Law law = choose_law(trials, begin, end, k, false);
    Shares found;
    if (decide(trials, begin, end, law, limit, found)) return found;
    const Window window{begin, end, law.rows, law.k};
    const Tails own = computed_tails(trials, window, convolve_cells(trials, begin, end, Digits::twelve, space), false, space);
    return {rejected_share(limit, own.above, own.at), rejected_share(limit, own.below, own.at)};
}

// The numbers of positives from the first to the last of which nothing is rejected, none where the first is the larger; and the
// shares that are rejected of those beside them, from the nearest on.
struct Untouched {
    static constexpr Index beside = 8;
    Index first, last;
    Shares below[beside], above[beside];
};

// Of cells [begin, end). Tails fall with their distance, so what lies between two such numbers is one, too, as long as the
// same law gives the tails of both.
inline Untouched find_untouched(const TrialCells &trials, Index begin, Index end, double limit, Workspace &space) {
    const Law start = choose_law(trials, begin, end, 0, false);
    double mean = 0;
    for (Index i = begin; i < end; ++i)
        mean += trials.upper[i] ? static_cast<double>(trials.n[i]) - trials.s1[i] : trials.s1[i];
    const auto rows = static_cast<Index>(start.rows);
    const Index middle = std::min(std::max(static_cast<Index>(mean + 0.5), Index(0)), rows);
    const Law own = choose_law(trials, begin, end, middle, false);
    const auto inside = [&](Index k) {
        const Law law = choose_law(trials, begin, end, k, false);
        const Shares found = decide(trials, begin, end, k, limit, space);
        return law.computed == own.computed && law.size == own.size && found.low == 0 && found.high == 0;
    };
    const Index step = 1 + static_cast<Index>(std::sqrt(own.v) / 2);
    const auto search = [&](Index direction, Index beyond) {
        Index near = middle, far = beyond;
        while (near != far) {
            const Index next = direction > 0 ? std::min(near + step, beyond) : std::max(near - step, beyond);
            if (next == beyond || !inside(next)) {
                far = next;
                break;
            }
            near = next;
        }
        while (std::abs(far - near) > 1) {
            const Index half = near + (far - near) / 2;
            (inside(half) ? near : far) = half;
        }
        return near;
    };
    Untouched found{middle, middle - 1, {}, {}};
    if (inside(middle)) found = {search(-1, -1), search(1, rows + 1), {}, {}};
    for (Index i = 0; i < Untouched::beside; ++i) {
        const Index below = found.first - 1 - i, above = found.last + 1 + i;
        if (below >= 0) found.below[i] = decide(trials, begin, end, below, limit, space);
        if (above <= rows) found.above[i] = decide(trials, begin, end, above, limit, space);
    }
    return found;
}

} // namespace truecal
