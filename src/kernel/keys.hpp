// Sorted entries: what every binning and loss walks over.
//
// An entry is a score with a number of observations and of positives. Two layouts hold them:
//   Keys<Int>  rows, sorted, each one integer (score bits << 1 | label); equal scores are neighbours;
//   Groups     a tally: strictly increasing scores with counts.
// A bin never starts inside a run of equal scores, so both give the same bins.
#pragma once

#include "wide.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace truecal {

using Index = std::int64_t;

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
    static constexpr bool single_rows = true;
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
    static constexpr bool single_rows = false;
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

// First entry of [begin, end) whose score is >= x (or > x). No step waits for a guess of what the comparison will say.
template <class Entries> Index locate(const Entries &e, double x, bool after, Index begin, Index end) {
    const auto before = [&](Index i) { return after ? e.score(i) <= x : e.score(i) < x; };
    Index size = end - begin;
    for (; size > 1; size -= size / 2) begin += size / 2 * before(begin + size / 2 - 1);
    return begin + (size == 1 && before(begin));
}

// Where a cut falls among the entries [begin, end), and whether a score lies within its reach.
template <class Entries>
bool place(const Entries &e, double cut, double reach, bool after, Index begin, Index end, Index &at) {
    at = locate(e, cut, after, begin, end);
    return (at > begin && e.score(at - 1) >= cut - reach) || (at < end && e.score(at) <= cut + reach);
}

// The same of the six cuts of a bin, whether any has a score within reach.
template <class Entries>
bool place(const Entries &e, const double *cuts, const double *reach, Index begin, Index end, Index *places) {
    bool close = false;
    for (int c = 0; c < 6; ++c) close |= place(e, cuts[c], reach[c], c >= 3, begin, end, places[c]);
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

// The same loop compiled for newer processors too, chosen at run time where the C library can.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define TRUECAL_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TRUECAL_CLONES
#endif

// Eight doubles that are added and multiplied at once; a loop over as many is unrolled before it could be.
#if defined(__GNUC__)
typedef double Eight __attribute__((vector_size(64)));
#define TRUECAL_PACKED __attribute__((packed, may_alias))
#else
struct Eight {
    double x[8];
    Eight operator*(double by) const {
        Eight found = *this;
        for (double &each : found.x) each *= by;
        return found;
    }
    Eight operator+(const Eight &other) const {
        Eight found = *this;
        for (int i = 0; i < 8; ++i) found.x[i] += other.x[i];
        return found;
    }
    Eight &operator+=(const Eight &other) { return *this = *this + other; }
};
#define TRUECAL_PACKED
#endif

// The same in memory, wherever they begin.
struct TRUECAL_PACKED LooseEight {
    Eight all;
};

// Rows that are worked on together, twice: what is the same for all of them first, then what goes to places of its own.
constexpr Index block = 128;

// Of doubles and whole numbers, several at once: compilers do a loop of these for some rows together, as they do not where
// a number is computed on one side of a choice only, or converted.
namespace lanes {

constexpr double big = 0x1p52; // x + big has the bits of `ground` and, below them, those of a whole number x

inline std::uint64_t ground() { return bit_cast<std::uint64_t>(big); }

// A whole number below 2^52 as a double.
inline double number(std::uint64_t whole) { return bit_cast<double>(whole | ground()) - big; }

// The square of a whole number below 2^26.
inline std::uint64_t square(std::uint64_t whole) { return bit_cast<std::uint64_t>(number(whole) * number(whole) + big) - ground(); }

// 1 of a negative number, 0 of others from 0 on.
inline std::uint64_t is_negative(double x) { return bit_cast<std::uint64_t>(x) >> 63; }

// 1 where a < b, of bits below 2^63.
inline std::uint64_t is_below(std::uint64_t a, std::uint64_t b) { return (a - b) >> 63; }

// The number 1.0 or 0.0.
inline double to_double(std::uint64_t bit) { return bit_cast<double>((0 - bit) & bit_cast<std::uint64_t>(1.0)); }

// x as a whole number and a fraction of 0 <= fraction < 1, of 0 <= x < 2^51.
struct Split {
    std::uint64_t whole, negative;
    double rest; // from the nearest whole number

    explicit Split(double x) {
        const double shifted = x + big;
        rest = x - (shifted - big);
        negative = is_negative(rest);
        whole = bit_cast<std::uint64_t>(shifted) - ground() - negative;
    }
    double fraction() const { return rest + to_double(negative); }
};

// 1 of a score outside [0, 1] and of NaN, and the bits of another.
inline std::uint64_t is_no_score(std::uint64_t bits) { return ((bit_cast<std::uint64_t>(1.0) - bits) | bits) >> 63; }

} // namespace lanes

// Whether all labels are 0 or 1.
template <class Label> TRUECAL_CLONES bool labels_fine(const Label *label, Index size) {
    if constexpr (std::is_integral_v<Label>) {
        std::make_unsigned_t<Label> odd = 0;
        for (Index i = 0; i < size; ++i) odd |= static_cast<std::make_unsigned_t<Label>>(label[i]);
        return odd >> 1 == 0;
    } else {
        std::uint64_t odd = 0;
        for (Index i = 0; i < size; ++i) odd |= odd_label(label[i]);
        return odd == 0;
    }
}

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

// Rows after which a long loop calls `pause`, which may end it.
constexpr Index stretch = Index(1) << 20;

// weight is null for rows that count once. False where there is no room for a group.
template <class Int, class Pause>
bool collapse(const Keys<Int> &rows, const Index *weight, Index room, double *score, Index *n, Index *pos, Pause pause) {
    Index g = -1;
    for (Index i = 0; i < rows.size; ++i) {
        if (i % stretch == 0) pause();
        if (i == 0 || !rows.same(i - 1, i)) {
            if (++g == room) return false;
            score[g] = rows.score(i);
            n[g] = pos[g] = 0;
        }
        const Index w = weight ? weight[i] : 1;
        n[g] += w;
        pos[g] += w * rows.at(i).k;
    }
    return true;
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
        if constexpr (Entries::single_rows)
            seen = position[j];
        else
            while (i < position[j]) seen += e.at(i++).n;
        rows[j] = seen;
    }
}

} // namespace truecal
