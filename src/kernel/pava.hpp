// Bins: PAVA-BC and quantiles, as starts among sorted entries.
#pragma once

#include "threads.hpp"

#include <limits>

namespace truecal {

struct Block {
    Index start, n, k;
};

// The entries from the highest score down, positives and negatives exchanged.
template <class Entries> struct FromTop {
    static constexpr bool single_rows = Entries::single_rows;
    const Entries &entries;
    Index size;

    Counts at(Index i) const {
        const Counts c = entries.at(size - 1 - i);
        return {c.n, c.n - c.k};
    }
    bool same(Index i, Index j) const { return entries.same(size - 1 - i, size - 1 - j); }
};

// Single rows: where among the next `heavy` entries a score with that many rows begins; the end of them if none does.
template <class Entries> Index find_heavy(const Entries &e, Index begin, Index end, Index heavy) {
    const Index at = begin + heavy - 1; // a row of any such score
    if (at >= end) return end;
    Index lo = begin, hi = at;
    while (lo < hi) {
        const Index mid = lo + (hi - lo) / 2;
        if (e.same(mid, at)) hi = mid;
        else lo = mid + 1;
    }
    return lo + heavy <= end && e.same(lo, lo + heavy - 1) ? lo : at + 1;
}

template <class Entries> Index count_positives(const Entries &e, Index begin, Index end) {
    Index sum = 0;
    for (Index i = begin; i < end; ++i) sum += e.at(i).k;
    return sum;
}

// PAVA-BC, Algorithm 1 of the paper with weights and ties. In its line numbers:
//   2-3  groups of equal scores are pushed, not single labels; the tail that line 2 leaves out is the
//        shortest run of whole groups that holds n_min observations;
//   5    "the left block holds n_min": the same thing while single labels are pushed;
//   7    the rates are compared as products of integers; `cross` is their difference, left.k * n - k * left.n,
//        kept up to date while the left block stands still;
//   10   a last block below n_min takes the tail whatever the sum.
// With `Atoms` a score that holds n_min rows, and two or more, is heavy:
//   2    the tail stops before a heavy score;
//   5    a block below n_min does not join a heavy score unless the rates fall, nor anything beyond n_max;
//   10   the tail joins up to n_max, and a block with a heavy score only if the rates fall.
// `Product` must hold the square of the total.
template <bool Atoms, class Product, class Entries>
std::vector<Block> scan(const Entries &e, Index n_min, Index n_max) {
    constexpr Index run = 32; // rows that are looked at together where their order does not matter
    const Index heavy = Atoms ? std::max<Index>(2, n_min) : std::numeric_limits<Index>::max();
    Index tail = e.size;
    Counts rest{0, 0};
    while (tail > 0 && rest.n < n_min) {
        Counts group{0, 0};
        Index begin = tail;
        do {
            const Counts c = e.at(--begin);
            group.n += c.n;
            group.k += c.k;
        } while (begin > 0 && e.same(begin - 1, begin));
        if (group.n >= heavy) break;
        rest = {rest.n + group.n, rest.k + group.k};
        tail = begin;
    }

    std::vector<Block> done;
    Block block{0, 0, 0}, left{0, 0, 0};
    Index room = -1; // what the current block may hold and still join the left one
    Product cross = 0;
    Index last_heavy = -1, light = 0; // the last heavy score so far; none begins from here to `light`
    const auto join_left = [&] {
        while (cross >= 0 && block.n <= room && !done.empty()) {
            block = {left.start, left.n + block.n, left.k + block.k};
            done.pop_back();
            left = done.empty() ? Block{0, 0, 0} : done.back();
            room = done.empty() ? -1 : n_max - left.n;
            cross = Product(left.k) * block.n - Product(block.k) * left.n;
        }
    };
    for (Index i = 0; i < tail;) {
        if constexpr (Entries::single_rows) {
            // Rows that join the current block without question, in one go.
            const Index begin = i;
            Index ones = 0;
            // any label; where the block can still join the left one, until it does
            if (block.n < n_min && (!Atoms || n_max >= 2 * n_min)) {
                const bool watched = block.n <= room;
                const Index limit = watched ? std::min(n_min, room + 1) : n_min;
                Index stop = std::min(tail, i + limit - block.n);
                if constexpr (Atoms) {
                    if (i >= light) light = find_heavy(e, i, tail, heavy);
                    stop = std::min(stop, light);
                }
                const Product left_k = left.k, left_n = left.n;
                const auto take = [&] {
                    const Index label = e.at(i++).k;
                    ones += label;
                    cross += left_k - (left_n & -Product(label));
                };
                while (i < stop) {
                    const Index end = std::min(i + run, stop), found = count_positives(e, i, end), others = end - i - found;
                    if (!watched || cross + left_k * others < 0) { // in no order can these rows stop it
                        ones += found;
                        cross += left_k * others - (left_n - left_k) * found;
                        i = end;
                    } else {
                        while (i < end && (cross < 0 || e.same(i - 1, i))) take();
                        if (i < end) break;
                    }
                }
                while (i > begin && i < tail && e.same(i - 1, i)) take();
            } else if (block.n > 0 && block.n >= n_min) { // untied zeros
                const bool watched = block.n <= room;
                const Index limit = watched ? std::min(n_max, room + 1) : n_max;
                const Index stop = std::min(tail - 1, i + limit - block.n);
                while (i < stop && !e.at(i).k && !e.same(i, i + 1) && !(watched && cross >= 0)) {
                    cross += left.k;
                    ++i;
                }
            }
            if (i > begin) {
                block.n += i - begin;
                block.k += ones;
                join_left();
                continue;
            }
        }
        Counts group = e.at(i);
        Index next = i + 1;
        while (next < tail && e.same(i, next)) {
            const Counts c = e.at(next++);
            group.n += c.n;
            group.k += c.k;
        }
        if (group.n >= heavy) last_heavy = i;
        const bool full = block.n >= n_min;
        if (block.n > 0 && (((full || Atoms) && block.n + group.n > n_max) ||
                            ((full || group.n >= heavy) && Product(block.k) * group.n < Product(group.k) * block.n))) {
            done.push_back(block);
            left = block;
            room = n_max - left.n;
            block = {i, group.n, group.k};
            cross = Product(left.k) * group.n - Product(group.k) * left.n;
        } else {
            block.n += group.n;
            block.k += group.k;
            cross += Product(left.k) * group.n - Product(group.k) * left.n;
            join_left();
        }
        i = next;
    }

    const bool beyond = block.n + rest.n > n_max, rises = Product(block.k) * rest.n < Product(rest.k) * block.n;
    const bool apart = Atoms ? beyond || (last_heavy >= block.start && rises) : beyond && block.n >= n_min;
    if (block.n > 0 && rest.n > 0 && apart) {
        done.push_back(block);
        done.push_back({tail, rest.n, rest.k});
    } else {
        done.push_back({block.start, block.n + rest.n, block.k + rest.k});
    }
    return done;
}

inline double squared_error(const std::vector<Block> &blocks) {
    double error = 0;
    for (const Block &b : blocks)
        error += static_cast<double>(b.k) * (static_cast<double>(b.n - b.k) / static_cast<double>(b.n));
    return error;
}

// The paper's scan, or the one that knows heavy scores, from either end, on a thread each where there are two: the smaller
// error counts.
template <class Product, class Entries>
std::vector<Block> pava_bc(const Entries &e, Index n_min, Index n_max, bool paper, Index threads = 1) {
    if (paper) return scan<false, Product>(e, n_min, n_max);
    std::vector<Block> up, down;
    in_parts(2, threads > 1 ? 2 : 1, [&](Index, Index first, Index last) {
        if (first == 0) up = scan<true, Product>(e, n_min, n_max);
        if (last == 2) down = scan<true, Product>(FromTop<Entries>{e, e.size}, n_min, n_max);
    });
    if (squared_error(up) <= squared_error(down) * (1 + 1e-12)) return up; // equal, but for rounding
    Index end = e.size;
    for (auto block = down.rbegin(); block != down.rend(); ++block) {
        const Index begin = block->start;
        *block = {e.size - end, block->n, block->n - block->k};
        end = begin;
    }
    std::reverse(down.begin(), down.end());
    return down;
}

// Cut b follows the first group at which the running count reaches floor(b N / B).
template <class Entries> std::vector<Index> quantile_starts(const Entries &e, Index n_bins) {
    const Index total = e.total();
    std::vector<Index> starts{0};
    Index seen = 0, i = 0;
    for (Index b = 1; b < n_bins; ++b) {
        const Index target = static_cast<Index>(Wide(b) * Wide(total) / n_bins);
        if constexpr (Entries::single_rows) {
            if (target > i) seen = i = target; // single rows: jump there
        }
        while (i < e.size && (seen < target || (i > 0 && e.same(i - 1, i)))) seen += e.at(i++).n;
        if (i > starts.back() && i < e.size) starts.push_back(i);
    }
    starts.push_back(e.size);
    return starts;
}

} // namespace truecal
