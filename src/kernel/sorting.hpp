// Rows sorted by score, as keys: they are counted in cells of their scores' leading bits, written to buckets of
// neighbouring cells that fit the cache, and sorted there, by digits of the bits in which the keys of a bucket differ.
//
// Rows are read twice, and may change in between: another thread or process may write to them. So every number has a cell, what
// is written is bounded, and buckets are looked at afterwards: rows that are not those that were counted are refused.
#pragma once

#include "threads.hpp"

#include <utility>

namespace truecal {

// Cells of 10 bits behind the leading one, on either side of 0.5, as for Local TCE, down to q = 2^-33; what is nearer to
// 0 or 1 shares the outermost one. They never fall where scores rise.
struct SortCells {
    static constexpr int bits = 10, powers = 32;
    static constexpr std::int64_t half = std::int64_t(powers) << bits;
    static constexpr std::size_t size = 2 * std::size_t(half) + 1;
    static constexpr int dropped = 4; // bits of a cell's number that most rows can do without: 16 neighbouring cells are one
};

// The cell of a score in [0, 1]; any of them for another number.
inline std::int32_t sort_cell(double x) {
    constexpr auto half = static_cast<std::int32_t>(SortCells::half), first = (1022 << SortCells::bits) - half;
    const auto lead = static_cast<std::int32_t>(bit_cast<std::uint64_t>(std::min(x, 1.0 - x)) >> (52 - SortCells::bits));
    const std::int32_t inner = std::min(std::max(lead - first, 0), half);
    const auto lower = static_cast<std::int32_t>(lanes::is_below(bit_cast<std::uint64_t>(x), bit_cast<std::uint64_t>(0.5)));
    return ((inner ^ (lower - 1)) - (lower - 1)) + (2 * half & (lower - 1)); // 2 half - inner from 0.5 on
}

// Whether all scores lie in [0, 1]; the cell of each.
template <class Float> TRUECAL_CLONES bool list_cells(const Float *score, Index size, std::int32_t *cell) {
    std::uint64_t bad = 0;
    for (Index i = 0; i < size; ++i) {
        const double x = static_cast<double>(score[i]) + 0.0;
        bad |= lanes::is_no_score(bit_cast<std::uint64_t>(x));
        cell[i] = sort_cell(x);
    }
    return bad == 0;
}

// The least and the largest of some numbers.
template <class Int> TRUECAL_CLONES std::pair<Int, Int> find_range(const Int *key, Index size) {
    Int low = key[0], high = key[0];
    for (Index i = 1; i < size; ++i) {
        low = std::min(low, key[i]);
        high = std::max(high, key[i]);
    }
    return {low, high};
}

// Each key before a larger one, of pairs of neighbours.
template <class Int> TRUECAL_CLONES void order_pairs(Int *__restrict key, Index pairs) {
    for (Index i = 0; i < pairs; ++i) {
        const Int a = key[2 * i], b = key[2 * i + 1];
        key[2 * i] = a < b ? a : b;
        key[2 * i + 1] = a < b ? b : a;
    }
}

// Whether no key from 0 on is less than the one before it.
template <class Int> TRUECAL_CLONES bool rises(const Int *key, Index size) {
    Int falls = 0;
    for (Index i = 1; i < size; ++i) falls |= key[i] - key[i - 1];
    return falls >= 0;
}

// Sorts keys from 0 on; keeps the room that it needs, or takes some for as many keys. Few keys that are spread evenly are sorted by one digit with about as
// many values as there are keys, others by two, the lower one with the label, so that equal scores are in order after them.
// What the last bits leave is mended: most of it by exchanging neighbours.
template <class Int> class DigitSort {
  public:
    explicit DigitSort(Int *room = nullptr) : room_(room) {}

    void sort(Int *key, Index size) {
        if (size <= few) return insert(key, size);
        if (size >> 32 != 0) return std::sort(key, key + size); // what the counts do not hold
        const auto [low, high] = find_range(key, size);
        if (low < 0) return std::sort(key, key + size); // no scores: differences may not be numbers of this type
        int width = 0;
        while (width < 8 * int(sizeof(Int)) - 1 && (high - low) >> width != 0) ++width;
        if (width <= digit) return fill(key, size, low, high);
        if (!room_ && own_.size() < static_cast<std::size_t>(size)) own_.resize(static_cast<std::size_t>(size));
        Int *const spare = room_ ? room_ : own_.data();
        if (size < many && spread(key, spare, size, low, width)) return;
        if (size <= some) return std::sort(key, key + size);
        const int dropped = std::max(width - 2 * digit, 0);
        const auto lower = [=, low = low](Int own) { return ((own - low) >> dropped & (digits - 1)) << 1 | (own & 1); };
        const auto upper = [=, low = low](Int own) { return (own - low) >> dropped >> digit; };
        std::uint32_t *const first = count_, *const second = count_ + 2 * digits;
        std::fill(first, second + digits, 0);
        for (Index i = 0; i < size; ++i) {
            ++first[lower(key[i])];
            ++second[upper(key[i])];
        }
        to_starts(first, 2 * digits);
        to_starts(second, digits);
        for (Index i = 0; i < size; ++i) spare[first[lower(key[i])]++] = key[i];
        for (Index i = 0; i < size; ++i) key[second[upper(spare[i])]++] = spare[i];
        if (dropped > 0) finish(key, size, low, dropped);
    }

  private:
    static constexpr int digit = 11;
    static constexpr Index digits = Index(1) << digit, few = 32, some = 512, many = 1 << 13, looked_at = 128;
    Int *room_;
    std::vector<Int> own_;
    std::uint32_t count_[many];

    // By one digit; false where some of its values have many keys.
    bool spread(Int *key, Int *spare, Index size, Int low, int width) {
        int bits = 0;
        while (size >> bits != 0) ++bits;
        const int dropped = std::max(width - bits, 0);
        const Index values = Index(1) << (width - dropped);
        std::fill(count_, count_ + values, 0);
        for (Index i = 0; i < size; ++i) ++count_[(key[i] - low) >> dropped];
        if (find_range(count_, values).second > few) return false;
        to_starts(count_, values);
        for (Index i = 0; i < size; ++i) spare[count_[(key[i] - low) >> dropped]++] = key[i];
        std::copy(spare, spare + size, key);
        finish(key, size, low, dropped);
        return true;
    }

    static void insert(Int *key, Index size) {
        for (Index i = 1; i < size; ++i) {
            const Int own = key[i];
            Index at = i;
            for (; at > 0 && key[at - 1] > own; --at) key[at] = key[at - 1];
            key[at] = own;
        }
    }

    static void to_starts(std::uint32_t *count, Index size) {
        std::uint32_t sum = 0;
        for (Index d = 0; d < size; ++d) sum += std::exchange(count[d], sum);
    }

    // Keys that are few different numbers.
    void fill(Int *key, Index size, Int low, Int high) {
        std::fill(count_, count_ + (high - low) + 1, 0);
        for (Index i = 0; i < size; ++i) ++count_[key[i] - low];
        for (Int own = low; own <= high; ++own) key = std::fill_n(key, count_[own - low], own);
    }

    // Of keys that are sorted but for their last bits.
    void finish(Int *key, Index size, Int low, int dropped) {
        if (rises(key, size)) return;
        for (Index turn = 0; turn < 4; ++turn) order_pairs(key + turn % 2, (size - turn % 2) / 2);
        for (Index i = 1; i < size; ++i) {
            while (i < size && rises(key + i - 1, std::min(looked_at + 1, size - i + 1))) i += looked_at;
            while (i < size && key[i - 1] <= key[i]) ++i;
            if (i >= size) return;
            const Int lead = (key[i] - low) >> dropped;
            Index begin = i - 1;
            while (begin > 0 && (key[begin - 1] - low) >> dropped == lead) --begin;
            while (i < size && (key[i] - low) >> dropped == lead) ++i;
            sort(key + begin, i - begin);
        }
    }
};

constexpr Index sorted_at_once = 1 << 18; // rows that fit the cache

// Keys from 0 on, sorted where they are: swapped into buckets by the leading bits in which they differ.
template <class Int> struct KeyBuckets {
    static constexpr int digit = 10;
    Int low;
    int shift = 0;
    std::vector<Index> ends = std::vector<Index>(std::size_t(1) << digit);

    template <class Pause> KeyBuckets(Int *key, Index size, Pause pause) : low(key[0]) {
        Int high = low;
        for_stretches(0, size, pause, [&](Index i) {
            low = std::min(low, key[i]);
            high = std::max(high, key[i]);
        });
        while ((high - low) >> shift >> digit != 0) ++shift;
        const auto bucket = [this](Int own) { return static_cast<std::size_t>((own - low) >> shift); };
        for_stretches(0, size, pause, [&](Index i) { ++ends[bucket(key[i])]; });
        std::vector<Index> next(ends.size()); // where the next key of each bucket goes
        Index sum = 0;
        for (std::size_t b = 0; b < ends.size(); ++b) {
            next[b] = sum;
            ends[b] = sum += ends[b];
        }
        // each turn takes a key of a bucket to its own, from where another comes; turns do not wait for each other
        for (std::size_t left = ends.size(); left > 0;) {
            left = 0;
            for (std::size_t b = 0; b < ends.size(); ++b) {
                for_stretches(next[b], ends[b], pause, [&](Index i) { std::swap(key[i], key[next[bucket(key[i])]++]); });
                left += next[b] != ends[b];
            }
        }
    }

    template <class Pause, class Use> static void for_stretches(Index begin, Index end, Pause pause, Use use) {
        for (; begin < end; begin += stretch) {
            pause();
            for (Index i = begin, stop = std::min(begin + stretch, end); i < stop; ++i) use(i);
        }
    }
};

// Of keys that are many, with room for few.
template <class Int, class Pause> void sort_many(Int *key, Index size, DigitSort<Int> &sorter, Pause pause) {
    if (size <= sorted_at_once) return sorter.sort(key, size);
    const KeyBuckets<Int> buckets(key, size, pause);
    if (buckets.shift == 0) return;
    Index begin = 0;
    for (const Index end : buckets.ends) {
        pause();
        sort_many(key + begin, end - begin, sorter, pause);
        begin = end;
    }
}

constexpr Index packed_at_once = 512;
using CellCounts = std::vector<std::uint32_t>;

// Calls use(begin, count) for some rows of a part after others.
template <class Pause, class Use> void in_blocks(Index first, Index last, Pause pause, Use use) {
    for (Index begin = first; begin < last; begin += packed_at_once) {
        if ((begin - first) % stretch == 0 && !pause()) return;
        use(begin, std::min(packed_at_once, last - begin));
    }
}

// How many rows of each part fall into each cell without some bits, as far as scores and labels are fine.
template <class Float, class Label, class Heed>
Packed count_cells(const Float *score, const Label *label, Index size, int dropped, std::vector<CellCounts> &counts, Heed heed) {
    return heed(size, static_cast<Index>(counts.size()), [&](Index part, Index first, Index last, auto pause) {
        CellCounts &own = counts[static_cast<std::size_t>(part)];
        own.assign((SortCells::size >> dropped) + 1, 0);
        std::int32_t cell[packed_at_once];
        Packed fine{true, true};
        in_blocks(first, last, pause, [&](Index begin, Index rows) {
            fine.labels_ok &= labels_fine(label + begin, rows);
            fine.scores_ok &= list_cells(score + begin, rows, cell);
            if (fine.scores_ok)
                for (Index i = 0; i < rows; ++i) ++own[static_cast<std::size_t>(cell[i] >> dropped)];
        });
        return fine;
    });
}

// Neighbouring cells together.
struct Buckets {
    static constexpr Index most = 512; // or little more: as many lines as the nearest cache holds are written to in turns
    int dropped = 0;
    std::vector<std::uint16_t> of; // each cell
    std::vector<Index> starts{0};  // among sorted rows; the last is their end

    Buckets() = default;
    Buckets(const std::vector<CellCounts> &counts, Index size, int dropped_) : dropped(dropped_), of(counts[0].size()) {
        const Index wanted = size / most; // rows
        Index held = 0;
        for (std::size_t cell = 0; cell < of.size(); ++cell) {
            Index rows = 0;
            for (const CellCounts &part : counts) rows += part[cell];
            if (held > 0 && held + rows > wanted) {
                starts.push_back(starts.back() + held);
                held = 0;
            }
            held += rows;
            of[cell] = static_cast<std::uint16_t>(starts.size() - 1);
        }
        starts.push_back(size);
    }
    std::size_t size() const { return starts.size() - 1; }
    Index largest() const {
        Index rows = 0;
        for (std::size_t b = 0; b < size(); ++b) rows = std::max(rows, starts[b + 1] - starts[b]);
        return rows;
    }

    // Where the rows of each part end in each bucket; they begin where those of the part before end.
    std::vector<std::vector<Index>> find_ends(const std::vector<CellCounts> &counts) const {
        std::vector<std::vector<Index>> ends(counts.size(), std::vector<Index>(size()));
        for (std::size_t part = 0; part < counts.size(); ++part)
            for (std::size_t cell = 0; cell < of.size(); ++cell) ends[part][of[cell]] += counts[part][cell];
        for (std::size_t b = 0; b < size(); ++b) {
            Index filled = starts[b];
            for (std::vector<Index> &part : ends) filled = part[b] += filled;
        }
        return ends;
    }

    // Writes rows, whose cells are given, to where the next one of each bucket goes, unless that is beyond the end.
    template <class Int> void write(const Int *row, const std::int32_t *cell, Index rows, Index *next, Int *key, Index end) const {
        const std::uint16_t *const bucket = of.data();
        const int bits = dropped;
        for (Index i = 0; i < rows; ++i) {
            const Index at = next[bucket[cell[i] >> bits]]++;
            if (at < end) key[at] = row[i];
        }
    }

    // Sorts the rows within each bucket.
    template <class Int, class Heed> void sort(Int *key, Index threads, Heed heed) const {
        std::atomic<std::size_t> taken{0};
        heed(threads, threads, [&](Index, Index, Index, auto pause) {
            DigitSort<Int> sorter;
            for (std::size_t b; (b = taken++) < size() && pause();)
                sorter.sort(key + starts[b], starts[b + 1] - starts[b]);
            return Packed{true, true};
        });
    }
};

// The keys of rows that fit the cache, sorted; `room` is for as many, or null.
template <class Int, class Float, class Label>
Packed sort_few_rows(const Float *score, const Label *label, Int *key, Int *room, Index size) {
    const Packed ok = pack(score, label, key, size);
    if (ok.scores_ok && ok.labels_ok) DigitSort<Int>(room).sort(key, size);
    return ok;
}

// The rows' keys, sorted. `heed(size, parts, work)` calls work(part, first, last, pause) for each part. Neither scores nor
// labels are said to be fine where rows changed meanwhile.
template <class Int, class Float, class Label, class Heed>
Packed sort_rows(const Float *score, const Label *label, Int *key, Index size, Index threads, Heed heed) {
    if (size <= sorted_at_once) return sort_few_rows(score, label, key, static_cast<Int *>(nullptr), size);
    const Index parts = std::max(threads, (size >> 31) + 1);
    std::vector<CellCounts> counts(static_cast<std::size_t>(parts));
    Buckets buckets;
    Packed ok{true, true};
    for (const int dropped : {SortCells::dropped, 0}) {
        ok = count_cells(score, label, size, dropped, counts, heed);
        if (!ok.scores_ok || !ok.labels_ok) return ok;
        buckets = Buckets(counts, size, dropped);
        if (buckets.largest() <= size / 64) break; // else narrower cells may help
    }
    const std::vector<std::vector<Index>> ends = buckets.find_ends(counts);
    std::vector<CellCounts>().swap(counts);
    const Packed same = heed(size, parts, [&](Index part, Index first, Index last, auto pause) {
        const auto number = static_cast<std::size_t>(part);
        std::vector<Index> next = number == 0 ? buckets.starts : ends[number - 1]; // where the next row of each bucket goes
        std::int32_t cell[packed_at_once];
        Int packed[packed_at_once];
        Packed fine{true, true};
        in_blocks(first, last, pause, [&](Index begin, Index rows) {
            list_cells(score + begin, rows, cell);
            const Packed own = pack(score + begin, label + begin, packed, rows);
            fine = {fine.scores_ok && own.scores_ok, fine.labels_ok && own.labels_ok};
            buckets.write(packed, cell, rows, next.data(), key, size);
        });
        const bool full = std::equal(ends[number].begin(), ends[number].end(), next.begin());
        return Packed{fine.scores_ok && full, fine.labels_ok && full};
    });
    if (!same.scores_ok || !same.labels_ok) return same; // rows changed
    buckets.sort(key, threads, heed);
    return ok;
}

} // namespace truecal
