// Local TCE: what cells cost of a window, the windows of its eight grids, and how much of each window of the first grid is
// rejected. `metrics/_local.py` has the definitions.
#pragma once

#include "poisson_binomial.hpp"

#include <cmath>
#include <memory>
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

// The larger of n a and v b, rounded to even as by `std::nearbyint`.
static TRUECAL_CLONES void list_costs(const Index *__restrict n, const double *__restrict v, Index size, double a, double b,
                                      Index *__restrict cost) {
    for (Index i = 0; i < size; ++i) {
        const double rows = lanes::number(static_cast<std::uint64_t>(n[i]));
        const double shifted = std::max(rows * a, v[i] * b) + lanes::big;
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
    list_costs(n + first, v + first, last - first, 0x1p30 / m, 0x1p30 / w, cost + first);
}

// Where the windows of each of the eight grids begin in the cells [begin, end). `cost` is in units of 2^-30.
class WindowGrids {
  public:
    WindowGrids(const Index *cost, Index begin, Index end)
        : begin_(begin), before_(new Index[static_cast<std::size_t>(end - begin + 1)]) {
        reached_.reserve(128);
        Index largest = 0;
        before_[0] = 0;
        for (Index i = begin; i < end; ++i) {
            before_[static_cast<std::size_t>(i - begin) + 1] = sum(i) + cost[i];
            largest = std::max(largest, cost[i]);
        }
        for (Index first = begin, last; first < end; first = last) {
            last = largest < one ? end : first + 1;
            const bool heavy = cost[first] >= one;
            while (!heavy && last < end && cost[last] < one) ++last;
            runs_.push_back({first, static_cast<Index>(reached_.size())});
            for (Index at = first, next = sum(first); !heavy && at < last; next += eighth) {
                while (at < last && sum(at) < next) ++at;
                if (at < last) reached_.push_back(at);
            }
        }
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
    std::unique_ptr<Index[]> before_; // the cost of all cells before each
    std::vector<Run> runs_;
    std::vector<Index> reached_;

    Index sum(Index at) const { return before_[static_cast<std::size_t>(at - begin_)]; }
};

struct LocalShares {
    std::vector<Index> rows;       // of each window of the first grid
    std::vector<double> low, high; // the share of it that is rejected as too low and as too high
};

// The windows of the eight grids of some cells, one grid after the other.
struct GridWindows {
    std::vector<Index> starts; // of each window; each grid ends with the number of cells
    std::size_t first[grids];  // the first one of each grid
    std::vector<Sides> sides;  // the sums of each
};

// Adds up every window of the eight grids in one pass: cells between two starts of any of them are added once. Sets the rows
// and
// positives before each start.
inline void sum_windows(const TrialCells &trials, Index size, GridWindows &windows, Index *before, Index *positives) {
    const Index middle = std::partition_point(trials.upper, trials.upper + size, [](bool u) { return !u; }) - trials.upper;
    double sums[3][grids] = {};
    std::size_t window[grids];
    Index end[grids];
    windows.sides.resize(windows.starts.size());
    for (int g = 0; g < grids; ++g) {
        window[g] = windows.first[g];
        end[g] = windows.starts[window[g] + 1];
    }
    before[0] = positives[0] = 0;
    for (Index at = 0; at < size;) {
        Index stop = at < middle ? middle : size;
        for (int g = 0; g < grids; ++g) stop = std::min(stop, end[g]);
        const Side own = add_cells(trials, at, stop);
        before[stop] = before[at] + own.n;
        positives[stop] = positives[at] + count_positives(trials, at, stop);
        for (int g = 0; g < grids; ++g) {
            sums[0][g] += own.s1;
            sums[1][g] += own.s2;
            sums[2][g] += own.s3;
        }
        for (int g = 0; g < grids; ++g) {
            if (stop != end[g] && stop != middle) continue;
            const Index begin = windows.starts[window[g]];
            Sides &sides = windows.sides[window[g]];
            sides.middle = std::min(std::max(middle, begin), end[g]);
            const Index from = stop <= middle ? begin : std::max(begin, middle);
            (stop <= middle ? sides.low : sides.high) = {before[stop] - before[from], sums[0][g], sums[1][g], sums[2][g]};
            for (int c = 0; c < 3; ++c) sums[c][g] = 0;
            if (stop == end[g]) end[g] = windows.starts[++window[g] + 1];
        }
        at = stop;
    }
}

// Of one group of cells. A window that several grids have is tested once.
template <class Pause> LocalShares local_shares(const TrialCells &trials, Index size, double significance, Pause pause) {
    struct Tested {
        Index begin, end;
        Shares rejected;
    };
    const auto count = static_cast<std::size_t>(size);
    const std::unique_ptr<double[]> v(new double[count]);
    const std::unique_ptr<Index[]> room(new Index[3 * count + 2]);
    Index *const cost = room.get(), *const before = cost + size, *const positives = before + size + 1;
    for (std::size_t i = 0; i < count; ++i) v[i] = std::max(trials.s1[i] - trials.s2[i], 0.0);
    window_costs(trials.n, v.get(), 0, size, cost);
    const WindowGrids grid(cost, 0, size);
    GridWindows windows;
    windows.starts.reserve(128);
    for (int g = 0; g < grids; ++g) {
        windows.first[g] = windows.starts.size();
        grid.add_starts(g, windows.starts);
        windows.starts.push_back(size);
    }
    windows.starts.push_back(size);
    sum_windows(trials, size, windows, before, positives);
    const Index *const first = windows.starts.data();
    LocalShares found;
    found.low = found.high = std::vector<double>(windows.first[1] - 1, 0.0);
    found.rows.reserve(found.low.size());
    for (std::size_t w = 0; w + 1 < windows.first[1]; ++w) found.rows.push_back(before[first[w + 1]] - before[first[w]]);
    std::vector<Tested> tested;
    std::vector<std::uint32_t> last(count, 0), own; // the number of those tested when the last window was that begins at a cell
    tested.reserve(windows.starts.size());
    own.reserve(windows.starts.size());
    Workspace space;
    const double limit = significance / 2;
    WaitingWindows waiting;
    for (std::size_t w = 0; w + 2 < windows.starts.size(); ++w) {
        const Index begin = windows.starts[w], end = windows.starts[w + 1];
        if (begin >= end) continue; // the end of a grid
        std::uint32_t &known = last[static_cast<std::size_t>(begin)];
        if (known == 0 || tested[known - 1].end != end) {
            pause();
            const Law law = choose_law(windows.sides[w], begin, end, positives[end] - positives[begin], false);
            Tested window{begin, end, {}};
            if (!decide(trials, begin, end, law, limit, window.rejected)) waiting.add(tested.size(), {begin, end, law.rows, law.k});
            tested.push_back(window);
            known = static_cast<std::uint32_t>(tested.size());
        }
        own.push_back(known - 1);
    }
    waiting.finish(trials, false, space, [&](std::size_t number, const Tails &tails) {
        tested[number].rejected = {rejected_share(limit, tails.above, tails.at), rejected_share(limit, tails.below, tails.at)};
    });
    for (const std::uint32_t number : own) {
        const Tested &window = tested[number];
        if (window.rejected.low == 0 && window.rejected.high == 0) continue;
        auto at = static_cast<std::size_t>(std::upper_bound(first, first + windows.first[1], window.begin) - first - 1);
        for (Index from = window.begin; from < window.end; ++at) { // what it has in common with windows of the first grid
            const Index stop = std::min(window.end, first[at + 1]);
            const auto rows = static_cast<double>(before[stop] - before[from]);
            found.low[at] += rows * window.rejected.low;
            found.high[at] += rows * window.rejected.high;
            from = stop;
        }
    }
    for (std::size_t w = 0; w < found.rows.size(); ++w) {
        const double whole = static_cast<double>(grids) * static_cast<double>(found.rows[w]);
        found.low[w] /= whole;
        found.high[w] /= whole;
    }
    return found;
}

// The percentage of rows that are rejected.
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
