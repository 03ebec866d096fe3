// The outline of a bin: how dense its rows are from its lowest to its highest score.
#pragma once

#include "keys.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace truecal {

// `before`: the rows before each edge of cells of equal width. Each cell's rows are averaged with those of its neighbours,
// twice, and given in thousandths of the most; of a single score all cells have the most.
inline void outline(const Index *before, Index cells, bool single, Index *width) {
    if (single) {
        std::fill(width, width + cells, Index(1000));
        return;
    }
    std::vector<double> density(static_cast<std::size_t>(cells));
    for (Index i = 0; i < cells; ++i) density[static_cast<std::size_t>(i)] = static_cast<double>(before[i + 1] - before[i]);
    for (int pass = 0; pass < 2; ++pass) {
        double last = density.front();
        for (std::size_t i = 0; i < density.size(); ++i) {
            const double own = density[i], next = i + 1 < density.size() ? density[i + 1] : own;
            density[i] = (last + 2 * own + next) / 4;
            last = own;
        }
    }
    const double most = *std::max_element(density.begin(), density.end());
    for (Index i = 0; i < cells; ++i)
        width[i] = static_cast<Index>(std::nearbyint(1000 * density[static_cast<std::size_t>(i)] / most));
}

} // namespace truecal
