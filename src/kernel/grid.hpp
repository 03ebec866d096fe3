// Cells of a relative grid.
#pragma once

#include "keys.hpp"

namespace truecal {

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

} // namespace truecal
