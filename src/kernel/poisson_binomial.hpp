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

// Coins in eight lanes, which are tossed side by side: row[8 i + l] is the chance of i heads of the coins of lane l, so many in
// each. Returns how many numbers of heads have a chance of `nothing` or more in some lane.
static TRUECAL_CLONES std::size_t toss_lanes(const double *__restrict q, std::size_t coins, double nothing,
                                             double *__restrict row) {
    constexpr std::size_t lanes = 8;
    std::size_t size = 1;
    for (std::size_t l = 0; l < lanes; ++l) row[l] = 1;
    for (; coins > 0; --coins, q += lanes) {
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

// The heads of lanes l and l + 4 together: four rows, `stride` apart.
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

// The heads of two rows together, four chances of the second one at once. Both stand between `margin` zeros, before and
// behind; the sum has room for two margins more than its size.
constexpr std::size_t margin = 16;
static TRUECAL_CLONES void convolve_rows(const double *__restrict from, std::size_t size, const double *__restrict weight,
                                         std::size_t count, double *__restrict sum) {
    const std::size_t width = (size + 3 + 7) / 8 * 8;
    for (std::size_t i = 0; i < count + 2 + width; ++i) sum[i] = 0;
    for (std::size_t j = 0; j < count; j += 4) {
        const double a = weight[j], b = weight[j + 1], c = weight[j + 2], d = weight[j + 3];
        double *to = sum + j;
        for (std::size_t i = 0; i < width; ++i)
            to[i] = to[i] + a * from[i] + b * from[i - 1] + c * from[i - 2] + d * from[i - 3];
    }
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

// P(X = first + i) of a sum of coins. What is below `nothing` at either end is cut off.
// Its memory is used again after `clear`: most sums are so short that to allocate it would take longer than to add.
class Heads {
  public:
    // `quick`: many coins of small q are taken together, and chances have few right digits where they are small.
    void clear(bool quick, double least) {
        quick_ = quick;
        nothing_ = least;
        held_ = 0;
        all_.clear();
        block_.clear();
        small_.clear();
    }

    void add(Index n, double q) {
        if (n == 1 && (q > SmallCoins::largest || (q > 0 && held_ < few && small_.empty()))) {
            coin_[held_] = q;
            if (++held_ == most) toss();
        } else if (q > 0) {
            add_several(n, q);
        }
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
    static constexpr double nothing = 1e-40;

    struct Row {
        Index first = 0;
        std::vector<double> p{1.0};
        void clear() {
            first = 0;
            p.assign(1, 1.0);
        }
    };

    // The chances of the heads of `low` minus those of `high`.
    static Row &subtract(Heads &low, Heads &high) {
        low.finish();
        high.finish();
        std::reverse(high.all_.p.begin(), high.all_.p.end());
        high.all_.first = -high.all_.first - static_cast<Index>(high.all_.p.size()) + 1;
        low.convolve(low.all_, high.all_);
        return low.all_;
    }

    // Of the heads of `low` minus those of `high`; the mid-p-value of the outcomes themselves where it is asked for.
    static Tails difference(Heads &low, Heads &high, Index k, bool mid_p) {
        const std::vector<double> &p = subtract(low, high).p;
        const std::size_t size = p.size();
        const Index at = k - low.all_.first;
        if (at < 0) return {0, 0, 1};
        if (at >= static_cast<Index>(size)) return {1, 0, 0};
        const auto own = static_cast<std::size_t>(at);
        double below = 0, above = 0;
        for (std::size_t i = 0; i < own; ++i) below += p[i];
        for (std::size_t i = size - 1; i > own; --i) above += p[i];
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
    static constexpr Index together = 12; // coins of equal q beyond which they are a binomial
    static constexpr Index few = 128;     // coins of small q that are tossed one by one
    static constexpr std::size_t lanes = 8, rounds = 32, most = lanes * rounds, stride = 3 * margin + 4 * rounds + 1;
    Row block_, all_, more_;
    SmallCoins small_;
    std::vector<double> sum_, wide_;
    bool quick_ = false;
    double nothing_ = nothing;
    Index held_ = 0;                     // coins that wait to be tossed
    double coin_[most], lane_[most + lanes], row_[4 * stride] = {}, pair_[2 * stride] = {};

    void add_several(Index n, double q) {
        if (quick_ && q <= SmallCoins::largest && (n > together || !small_.empty() || held_ + n > few)) {
            if (small_.empty()) give_small();
            small_.add(n, q);
        } else if (n > together) {
            set_binomial(n, q);
            convolve(block_, more_);
            if (block_.p.size() > 64) fold();
        } else {
            for (Index i = 0; i < n; ++i) {
                coin_[held_] = q;
                if (++held_ == most) toss();
            }
        }
    }

    // Leaves coins of small q, which came first, to be taken together.
    void give_small() {
        Index left = 0;
        for (Index i = 0; i < held_; ++i) {
            if (coin_[i] <= SmallCoins::largest) small_.add(1, coin_[i]);
            else coin_[left++] = coin_[i];
        }
        held_ = left;
    }

    // The coins that wait, in eight lanes that are joined two by two.
    void toss() {
        const std::size_t coins = (static_cast<std::size_t>(held_) + lanes - 1) / lanes;
        std::fill(coin_ + held_, coin_ + coins * lanes, 0.0);
        held_ = 0;
        std::size_t size = toss_lanes(coin_, coins, nothing_, lane_);
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
        sum_.resize(2 * (size + margin));
        convolve_rows(pair, size, pair + stride, size, sum_.data());
        keep(more_, 0, 2 * size - 1);
        convolve(block_, more_);
        if (block_.p.size() > 64) fold();
    }

    // A short row keeps binomials cheap; full ones join the rest.
    void fold() {
        convolve(all_, block_);
        block_.clear();
    }

    void finish() {
        if (held_ > 0) toss();
        if (!small_.empty()) {
            small_.list(nothing_, more_.p);
            more_.first = 0;
            convolve(block_, more_);
        }
        fold();
    }

    // Cuts off what is nothing of the first chances of a sum, and leaves the rest to a row.
    void keep(Row &row, Index first, std::size_t end) {
        std::size_t begin = 0;
        while (end > 1 && sum_[end - 1] < nothing_) --end;
        while (begin + 1 < end && sum_[begin] < nothing_) ++begin;
        row.first = first + static_cast<Index>(begin);
        row.p.assign(sum_.begin() + static_cast<Index>(begin), sum_.begin() + static_cast<Index>(end));
    }

    void convolve(Row &a, const Row &b) {
        const auto sure = [](const Row &row) { return row.p.size() == 1 && row.p[0] == 1.0; };
        const Index first = a.first + b.first;
        if (sure(a) || sure(b)) {
            if (sure(a)) a.p = b.p;
            a.first = first;
            return;
        }
        const bool swap = a.p.size() < b.p.size();
        const std::vector<double> &longer = swap ? b.p : a.p, &shorter = swap ? a.p : b.p;
        const std::size_t size = longer.size(), count = shorter.size();
        wide_.assign(size + count + 3 * margin, 0.0);
        double *const from = wide_.data() + margin, *const weight = from + size + margin;
        std::copy(longer.begin(), longer.end(), from);
        std::copy(shorter.begin(), shorter.end(), weight);
        sum_.resize(size + count + 2 * margin);
        convolve_rows(from, size, weight, count, sum_.data());
        keep(a, first, size + count - 1);
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

// Coins that can be taken as of equal q, and the sums of q and of q^2.
struct Pool {
    double rows, s1, s2;
    Index n() const { return static_cast<Index>(rows); }
    double q() const { return s1 / rows; }
};

// Finds the pool of neighbouring cells of a side that begins with the first one, and returns its end: to take their coins as of
// equal q makes their variance too large by 2^-24 of itself at most. Rows of small q are many and their pools few.
inline Index find_pool(const Coins &coins, Index first, Index end, Pool &pool) {
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
    pool = {rows, s1, s2};
    return last;
}

// The pools of windows, which have most of their cells in common: what is known of the last blocks of cells is kept.
class Pools {
  public:
    // Calls use(first, n, q) for the pools of cells [begin, end).
    template <class Use> void each(const Coins &coins, Index begin, Index end, Use use) {
        for (Index at = begin; at < end;) {
            const Block &own = find(coins, at / size, end);
            const Index offset = at / size * size;
            for (const Index stop = std::min(offset + size, end); at < stop;) {
                const Index i = at - offset;
                if (own.alone[i] || at + 1 == end) {
                    use(at, coins.n[at], own.q[i]);
                    ++at;
                } else {
                    Pool pool;
                    const Index last = find_pool(coins, at, end, pool);
                    use(at, pool.n(), pool.q());
                    at = last;
                }
            }
        }
    }

  private:
    static constexpr Index size = 64, count = 16;
    struct Block {
        Index number = -1, end = 0; // of the block; of the cells that were seen
        double q[size];
        bool alone[size]; // whether the pool that begins with a cell ends with it
    };
    std::vector<Block> kept_;

    const Block &find(const Coins &coins, Index number, Index end) {
        if (kept_.empty()) kept_.resize(count);
        Block &found = kept_[static_cast<std::size_t>(number % count)];
        const Index first = number * size, last = std::min(first + size, end);
        if (found.number == number && found.end >= std::min(last + 1, end)) return found;
        found.number = number;
        found.end = std::min(last + 1, end);
        for (Index i = first; i < last; ++i) found.q[i - first] = coins.s1[i] / static_cast<double>(coins.n[i]);
        for (Index i = first; i + 1 < found.end; ++i) {
            const double rows = static_cast<double>(coins.n[i] + coins.n[i + 1]), s1 = coins.s1[i] + coins.s1[i + 1];
            const double s2 = coins.s2[i] + coins.s2[i + 1];
            found.alone[i - first] = (coins.upper[i] != coins.upper[i + 1]) | (s2 * rows - s1 * s1 > 0x1p-24 * s1 * rows);
        }
        return found;
    }
};

// Memory for the computed distributions of one thread, of coins that stay as they are.
struct Workspace {
    Heads low, high;
    Pools pools;
};

// How precisely chances are computed: of pools of cells, twelve digits of those that are not small; of pools, all digits; of
// each cell by itself.
enum class Digits { twelve, all, exact };

// Tosses all coins, those of upper cells by themselves, whose number it returns.
inline Index toss_all(const Coins &coins, Index begin, Index end, Digits digits, double nothing, Workspace &space) {
    Heads &low = space.low, &high = space.high;
    low.clear(digits == Digits::twelve, nothing);
    high.clear(digits == Digits::twelve, nothing);
    Index upper = 0;
    const auto add = [&](Index first, Index n, double q) {
        (coins.upper[first] ? high : low).add(n, q);
        upper += coins.upper[first] ? n : 0;
    };
    if (digits == Digits::exact)
        for (Index i = begin; i < end; ++i) add(i, coins.n[i], coins.s1[i] / static_cast<double>(coins.n[i]));
    else space.pools.each(coins, begin, end, add);
    return upper;
}

inline Tails computed_tails(const Coins &coins, Index begin, Index end, Index k, Digits digits, bool mid_p, Workspace &space) {
    const Index upper = toss_all(coins, begin, end, digits, digits == Digits::twelve ? 1e-22 : Heads::nothing, space);
    return Heads::difference(space.low, space.high, k - upper, mid_p);
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
            for (Index first = begin, last; first < end; first = last) {
                Pool pool;
                last = find_pool(coins, first, end, pool);
                use(pool.n(), pool.q());
            }
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
