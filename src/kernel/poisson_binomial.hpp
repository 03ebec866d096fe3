// The number of heads of unequal coins: P(X < k), P(X = k) and P(X > k).
//
// Coins come in cells: n of them, with the sums of q, q^2 and q^3; q is the chance of heads below 0.5, of tails above. The
// binomial of real size with the same mean and variance is right almost everywhere; its third cumulant tells where not
// (see `tails`). There a binomial that is shifted to have the third cumulant too is close enough from a variance of
// `enough` on, because the fourth cumulant of coins lies between -v/2 and v: at most 1.5 v / (24 v^2) x 1.4 / sqrt(2 pi)
// = 0.035 / v are left of the error. Elsewhere, and where the variance is below `little` or rows are `few`, the
// distribution is computed, pools of neighbouring cells as coins of equal q.
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

struct Coins {
    const Index *n, *heads;
    const double *s1, *s2, *s3;
    const bool *upper;
};

// The sums of one side's coins.
struct Side {
    Index n = 0;
    double s1 = 0, s2 = 0, s3 = 0;
    void add(const Coins &coins, Index i) {
        n += coins.n[i];
        s1 += coins.s1[i];
        s2 += coins.s2[i];
        s3 += coins.s3[i];
    }
};

// Coins of equal q, and the chances of 0, 1, ... of their heads, which a few coins make longer.
struct EqualCoins {
    Index n;
    double q;
};

struct ShortRow {
    static constexpr std::size_t enough = 64, most = 88; // numbers of heads that end a row, and that there is room for
    std::size_t size;
    alignas(64) double p[most]; // 0 from `size` on

    explicit ShortRow(const std::vector<double> &given) : size(given.size()) {
        std::fill(std::copy(given.begin(), given.end(), p), p + most, 0.0);
    }
};

// Tosses coins until there are enough numbers of heads; how many groups of equal ones it took. Chances below `nothing` are no
// further numbers of heads.
static TRUECAL_CLONES std::size_t toss_coins(const EqualCoins *coins, std::size_t count, double nothing, ShortRow &row) {
    constexpr std::size_t step = 8;
    alignas(64) double other[ShortRow::most];
    double *from = row.p, *to = other;
    std::size_t size = row.size, used = 0;
    std::fill(other, other + ShortRow::most, 0.0);
    for (; used < count && size <= ShortRow::enough; ++used)
        for (Index i = 0; i < coins[used].n; ++i) {
            const double q = coins[used].q, last = from[size - 1] * q;
            to[0] = from[0] * (1 - q);
            for (std::size_t at = 1; at <= size; at += step)
                for (std::size_t j = at; j < at + step; ++j) to[j] = from[j] + q * (from[j - 1] - from[j]);
            if (last >= nothing) ++size;
            else to[size] = 0;
            std::swap(from, to);
        }
    if (from != row.p) std::copy(from, from + ShortRow::most, row.p);
    row.size = size;
    return used;
}

static TRUECAL_CLONES void add_times(double weight, const double *__restrict from, double *__restrict to, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) to[i] += weight * from[i];
}

// Adds a row four times, each one place further on and with a weight of its own: to the last bit what `add_times` adds one
// after the other, with a quarter of the reads and writes. `size` is four or more.
static TRUECAL_CLONES void add_four_times(const double *__restrict weight, const double *__restrict from,
                                          double *__restrict to, std::size_t size) {
    const double a = weight[0], b = weight[1], c = weight[2], d = weight[3];
    to[0] += a * from[0];
    to[1] = to[1] + a * from[1] + b * from[0];
    to[2] = to[2] + a * from[2] + b * from[1] + c * from[0];
    for (std::size_t i = 3; i < size; ++i)
        to[i] = to[i] + a * from[i] + b * from[i - 1] + c * from[i - 2] + d * from[i - 3];
    to[size] = to[size] + b * from[size - 1] + c * from[size - 2] + d * from[size - 3];
    to[size + 1] = to[size + 1] + c * from[size - 1] + d * from[size - 2];
    to[size + 2] += d * from[size - 1];
}

// Coins of small q by the sums T_j of the j-th powers of their odds: k P(X = k) is the sum over j of (-1)^(j-1) T_j P(X = k - j)
// (Newton's identities), and log P(X = 0) is minus the sum of (-1)^(j-1) T_j / j. Powers beyond the last one are below 2^-54
// of T_1. Terms have both signs, so that chances far from the mean have few right digits.
class SmallCoins {
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

    // The chances of 0, 1, ... heads, up to where they fall below `nothing`.
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

// P(X = first + i) of a sum of coins that is made longer coin by coin. What is below `nothing` at either end is cut off.
// Its memory is used again after `clear`: most sums are so short that to allocate it would take longer than to add.
class Heads {
  public:
    // `quick`: coins of small q are taken together, and chances have few right digits where they are small.
    void clear(bool quick) {
        quick_ = quick;
        nothing_ = quick ? 1e-22 : nothing;
        all_.clear();
        block_.clear();
        small_.clear();
        waiting_ = 0;
    }

    void add(Index n, double q) {
        if (q <= 0) return;
        if (quick_ && q <= SmallCoins::largest) return small_.add(n, q);
        if (n > together) {
            toss();
            set_binomial(n, q);
            convolve(block_, more_);
            if (block_.p.size() > ShortRow::enough) fold();
            return;
        }
        coins_[waiting_] = {n, q};
        if (++waiting_ == std::size(coins_)) toss();
    }

    // The chances of fewer than k heads and of k that `difference` adds up, of coins that are never so many that rows are
    // joined; false where only it can tell. `k` is at most `few_heads`.
    template <class Add> static bool begin(Index k, Add for_coins, double &below, double &at) {
        double row[few_heads + 2];
        Index size = 1;
        row[0] = 1;
        double none = 1; // the chance of no heads, where that is all that is asked for
        bool fine = true;
        for_coins([&](Index n, double q) {
            if (q <= 0) return;
            fine &= n <= together;
            if (k == 0) {
                for (Index i = 0; i < n && fine; ++i) none *= 1 - q;
                return;
            }
            for (Index i = 0; i < n && fine; ++i) {
                double before = row[0];
                const double last = row[size - 1] * q;
                row[0] *= 1 - q;
                for (Index j = 1; j < size; ++j) {
                    const double own = row[j];
                    row[j] = own + q * (before - own);
                    before = own;
                }
                if (last >= nothing && size <= k) row[size++] = last;
            }
        });
        if (k == 0) row[0] = none;
        if (!fine || size <= k || row[0] < nothing) return false;
        below = 0;
        for (Index i = 0; i < k; ++i) below += row[i];
        at = row[k];
        return true;
    }

    static constexpr Index few_heads = 16;

    // Of the heads of `low` minus those of `high`; the mid-p-value of the outcomes themselves where it is asked for.
    static Tails difference(Heads &low, Heads &high, Index k, bool mid_p) {
        low.finish();
        high.finish();
        std::reverse(high.all_.p.begin(), high.all_.p.end());
        high.all_.first = -high.all_.first - static_cast<Index>(high.all_.p.size()) + 1;
        low.convolve(low.all_, high.all_);
        const std::vector<double> &p = low.all_.p;
        const std::size_t size = p.size();
        const Index at = k - low.all_.first;
        if (at < 0) return {0, 0, 1};
        if (at >= static_cast<Index>(size)) return {1, 0, 0};
        const auto own = static_cast<std::size_t>(at);
        if (!mid_p) {
            double under = 0, over = 0;
            for (std::size_t i = 0; i < own; ++i) under += p[i];
            for (std::size_t i = size; --i > own;) over += p[i];
            return {under, p[own], over};
        }
        std::vector<double> &below = low.below_, &above = high.below_; // before i; from i on
        below.assign(size + 1, 0);
        above.assign(size + 1, 0);
        for (std::size_t i = 0; i < size; ++i) below[i + 1] = below[i] + p[i];
        for (std::size_t i = size; i-- > 0;) above[i] = above[i + 1] + p[i];
        const auto depth = [&](std::size_t i) { return std::min(below[i], above[i + 1]) + p[i] / 2; };
        const double limit = depth(own), slack = 1e-9 * limit;
        Tails found{below[own], p[own], above[own + 1]};
        found.mid_p = 0;
        for (std::size_t i = 0; i < size; ++i)
            found.mid_p += depth(i) < limit - slack ? p[i] : depth(i) <= limit + slack ? p[i] / 2 : 0;
        return found;
    }

  private:
    struct Row {
        Index first = 0;
        std::vector<double> p{1.0};
        void clear() {
            first = 0;
            p.assign(1, 1.0);
        }
    };
    Row block_, all_, more_;
    SmallCoins small_;
    std::vector<double> sum_, below_;
    static constexpr double nothing = 1e-40;
    bool quick_ = false;
    double nothing_ = nothing;
    static constexpr Index together = 12; // coins of equal q beyond which they are a binomial
    EqualCoins coins_[64];
    std::size_t waiting_ = 0; // of these, to be tossed

    void toss() {
        for (std::size_t used = 0; used < waiting_;) {
            ShortRow row(block_.p);
            used += toss_coins(coins_ + used, waiting_ - used, nothing_, row);
            block_.p.assign(row.p, row.p + row.size);
            if (row.size > ShortRow::enough) fold();
        }
        waiting_ = 0;
    }

    // A short row keeps the coins cheap; full ones join the rest.
    void fold() {
        convolve(all_, block_);
        block_.clear();
    }

    void finish() {
        toss();
        if (!small_.empty()) {
            small_.list(nothing_, more_.p);
            more_.first = 0;
            convolve(block_, more_);
        }
        fold();
    }

    void convolve(Row &a, const Row &b) {
        if (b.p.size() == 1 && b.p[0] == 1.0) {
            a.first += b.first;
            return;
        }
        const bool swap = a.p.size() < b.p.size();
        const std::vector<double> &longer = swap ? b.p : a.p, &shorter = swap ? a.p : b.p;
        const std::size_t size = longer.size(), count = shorter.size();
        std::vector<double> &sum = sum_;
        sum.assign(size + count - 1, 0.0);
        std::size_t j = 0;
        if (size >= 4)
            for (; j + 3 < count; j += 4) add_four_times(shorter.data() + j, longer.data(), sum.data() + j, size);
        for (; j < count; ++j) add_times(shorter[j], longer.data(), sum.data() + j, size);
        std::size_t begin = 0, end = sum.size();
        while (end > 1 && sum[end - 1] < nothing_) --end;
        while (begin + 1 < end && sum[begin] < nothing_) ++begin;
        a.first += b.first + static_cast<Index>(begin);
        sum.resize(end);
        if (begin > 0) sum.erase(sum.begin(), sum.begin() + static_cast<Index>(begin));
        a.p.swap(sum);
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

// Memory for the computed distributions of one thread.
struct Workspace {
    Heads low, high;
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

// Coins that can be taken as of equal q, and the sums of q and of q^2.
struct Pool {
    double rows, s1, s2;
    Index n() const { return static_cast<Index>(rows); }
    double q() const { return s1 / rows; }
};

// Calls use(first, last, pool) for pools of neighbouring cells [first, last) of a side: to take their coins as of equal q makes
// their variance too large by 2^-24 of itself at most. Rows of small q are many and their pools few.
template <class Use> void for_pools(const Coins &coins, Index begin, Index end, Use use) {
    for (Index first = begin; first < end;) {
        const bool upper = coins.upper[first];
        double rows = static_cast<double>(coins.n[first]), s1 = coins.s1[first], s2 = coins.s2[first];
        Index last = first + 1;
        for (; last < end && coins.upper[last] == upper; ++last) {
            const double n = rows + static_cast<double>(coins.n[last]), t1 = s1 + coins.s1[last], t2 = s2 + coins.s2[last];
            if (t2 * n - t1 * t1 > 0x1p-24 * t1 * n) break; // the spread is s2 - s1^2 / n
            rows = n;
            s1 = t1;
            s2 = t2;
        }
        use(first, last, Pool{rows, s1, s2});
        first = last;
    }
}

// How precisely chances are computed: of pools of cells, twelve digits of those that are not small; of pools, all digits; of
// each cell by itself.
enum class Digits { twelve, all, exact };

inline Tails computed_tails(const Coins &coins, Index begin, Index end, Index k, Digits digits, bool mid_p, Workspace &space) {
    Heads &low = space.low, &high = space.high;
    low.clear(digits == Digits::twelve);
    high.clear(digits == Digits::twelve);
    Index upper = 0;
    const auto add = [&](Index n, double q, bool above) {
        (above ? high : low).add(n, q);
        upper += above ? n : 0;
    };
    if (digits == Digits::exact)
        for (Index i = begin; i < end; ++i) add(coins.n[i], coins.s1[i] / static_cast<double>(coins.n[i]), coins.upper[i]);
    else for_pools(coins, begin, end, [&](Index first, Index, const Pool &pool) { add(pool.n(), pool.q(), coins.upper[first]); });
    return Heads::difference(low, high, k - upper, mid_p);
}

// The sums of cells [begin, end) that lie on one side.
inline Side add_cells(const Coins &coins, Index begin, Index end) {
    Side sum; // of its own variables, which fit registers
    for (Index i = begin; i < end; ++i) sum.add(coins, i);
    return sum;
}

// What stands for the heads of cells [begin, end): a binomial of real size, of heads or `mirror`ed of tails, or the
// distribution itself, computed.
struct Law {
    bool computed, mirror;
    double size;
    Odds odds;
    double heads;    // that came, as the binomial counts them
    Index k, middle; // heads that came; the first of the upper cells
    double mean, v, rows; // of the heads; of the cells
    Side whole;           // the sums of all cells where they lie on one side
};

// The heads that came in cells [begin, end).
inline Index count_heads(const Coins &coins, Index begin, Index end) {
    Index k = 0;
    for (Index i = begin; i < end; ++i) k += coins.heads[i];
    return k;
}

// Cells [begin, end) on both sides of 0.5: the first of the upper ones, which come last, and the sums of either side.
struct Sides {
    Index middle;
    Side low, high;

    Sides() = default;
    Sides(const Coins &coins, Index begin, Index end)
        : middle(std::partition_point(coins.upper + begin, coins.upper + end, [](bool u) { return !u; }) - coins.upper),
          low(add_cells(coins, begin, middle)), high(add_cells(coins, middle, end)) {}
};

// Where k heads came. `computed`: without approximation.
inline Law choose_law(Sides sides, Index begin, Index end, Index k, bool computed) {
    constexpr double gap_allowed = 5e-4, little = 5, enough = 70, few = 64;
    auto &[middle, low, high] = sides;
    const double v = (low.s1 - low.s2) + (high.s1 - high.s2), rows = static_cast<double>(low.n + high.n);
    const bool one = end - begin == 1; // equal coins: a plain binomial
    const double expected = low.s1 + static_cast<double>(high.n) - high.s1;
    const bool mirror = expected > rows / 2;
    const Side side = middle == begin ? high : low;
    const auto law = [&, at = middle](double size, Odds odds, double heads) {
        return Law{false, mirror, size, odds, heads, k, at, expected, v, rows, side};
    };
    const Law whole{true, false, 0, Odds(0.5, 0.5), 0, k, middle, expected, v, rows, side};
    if (computed || v < little || (!one && rows <= few)) return whole;
    if (mirror) std::swap(low, high);
    const double heads = static_cast<double>(mirror ? low.n + high.n - k : k);
    const double mean = low.s1 + (static_cast<double>(high.n) - high.s1);
    if (one) return law(rows, Odds(mean / rows, 1 - mean / rows), heads);
    const double square = low.s2 + (static_cast<double>(high.n) - 2 * high.s1 + high.s2);
    const double skew = (low.s1 - 3 * low.s2 + 2 * low.s3) - (high.s1 - 3 * high.s2 + 2 * high.s3);
    const double gap = std::abs(skew - v * (1 - 2 * square / mean)) / (15 * v * std::sqrt(v));
    const double matched = mean * mean / square;
    if (gap < gap_allowed && heads + 1 < matched) // beyond its size a binomial has no mass left
        return law(matched, Odds(square / mean, v / mean), heads);
    if (v < enough) return whole;
    // v (1 - 2 p) is the third cumulant of a binomial: both p v and (1 - p) v are sums of positive terms
    const double p = ((low.s2 - low.s3) + (high.s1 - 2 * high.s2 + high.s3)) / v;
    const double q = ((low.s1 - 2 * low.s2 + low.s3) + (high.s2 - high.s3)) / v;
    const double size = v / (p * q);
    return law(size, Odds(p, q), heads - mean + size * p);
}

inline Law choose_law(const Coins &coins, Index begin, Index end, Index k, bool computed) {
    return choose_law(Sides(coins, begin, end), begin, end, k, computed);
}

inline Tails tails(const Coins &coins, Index begin, Index end, bool computed, const Law &law, bool mid_p, Workspace &space) {
    if (law.computed && !computed) {
        const Tails found = computed_tails(coins, begin, end, law.k, Digits::twelve, mid_p, space);
        const bool none = law.k == 0, all = static_cast<double>(law.k) == law.rows;
        constexpr double fine = 1e-4; // what has twelve right digits
        const double least = none || all ? 1e-9 : fine; // few heads, or few tails, have more
        if (found.at >= fine && (found.below >= least || (none && found.below == 0)) &&
            (found.above >= least || (all && found.above == 0)))
            return found;
        return computed_tails(coins, begin, end, law.k, Digits::all, mid_p, space);
    }
    if (law.computed) return computed_tails(coins, begin, end, law.k, Digits::exact, mid_p, space);
    const Tails found = binomial_tails(law.size, law.odds, law.heads);
    return law.mirror ? found.mirrored() : found;
}

// The tails of the heads of cells [begin, end), X against the number k that came; `computed`: without approximation.
inline Tails tails(const Coins &coins, Index begin, Index end, bool computed, bool mid_p, Workspace &space) {
    const Law law = choose_law(coins, begin, end, count_heads(coins, begin, end), computed);
    return tails(coins, begin, end, computed, law, mid_p, space);
}

// How much of a window is refuted as too low and as too high.
struct Shares {
    double low, high;
};

// On one side, whose tail must be below the limit.
inline double refuted_share(double limit, double tail, double at) {
    if (!(at > 0)) return tail < limit ? 1 : 0;
    return std::min(std::max((limit - tail) / at, 0.0), 1.0);
}

// Whether both P(X > heads) and P(X < heads) of a binomial are above the limit, if P(X = heads) is `at` or more: chances
// beside it are added up until they are, which takes few of them in the middle.
inline bool surely_inside(double size, Odds odds, double heads, double at, double limit) {
    constexpr int most = 40;
    const double goal = limit * (1 + 1e-6), ratio = odds.p / odds.q;
    double sum = 0, term = at, x = heads;
    for (int i = 0; i < most && sum <= goal && x + 1 < size; ++i, ++x) sum += term *= (size - x) / (x + 1) * ratio;
    if (!(sum > goal)) return false;
    sum = 0, term = at, x = heads;
    for (int i = 0; i < most && sum <= goal && x >= 1; ++i, --x) sum += term *= x / ((size - x + 1) * ratio);
    return sum > goal;
}

// The same, P(X = heads) at first by a bound that is quick: the divergence of x / n from p, whose second derivative is
// n / (x (n - x)), is at most (x - n p)^2 / 2 times the larger of that at both ends; what Stirling's formula leaves of x! is
// below 1 / (12 x).
inline bool surely_inside(double size, Odds odds, double heads, double limit) {
    const double others = size - heads, gap = heads - size * odds.p;
    if (heads >= 1 && others >= 1) {
        const double spread = std::min(size * odds.p * odds.q, heads * others / size);
        const double exponent = -(gap * gap / (2 * spread)) - size / (12 * heads * others);
        const double least = std::exp(exponent) * std::sqrt(size / (6.283185307179587 * heads * others));
        if (surely_inside(size, odds, heads, least, limit)) return true;
    }
    return surely_inside(size, odds, heads, Trials(size).pmf(heads, odds), limit);
}

// Whether P(X < k) and P(X > k) of coins of q <= `top` <= 1/2 are both above the limit, by their sums alone. P(X = j) is P(0)
// times e_j, the sum of all products of j of the odds o = q / (1 - q). With p_i the sum of o^i, Newton's identities
// j e_j = p_1 e_(j-1) - p_2 e_(j-2) + p_3 e_(j-3) - ... are too large after an odd number of terms and too small after an
// even one. What the powers of q from the fourth on add to p_i and to log P(0) lies between the multiples of s3^2 / s2 and
// s3 top that bound sums of q^4.
inline bool surely_inside(const Side &coins, double top, Index k, double limit) {
    const double goal = limit * (1 + 1e-5), rest = 1 / (1 - top);
    if (k < 1 || !(top <= 0.5)) return false;
    const double less = coins.s3 * coins.s3 / coins.s2, more = coins.s3 * top * rest; // bounds of sums of q^4, q^4 / (1 - q)
    const double first[2] = {coins.s1 + coins.s2 + coins.s3 + less, coins.s1 + coins.s2 + coins.s3 + more};
    const double second[2] = {coins.s2 + 2 * coins.s3 + 3 * less, coins.s2 + 2 * coins.s3 + more * (3 - 2 * top) * rest};
    const double third = coins.s3 * rest * rest * rest, slack = (more - less) / 4;
    if (!(slack < 0.5)) return false;
    const double least = std::exp(-(coins.s1 + coins.s2 / 2 + coins.s3 / 3 + more / 4)), most = least / (1 - slack); // P(0)
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

// The same of any coins of a variance v of 2 or more, by the binomial of as many coins that are alike. Two coins that become
// alike, their sum kept, change P(X <= k) by d (P(T = k) - P(T = k - 1)), T the heads of the others, and v by 2 d. The
// characteristic function of T is at most exp(-2 s sin^2(t / 2)) with its variance s >= v - 1/2, so that this difference is at
// most 4 / pi D(x) / x with Dawson's integral D, x^2 = 2 s, and D(x) <= (1 + 1 / x^2) / (2 x) from x^2 = 3 on.
inline bool surely_inside(double mean, double v, double rows, Index k, double limit) {
    const double others = rows - mean, change = std::max(mean * others / rows - v, 0.0), s = v - 0.5;
    const double doubt = change / 2 * (1 + 0.5 / s) / (3.141592653589793 * s);
    return surely_inside(rows, Odds(mean / rows, others / rows), static_cast<double>(k), limit * (1 + 1e-5) + doubt);
}

// The shares that the tails of cells [begin, end) give under a law; most windows need not have them computed.
inline Shares decide(const Coins &coins, Index begin, Index end, const Law &law, double limit, Workspace &space) {
    if (!law.computed && surely_inside(law.size, law.odds, law.heads, limit)) return {0, 0};
    if (law.computed && law.v >= 2 && surely_inside(law.mean, law.v, law.rows, law.k, limit)) return {0, 0};
    const bool upper = law.middle == begin;
    const Index few = upper ? static_cast<Index>(law.rows) - law.k : law.k; // heads, or tails where these are rare
    if (law.computed && (upper || law.middle == end) && few <= Heads::few_heads && (law.v < 5 || law.rows <= 64)) {
        const Index outer = upper ? begin : end - 1; // the cell of the largest q, which differ by 1/2048 at most
        const double top = coins.s1[outer] / static_cast<double>(coins.n[outer]) * (1 + 0x1p-10);
        if (surely_inside(law.whole, top, few, limit)) return {0, 0};
        double below, at;
        const auto coins_of = [&](auto use) {
            for_pools(coins, begin, end, [&](Index, Index, const Pool &pool) { use(pool.n(), pool.q()); });
        };
        if (Heads::begin(few, coins_of, below, at) && 1 - below - at > limit * (1 + 1e-6)) {
            const double share = refuted_share(limit, below, at);
            return upper ? Shares{share, 0} : Shares{0, share};
        }
    }
    const Tails found = tails(coins, begin, end, false, law, false, space);
    return {refuted_share(limit, found.above, found.at), refuted_share(limit, found.below, found.at)};
}

inline Shares decide(const Coins &coins, Index begin, Index end, Index k, double limit, Workspace &space) {
    return decide(coins, begin, end, choose_law(coins, begin, end, k, false), limit, space);
}

// The numbers of heads from the first to the last of which nothing is refuted, none where the first is the larger; and the
// shares that are refuted of those beside them, from the nearest on.
struct Untouched {
    static constexpr Index beside = 8;
    Index first, last;
    Shares below[beside], above[beside];
};

// Of cells [begin, end). Tails fall with their distance, so what lies between two such numbers is one, too, as long as the
// same law gives the tails of both.
inline Untouched find_untouched(const Coins &coins, Index begin, Index end, double limit, Workspace &space) {
    const Law start = choose_law(coins, begin, end, 0, false);
    double mean = 0;
    for (Index i = begin; i < end; ++i)
        mean += coins.upper[i] ? static_cast<double>(coins.n[i]) - coins.s1[i] : coins.s1[i];
    const auto rows = static_cast<Index>(start.rows);
    const Index middle = std::min(std::max(static_cast<Index>(mean + 0.5), Index(0)), rows);
    const Law own = choose_law(coins, begin, end, middle, false);
    const auto inside = [&](Index k) {
        const Law law = choose_law(coins, begin, end, k, false);
        const Shares found = decide(coins, begin, end, k, limit, space);
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
        if (below >= 0) found.below[i] = decide(coins, begin, end, below, limit, space);
        if (above <= rows) found.above[i] = decide(coins, begin, end, above, limit, space);
    }
    return found;
}

} // namespace truecal
