// Rows sorted by score, as keys: they are counted in cells of their scores' leading bits, written to buckets of
// neighbouring cells that fit the cache, and sorted there, by digits of the bits in which the keys of a bucket differ.
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
};

// Whether all scores lie in [0, 1]; the cell of each.
template <class Float> TRUECAL_CLONES bool list_cells(const Float *score, Index size, std::int32_t *cell) {
    constexpr auto half = static_cast<std::int32_t>(SortCells::half), first = (1022 << SortCells::bits) - half;
    std::uint64_t bad = 0;
    for (Index i = 0; i < size; ++i) {
        const double x = static_cast<double>(score[i]) + 0.0, other = 1.0 - x;
        const auto bits = bit_cast<std::uint64_t>(x);
        bad |= lanes::is_no_score(bits);
        const auto lead = static_cast<std::int32_t>(bit_cast<std::uint64_t>(std::min(x, other)) >> (52 - SortCells::bits));
        const std::int32_t inner = std::max(lead - first, 0);
        const auto lower = static_cast<std::int32_t>(lanes::is_below(bits, bit_cast<std::uint64_t>(0.5)));
        cell[i] = ((inner ^ (lower - 1)) - (lower - 1)) + (2 * half & (lower - 1)); // 2 half - inner from 0.5 on
    }
    return bad == 0;
}

// Sorts keys from 0 on; keeps the room that it needs. Two digits are sorted by, the lower one with the label, so that equal
// scores are in order after them; what else the last bits leave is mended.
template <class Int> class DigitSort {
  public:
    void sort(Int *key, Index size) {
        if (size <= few) return insert(key, size);
        if (size >> 32 != 0) return std::sort(key, key + size); // what the counts do not hold
        Int low = key[0], high = key[0];
        for (Index i = 1; i < size; ++i) {
            low = std::min(low, key[i]);
            high = std::max(high, key[i]);
        }
        int width = 0;
        while (width < 8 * int(sizeof(Int)) - 1 && (high - low) >> width != 0) ++width;
        if (width <= digit) return fill(key, size, low, high);
        if (size <= some) return std::sort(key, key + size);
        const int dropped = std::max(width - 2 * digit, 0);
        std::fill(std::begin(count_), std::end(count_), 0);
        const auto lower = [=](Int own) { return ((own - low) >> dropped & (digits - 1)) << 1 | (own & 1); };
        const auto upper = [=](Int own) { return (own - low) >> dropped >> digit; };
        std::uint32_t *const first = count_, *const second = count_ + 2 * digits;
        for (Index i = 0; i < size; ++i) {
            ++first[lower(key[i])];
            ++second[upper(key[i])];
        }
        to_starts(first, 2 * digits);
        to_starts(second, digits);
        if (spare_.size() < static_cast<std::size_t>(size)) spare_.resize(static_cast<std::size_t>(size));
        Int *const spare = spare_.data();
        for (Index i = 0; i < size; ++i) spare[first[lower(key[i])]++] = key[i];
        for (Index i = 0; i < size; ++i) key[second[upper(spare[i])]++] = spare[i];
        if (dropped > 0) finish(key, size, low, dropped);
    }

  private:
    static constexpr int digit = 11;
    static constexpr Index digits = Index(1) << digit, few = 32, some = 512;
    std::vector<Int> spare_;
    std::uint32_t count_[3 * digits];

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
        for (Index i = 1; i < size; ++i) {
            if (key[i - 1] <= key[i]) continue;
            const Int lead = (key[i] - low) >> dropped;
            Index begin = i - 1;
            while (begin > 0 && (key[begin - 1] - low) >> dropped == lead) --begin;
            while (i < size && (key[i] - low) >> dropped == lead) ++i;
            sort(key + begin, i - begin);
        }
    }
};

// The rows' keys, sorted. `heed(size, parts, work)` calls work(part, first, last, pause) for each part.
template <class Int, class Float, class Label, class Heed>
Packed sort_rows(const Float *score, const Label *label, Int *key, Index size, Index threads, Heed heed) {
    constexpr Index few = 1 << 18; // rows that fit the cache
    if (size <= few) {
        const Packed ok = pack(score, label, key, size);
        if (ok.scores_ok && ok.labels_ok) DigitSort<Int>().sort(key, size);
        return ok;
    }
    constexpr Index cached = 1 << 13, most = 1 << 10; // rows of a bucket, where that does not take too many buckets
    constexpr Index some = 512; // rows that are packed together
    const Index parts = std::max(threads, (size >> 31) + 1);
    struct Part {
        std::vector<std::uint32_t> count = std::vector<std::uint32_t>(SortCells::size);
        std::vector<Index> next; // where the next row of each bucket goes
    };
    std::vector<Part> own(static_cast<std::size_t>(parts));
    // Calls use(begin, count) for some rows of a part after others.
    const auto in_blocks = [=](Index first, Index last, auto pause, auto use) {
        for (Index begin = first; begin < last; begin += some) {
            if ((begin - first) % stretch == 0 && !pause()) return;
            use(begin, std::min(some, last - begin));
        }
    };

    const Packed ok = heed(size, parts, [&](Index part, Index first, Index last, auto pause) {
        std::uint32_t *const count = own[static_cast<std::size_t>(part)].count.data();
        std::int32_t cell[some];
        Packed fine{true, true};
        in_blocks(first, last, pause, [&](Index begin, Index rows) {
            fine.labels_ok &= labels_fine(label + begin, rows);
            fine.scores_ok &= list_cells(score + begin, rows, cell);
            if (fine.scores_ok)
                for (Index i = 0; i < rows; ++i) ++count[cell[i]];
        });
        return fine;
    });
    if (!ok.scores_ok || !ok.labels_ok) return ok;

    const Index wanted = std::max(cached, size / most);
    std::vector<std::uint16_t> bucket(SortCells::size);
    std::vector<Index> starts{0};
    Index held = 0;
    for (std::size_t cell = 0; cell < SortCells::size; ++cell) {
        Index rows = 0;
        for (const Part &part : own) rows += part.count[cell];
        if (held > 0 && held + rows > wanted) {
            starts.push_back(starts.back() + held);
            held = 0;
        }
        held += rows;
        bucket[cell] = static_cast<std::uint16_t>(starts.size() - 1);
    }
    std::vector<Index> filled = starts;
    for (Part &part : own) {
        part.next = filled;
        for (std::size_t cell = 0; cell < SortCells::size; ++cell) filled[bucket[cell]] += part.count[cell];
    }
    starts.push_back(size);

    heed(size, parts, [&](Index part, Index first, Index last, auto pause) {
        Index *const next = own[static_cast<std::size_t>(part)].next.data();
        std::int32_t cell[some];
        Int packed[some];
        in_blocks(first, last, pause, [&](Index begin, Index rows) {
            list_cells(score + begin, rows, cell);
            pack(score + begin, label + begin, packed, rows);
            for (Index i = 0; i < rows; ++i) key[next[bucket[static_cast<std::size_t>(cell[i])]]++] = packed[i];
        });
        return ok;
    });

    std::atomic<std::size_t> taken{0};
    heed(threads, threads, [&](Index, Index, Index, auto pause) {
        DigitSort<Int> sorter;
        for (std::size_t b; (b = taken++) + 1 < starts.size() && pause();)
            sorter.sort(key + starts[b], starts[b + 1] - starts[b]);
        return ok;
    });
    return ok;
}

} // namespace truecal
