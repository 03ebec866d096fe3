// Sums over the rows of each pair of levels of two columns and each bin of scores.
#pragma once

#include "keys.hpp"

#include <algorithm>
#include <cstdint>

namespace truecal {

// One column's codes, below `size`; a column of one level has none.
struct Coded {
    const std::uint8_t *code;
    Index size;
};

// Adds rows [begin, end) to the table of a pair: n, positives and the sums of q, q^2 and q^3 of each level of the first
// column, of the second, and bin. Returns false where a code or a bin is none.
inline bool cross(Coded a, Coded b, const std::uint8_t *bin, Index bins, const std::uint8_t *label, const double *q,
                  Index begin, Index end, double *table) {
    bool fine = true;
    for (Index i = begin; i < end; ++i) {
        const Index first = a.code ? a.code[i] : 0, second = b.code ? b.code[i] : 0, at = bin[i];
        if (first >= a.size || second >= b.size || at >= bins) {
            fine = false;
            continue;
        }
        double *sums = table + 5 * ((first * b.size + second) * bins + at);
        const double x = q[i];
        sums[0] += 1;
        sums[1] += label[i];
        sums[2] += x;
        sums[3] += x * x;
        sums[4] += x * x * x;
    }
    return fine;
}

} // namespace truecal
