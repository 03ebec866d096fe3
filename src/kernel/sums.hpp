// Sums that no order of the rows can change.
#pragma once

#include "keys.hpp"

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

// Bins whose edges are known beforehand need no sort: one pass over the rows. `cell` guesses a bin, the edges
// decide. Four lanes, taken in turn, keep one sum from waiting for the next; a lane holds 2^10 rows at most, since 2^10
// halves of 40 bits stay below bit 52.
template <class Float, class Label, class Cell>
Packed histogram(const Float *score, const Label *label, Index size, const double *edges, Index n_bins, Cell cell,
                 BinSums &found) {
    constexpr Index lanes = 4, chunk = lanes << 10;
    constexpr std::int64_t one = std::int64_t(1) << 52, mask = one - 1;
    const std::size_t bins = static_cast<std::size_t>(n_bins);
    std::vector<Moments> part[lanes];
    for (auto &lane : part) lane.resize(bins);
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
                found.n[b] += moments[b].low >> 52;
                found.k[b] += moments[b].high >> 52;
                found.total[b] += join(moments[b].high & mask, moments[b].low & mask);
                moments[b] = Moments{};
            }
    }
    return {scores_ok, bad_label == 0};
}

} // namespace truecal
