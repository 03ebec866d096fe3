// Groups of cells laid end to end: the same in coarser cells, how the verdict's scans cut each of them, the walk of its
// differences and their squares, and what a factor on the odds would change.
#pragma once

#include "keys.hpp"
#include "limits.hpp"
#include "local.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace truecal {

// Windows [begin, end) of cells, in levels; `first` says where a level begins among the windows, `group` whose it is.
struct Levels {
    std::vector<Index> begin, end, first, group;
};

// The first cell from `at` on at whose end a share is reached, or their number: looked for ever farther away, then by halves.
// `running` is the weight before each cell, and of all.
inline Index first_reaching(const std::vector<double> &running, Index at, double share) {
    const Index size = static_cast<Index>(running.size()) - 1;
    Index step = 1;
    for (; at + step <= size && running[static_cast<std::size_t>(at + step)] < share; step *= 2) at += step;
    const auto first = running.begin() + at + 1, last = running.begin() + std::min(at + step, size) + 1;
    return std::lower_bound(first, last, share) - running.begin() - 1;
}

// Level L = 0, 1, ... cuts the weight of a group's cells into 2^(L + 1) equal parts, as long as two of them weigh more than
// the smallest. A part ends with the cell in which its share is reached, up to rounding; parts within one cell are empty.
// Windows are the parts that are not empty. With `pairs` they are two neighbouring parts each that weigh more than the
// smallest, no window twice in a row; level 0 is the whole group. Levels without a window are left out.
inline void cut_levels(const double *weight, Index first, Index last, double smallest, bool pairs, Index group,
                       Levels &found) {
    const Index size = last - first;
    std::vector<double> running(static_cast<std::size_t>(size) + 1, 0.0);
    for (Index i = 0; i < size; ++i)
        running[static_cast<std::size_t>(i) + 1] = running[static_cast<std::size_t>(i)] + weight[first + i];
    const double total = running.back();
    std::vector<Index> ends;
    for (int level = 0; level == 0 || (level < 60 && std::ldexp(total, -level) > smallest); ++level) {
        const Index parts = Index(2) << level;
        const double share = total / static_cast<double>(parts) * (1 - 1e-12);
        ends.assign(1, 0);
        Index at = 0, run = 0; // the first cell at whose end the share is reached, and how many parts end there
        for (Index i = 1; i < parts; ++i) {
            const Index before = at;
            at = first_reaching(running, at, static_cast<double>(i) * share);
            run = at == before ? run + 1 : 1;
            ends.push_back(std::min(at + 1, size));
            if (run < 3) continue; // more that end there make no other windows: go on to the last but one of them
            const double reached = at < size ? running[static_cast<std::size_t>(at) + 1] / share - 2 : 0x1p62;
            i = std::max(i, reached < static_cast<double>(parts) ? static_cast<Index>(reached) : parts - 1);
        }
        ends.push_back(size);
        const std::size_t step = pairs ? 2 : 1, before = found.begin.size();
        for (std::size_t i = 0; i + step < ends.size(); ++i) {
            const Index b = ends[i], e = ends[i + step];
            const bool same = i > 0 && b == ends[i - 1] && e == ends[i + step - 1];
            const bool light = pairs && level > 0 &&
                               !(running[static_cast<std::size_t>(e)] - running[static_cast<std::size_t>(b)] > smallest);
            if (b == e || same || light) continue;
            found.begin.push_back(first + b);
            found.end.push_back(first + e);
        }
        if (found.begin.size() == before) continue;
        found.first.push_back(static_cast<Index>(before));
        found.group.push_back(group);
    }
}

// Of the number X of positives in some cells: observed minus expected, and the cumulants k2 = v, k3, k4 and k6.
struct Cumulants {
    double surplus = 0, v = 0, k3 = 0, k4 = 0, k6 = 0;

    void add(const Cumulants &other) {
        surplus += other.surplus;
        v += other.v;
        k3 += other.k3;
        k4 += other.k4;
        k6 += other.k6;
    }
};

// Cells of n rows; q is the probability of a positive, or of a negative in the `upper` ones, v the sum of q (1 - q).
struct SquareCells {
    const Index *n;
    const double *q, *v, *surplus;
    const bool *upper;

    Cumulants at(Index i) const {
        const double w = q[i] * (1 - q[i]), all = static_cast<double>(n[i]) * w;
        return {surplus[i], v[i], all * (1 - 2 * q[i]) * (upper[i] ? -1 : 1), all * (1 - 6 * w),
                all * (1 - 30 * w + 120 * w * w)};
    }
};

// Sums of (X - E X)^2 / v over the parts of each level of a group with v from the smallest on. A square has the mean 1, the
// variance 2 + k4 / v^2 and the third cumulant 8 + 12 k4 / v^2 + 10 k3^2 / v^3 + k6 / v^3; a sum is held against the gamma
// distribution with its first three. Adds the tails, of levels that have a sum.
inline void add_square_tails(const SquareCells &cells, Index first, Index last, double smallest, std::vector<double> &tails) {
    Levels levels;
    cut_levels(cells.v, first, last, 2 * smallest, false, 0, levels);
    if (levels.first.empty()) return;
    const auto finest = static_cast<std::size_t>(levels.first.back()), size = levels.begin.size();
    std::vector<Cumulants> parts(size - finest); // of the last level, of which those of the others are made
    for (std::size_t i = finest; i < size; ++i)
        for (Index cell = levels.begin[i]; cell < levels.end[i]; ++cell) parts[i - finest].add(cells.at(cell));
    for (std::size_t level = 0; level < levels.first.size(); ++level) {
        const std::size_t next = level + 1 < levels.first.size() ? static_cast<std::size_t>(levels.first[level + 1]) : size;
        double squares = 0, variance = 0, third = 0;
        std::size_t part = finest;
        for (auto i = static_cast<std::size_t>(levels.first[level]); i < next; ++i) {
            Cumulants x;
            for (; part < size && levels.end[part] <= levels.end[i]; ++part) x.add(parts[part - finest]);
            if (!(x.v >= smallest)) continue;
            const double v2 = x.v * x.v, v3 = v2 * x.v;
            squares += x.surplus * x.surplus / x.v - 1;
            variance += 2 + x.k4 / v2;
            third += 8 + 12 * x.k4 / v2 + 10 * x.k3 * x.k3 / v3 + x.k6 / v3;
        }
        if (variance == 0) continue;
        const double shape = 4 * variance * variance * variance / (third * third);
        tails.push_back(gamma_tail(shape, shape + std::sqrt(shape) * squares / std::sqrt(variance)));
    }
}

// Where cells of fewer bits begin in groups of cells, and where in these each group does.
struct Coarse {
    std::vector<Index> begin, starts;
};

// `key`: the cells in increasing order within each group; those from 0.5 up have the leading bits of 1 - key.
inline Coarse coarsen(const double *key, const Index *starts, Index groups, int bits) {
    constexpr double lift = 0x1p200; // of numbers below the normal ones
    Coarse found;
    found.begin.resize(static_cast<std::size_t>(starts[groups]));
    found.starts.resize(static_cast<std::size_t>(groups) + 1);
    Index count = 0;
    for (Index group = 0; group < groups; ++group) {
        found.starts[static_cast<std::size_t>(group)] = count;
        std::uint64_t last = ~std::uint64_t(0);
        for (Index i = starts[group]; i < starts[group + 1]; ++i) {
            const bool upper = key[i] >= 0.5;
            const std::uint64_t lead = bit_cast<std::uint64_t>((upper ? 1 - key[i] : key[i]) * lift) >> (53 - bits);
            const std::uint64_t own = lead << 1 | upper;
            found.begin[static_cast<std::size_t>(count)] = i;
            count += own != last;
            last = own;
        }
    }
    found.starts.back() = count;
    found.begin.resize(static_cast<std::size_t>(count));
    return found;
}

// The sums of a column over runs of rows that begin here, none of them empty: to the last bit those of NumPy's `reduceat`.
template <class T> void add_runs(const T *column, const std::vector<Index> &begin, Index size, T *sums) {
    for (std::size_t run = 0; run < begin.size(); ++run) {
        const Index first = begin[run] + 1, last = run + 1 < begin.size() ? begin[run + 1] : size;
        T rest = 0;
        if constexpr (std::is_same_v<T, double>) {
            if (last - first >= 8) {
                sums[run] = column[first - 1] + pairwise_sum(column + first, last - first);
                continue;
            }
        }
        for (Index i = first; i < last; ++i) rest += column[i];
        sums[run] = column[first - 1] + rest;
    }
}

// The range of a walk from 0.
inline double walk_range(const double *step, Index first, Index last) {
    double at = 0, low = 0, high = 0;
    for (Index i = first; i < last; ++i) {
        at += step[i];
        low = std::min(low, at);
        high = std::max(high, at);
    }
    return high - low;
}

// Adds to sums, of every eighth cell each: by how much the outcomes of probability q grow with all odds of these multiplied
// by a
// factor, and their variance then.
static TRUECAL_CLONES void add_shifts(const double *__restrict n, const double *__restrict q, Index size, double factor,
                                      double *__restrict sums) {
    constexpr Index lanes = 8;
    for (; size > 0; size -= lanes, n += lanes, q += lanes) {
        const auto add = [&](Index l) {
            const double moved = factor * q[l] / (1 - q[l] + factor * q[l]);
            sums[l] += n[l] * (moved - q[l]);
            sums[lanes + l] += n[l] * moved * (1 - moved);
        };
        if (size >= lanes)
            for (Index l = 0; l < lanes; ++l) add(l);
        else
            for (Index l = 0; l < size; ++l) add(l);
    }
}

// By how much the positives of cells grow with all odds multiplied by a factor, and their variance then. q is the probability
// of a positive, or of a negative in the `upper` ones, which come last.
inline std::pair<double, double> shift(const double *n, const double *q, const bool *upper, Index first, Index last,
                                       double factor) {
    const Index middle = std::partition_point(upper + first, upper + last, [](bool u) { return !u; }) - upper;
    double low[16] = {}, high[16] = {};
    add_shifts(n + first, q + first, middle - first, factor, low);
    add_shifts(n + middle, q + middle, last - middle, 1 / factor, high);
    double change = 0, spread = 0;
    for (int l = 0; l < 8; ++l) {
        change += low[l] - high[l];
        spread += low[8 + l] + high[8 + l];
    }
    return {change, spread};
}

// Cells [first, last) in which a factor on all odds is looked for: it is found where the total leaves the limit by `wanted`
// standard deviations, of which `reach` are seen; where the odds may go `up` or `down`, whichever they do.
struct Search {
    const double *n, *q;
    const bool *upper;
    Index first, last;
    double reach, limit, wanted;
    bool up, down;

    bool misses(double log_factor) const {
        const auto missed = [&](double t) {
            const auto [change, spread] = shift(n, q, upper, first, last, std::exp(t));
            return (reach * std::abs(change) - limit) / std::sqrt(std::max(spread, 1e-300)) < wanted;
        };
        return (up && missed(log_factor)) || (down && missed(-log_factor));
    }

    // The logarithm from which on factors are found, to a part in a thousand; infinite beyond the largest.
    double find(double largest) const {
        if (misses(largest)) return std::numeric_limits<double>::infinity();
        double low = 0, high = 1;
        while (high < largest && misses(high)) {
            low = high;
            high = std::min(2 * high, largest);
        }
        while (high - low > 1e-3 * high) {
            const double middle = (low + high) / 2;
            (misses(middle) ? low : high) = middle;
        }
        return high;
    }
};

} // namespace truecal
