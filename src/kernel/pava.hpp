// Bins: PAVA-BC and quantiles, as starts among sorted entries.
#pragma once

#include "keys.hpp"

namespace truecal {

struct Block {
    Index start, n, k;
};

// PAVA-BC, Algorithm 1 of the paper with weights and ties. In its line numbers:
//   2-3  groups of equal scores are pushed, not single labels; the tail that line 2 leaves out is the
//        shortest run of whole groups that holds n_min observations;
//   5    "the left block holds n_min": the same thing while single labels are pushed;
//   7    the rates are compared as products of integers; `cross` is their difference, left.k * n - k * left.n,
//        kept up to date while the left block stands still;
//   10   a last block below n_min takes the tail whatever the sum.
// `Product` must hold the square of the total.
template <class Product, class Entries>
std::vector<Block> pava_bc(const Entries &e, Index n_min, Index n_max) {
    Index tail = e.size;
    Counts rest{0, 0};
    while (tail > 0 && (rest.n < n_min || (tail < e.size && e.same(tail - 1, tail)))) {
        const Counts c = e.at(--tail);
        rest.n += c.n;
        rest.k += c.k;
    }

    std::vector<Block> done;
    Block block{0, 0, 0}, left{0, 0, 0};
    Index room = -1; // what the current block may hold and still join the left one
    Product cross = 0;
    const auto join_left = [&] {
        while (cross >= 0 && block.n <= room) {
            block = {left.start, left.n + block.n, left.k + block.k};
            done.pop_back();
            left = done.empty() ? Block{0, 0, 0} : done.back();
            room = done.empty() ? -1 : n_max - left.n;
            cross = Product(left.k) * block.n - Product(block.k) * left.n;
        }
    };
    for (Index i = 0; i < tail;) {
        if constexpr (!std::is_same_v<Entries, Groups>) {
            // Rows that join the current block without question, in one go.
            const Index begin = i;
            Index ones = 0;
            if (block.n < n_min) { // any label; where the block can still join the left one, until it does
                const bool watched = block.n <= room;
                const Index limit = watched ? std::min(n_min, room + 1) : n_min;
                const Index stop = std::min(tail, i + limit - block.n);
                const Product left_k = left.k, left_n = left.n;
                const auto take = [&] {
                    const Index label = e.at(i++).k;
                    ones += label;
                    cross += left_k - (left_n & -Product(label));
                };
                if (watched)
                    while (i < stop && (cross < 0 || e.same(i - 1, i))) take();
                else
                    while (i < stop) take();
                while (i > begin && i < tail && e.same(i - 1, i)) take();
            } else if (block.n > 0) { // untied zeros
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
        if (block.n >= n_min && block.n > 0 &&
            (block.n + group.n > n_max || Product(block.k) * group.n < Product(group.k) * block.n)) {
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

    if (block.n > 0 && rest.n > 0 && block.n >= n_min && block.n + rest.n > n_max) {
        done.push_back(block);
        done.push_back({tail, rest.n, rest.k});
    } else {
        done.push_back({block.start, block.n + rest.n, block.k + rest.k});
    }
    return done;
}

// Cut b follows the first group at which the running count reaches floor(b N / B).
template <class Entries> std::vector<Index> quantile_starts(const Entries &e, Index n_bins) {
    const Index total = e.total();
    std::vector<Index> starts{0};
    Index seen = 0, i = 0;
    for (Index b = 1; b < n_bins; ++b) {
        const Index target = static_cast<Index>(Wide(b) * total / n_bins);
        if constexpr (!std::is_same_v<Entries, Groups>) {
            if (target > i) seen = i = target; // single rows: jump there
        }
        while (i < e.size && (seen < target || (i > 0 && e.same(i - 1, i)))) seen += e.at(i++).n;
        if (i > starts.back() && i < e.size) starts.push_back(i);
    }
    starts.push_back(e.size);
    return starts;
}

} // namespace truecal
