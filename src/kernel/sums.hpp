// Sums that no order of the rows can change.
#pragma once

#include "keys.hpp"

#include <cmath>

namespace truecal {

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

// The sum of numbers from 0 to below 2^20 times counts, or of each once, in units of 2^-80; false where one that counts is no
// such number.
inline bool add_fixed(const double *x, const Index *count, Index size, Wide &sum) {
    for (Index i = 0; i < size; ++i) {
        if (count && count[i] == 0) continue;
        if (!(x[i] >= 0 && x[i] < 0x1p20)) return false;
        const Fixed f(x[i]);
        sum += count ? join(f.high, f.low) * count[i] : join(f.high, f.low);
    }
    return true;
}

// Sums over rows, in units of 2^-80: of (y - p)^2, of p (1 - p), which is what p expects of it, and of its variance.
struct SquareSums {
    Wide squares = 0, expected = 0, variance = 0;

    void add(const SquareSums &other) {
        squares += other.squares;
        expected += other.expected;
        variance += other.variance;
    }
};

// Adds those of a block to halves of 40 bits each, as `Fixed` has them, the lower ones first; whether all scores lie in
// [0, 1]. There is room for 2^23 rows.
template <class Float, class Label>
TRUECAL_CLONES bool add_squares(const Float *__restrict score, const Label *__restrict label, Index size,
                                std::uint64_t *__restrict halves) {
    std::uint64_t bad = 0, sums[6] = {};
    for (Index i = 0; i < size; ++i) {
        const double x = static_cast<double>(score[i]) + 0.0, gap = x - lanes::to_double(label[i] != Label(0));
        bad |= lanes::is_no_score(bit_cast<std::uint64_t>(x));
        const double slope = 1 - 2 * x, expected = x * (1 - x);
        const lanes::Split a(gap * gap * 0x1p40), b(expected * 0x1p40), c(slope * slope * expected * 0x1p40);
        const lanes::Split a_low(a.fraction() * 0x1p40), b_low(b.fraction() * 0x1p40), c_low(c.fraction() * 0x1p40);
        sums[0] += a_low.whole;
        sums[1] += a.whole;
        sums[2] += b_low.whole;
        sums[3] += b.whole;
        sums[4] += c_low.whole;
        sums[5] += c.whole;
    }
    for (int i = 0; i < 6; ++i) halves[i] += sums[i];
    return bad == 0;
}

// One pass over rows, in any order.
template <class Float, class Label, class Pause>
Packed square_sums(const Float *score, const Label *label, Index size, SquareSums &found, Pause pause) {
    constexpr Index some = 4096;
    bool fine = true;
    for (Index first = 0; first < size && pause(); first += stretch) {
        std::uint64_t halves[6] = {};
        for (Index begin = first, end = std::min(first + stretch, size); begin < end; begin += some) {
            const Index count = std::min(some, end - begin);
            if (!add_squares(score + begin, label + begin, count, halves))
                return {false, fine && labels_fine(label + begin, size - begin)};
            fine &= labels_fine(label + begin, count);
        }
        const auto whole = [&](int i) { return (Wide(halves[2 * i + 1]) << 40) + Wide(halves[2 * i]); };
        found.add({whole(0), whole(1), whole(2)});
    }
    return {true, fine};
}

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

// Two sums of numbers below 2^41 and, above their bits, two counts: of rows beside the first sum, of positives beside the
// second. Rows are added in one go; the top bit tells when there are 2^10 of them, and there is room for 2^10 - 1 more.
struct Moments {
    static constexpr int count_bit = 53;
    static constexpr std::uint64_t one = std::uint64_t(1) << count_bit;
    std::uint64_t first = 0, second = 0;

    void add(const Moments &other) {
        first += other.first;
        second += other.second;
    }
    static bool is_full(std::uint64_t first) { return first >> 63 != 0; }
    std::uint32_t rows() const { return static_cast<std::uint32_t>(first >> count_bit); }
    std::uint32_t positives() const { return static_cast<std::uint32_t>(second >> count_bit); }
    std::uint64_t first_sum() const { return first & (one - 1); }
    std::uint64_t second_sum() const { return second & (one - 1); }
};

// Rows, positives and the sum of scores of each bin, in whole numbers.
struct BinSums {
    std::vector<Index> n, k;
    std::vector<Wide> total;

    explicit BinSums(std::size_t bins) : n(bins), k(bins), total(bins, 0) {}
    void add(const BinSums &other) {
        for (std::size_t b = 0; b < n.size(); ++b) {
            n[b] += other.n[b];
            k[b] += other.k[b];
            total[b] += other.total[b];
        }
    }
};

// The rows of a block: the bin of each, and what it adds to the bin's moments.
struct BinSteps {
    alignas(64) std::int32_t bin[block];
    alignas(64) Moments moments[block];
};

// Bins whose edges are known beforehand.
struct FixedBins {
    const double *edges;
    Index size;
    bool even; // whether edges are the multiples of 1 / size, but for rounding

    FixedBins(const double *given, Index bins) : edges(given), size(bins), even(true) {
        for (Index b = 0; b <= bins; ++b)
            even &= std::abs(edges[b] * static_cast<double>(bins) - static_cast<double>(b)) <= 1e-11;
    }

    Index search(double x) const { return std::max<Index>(std::upper_bound(edges, edges + size, x) - edges - 1, 0); }

    // From a guess that is off by one at most.
    Index correct(Index guess, double x) const {
        Index b = std::min(std::max(guess, Index(0)), size - 1);
        b -= (b > 0) & (x < edges[b]);
        return b + ((x >= edges[b + 1]) & (b + 1 < size));
    }
};

// Whether all scores lie in [0, 1]. Bins are those of even edges, with no bit beyond those of `mask`, whatever the score; `close`
// says whether one may be the neighbour's.
template <class Float, class Label>
TRUECAL_CLONES bool list_steps(const Float *__restrict score, const Label *__restrict label, Index size, Index bins,
                               std::uint64_t mask, BinSteps &__restrict steps, bool &close) {
    const auto reach = bit_cast<std::uint64_t>(1e-9), size_mask = ~std::uint64_t(0) >> 1;
    const double scale = static_cast<double>(bins);
    std::uint64_t bad = 0, at_edge = 0;
    for (Index i = 0; i < size; ++i) {
        const double x = static_cast<double>(score[i]) + 0.0;
        bad |= lanes::is_no_score(bit_cast<std::uint64_t>(x));
        const lanes::Split place(x * scale), high(x * 0x1p40), low(high.fraction() * 0x1p40);
        at_edge |= lanes::is_below(bit_cast<std::uint64_t>(place.rest) & size_mask, reach);
        steps.bin[i] = static_cast<std::int32_t>(place.whole & mask);
        steps.moments[i].first = low.whole + Moments::one;
        steps.moments[i].second = high.whole + (std::uint64_t(label[i] != Label(0)) << Moments::count_bit);
    }
    close = at_edge != 0;
    return bad == 0;
}

// One pass over rows, without a sort. Four lanes, taken in turn, keep one sum from waiting for the next. There is room for a
// power of two of bins: what changes after it was looked at has a place, too.
template <class Float, class Label, class Pause>
Packed histogram(const Float *score, const Label *label, Index size, const FixedBins &bins, BinSums &found, Pause pause) {
    constexpr std::size_t lanes = 4;
    const auto n_bins = static_cast<std::size_t>(bins.size);
    std::size_t room = 1;
    while (room <= n_bins) room *= 2;
    std::vector<Moments> part(lanes * room);
    const auto empty = [&](std::size_t b, Moments &moments) {
        found.n[b] += moments.rows();
        found.k[b] += moments.positives();
        found.total[b] += (Wide(moments.second_sum()) << 40) + Wide(moments.first_sum());
        moments = Moments{};
    };
    BinSteps steps;
    bool fine = true;
    for (Index begin = 0; begin < size; begin += block) {
        if (begin % stretch == 0 && !pause()) break;
        const Index count = std::min(block, size - begin);
        bool close;
        if (!list_steps(score + begin, label + begin, count, bins.size, room - 1, steps, close))
            return {false, fine && labels_fine(label + begin, size - begin)};
        fine &= labels_fine(label + begin, count);
        if (close || !bins.even)
            for (Index i = 0; i < count; ++i) {
                const double x = static_cast<double>(score[begin + i]);
                steps.bin[i] = static_cast<std::int32_t>(bins.even ? bins.correct(steps.bin[i], x) : bins.search(x));
            }
        std::uint64_t full = 0;
        for (Index i = 0; i < count; ++i) {
            Moments &moments = part[static_cast<std::size_t>(steps.bin[i]) * lanes + static_cast<std::size_t>(i) % lanes];
            moments.add(steps.moments[i]);
            full |= moments.first;
        }
        if (!Moments::is_full(full)) continue;
        for (std::size_t at = 0; at < lanes * n_bins; ++at)
            if (Moments::is_full(part[at].first)) empty(at / lanes, part[at]);
    }
    for (std::size_t at = 0; at < lanes * n_bins; ++at) empty(at / lanes, part[at]);
    return {true, fine};
}

} // namespace truecal
