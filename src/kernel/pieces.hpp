// Rows that are sorted piece by piece, each time that one is asked for: memory for two pieces, and a pass over all rows for
// each. A piece is some neighbouring buckets, so that equal scores never lie in two of them.
#pragma once

#include "sorting.hpp"

#include <memory>
#include <unordered_map>

namespace truecal {

// Sorted keys of which two pieces are held, those asked for last.
class Pieces {
  public:
    virtual ~Pieces() = default;
    Index size() const { return starts_.back(); }

    bool is_at_hand(Index i) const { return held_[last_].has(i); }
    std::int64_t key(Index i) { return is_at_hand(i) ? held_[last_].at(i) : find(i); }
    // The same of few rows, which are remembered.
    std::int64_t remember(Index i) {
        const auto found = known_.find(i);
        return found != known_.end() ? found->second : known_.emplace(i, key(i)).first->second;
    }
    // The piece of a row, and the one of scores like this.
    std::size_t piece_of(Index i) const { return before(starts_, i); }
    std::size_t piece_of_score(double x) const { return before(lowest_, x); }
    Index begin_of(std::size_t piece) const { return starts_[piece]; }

  protected:
    std::vector<Index> starts_;  // of pieces among sorted rows; the last is their end
    std::vector<double> lowest_; // the least score that each piece can have
    Index largest_ = 0;          // the rows of a piece, at most
    virtual void load(std::size_t piece, std::int64_t *key) = 0;

  private:
    struct Piece {
        Index first = 0;
        std::vector<std::int64_t> key;
        bool has(Index i) const { return static_cast<std::size_t>(i - first) < key.size(); }
        std::int64_t at(Index i) const { return key[static_cast<std::size_t>(i - first)]; }
    };
    Piece held_[2];
    std::unordered_map<Index, std::int64_t> known_;
    int last_ = 0;

    template <class T> static std::size_t before(const std::vector<T> &values, T x) {
        return static_cast<std::size_t>(std::upper_bound(values.begin() + 1, values.end(), x) - values.begin()) - 1;
    }

    std::int64_t find(Index i) {
        last_ = 1 - last_;
        Piece &own = held_[last_];
        if (!own.has(i)) {
            const std::size_t piece = piece_of(i);
            own.first = starts_[piece];
            own.key.clear();
            own.key.reserve(static_cast<std::size_t>(largest_)); // once
            own.key.resize(static_cast<std::size_t>(starts_[piece + 1] - own.first));
            load(piece, own.key.data());
        }
        return own.at(i);
    }
};

// Of scores and labels that lie in memory, `bytes` of which may be used.
template <class Float, class Label, class Heed> class RowPieces : public Pieces {
  public:
    RowPieces(const Float *score, const Label *label, Index size, Index bytes, Index threads, Heed heed, Packed &ok)
        : score_(score), label_(label), size_(size), threads_(threads), heed_(heed),
          counts_(static_cast<std::size_t>(std::max(threads, (size >> 31) + 1))) {
        const int dropped = size < Index(1) << 22 ? SortCells::dropped : 0;
        ok = count_cells(score, label, size, dropped, counts_, heed);
        if (!ok.scores_ok || !ok.labels_ok) return;
        buckets_ = Buckets(counts_, size, dropped);
        rows_ = buckets_.count(counts_);
        std::vector<CellCounts>().swap(counts_);
        constexpr auto word = static_cast<Index>(sizeof(std::int64_t));
        // with its room, while that grows
        const Index sorter = static_cast<Index>(sizeof(DigitSort<std::int64_t>)) + 2 * word * (size / Buckets::most);
        const Index tables = static_cast<Index>(buckets_.of.size() * sizeof(std::uint16_t)) + threads * sorter;
        const Index most = std::max<Index>((bytes - std::min(tables, bytes / 2)) / 2 / word, 1 << 13);
        const std::vector<Index> &starts = buckets_.starts;
        for (std::size_t b = 0; b < buckets_.size(); ++b)
            if (first_.empty() || starts[b + 1] - starts[first_.back()] > most) first_.push_back(b);
        for (const std::size_t b : first_) starts_.push_back(starts[b]);
        starts_.push_back(size);
        first_.push_back(buckets_.size());
        for (std::size_t piece = 0; piece + 1 < starts_.size(); ++piece)
            largest_ = std::max(largest_, starts_[piece + 1] - starts_[piece]);
        for (const std::size_t b : first_) least_.push_back(find_least(b));
        for (std::size_t piece = 0; piece + 1 < first_.size(); ++piece) lowest_.push_back(bit_cast<Float>(least_[piece]));
    }

  protected:
    void load(std::size_t piece, std::int64_t *key) override {
        const std::size_t first = first_[piece], last = first_[piece + 1];
        std::vector<std::vector<Index>> next(rows_.size(), std::vector<Index>(last - first));
        for (std::size_t b = first; b < last; ++b) {
            Index filled = buckets_.starts[b] - buckets_.starts[first];
            for (std::size_t part = 0; part < rows_.size(); ++part) {
                next[part][b - first] = filled;
                filled += rows_[part][b];
            }
        }
        const Bits least = least_[piece], width = least_[piece + 1] - least;
        heed_(size_, static_cast<Index>(rows_.size()), [&](Index part, Index begin, Index end, auto pause) {
            Index *const own = next[static_cast<std::size_t>(part)].data() - first;
            in_blocks(begin, end, pause, [&](Index at, Index rows) {
                for (Index i = at; i < at + rows; ++i) {
                    const Bits bits = bit_cast<Bits>(score_[i]) & positive; // -0.0 is 0.0
                    if (static_cast<Bits>(bits - least) >= width) continue;
                    const double x = bit_cast<Float>(bits);
                    key[own[buckets_.find(sort_cell(x))]++] =
                        static_cast<std::int64_t>(bit_cast<std::uint64_t>(x) << 1 | std::uint64_t(label_[i] != Label(0)));
                }
            });
            return Packed{true, true};
        });
        buckets_.sort(key, first, last, threads_, heed_);
    }

  private:
    using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
    static constexpr Bits positive = static_cast<Bits>(-1) >> 1;
    const Float *score_;
    const Label *label_;
    Index size_, threads_;
    Heed heed_;
    std::vector<CellCounts> counts_;
    Buckets buckets_;
    std::vector<std::vector<Index>> rows_; // of each part and bucket
    std::vector<std::size_t> first_;       // bucket of each piece; the last is their number
    std::vector<Bits> least_;              // the bits of the least score that each piece can have; the last is beyond 1

    // The bits of the least score from a bucket on: cells never fall where scores, and so their bits, rise.
    Bits find_least(std::size_t bucket) const {
        Bits low = 0, high = bit_cast<Bits>(Float(1)) + 1;
        while (low < high) {
            const Bits middle = low + (high - low) / 2;
            if (buckets_.find(sort_cell(static_cast<double>(bit_cast<Float>(middle)))) >= bucket) high = middle;
            else low = middle + 1;
        }
        return low;
    }
};

// Entries as `Keys` has them.
struct PieceRows {
    static constexpr bool single_rows = true;
    Pieces *pieces;
    Index size;

    double score(Index i) const { return bit_cast<double>(pieces->remember(i) >> 1); }
    Counts at(Index i) const { return {1, static_cast<Index>(pieces->key(i) & 1)}; }
    bool same(Index i, Index j) const {
        if (!(pieces->is_at_hand(i) && pieces->is_at_hand(j)) && pieces->piece_of(i) != pieces->piece_of(j)) return false;
        return ((pieces->key(i) ^ pieces->key(j)) >> 1) == 0;
    }
    Index total() const { return size; }
};

// Within the piece that can hold such a score: those before it lie below, those after it above.
inline Index locate(const PieceRows &e, double x, bool after, Index begin, Index end) {
    const std::size_t piece = e.pieces->piece_of_score(x);
    const Index first = std::max(begin, e.pieces->begin_of(piece)), last = std::min(end, e.pieces->begin_of(piece + 1));
    if (first >= last) return std::min(std::max(begin, e.pieces->begin_of(piece)), end);
    return locate<PieceRows>(e, x, after, first, last);
}

} // namespace truecal
