// Local TCE: what cells cost of a window, the windows of its eight grids, and how much of each window of the first grid is
// refuted. `metrics/_local.py` has the definitions.
#pragma once

#include "poisson_binomial.hpp"

#include <cmath>
#include <vector>

namespace truecal {

constexpr int grids = 8;

// As NumPy adds up: in halves of halves down to 128 numbers, and these in eight sums.
inline double pairwise_sum(const double *x, Index size) {
    if (size > 128) {
        const Index half = size / 2 - size / 2 % 8;
        return pairwise_sum(x, half) + pairwise_sum(x + half, size - half);
    }
    double sum = 0;
    Index i = 0;
    if (size >= 8) {
        double part[8];
        for (; i < 8; ++i) part[i] = x[i];
        for (; i < size - size % 8; i += 8)
            for (Index j = 0; j < 8; ++j) part[j] += x[i + j];
        sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    }
    for (; i < size; ++i) sum += x[i];
    return sum;
}

// The larger of n / m and v / w in units of 2^-30, rounded to even as by `std::nearbyint`.
static TRUECAL_CLONES void list_costs(const Index *__restrict n, const double *__restrict v, Index size, double m, double w,
                                      Index *__restrict cost) {
    for (Index i = 0; i < size; ++i) {
        const double rows = bit_cast<double>(static_cast<std::uint64_t>(n[i]) | lanes::ground()) - lanes::big;
        const double shifted = std::max(rows / m, v[i] / w) * 0x1p30 + lanes::big;
        cost[i] = static_cast<Index>(bit_cast<std::uint64_t>(shifted) - lanes::ground());
    }
}

// What each of the cells [first, last) of a group costs of a window, in units of 2^-30.
inline void window_costs(const Index *n, const double *v, Index first, Index last, Index *cost) {
    if (first == last) return;
    Index rows = 0;
    for (Index i = first; i < last; ++i) rows += n[i];
    const double information = v[first] + pairwise_sum(v + first + 1, last - first - 1);
    const double m = std::pow(static_cast<double>(rows), 2.0 / 3), w = std::pow(information > 0 ? information : 1.0, 2.0 / 3);
    list_costs(n + first, v + first, last - first, m, w, cost + first);
}

// Where the windows of each of the eight grids begin in the cells [begin, end). `cost` is in units of 2^-30.
class WindowGrids {
  public:
    WindowGrids(const Index *cost, Index begin, Index end) : begin_(begin), before_(static_cast<std::size_t>(end - begin + 1)) {
        bool heavy = true;
        Index sum = 0, next = 0;
        for (Index i = begin; i < end; ++i) {
            if (heavy || cost[i] >= one) {
                runs_.push_back({i, static_cast<Index>(reached_.size())});
                next = sum;
            }
            heavy = cost[i] >= one;
            before_[static_cast<std::size_t>(i - begin)] = sum;
            for (; next <= sum && !heavy; next += eighth) reached_.push_back(i);
            sum += cost[i];
        }
        before_.back() = sum;
        runs_.push_back({end, static_cast<Index>(reached_.size())});
    }

    void add_starts(int grid, std::vector<Index> &starts) const {
        constexpr Index half = one / 2;
        const Index phase = grid * eighth;
        for (std::size_t run = 0; run + 1 < runs_.size(); ++run) {
            const Index last = runs_[run + 1].begin, base = sum(runs_[run].begin), whole = sum(last) - base;
            Index at = runs_[run].begin, next = grid >= 4 ? phase : one + phase;
            for (;;) {
                starts.push_back(at);
                const Index reached = runs_[run].reached + next / eighth; // the first cell before which there is so much
                at = reached < runs_[run + 1].reached ? std::max(reached_[static_cast<std::size_t>(reached)], at + 1) : last;
                const Index sum_ = sum(at) - base;
                if (at == last || whole - sum_ < half) break;
                next = sum_ < phase ? phase : phase + ((sum_ - phase) / one + 1) * one;
                if (next < sum_ + half) next += one;
            }
        }
    }

  private:
    // Cells from one on that are light, or a heavy one by itself; where those are listed before which there are 0, 1, 2, ...
    // eighths of a window, or more.
    struct Run {
        Index begin, reached;
    };
    static constexpr Index one = Index(1) << 30, eighth = one / 8;
    Index begin_;
    std::vector<Index> before_; // the cost of all cells before each
    std::vector<Run> runs_;
    std::vector<Index> reached_;

    Index sum(Index at) const { return before_[static_cast<std::size_t>(at - begin_)]; }
};

struct LocalShares {
    std::vector<Index> rows;       // of each window of the first grid
    std::vector<double> low, high; // the share of it that is refuted as too low and as too high
};

// Adds the sums of some cells, one after the other, to those of the open window of each grid.
static TRUECAL_CLONES void add_to_grids(const double *__restrict s1, const double *__restrict s2, const double *__restrict s3,
                                        Index size, double *__restrict sums) {
    double first[grids], second[grids], third[grids];
    for (int g = 0; g < grids; ++g) {
        first[g] = sums[g];
        second[g] = sums[grids + g];
        third[g] = sums[2 * grids + g];
    }
    for (Index i = 0; i < size; ++i)
        for (int g = 0; g < grids; ++g) {
            first[g] += s1[i];
            second[g] += s2[i];
            third[g] += s3[i];
        }
    for (int g = 0; g < grids; ++g) {
        sums[g] = first[g];
        sums[grids + g] = second[g];
        sums[2 * grids + g] = third[g];
    }
}

// The sums of every window of the eight grids, added up in one pass: eight sums that do not wait for each other take the
// time of one. `before`: rows before each cell.
inline void sum_windows(const Coins &coins, Index size, const Index *before, const std::vector<Index> (&starts)[grids],
                        std::vector<Sides> (&found)[grids]) {
    const Index middle = std::partition_point(coins.upper, coins.upper + size, [](bool u) { return !u; }) - coins.upper;
    double sums[3 * grids] = {};
    std::size_t window[grids] = {};
    for (int g = 0; g < grids; ++g) found[g].resize(starts[g].size() - 1);
    const auto close = [&](int g, Index begin, Index end, Side &side) {
        side = {before[end] - before[begin], sums[g], sums[grids + g], sums[2 * grids + g]};
        sums[g] = sums[grids + g] = sums[2 * grids + g] = 0;
    };
    for (Index at = 0; at < size;) {
        Index stop = at < middle ? middle : size;
        for (int g = 0; g < grids; ++g) stop = std::min(stop, starts[g][window[g] + 1]);
        add_to_grids(coins.s1 + at, coins.s2 + at, coins.s3 + at, stop - at, sums);
        for (int g = 0; g < grids; ++g) {
            const Index begin = starts[g][window[g]], end = starts[g][window[g] + 1];
            if (stop != end && stop != middle) continue;
            Sides &own = found[g][window[g]];
            own.middle = std::min(std::max(middle, begin), end);
            if (stop <= middle) close(g, begin, stop, own.low);
            else close(g, std::max(begin, middle), stop, own.high);
            window[g] += stop == end;
        }
        at = stop;
    }
}

// Of one group of cells. A window that several grids have is tested once.
template <class Pause> LocalShares local_shares(const Coins &coins, Index size, double significance, Pause pause) {
    struct Tested {
        Index end;
        Shares refuted;
    };
    const auto count = static_cast<std::size_t>(size);
    std::vector<double> v(count);
    std::vector<Index> cost(count), before(count + 1, 0), positives(count + 1, 0), starts[grids];
    std::vector<Sides> sides[grids];
    for (std::size_t i = 0; i < count; ++i) {
        v[i] = std::max(coins.s1[i] - coins.s2[i], 0.0);
        before[i + 1] = before[i] + coins.n[i];
        positives[i + 1] = positives[i] + coins.heads[i];
    }
    window_costs(coins.n, v.data(), 0, size, cost.data());
    const WindowGrids windows(cost.data(), 0, size);
    for (int grid = 0; grid < grids; ++grid) {
        windows.add_starts(grid, starts[grid]);
        starts[grid].push_back(size);
    }
    sum_windows(coins, size, before.data(), starts, sides);
    const auto between = [](const std::vector<Index> &running, Index begin, Index end) {
        return running[static_cast<std::size_t>(end)] - running[static_cast<std::size_t>(begin)];
    };
    const std::vector<Index> &first = starts[0];
    LocalShares found;
    for (std::size_t w = 0; w + 1 < first.size(); ++w) found.rows.push_back(between(before, first[w], first[w + 1]));
    found.low = found.high = std::vector<double>(found.rows.size(), 0.0);
    std::vector<Tested> tested;
    std::vector<std::uint32_t> last(count, 0); // the number of those tested when the last window was that begins at a cell
    Workspace space;
    for (int grid = 0; grid < grids; ++grid) {
        std::size_t own = 0; // the window of the first grid
        for (std::size_t w = 0; w + 1 < starts[grid].size(); ++w) {
            const Index begin = starts[grid][w], end = starts[grid][w + 1];
            std::uint32_t &known = last[static_cast<std::size_t>(begin)];
            if (known == 0 || tested[known - 1].end != end) {
                pause();
                const Law law = choose_law(sides[grid][w], begin, end, between(positives, begin, end), false);
                tested.push_back({end, decide(coins, begin, end, law, significance / 2, space)});
                known = static_cast<std::uint32_t>(tested.size());
            }
            const Shares refuted = tested[known - 1].refuted;
            if (refuted.low == 0 && refuted.high == 0) continue;
            for (Index at = begin; at < end;) { // what it has in common with windows of the first grid
                while (first[own + 1] <= at) ++own;
                const Index stop = std::min(end, first[own + 1]);
                const auto rows = static_cast<double>(between(before, at, stop));
                found.low[own] += rows * refuted.low;
                found.high[own] += rows * refuted.high;
                at = stop;
            }
        }
    }
    for (std::size_t w = 0; w < found.rows.size(); ++w) {
        const double whole = static_cast<double>(grids) * static_cast<double>(found.rows[w]);
        found.low[w] /= whole;
        found.high[w] /= whole;
    }
    return found;
}

// The percentage of rows that are refuted.
inline double local_value(const LocalShares &found) {
    std::vector<double> parts;
    Index rows = 0;
    for (std::size_t w = 0; w < found.rows.size(); ++w) {
        parts.push_back(static_cast<double>(found.rows[w]) * (100 * std::min(found.low[w] + found.high[w], 1.0)));
        rows += found.rows[w];
    }
    return pairwise_sum(parts.data(), static_cast<Index>(parts.size())) / static_cast<double>(rows);
}

} // namespace truecal
