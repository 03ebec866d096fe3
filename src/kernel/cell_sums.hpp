// Cells of 12 significant bits, counted without a sort.
//
// With q = min(p, 1 - p), the cell of a score is q's leading 12 bits and the side of 0.5. All q of a cell share an
// exponent, and q = 2^e (C + d) with the integer C of 12 bits and 0 <= d < 1 held in the 41 bits behind them. The bits of
// d are added up as integers, so no order of the rows can change a sum.
//
// Pooled cells have one bit less for each two powers of two by which q is smaller: the variance of a sum of labels is
// changed as little by that, and there are few cells where many classes have small probabilities.
#pragma once

#include "sums.hpp"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace truecal {

constexpr int cell_bits = 12, rest_bits = 53 - cell_bits;
constexpr std::uint64_t rest_mask = (std::uint64_t(1) << rest_bits) - 1;
constexpr int largest_power = 1222; // the exponent's bits of 0.5 2^200, which is 2^199
constexpr int squared_bits = 16; // of d, in the sum of d^2: 2^32 squares of them fit 64 bits

// A score's cell as the leading bits of q, and the bits behind them. A power of two lifts numbers below the normal ones.
struct CellPlace {
    std::uint64_t lead, rest;
    bool upper;

    explicit CellPlace(double x) {
        const double other = 1.0 - x;
        upper = x >= 0.5;
        const auto bits = bit_cast<std::uint64_t>((std::min(x, other) + 0.0) * 0x1p200);
        lead = bits >> rest_bits;
        rest = bits & rest_mask;
    }
    static std::uint64_t squared(std::uint64_t rest) {
        const std::uint64_t d = rest >> (rest_bits - squared_bits);
        return d * d;
    }
    std::uint64_t squared() const { return squared(rest); }
    static constexpr int dropped(std::uint64_t) { return 0; }
};

// How many of the leading bits pooled cells drop at each power of two, and where the cells of each one begin in a table.
struct PooledPowers {
    static constexpr std::size_t count = largest_power + 1;
    std::uint8_t dropped[count] = {};
    std::uint16_t begin[count + 1] = {};

    constexpr PooledPowers() {
        for (std::size_t power = 0; power < count; ++power) {
            const int most = cell_bits - 1, more = (largest_power - static_cast<int>(power)) / 2;
            dropped[power] = static_cast<std::uint8_t>(power == 0 ? 0 : more < most ? more : most); // 0 is a cell of its own
            begin[power + 1] = static_cast<std::uint16_t>(begin[power] + (1 << (most - dropped[power])));
        }
    }
};
inline constexpr PooledPowers pooled_powers;

// The same of a pooled cell, whose leading bits end in so many zeros.
struct PooledPlace {
    std::uint64_t lead, rest;
    bool upper;

    explicit PooledPlace(double x) {
        const CellPlace fine(x);
        const int bits = dropped(fine.lead);
        upper = fine.upper;
        lead = fine.lead >> bits << bits;
        rest = (fine.lead - lead) << rest_bits | fine.rest;
    }
    std::uint64_t squared() const {
        const std::uint64_t d = rest >> (rest_bits + dropped(lead) - squared_bits);
        return d * d;
    }
    // Of 0.5 and of what is no score, too.
    static std::size_t power(std::uint64_t lead) { return std::min<std::uint64_t>(lead >> (cell_bits - 1), largest_power); }
    static int dropped(std::uint64_t lead) { return pooled_powers.dropped[power(lead)]; }
};

// x 2^power, rounded once as by `std::ldexp`, which is slower.
inline double scale(double x, int power) {
    if (power < -1022 || power > 1023) return std::ldexp(x, power);
    return x * bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52);
}

// Sums over the N rows of a cell of (C + d)^2 and (C + d)^3, of the sums of d and of d^2. No sum of squares is below the
// square of the sum over N, which it is where all scores are equal. The sum of cubes is at least d2^2 / d1 and at most 0.1
// more, 1e-11 of the cell's; of a pooled cell 1e-2 where q is below 2^-22, and less above.
struct CellPowers {
    double second, third;

    CellPowers(double C, double N, double d1, double squares) {
        const double least = d1 * d1 / N, d2 = squares < least ? least : squares, d3 = d2 * d2 / (d1 > 0 ? d1 : 1);
        second = C * C * N + 2 * C * d1 + d2;
        third = C * C * C * N + 3 * C * C * d1 + 3 * C * d2 + d3;
    }
};

// Columns of cells in increasing order of their scores.
struct CellColumns {
    std::vector<double> key, s1, s2, s3; // the cell's name; sums of q, q^2, q^3
    std::vector<Index> n, k;

    // Room for as many cells as rows have at most, if these are few: it is not touched before it is used.
    void reserve(Index rows) {
        const auto most = static_cast<std::size_t>(std::min(rows, Index(1) << 18));
        for (auto *column : {&key, &s1, &s2, &s3}) column->reserve(most);
        for (auto *column : {&n, &k}) column->reserve(most);
    }

    // rest: sum of the bits behind the leading ones; squared: sum of `CellPlace::squared`; of `lead` the last bits are
    // dropped
    void push(std::uint64_t lead, bool upper, Index rows, Index positives, Wide rest, Wide squared, int dropped = 0) {
        const double cut = bit_cast<double>(lead << rest_bits) * 0x1p-200;
        key.push_back(upper ? 1.0 - cut : cut);
        n.push_back(rows);
        k.push_back(positives);
        if (lead == 0) { // q = 0
            for (auto *sums : {&s1, &s2, &s3}) sums->push_back(0);
            return;
        }
        const int width = cell_bits - 1, behind = rest_bits + dropped;
        const int e = static_cast<int>(lead >> width) - 1023 - width - 200 + dropped;
        const Index c = (static_cast<Index>(lead & ((1 << width) - 1)) | Index(1) << width) >> dropped;
        const CellPowers powers(static_cast<double>(c), static_cast<double>(rows), scale(static_cast<double>(rest), -behind),
                                scale(static_cast<double>(squared), -2 * squared_bits));
        const bool small = rows <= 512 && dropped == 0; // the sum has at most 63 bits
        const double sum = small ? static_cast<double>((c * rows << rest_bits) + static_cast<Index>(rest))
                                 : static_cast<double>((Wide(c) * rows << behind) + rest);
        s1.push_back(scale(sum, e - behind));
        s2.push_back(scale(powers.second, 2 * e));
        s3.push_back(scale(powers.third, 3 * e));
    }
};

// The rows of a block: where the cell of each is, and what it adds to the cell's moments. Places rise with scores: the cells
// of q < 0.5 are where their leading bits say, and those above mirror them.
struct CellSteps {
    static constexpr std::uint32_t middle = std::uint32_t(largest_power) << (cell_bits - 1); // of 0.5
    alignas(64) std::uint32_t place[block];
    alignas(64) Moments moments[block];
};

// A score folded to the half below 0.5, for several rows at once.
struct FoldedScore {
    std::uint64_t bad, mirrored, q; // 1 of a number outside [0, 1]; all bits from 0.5 on, or none; as `CellPlace` has it

    explicit FoldedScore(double score) {
        const double x = score + 0.0; // -0.0 is 0.0
        const auto bits = bit_cast<std::uint64_t>(x);
        bad = lanes::is_no_score(bits);
        mirrored = lanes::is_below(bits, bit_cast<std::uint64_t>(0.5)) - 1;
        q = bit_cast<std::uint64_t>(std::min(x, 1.0 - x) * 0x1p200);
    }
};

// Whether all scores lie in [0, 1]. As `CellPlace`, for several rows at once: squares are those of doubles.
template <class Float, class Label>
TRUECAL_CLONES bool list_steps(const Float *__restrict score, const Label *__restrict label, Index size,
                               CellSteps &__restrict steps) {
    std::uint64_t bad = 0;
    for (Index i = 0; i < size; ++i) {
        const FoldedScore own(static_cast<double>(score[i]));
        bad |= own.bad;
        const std::uint64_t lead = own.q >> rest_bits, rest = own.q & rest_mask;
        steps.place[i] = static_cast<std::uint32_t>((lead ^ own.mirrored) - own.mirrored + (2 * CellSteps::middle & own.mirrored));
        steps.moments[i].first = rest + Moments::one;
        const std::uint64_t squared = lanes::square(rest >> (rest_bits - squared_bits));
        steps.moments[i].second = squared + (std::uint64_t(label[i] != Label(0)) << Moments::count_bit);
    }
    return bad == 0;
}

// Pages of neighbouring cells. Those of q >= 2^-17 lie in one piece of a megabyte, of which the system gives what is used;
// others are made when the first row falls into one. Scores that spread over many powers of two cost memory.
class CellTable {
  public:
    CellTable() {
        if (!near_) throw std::bad_alloc();
    }

    // At most 2^32 - 1 rows in all. Stops at a score outside [0, 1], and where `pause` says so.
    template <class Float, class Label, class Pause>
    Packed add_rows(const Float *score, const Label *label, Index size, Pause pause) {
        CellSteps steps;
        bool fine = true;
        for (Index begin = 0; begin < size; begin += block) {
            if (begin % stretch == 0 && !pause()) break;
            const Index count = std::min(block, size - begin);
            if (!list_steps(score + begin, label + begin, count, steps))
                return {false, fine && labels_fine(label + begin, size - begin)};
            fine &= labels_fine(label + begin, count);
            add_steps(steps, count);
        }
        return {true, fine};
    }

    // The rows of both, at most 2^32 - 1. Sums of integers are the same however rows were parted.
    void add(const CellTable &other) {
        other.for_pages([&](std::size_t first, const Moments *last, const Sums *earlier) {
            for (std::size_t i = 0; i < page_size; ++i) {
                if (last[i].first == 0 && !(earlier && earlier[i].n > 0)) continue;
                Moments &cell = moments(static_cast<std::uint32_t>(first + i));
                cell.add(last[i]);
                if (Moments::is_full(cell.first)) spill(first + i, cell);
                if (earlier && earlier[i].n > 0) before(first + i).add(earlier[i]);
            }
        });
    }

    CellColumns columns() const {
        std::size_t cells = 0;
        for_cells([&](std::size_t, const Sums &) { ++cells; });
        CellColumns found;
        for (auto *column : {&found.key, &found.s1, &found.s2, &found.s3}) column->reserve(cells);
        for (auto *column : {&found.n, &found.k}) column->reserve(cells);
        for_cells([&](std::size_t place, const Sums &sums) {
            const bool upper = place >= CellSteps::middle;
            const std::size_t lead = upper ? 2 * CellSteps::middle - place : place;
            found.push(lead, upper, sums.n, sums.k, sums.rest, Wide(sums.squared));
        });
        return found;
    }

  private:
    struct Sums {
        std::uint32_t n = 0, k = 0;
        std::uint64_t squared = 0;
        Wide rest = 0;

        void add(const Sums &other) {
            n += other.n;
            k += other.k;
            squared += other.squared;
            rest += other.rest;
        }
        void add(const Moments &last) { add({last.rows(), last.positives(), last.second_sum(), Wide(last.first_sum())}); }
    };
    static constexpr int page_bits = 8;
    static constexpr std::size_t page_size = std::size_t(1) << page_bits;
    static constexpr std::uint32_t last_place = 2 * CellSteps::middle;
    static constexpr std::size_t pages = (last_place >> page_bits) + 1;
    static constexpr std::uint32_t near_size = 32 << (cell_bits - 1), near_begin = CellSteps::middle - near_size / 2;
    static_assert(near_begin % page_size == 0 && near_size % page_size == 0);

    struct Free {
        void operator()(void *memory) const { std::free(memory); }
    };
    // Of the last rows of each cell, at most some thousand; and, by page, of those before them.
    std::unique_ptr<Moments[], Free> near_{static_cast<Moments *>(std::calloc(near_size, sizeof(Moments)))};
    std::vector<std::unique_ptr<Moments[]>> far_ = std::vector<std::unique_ptr<Moments[]>>(pages);
    std::unordered_map<std::size_t, std::unique_ptr<Sums[]>> before_;

    Moments &moments(std::uint32_t place) {
        if (place - near_begin < near_size) return near_[place - near_begin];
        place = std::min(place, last_place); // which no score exceeds
        std::unique_ptr<Moments[]> &page = far_[place >> page_bits];
        if (!page) page = std::make_unique<Moments[]>(page_size);
        return page[place & (page_size - 1)];
    }
    Sums &before(std::size_t place) {
        std::unique_ptr<Sums[]> &page = before_[place >> page_bits];
        if (!page) page = std::make_unique<Sums[]>(page_size);
        return page[place & (page_size - 1)];
    }

    void spill(std::size_t place, Moments &cell) { before(place).add(std::exchange(cell, Moments{})); }

    // Calls use(first place, last rows, those before them or null) for each page, in order.
    template <class Use> void for_pages(Use use) const {
        for (std::size_t page = 0; page < pages; ++page) {
            const std::size_t first = page << page_bits;
            const bool is_near = first >= near_begin && first < near_begin + near_size;
            const Moments *last = is_near ? &near_[first - near_begin] : far_[page].get();
            if (!last) continue;
            const auto found = before_.find(page);
            use(first, last, found == before_.end() ? nullptr : found->second.get());
        }
    }

    // Calls use(place, sums) for each cell with rows, in order.
    template <class Use> void for_cells(Use use) const {
        for_pages([&](std::size_t first, const Moments *last, const Sums *earlier) {
            for (std::size_t i = 0; i < page_size; ++i) {
                Sums sums;
                sums.add(last[i]);
                if (earlier) sums.add(earlier[i]);
                if (sums.n > 0) use(first + i, sums);
            }
        });
    }

    void add_steps(const CellSteps &steps, Index size) {
        std::uint64_t full = 0;
        for (Index i = 0; i < size; ++i) {
            Moments &cell = moments(steps.place[i]);
            cell.add(steps.moments[i]);
            full |= cell.first;
        }
        if (!Moments::is_full(full)) return;
        for (Index i = 0; i < size; ++i) {
            Moments &cell = moments(steps.place[i]);
            if (Moments::is_full(cell.first)) spill(steps.place[i], cell);
        }
    }
};

// Some cells in order with what `CellColumns::push` takes, as columns.
struct FewCells {
    static constexpr std::size_t most = 1024;
    std::uint64_t place[most], rows[most], rest[most], squared[most];
    Index positives[most];

    void set(std::size_t at, std::uint64_t place_, std::uint64_t rows_, std::uint64_t positives_, std::uint64_t rest_,
             std::uint64_t squared_) {
        place[at] = place_;
        rows[at] = rows_;
        rest[at] = rest_;
        squared[at] = squared_;
        positives[at] = static_cast<Index>(positives_);
    }

    // Whether `sum_cells` can add up the first ones.
    bool plain(std::size_t size) const {
        constexpr std::uint64_t smallest = std::uint64_t(1023 + 200 - 300) << (cell_bits - 1); // of 2^-300
        const std::size_t first = size > 0 && place[0] == 0;
        std::uint64_t many = 0; // rows from 513 on have a bit beyond the ninth
        for (std::size_t i = 0; i < size; ++i) many |= (rows[i] - 1) >> 9;
        return many == 0 && (first == size || place[first] >= smallest);
    }
};

// As `CellColumns::push`, for several cells at once: of at most 512 rows, and of q from 2^-300 on, or 0.
static TRUECAL_CLONES void sum_cells(const std::uint64_t *__restrict place, const std::uint64_t *__restrict rows,
                                     const std::uint64_t *__restrict rest, const std::uint64_t *__restrict squared,
                                     Index size, double *__restrict key, double *__restrict s1, double *__restrict s2,
                                     double *__restrict s3) {
    constexpr int width = cell_bits - 1, unit = 1023 + width + 200;
    constexpr std::uint64_t low = 0xffffffff;
    using lanes::number;
    const auto power_of_two = [](std::uint64_t power) { return bit_cast<double>((power + 1023) << 52); };
    for (Index i = 0; i < size; ++i) {
        const std::uint64_t mirrored = lanes::is_below(place[i], CellSteps::middle) - 1; // all bits, or none
        const std::uint64_t lead = (place[i] ^ mirrored) - mirrored + (2 * CellSteps::middle & mirrored);
        const double cut = bit_cast<double>(lead << rest_bits) * 0x1p-200;
        key[i] = mirrored ? 1.0 - cut : cut;
        const std::uint64_t held = 0 - (lead != 0), e = (lead >> width) - unit; // as `scale` needs it: below 0, but wrapped
        const std::uint64_t c = (lead & ((1 << width) - 1)) | 1 << width, sum = (c * rows[i] << rest_bits) + rest[i];
        const CellPowers powers(number(c), number(rows[i]), number(rest[i]) * bit_cast<double>(std::uint64_t(1023 - rest_bits) << 52),
                                number(squared[i]) * 0x1p-32);
        const auto keep = [=](double x) { return bit_cast<double>(bit_cast<std::uint64_t>(x) & held); };
        s1[i] = keep((number(sum >> 32) * 0x1p32 + number(sum & low)) * power_of_two(e - rest_bits));
        s2[i] = keep(powers.second * power_of_two(2 * e));
        s3[i] = keep(powers.third * power_of_two(3 * e));
    }
}

// Adds the first cells to the columns.
inline void add_up(const FewCells &cells, std::size_t size, CellColumns &found) {
    const std::size_t before = found.n.size();
    if (cells.plain(size)) {
        for (auto *column : {&found.key, &found.s1, &found.s2, &found.s3}) column->resize(before + size);
        sum_cells(cells.place, cells.rows, cells.rest, cells.squared, static_cast<Index>(size), found.key.data() + before,
                  found.s1.data() + before, found.s2.data() + before, found.s3.data() + before);
        found.n.insert(found.n.end(), cells.rows, cells.rows + size);
        found.k.insert(found.k.end(), cells.positives, cells.positives + size);
    } else {
        for (std::size_t i = 0; i < size; ++i) {
            const bool upper = cells.place[i] >= CellSteps::middle;
            const std::uint64_t lead = upper ? 2 * CellSteps::middle - cells.place[i] : cells.place[i];
            found.push(lead, upper, static_cast<Index>(cells.rows[i]), cells.positives[i], Wide(cells.rest[i]), Wide(cells.squared[i]));
        }
    }
}

// A row as one word: the place of its cell, without those that no score has, the bits of q behind the leading ones, the label.
struct RowWord {
    static constexpr int place_bit = rest_bits + 1;
    static constexpr std::uint32_t lower = (149 << (cell_bits - 1)) - 1;  // the last place below that of q = 2^-1074, but for 0
    static constexpr std::uint32_t upper = (1170 << (cell_bits - 1)) - 1; // of 1 - q the same, whose q is 2^-53 or more
    static constexpr std::uint32_t middle = CellSteps::middle - lower, last = middle + (CellSteps::middle - upper);
    static_assert(last < 1 << (64 - place_bit));

    static std::uint64_t place(std::uint64_t word) {
        const std::uint64_t own = word >> place_bit, highest = (last - 1 - own) >> 63; // 1 of the last place
        return ((own + lower) & (0 - ((0 - own) >> 63))) + ((0 - highest) & (2 * CellSteps::middle - last - lower));
    }
};

// The words of rows, the least and the largest of them; whether all scores lie in [0, 1].
template <class Float, class Label>
TRUECAL_CLONES bool list_words(const Float *__restrict score, const Label *__restrict label, Index size,
                               std::uint64_t *__restrict word, std::uint64_t &low, std::uint64_t &high) {
    std::uint64_t bad = 0, least = ~std::uint64_t(0), most = 0;
    for (Index i = 0; i < size; ++i) {
        const FoldedScore own(static_cast<double>(score[i]));
        bad |= own.bad;
        const std::uint64_t none = ((RowWord::upper - RowWord::lower) & own.mirrored) + RowWord::lower;
        const std::uint64_t lead = ((own.q >> rest_bits) - none) & (0 - ((0 - own.q) >> 63)); // 0 of q = 0
        const std::uint64_t place = (lead ^ own.mirrored) - own.mirrored + (RowWord::last & own.mirrored);
        word[i] = place << RowWord::place_bit | (own.q & rest_mask) << 1 | std::uint64_t(label[i] != Label(0));
        least = std::min(least, word[i]);
        most = std::max(most, word[i]);
    }
    low = least;
    high = most;
    return bad == 0;
}

// Sorts words from `low` to `high` by two digits of their places, with as much memory again.
inline void sort_words(std::uint64_t *word, std::uint64_t *spare, Index size, std::uint64_t low, std::uint64_t high) {
    const std::uint64_t first = low >> RowWord::place_bit, range = (high >> RowWord::place_bit) - first;
    constexpr int widest = 11;
    int digit = 0;
    while (digit < widest && range >> 2 * digit != 0) ++digit;
    const std::uint64_t mask = (std::uint64_t(1) << digit) - 1;
    std::uint32_t lower[1 << widest], upper[1 << widest];
    std::fill(lower, lower + mask + 1, 0u);
    std::fill(upper, upper + mask + 1, 0u);
    const auto low_digit = [=](std::uint64_t own) { return ((own >> RowWord::place_bit) - first) & mask; };
    const auto high_digit = [=](std::uint64_t own) { return ((own >> RowWord::place_bit) - first) >> digit & mask; };
    for (Index i = 0; i < size; ++i) {
        ++lower[low_digit(word[i])];
        ++upper[high_digit(word[i])];
    }
    for (std::uint32_t d = 0, under = 0, over = 0; d <= mask; ++d) {
        under += std::exchange(lower[d], under);
        over += std::exchange(upper[d], over);
    }
    for (Index i = 0; i < size; ++i) spare[lower[low_digit(word[i])]++] = word[i];
    for (Index i = 0; i < size; ++i) word[upper[high_digit(spare[i])]++] = spare[i];
}

// Cells by the first row of each, as if it had no other; the last of `first` is the number of rows.
static TRUECAL_CLONES void list_cells(const std::uint64_t *__restrict word, const std::uint64_t *__restrict first, Index size,
                                      FewCells &__restrict cells) {
    for (Index i = 0; i < size; ++i) {
        const std::uint64_t own = word[first[i]], rest = own >> 1 & rest_mask;
        cells.place[i] = RowWord::place(own);
        cells.rows[i] = first[i + 1] - first[i];
        cells.positives[i] = static_cast<Index>(own & 1);
        cells.rest[i] = rest;
        cells.squared[i] = lanes::square(rest >> (rest_bits - squared_bits));
    }
}

// The same of few rows, which are sorted by their cells: a table would take longer to make than to fill.
template <class Float, class Label> Packed few_rows(const Float *score, const Label *label, Index size, CellColumns &found) {
    std::unique_ptr<std::uint64_t[]> room(new std::uint64_t[static_cast<std::size_t>(2 * size + 1)]);
    std::uint64_t *const word = room.get();
    std::uint64_t low, high;
    const Packed fine{list_words(score, label, size, word, low, high), labels_fine(label, size)};
    if (!fine.scores_ok || size == 0) return fine;
    sort_words(word, word + size, size, low, high);
    std::uint64_t *const first = word + size; // the first row of each cell
    std::size_t count = 1;
    first[0] = 0;
    for (Index i = 1; i < size; ++i) { // no branch that could be guessed wrong
        first[count] = static_cast<std::uint64_t>(i);
        count += (word[i] ^ word[i - 1]) >> RowWord::place_bit != 0;
    }
    first[count] = static_cast<std::uint64_t>(size);
    FewCells cells;
    for (std::size_t begin = 0; begin < count; begin += FewCells::most) {
        const std::size_t held = std::min(FewCells::most, count - begin);
        list_cells(word, first + begin, static_cast<Index>(held), cells);
        for (std::size_t i = 0; i < held; ++i)
            for (std::uint64_t row = 1; row < cells.rows[i]; ++row) {
                const std::uint64_t own = word[first[begin + i] + row], rest = own >> 1 & rest_mask;
                cells.positives[i] += static_cast<Index>(own & 1);
                cells.rest[i] += rest;
                cells.squared[i] += CellPlace::squared(rest);
            }
        add_up(cells, held, found);
    }
    return fine;
}

// The same in pooled cells, which are few enough to lie in one piece.
class PooledTable {
  public:
    template <class Float, class Label, class Pause>
    Packed add_rows(const Float *score, const Label *label, Index size, Pause pause) {
        std::uint64_t bad_label = 0;
        for (Index i = 0; i < size; ++i) {
            if ((i & 0xffff) == 0) pause();
            const double x = static_cast<double>(score[i]);
            if (!((x >= 0.0) & (x <= 1.0))) return {false, bad_label == 0};
            bad_label |= odd_label(label[i]);
            const PooledPlace place(x);
            Sums &sums = sums_[place.upper][where(place.lead)];
            ++sums.n;
            sums.k += label[i] != Label(0);
            sums.rest += Wide(place.rest);
            sums.squared += place.squared();
        }
        return {true, bad_label == 0};
    }

    CellColumns columns() const {
        CellColumns found;
        for (std::size_t power = 0; power < powers; ++power)
            for (std::size_t i = pooled_powers.begin[power]; i < pooled_powers.begin[power + 1]; ++i)
                push(found, power, i, false);
        for (std::size_t power = powers; power-- > 0;) // the farther from 1, the lower
            for (std::size_t i = pooled_powers.begin[power + 1]; i-- > pooled_powers.begin[power];)
                push(found, power, i, true);
        return found;
    }

    void clear() {
        for (auto &sums : sums_) std::fill(sums.begin(), sums.end(), Sums{});
    }

  private:
    struct Sums {
        std::uint32_t n = 0, k = 0;
        std::uint64_t squared = 0;
        Wide rest = 0;
    };
    static constexpr int width = cell_bits - 1;
    static constexpr std::size_t powers = PooledPowers::count, cells = pooled_powers.begin[powers];
    std::vector<Sums> sums_[2] = {std::vector<Sums>(cells), std::vector<Sums>(cells)};

    static std::size_t where(std::uint64_t lead) {
        return pooled_powers.begin[PooledPlace::power(lead)] + ((lead & ((1 << width) - 1)) >> PooledPlace::dropped(lead));
    }
    void push(CellColumns &found, std::size_t power, std::size_t at, bool upper) const {
        const Sums &sums = sums_[upper][at];
        if (sums.n == 0) return;
        const std::uint64_t first = std::uint64_t(power) << width;
        const int dropped = PooledPlace::dropped(first);
        const std::uint64_t lead = first | std::uint64_t(at - pooled_powers.begin[power]) << dropped;
        found.push(lead, upper, sums.n, sums.k, sums.rest, Wide(sums.squared), dropped);
    }
};

// The pooled cells of columns [first, last) of a matrix of so many rows and columns, each as the scores of rows that are
// positive where `target` is the column. Some columns and rows are read together, while a cache holds them. False if a
// score lies outside [0, 1].
template <class Float, class Pause>
bool class_columns(const Float *matrix, const Index *target, Index rows, Index columns, Index first, Index last,
                   std::vector<CellColumns> &found, Pause pause) {
    constexpr Index wide = 16, high = 1024;
    std::vector<PooledTable> tables(static_cast<std::size_t>(std::min(wide, last - first)));
    std::vector<Float> score(static_cast<std::size_t>(wide * high));
    std::vector<std::uint8_t> positive(static_cast<std::size_t>(high));
    for (Index column = first; column < last; column += wide) {
        const Index width = std::min(wide, last - column);
        for (Index row = 0; row < rows; row += high) {
            const Index height = std::min(high, rows - row);
            for (Index i = 0; i < height; ++i)
                for (Index j = 0; j < width; ++j)
                    score[static_cast<std::size_t>(j * high + i)] = matrix[(row + i) * columns + column + j];
            for (Index j = 0; j < width; ++j) {
                for (Index i = 0; i < height; ++i)
                    positive[static_cast<std::size_t>(i)] = target[row + i] == column + j;
                PooledTable &table = tables[static_cast<std::size_t>(j)];
                if (!table.add_rows(score.data() + j * high, positive.data(), height, pause).scores_ok) return false;
            }
        }
        for (Index j = 0; j < width; ++j) {
            found.push_back(tables[static_cast<std::size_t>(j)].columns());
            tables[static_cast<std::size_t>(j)].clear();
        }
    }
    return true;
}

// Adds the cells, or pooled cells, of sorted entries; `cells` is room for some that wait.
template <class Place, class Entries> void add_cells(const Entries &e, FewCells &cells, CellColumns &found) {
    constexpr Index few = 512; // rows of a cell that can wait for others
    std::size_t held = 0;
    for (Index i = 0; i < e.size;) {
        const Place first(e.score(i));
        Counts counts{0, 0};
        Wide rest = 0, squared = 0;
        for (; i < e.size; ++i) {
            const Place place(e.score(i));
            if (place.lead != first.lead || place.upper != first.upper) break;
            const Counts c = e.at(i);
            counts.n += c.n;
            counts.k += c.k;
            rest += Entries::single_rows ? Wide(place.rest) : Wide(place.rest) * c.n;
            squared += Entries::single_rows ? Wide(place.squared()) : Wide(place.squared()) * c.n;
        }
        if (std::is_same_v<Place, CellPlace> && counts.n <= few) {
            const std::uint64_t place = first.upper ? 2 * CellSteps::middle - first.lead : first.lead;
            cells.set(held++, place, static_cast<std::uint64_t>(counts.n), static_cast<std::uint64_t>(counts.k),
                       static_cast<std::uint64_t>(static_cast<Index>(rest)), static_cast<std::uint64_t>(static_cast<Index>(squared)));
            if (held == FewCells::most) add_up(cells, std::exchange(held, 0), found);
            continue;
        }
        add_up(cells, std::exchange(held, 0), found);
        found.push(first.lead, first.upper, counts.n, counts.k, rest, squared, Place::dropped(first.lead));
    }
    add_up(cells, held, found);
}

template <class Place, class Entries> CellColumns cell_columns(const Entries &e) {
    CellColumns found;
    found.reserve(e.size);
    FewCells cells;
    add_cells<Place>(e, cells, found);
    return found;
}

} // namespace truecal
