// Cells of a relative grid: of sorted entries, and of rows in any order, which are counted in a table.
//
// With q = min(p, 1 - p), the cell of a score is q's leading bits and the side of 0.5. All q of a cell share an exponent,
// so the bits behind the leading ones are added up as integers: no order of the rows can change a sum.
#pragma once

#include "keys.hpp"

#include <cmath>

namespace truecal {

// The cell of a score, as q's leading bits with the side of 0.5 before them, and the bits behind them. A power of two
// lifts numbers below the normal ones.
struct GridPlace {
    std::uint64_t id, rest;

    GridPlace(double x, int bits) {
        const bool upper = x >= 0.5;
        const auto q = bit_cast<std::uint64_t>(((upper ? 1.0 - x : x) + 0.0) * 0x1p200);
        id = q >> (53 - bits) | (upper ? upper_side(bits) : 0);
        rest = q & ((std::uint64_t(1) << (53 - bits)) - 1);
    }
    // Exponents of q, lifted, have 11 bits.
    static constexpr std::uint64_t upper_side(int bits) { return std::uint64_t(1) << (bits + 10); }
};

inline double grid_score(std::uint64_t id, std::uint64_t rest, int bits) {
    const std::uint64_t upper = id & GridPlace::upper_side(bits);
    const double q = bit_cast<double>((id ^ upper) << (53 - bits) | rest) * 0x1p-200;
    return upper ? 1.0 - q : q;
}

// The sum of a cell's scores, given that of the bits behind the leading ones; rounded once.
inline double grid_sum(std::uint64_t id, int bits, Index n, Wide rest) {
    const std::uint64_t upper = id & GridPlace::upper_side(bits), lead = id ^ upper;
    const std::uint64_t first = std::uint64_t(1) << (bits - 1);
    if (lead == 0) return upper ? static_cast<double>(n) : 0.0;
    const Wide q = (Wide(static_cast<Index>((lead & (first - 1)) | first)) * Wide(n) << (53 - bits)) + rest;
    const int unit = static_cast<int>(lead >> (bits - 1)) - 1023 - 200 - 52; // the power of two that q counts
    if (!upper) return std::ldexp(static_cast<double>(q), unit);
    // scores from 0.5 up are multiples of 2^-53, and so is what they lack to 1
    return std::ldexp(static_cast<double>((Wide(n) << 53) - q / (Index(1) << (-53 - unit))), -53);
}

// Where each cell of the grid begins, and the sum of its scores.
struct GridCells {
    std::vector<Index> starts;
    std::vector<double> sums;
};

template <class Entries> GridCells cells(const Entries &e, int bits) {
    GridCells found;
    std::uint64_t last = 0;
    Index n = 0;
    Wide rest = 0;
    for (Index i = 0; i < e.size; ++i) {
        const GridPlace place(e.score(i), bits);
        if (i == 0 || place.id != last) {
            if (i > 0) found.sums.push_back(grid_sum(last, bits, n, rest));
            found.starts.push_back(i);
            n = 0;
            rest = 0;
        }
        const Index rows = e.at(i).n;
        n += rows;
        rest += Wide(place.rest) * Wide(rows);
        last = place.id;
    }
    if (e.size > 0) found.sums.push_back(grid_sum(last, bits, n, rest));
    found.starts.push_back(e.size);
    return found;
}

// Cells with their rows, in any order.
struct GridColumns {
    std::vector<double> sum, low, high; // of the scores
    std::vector<Index> n, pos;
};

// Rows counted in their cells. Pages of neighbouring cells are made when the first row falls into one.
class GridTable {
  public:
    explicit GridTable(int bits) : bits_(bits), pages_(static_cast<std::size_t>(GridPlace::upper_side(bits) * 2 >> page_bits)) {}

    // Cells of the pages that were made.
    Index size() const { return static_cast<Index>(cells_.size()); }

    // How many rows were counted: the rest begins near one that is not fine, or where the size is `most` or more.
    template <class Float, class Label> Index add_rows(const Float *score, const Label *label, Index rows, Index most) {
        constexpr Index chunk = 1024;
        std::uint64_t id[chunk], rest[chunk];
        for (Index begin = 0; begin < rows; begin += chunk) {
            const Index count = std::min(chunk, rows - begin);
            if (size() >= most || !place_rows(score + begin, label + begin, count, bits_, id, rest)) return begin;
            for (Index i = 0; i < count; ++i) add(id[i], rest[i], label[begin + i] != Label(0));
        }
        return rows;
    }

    GridColumns columns() const {
        GridColumns found;
        for (std::size_t page = 0; page < pages_.size(); ++page)
            for (std::size_t i = 0; pages_[page] != 0 && i < page_size; ++i)
                push(found, std::uint64_t(page) << page_bits | i, first_cell(pages_[page]) + i);
        return found;
    }

  private:
    struct Cell {
        std::uint32_t n = 0, pos = 0;
        std::uint64_t rest = 0, least = ~std::uint64_t(0), most = 0; // the bits behind the leading ones: their sum, ...
    };
    static constexpr int page_bits = 6;
    static constexpr std::size_t page_size = std::size_t(1) << page_bits;

    int bits_;
    std::vector<std::uint32_t> pages_; // their numbers, from 1 on; 0 for those that were not made
    std::vector<Cell> cells_;
    std::vector<std::uint64_t> carried_; // multiples of 2^64 in the sums of cells

    static std::size_t first_cell(std::uint32_t page) { return std::size_t(page - 1) << page_bits; }

    void add(std::uint64_t id, std::uint64_t bits, bool positive) {
        std::uint32_t &page = pages_[static_cast<std::size_t>(id >> page_bits)];
        if (page == 0) {
            cells_.resize(cells_.size() + page_size);
            carried_.resize(cells_.size());
            page = static_cast<std::uint32_t>(cells_.size() >> page_bits);
        }
        const std::size_t at = first_cell(page) + static_cast<std::size_t>(id & (page_size - 1));
        Cell &cell = cells_[at];
        ++cell.n;
        cell.pos += positive;
        cell.rest += bits;
        if (cell.rest < bits) ++carried_[at];
        cell.least = std::min(cell.least, bits);
        cell.most = std::max(cell.most, bits);
    }

    void push(GridColumns &found, std::uint64_t id, std::size_t at) const {
        const Cell &cell = cells_[at];
        if (cell.n == 0) return;
        const double ends[2] = {grid_score(id, cell.least, bits_), grid_score(id, cell.most, bits_)};
        found.n.push_back(cell.n);
        found.pos.push_back(cell.pos);
        found.sum.push_back(grid_sum(id, bits_, cell.n, Wide(cell.rest) + (Wide(carried_[at]) << 32 << 32)));
        found.low.push_back(std::min(ends[0], ends[1]));
        found.high.push_back(std::max(ends[0], ends[1]));
    }

    template <class Float, class Label>
    TRUECAL_CLONES static bool place_rows(const Float *score, const Label *label, Index rows, int bits,
                                          std::uint64_t *id, std::uint64_t *rest) {
        std::uint64_t bad = 0;
        for (Index i = 0; i < rows; ++i) {
            const double x = static_cast<double>(score[i]);
            const GridPlace place(x, bits);
            bad |= std::uint64_t(!((x >= 0.0) & (x <= 1.0))) | odd_label(label[i]);
            id[i] = place.id;
            rest[i] = place.rest;
        }
        return bad == 0;
    }
};

} // namespace truecal
