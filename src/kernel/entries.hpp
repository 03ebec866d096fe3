// Sorted entries: what every binning and loss walks over.
//
// An entry is a score with a number of observations and of positives. Two layouts hold them:
//   Keys<Int>  rows, sorted, each one integer (score bits << 1 | label); equal scores are neighbours;
//   Groups     a tally: strictly increasing scores with counts.
// A bin never starts inside a run of equal scores, so both give the same bins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace truecal {

using Index = std::int64_t;
using Wide = __int128;

template <class To, class From> inline To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof(To));
    return to;
}

template <class Int> struct KeyTraits;
template <> struct KeyTraits<std::int64_t> { using Float = double; };
template <> struct KeyTraits<std::int32_t> { using Float = float; };

struct Counts {
    Index n, k;
};

template <class Int> struct Keys {
    const Int *key;
    Index size;

    double score(Index i) const {
        return bit_cast<typename KeyTraits<Int>::Float>(static_cast<Int>(key[i] >> 1));
    }
    Counts at(Index i) const { return {1, static_cast<Index>(key[i] & 1)}; }
    bool same(Index i, Index j) const { return ((key[i] ^ key[j]) >> 1) == 0; }
    Index total() const { return size; }
};

struct Groups {
    const double *score_;
    const Index *n;
    const Index *pos;
    Index size;

    double score(Index i) const { return score_[i]; }
    Counts at(Index i) const { return {n[i], pos[i]}; }
    bool same(Index, Index) const { return false; }
    Index total() const {
        Index sum = 0;
        for (Index i = 0; i < size; ++i) sum += n[i];
        return sum;
    }
};

// First entry of [begin, end) whose score is >= x (or > x).
template <class Entries> Index locate(const Entries &e, double x, bool after, Index begin, Index end) {
    const auto before = [&](Index i) { return after ? e.score(i) <= x : e.score(i) < x; };
    if (begin == end || !before(begin)) return begin;
    if (before(end - 1)) return end;
    Index lo = begin + 1, hi = end - 1;
    while (lo < hi) {
        const Index mid = lo + (hi - lo) / 2;
        if (before(mid)) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

// Where the six cuts of a bin fall among its entries [begin, end), and whether a score lies within reach of one.
template <class Entries>
bool place(const Entries &e, const double *cuts, const double *reach, Index begin, Index end, Index *places) {
    bool close = false;
    for (int c = 0; c < 6; ++c) {
        const double x = cuts[c], r = reach[c];
        const Index at = places[c] = locate(e, x, c >= 3, begin, end);
        close |= (at > begin && e.score(at - 1) >= x - r) || (at < end && e.score(at) <= x + r);
    }
    return close;
}

// ---- rows to keys to groups -------------------------------------------------------------------

struct Packed {
    bool scores_ok, labels_ok;
};

// Whether a label is other than 0 or 1, as a bit pattern to collect with |.
template <class Label> inline std::uint64_t odd_label(Label y) {
    if constexpr (std::is_integral_v<Label>) return static_cast<std::uint64_t>(y) >> 1;
    else return (y != Label(0)) & (y != Label(1));
}

// The same loop compiled for newer processors too, chosen at run time.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define TRUECAL_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TRUECAL_CLONES
#endif

// Scores in [0, 1] leave the two top bits of their pattern free: the label fits below it. x + 0 turns
// -0.0 into 0.0. Patterns above that of 1 are negative, too large or NaN. Trouble is only reported; the caller looks for
// its place.
template <class Int, class Float, class Label>
TRUECAL_CLONES Packed pack(const Float *score, const Label *label, Int *key, Index size) {
    using Narrow = typename KeyTraits<Int>::Float;
    using Bits = std::make_unsigned_t<Int>;
    const Bits one = bit_cast<Bits>(Narrow(1));
    Bits bad_score = 0;
    std::uint64_t bad_label = 0;
    for (Index i = 0; i < size; ++i) {
        const Bits bits = bit_cast<Bits>(static_cast<Narrow>(score[i]) + Narrow(0));
        bad_score |= (one - bits) | bits;
        bad_label |= odd_label(label[i]);
        key[i] = static_cast<Int>(bits << 1 | static_cast<Bits>(label[i] != Label(0)));
    }
    return {bad_score >> (8 * sizeof(Bits) - 1) == 0, bad_label == 0};
}

inline bool fits_float(const double *score, Index size) {
    constexpr Index chunk = 4096;
    for (Index begin = 0; begin < size; begin += chunk) {
        const Index end = std::min(size, begin + chunk);
        bool fits = true;
        for (Index i = begin; i < end; ++i)
            fits &= static_cast<double>(static_cast<float>(score[i])) == score[i];
        if (!fits) return false;
    }
    return true;
}

template <class Int> Index count_groups(const Keys<Int> &rows) {
    Index groups = rows.size > 0;
    for (Index i = 1; i < rows.size; ++i) groups += !rows.same(i - 1, i);
    return groups;
}

// weight is null for rows that count once.
template <class Int>
void collapse(const Keys<Int> &rows, const Index *weight, double *score, Index *n, Index *pos) {
    Index g = -1;
    for (Index i = 0; i < rows.size; ++i) {
        if (i == 0 || !rows.same(i - 1, i)) {
            ++g;
            score[g] = rows.score(i);
            n[g] = pos[g] = 0;
        }
        const Index w = weight ? weight[i] : 1;
        n[g] += w;
        pos[g] += w * rows.at(i).k;
    }
}

// ---- partitions -------------------------------------------------------------------------------

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

// The cell of a score on the grid of so many significant bits, as a number that differs from cell to cell: the score,
// or from 0.5 up its distance to 1, with the bits after its leading ones cut off.
inline std::uint64_t cell_id(double x, int bits) {
    const bool upper = x >= 0.5;
    const auto near = bit_cast<std::uint64_t>(upper ? 1.0 - x : x);
    int drop = 53 - bits;
    if (near < (std::uint64_t{1} << 52)) { // below the normal numbers the leading one is further down
        int length = 0;
        while (length < 52 && near >> length) ++length;
        drop = std::max(length - bits, 0);
    }
    return near >> drop << drop | std::uint64_t{upper} << 63;
}

// Where each cell of the grid begins, and the sum of its scores, which may be too small for `score_sums`.
struct GridCells {
    std::vector<Index> starts;
    std::vector<double> sums;
};

template <class Entries> GridCells cells(const Entries &e, int bits) {
    GridCells found;
    std::uint64_t last = ~std::uint64_t{0};
    long double sum = 0;
    for (Index i = 0; i < e.size; ++i) {
        const double x = e.score(i);
        const std::uint64_t id = cell_id(x, bits);
        if (id != last) {
            if (i > 0) found.sums.push_back(static_cast<double>(sum));
            found.starts.push_back(i);
            sum = 0;
        }
        sum += static_cast<long double>(x) * static_cast<long double>(e.at(i).n);
        last = id;
    }
    if (e.size > 0) found.sums.push_back(static_cast<double>(sum));
    found.starts.push_back(e.size);
    return found;
}

template <class Entries>
void count(const Entries &e, const Index *starts, Index n_bins, Index *n, Index *k) {
    for (Index b = 0; b < n_bins; ++b) {
        Counts sum{0, 0};
        for (Index i = starts[b]; i < starts[b + 1]; ++i) {
            const Counts c = e.at(i);
            sum.n += c.n;
            sum.k += c.k;
        }
        n[b] = sum.n;
        k[b] = sum.k;
    }
}

// Observations before each of some increasing positions.
template <class Entries>
void rows_before(const Entries &e, const Index *position, Index size, Index *rows) {
    Index i = 0, seen = 0;
    for (Index j = 0; j < size; ++j) {
        if constexpr (std::is_same_v<Entries, Groups>)
            while (i < position[j]) seen += e.at(i++).n;
        else
            seen = position[j];
        rows[j] = seen;
    }
}

// ---- sums that no order can change ------------------------------------------------------------

// A score as the integer floor(score * 2^80), in two halves; exact from 2^-28 up, off by less than 1e-24
// below. Integers add in any order to the same sum.
struct Fixed {
    std::int64_t high, low;

    explicit Fixed(double x) {
        const double scaled = x * 0x1p40;
        high = static_cast<std::int64_t>(scaled);
        low = static_cast<std::int64_t>((scaled - static_cast<double>(high)) * 0x1p40);
    }
};

inline Wide join(std::int64_t high, std::int64_t low) { return (Wide(high) << 40) + low; }
inline double from_fixed(Wide sum) { return static_cast<double>(sum) * 0x1p-80; }

template <class Entries>
void score_sums(const Entries &e, const Index *starts, Index n_bins, double *sums) {
    for (Index b = 0; b < n_bins; ++b) {
        Wide sum = 0;
        for (Index i = starts[b]; i < starts[b + 1]; ++i) {
            const Fixed f(e.score(i));
            sum += join(f.high, f.low) * e.at(i).n;
        }
        sums[b] = from_fixed(sum);
    }
}

// Sums of the halves of scores below bit 52, above it a count: of rows beside `low`, of positives beside `high`.
struct Moments {
    std::int64_t low = 0, high = 0;
};

// Bins whose edges are known beforehand need no sort: one pass over the rows. `cell` guesses a bin, the edges
// decide. Four lanes, taken in turn, keep one sum from waiting for the next; a lane holds 2^10 rows at most, since 2^10
// halves of 40 bits stay below bit 52.
template <class Float, class Label, class Cell>
Packed histogram(const Float *score, const Label *label, Index size, const double *edges, Index n_bins,
                 Cell cell, Index *n, Index *k, double *sums) {
    constexpr Index lanes = 4, chunk = lanes << 10;
    constexpr std::int64_t one = std::int64_t(1) << 52, mask = one - 1;
    const std::size_t bins = static_cast<std::size_t>(n_bins);
    std::vector<Moments> part[lanes];
    for (auto &lane : part) lane.resize(bins);
    std::vector<Wide> total(bins, 0);
    std::fill(n, n + n_bins, Index(0));
    std::fill(k, k + n_bins, Index(0));
    bool scores_ok = true;
    std::uint64_t bad_label = 0;
    for (Index begin = 0; begin < size && scores_ok; begin += chunk) {
        const Index end = std::min(size, begin + chunk);
        Moments *const lane[lanes] = {part[0].data(), part[1].data(), part[2].data(), part[3].data()};
        for (Index i = begin; i < end; ++i) {
            const double x = static_cast<double>(score[i]);
            const Label y = label[i];
            bad_label |= odd_label(y);
            if (!((x >= 0.0) & (x <= 1.0))) {
                scores_ok = false;
                break;
            }
            Index b = cell(x);
            b -= x < edges[b];
            b += (x >= edges[b + 1]) & (b + 1 < n_bins);
            const Fixed f(x);
            Moments &m = lane[i % lanes][b];
            m.low += f.low + one;
            m.high += f.high + (y != Label(0) ? one : 0);
        }
        for (std::size_t b = 0; b < bins; ++b)
            for (auto &moments : part) {
                n[b] += moments[b].low >> 52;
                k[b] += moments[b].high >> 52;
                total[b] += join(moments[b].high & mask, moments[b].low & mask);
                moments[b] = Moments{};
            }
    }
    for (std::size_t b = 0; b < bins; ++b) sums[b] = from_fixed(total[b]);
    return {scores_ok, bad_label == 0};
}

} // namespace truecal
