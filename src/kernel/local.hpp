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

// What each of the cells [first, last) of a group costs of a window, in units of 2^-30.
inline void window_costs(const Index *n, const double *v, Index first, Index last, Index *cost) {
    if (first == last) return;
    Index rows = 0;
    for (Index i = first; i < last; ++i) rows += n[i];
    const double information = v[first] + pairwise_sum(v + first + 1, last - first - 1);
    const double m = std::pow(static_cast<double>(rows), 2.0 / 3), w = std::pow(information > 0 ? information : 1.0, 2.0 / 3);
    for (Index i = first; i < last; ++i)
        cost[i] = static_cast<Index>(std::nearbyint(std::max(static_cast<double>(n[i]) / m, v[i] / w) * 0x1p30));
}

// Where the windows of one of the eight grids begin in the cells [begin, end). `cost` is in units of 2^-30.
inline void window_starts(const Index *cost, Index begin, Index end, int grid, std::vector<Index> &starts) {
    constexpr Index one = Index(1) << 30, half = one / 2;
    const Index phase = grid * (one / 8);
    for (Index i = begin; i < end;) {
        starts.push_back(i);
        if (cost[i] >= one) { // stands alone
            ++i;
            continue;
        }
        Index last = i, run = 0;
        while (last < end && cost[last] < one) run += cost[last++];
        Index next = grid >= 4 ? phase : one + phase, sum = 0;
        for (; i + 1 < last; ++i) {
            sum += cost[i];
            if (sum < next || run - sum < half) continue;
            starts.push_back(i + 1);
            next = sum < phase ? phase : phase + ((sum - phase) / one + 1) * one;
            if (next < sum + half) next += one;
        }
        i = last;
    }
}

struct LocalShares {
    std::vector<Index> rows;       // of each window of the first grid
    std::vector<double> low, high; // the share of it that is refuted as too low and as too high
};

// Of one group of cells. A window that several grids have is tested once.
template <class Pause> LocalShares local_shares(const Coins &coins, Index size, double significance, Pause pause) {
    struct Tested {
        Index end = 0;
        Shares refuted{0, 0};
    };
    const auto count = static_cast<std::size_t>(size);
    std::vector<double> v(count);
    std::vector<Index> cost(count), before(count + 1, 0), first, starts;
    for (std::size_t i = 0; i < count; ++i) {
        v[i] = std::max(coins.s1[i] - coins.s2[i], 0.0);
        before[i + 1] = before[i] + coins.n[i];
    }
    window_costs(coins.n, v.data(), 0, size, cost.data());
    window_starts(cost.data(), 0, size, 0, first);
    first.push_back(size);
    LocalShares found;
    for (std::size_t w = 0; w + 1 < first.size(); ++w)
        found.rows.push_back(before[static_cast<std::size_t>(first[w + 1])] - before[static_cast<std::size_t>(first[w])]);
    std::vector<double> whole(found.rows.size(), 0.0);
    found.low = found.high = whole;
    std::vector<Tested> tested(count);
    Workspace space;
    for (int grid = 0; grid < grids; ++grid) {
        starts.clear();
        window_starts(cost.data(), 0, size, grid, starts);
        starts.push_back(size);
        std::size_t own = 0; // the window of the first grid
        for (std::size_t w = 0; w + 1 < starts.size(); ++w) {
            const Index begin = starts[w], end = starts[w + 1];
            Tested &known = tested[static_cast<std::size_t>(begin)];
            if (known.end != end) {
                pause();
                known = {end, decide(coins, begin, end, count_heads(coins, begin, end), significance / 2, space)};
            }
            for (Index at = begin; at < end;) { // what it has in common with windows of the first grid
                if (first[own + 1] <= at) ++own;
                const Index stop = std::min(end, first[own + 1]);
                const auto rows = static_cast<double>(before[static_cast<std::size_t>(stop)] - before[static_cast<std::size_t>(at)]);
                whole[own] += rows;
                found.low[own] += rows * known.refuted.low;
                found.high[own] += rows * known.refuted.high;
                at = stop;
            }
        }
    }
    for (std::size_t w = 0; w < whole.size(); ++w) {
        found.low[w] /= whole[w];
        found.high[w] /= whole[w];
    }
    return found;
}

} // namespace truecal
