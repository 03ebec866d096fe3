// The loops NumPy cannot express. Values are checked in Python, where errors can be explained. Here lengths and positions
// are checked, so that no call reads or writes outside its arrays. Loops that can take a second hear Ctrl-C.
//
// Arrays may change during a call: another thread writes to them, or another process to the file that they are a map of. The
// number may then be any, but not the memory that is touched. So positions are copied before they are checked, and a position
// that comes from a score is bounded where it is used, not where the score was looked at.
#include "aborting.hpp"
#include "binomial.hpp"
#include "cell_sums.hpp"
#include "clusters.hpp"
#include "counting.hpp"
#include "crossing.hpp"
#include "csv.hpp"
#include "grid.hpp"
#include "json_lines.hpp"
#include "keys.hpp"
#include "levels.hpp"
#include "limits.hpp"
#include "local.hpp"
#include "odds_factor.hpp"
#include "outlines.hpp"
#include "pava.hpp"
#include "poisson_binomial.hpp"
#include "random.hpp"
#include "recalibration.hpp"
#include "sorting.hpp"
#include "rejected.hpp"
#include "sums.hpp"
#include "threads.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace nb = nanobind;
using namespace truecal;

template <class T> using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Any = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T> Index length(const T &a) { return static_cast<Index>(a.shape(0)); }

inline void demand(bool fine, const char *rule) {
    if (!fine) throw std::invalid_argument(rule);
}

inline void demand_equal(Index size, std::initializer_list<Index> others) {
    for (const Index other : others) demand(other == size, "arrays must be of equal length");
}

// A copy that nobody else writes to.
template <class T> std::vector<T> copy(const In<T> &given) {
    std::vector<T> own(given.data(), given.data() + given.shape(0));
    std::atomic_signal_fence(std::memory_order_seq_cst); // so that compilers do not read the array again instead
    return own;
}

// Positions in first..last.
inline std::vector<Index> copy_between(const In<Index> &positions, Index first, Index last) {
    std::vector<Index> own = copy(positions);
    Index low = first, high = last;
    for (const Index position : own) {
        low = std::min(low, position);
        high = std::max(high, position);
    }
    demand(low >= first && high <= last, "positions must lie within the entries");
    return own;
}

// Bins [begin, end) of `size` entries.
struct Bins {
    std::vector<Index> begin, end;

    Bins(const In<Index> &begin_, const In<Index> &end_, Index size)
        : begin(copy_between(begin_, 0, size)), end(copy_between(end_, 0, size)) {
        demand_equal(length(begin_), {length(end_)});
        for (std::size_t i = 0; i < begin.size(); ++i) demand(begin[i] <= end[i], "a bin must not end before it begins");
    }
    std::size_t size() const { return begin.size(); }
};

// k positives in n rows.
struct BinCounts {
    std::vector<Index> k, n;

    BinCounts(const In<Index> &k_, const In<Index> &n_) : k(copy(k_)), n(copy(n_)) {
        demand_equal(length(k_), {length(n_)});
        for (std::size_t i = 0; i < k.size(); ++i)
            demand(k[i] >= 0 && k[i] <= n[i] && n[i] > 0, "k must lie in 0..n, n above 0");
    }
};

// Hears Ctrl-C in a loop that runs without the GIL.
class Interrupt {
    using Clock = std::chrono::steady_clock;
    Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(100);
    unsigned calls_ = 0;

  public:
    // `every`: calls of which one looks at the clock, where this takes longer than what is done between them.
    void check(unsigned every = 1) {
        if (++calls_ % every != 0 || Clock::now() < next_) return;
        nb::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        next_ = Clock::now() + std::chrono::milliseconds(100);
    }
};

// Calls work(part, first, last, pause) for parts of some rows, each on its own thread; `pause` ends all after Ctrl-C.
// Whether the values of all parts are what they must be.
template <class Work> Packed heed_parts(Index size, Index parts, Work work) {
    std::vector<Packed> fine(static_cast<std::size_t>(parts), Packed{true, true});
    std::atomic<bool> stopped{false};
    in_parts(size, parts, [&](Index part, Index first, Index last) {
        Interrupt interrupt;
        fine[static_cast<std::size_t>(part)] = work(part, first, last, [&] {
            if (part > 0) return !stopped.load();
            try {
                interrupt.check();
            } catch (...) {
                stopped = true;
                throw;
            }
            return true;
        });
    });
    Packed all{true, true};
    for (const Packed &each : fine) all = {all.scores_ok && each.scores_ok, all.labels_ok && each.labels_ok};
    return all;
}

template <class T> Array<T> empty(std::size_t size) {
    T *data = new T[size];
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    return Array<T>(data, {size}, owner);
}

template <class T> Array<T> to_array(const std::vector<T> &v) {
    Array<T> a = empty<T>(v.size());
    std::copy(v.begin(), v.end(), a.data());
    return a;
}

// The same without a copy.
template <class T> Array<T> to_array(std::vector<T> &&v) {
    if (v.empty()) return empty<T>(0);
    auto *held = new std::vector<T>(std::move(v));
    nb::capsule owner(held, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return Array<T>(held->data(), {held->size()}, owner);
}

template <class F> auto with_labels(const Any &label, F &&f) {
    const auto type = label.dtype();
    const void *data = label.data();
    if (type == nb::dtype<bool>()) return f(static_cast<const std::uint8_t *>(data));
    if (type == nb::dtype<std::uint8_t>()) return f(static_cast<const std::uint8_t *>(data));
    if (type == nb::dtype<std::int8_t>()) return f(static_cast<const std::int8_t *>(data));
    if (type == nb::dtype<std::int16_t>()) return f(static_cast<const std::int16_t *>(data));
    if (type == nb::dtype<std::uint16_t>()) return f(static_cast<const std::uint16_t *>(data));
    if (type == nb::dtype<std::int32_t>()) return f(static_cast<const std::int32_t *>(data));
    if (type == nb::dtype<std::uint32_t>()) return f(static_cast<const std::uint32_t *>(data));
    if (type == nb::dtype<std::int64_t>()) return f(static_cast<const std::int64_t *>(data));
    if (type == nb::dtype<std::uint64_t>()) return f(static_cast<const std::uint64_t *>(data));
    if (type == nb::dtype<float>()) return f(static_cast<const float *>(data));
    if (type == nb::dtype<double>()) return f(static_cast<const double *>(data));
    throw std::invalid_argument("labels of an unknown type");
}

template <class Int, class Float>
std::tuple<bool, bool> pack_rows(In<Float> score, Any label, Out<Int> key) {
    demand_equal(length(score), {length(label), length(key)});
    return with_labels(label, [&](auto *labels) {
        nb::gil_scoped_release release;
        const Packed ok = pack(score.data(), labels, key.data(), length(score));
        return std::tuple(ok.scores_ok, ok.labels_ok);
    });
}

// The same, sorted.
template <class Int, class Float>
std::tuple<bool, bool> pack_sorted(In<Float> score, Any label, Out<Int> key, Index threads) {
    demand_equal(length(score), {length(label), length(key)});
    demand(threads >= 1, "threads must be one or more");
    return with_labels(label, [&](auto *labels) {
        nb::gil_scoped_release release;
        const auto heed = [](Index size, Index parts, auto work) { return heed_parts(size, parts, work); };
        const Packed ok = sort_rows(score.data(), labels, key.data(), length(score), threads, heed);
        return std::tuple(ok.scores_ok, ok.labels_ok);
    });
}

// Where they are; few more of them would fit the memory that it takes.
template <class Int> void sort_keys(Out<Int> key) {
    nb::gil_scoped_release release;
    const Index size = length(key);
    Int all = 0;
    for (Index i = 0; i < size; ++i) all |= key.data()[i];
    demand(all >= 0, "keys must be 0 or more");
    Interrupt interrupt;
    DigitSort<Int> sorter;
    sort_many(key.data(), size, sorter, [&] { interrupt.check(); });
}

// Rows counted in bins of known edges.
template <class Float> std::pair<BinSums, Packed> count_bins(In<Float> score, Any label, In<double> edges, Index threads) {
    const Index n_bins = length(edges) - 1;
    demand_equal(length(score), {length(label)});
    demand(n_bins >= 1 && n_bins <= 1 << 30 && edges.data()[0] == 0, "edges must be two or more, from 0 on");
    demand(threads >= 1, "threads must be one or more");
    const FixedBins bins(edges.data(), n_bins);
    std::vector<BinSums> sums(static_cast<std::size_t>(threads), BinSums(static_cast<std::size_t>(n_bins)));
    const Packed ok = with_labels(label, [&](auto *labels) {
        nb::gil_scoped_release release;
        return heed_parts(length(score), threads, [&](Index part, Index first, Index last, auto pause) {
            return histogram(score.data() + first, labels + first, last - first, bins,
                             sums[static_cast<std::size_t>(part)], pause);
        });
    });
    for (std::size_t part = 1; part < sums.size(); ++part) sums[0].add(sums[part]);
    return {std::move(sums[0]), ok};
}

template <class Float> auto fixed_bins(In<Float> score, Any label, In<double> edges, Index threads) {
    const auto [found, ok] = count_bins(score, label, edges, threads);
    std::vector<double> total;
    for (const Wide &each : found.total) total.push_back(from_fixed(each));
    return std::tuple(to_array(found.n), to_array(found.k), to_array(total), ok.scores_ok, ok.labels_ok);
}

// The mean over rows of the distance between their bin's rate of positives and its mean score.
template <class Float> auto mean_gap(In<Float> score, Any label, In<double> edges, Index threads) {
    demand(length(score) > 0, "there must be a row");
    const auto [found, ok] = count_bins(score, label, edges, threads);
    std::vector<double> parts;
    for (std::size_t b = 0; b < found.n.size(); ++b) {
        const auto n = static_cast<double>(found.n[b]), held = std::max(n, 1.0);
        parts.push_back(n * std::abs(static_cast<double>(found.k[b]) / held - from_fixed(found.total[b]) / held));
    }
    const double sum = pairwise_sum(parts.data(), static_cast<Index>(parts.size()));
    return std::tuple(sum / static_cast<double>(length(score)), ok.scores_ok, ok.labels_ok);
}

// A sum in units of 2^-80, as high 2^62 + low.
std::tuple<Index, Index> split(Wide sum) {
    const auto high = static_cast<Index>(sum / (Index(1) << 62));
    return {high, static_cast<Index>(sum - Wide(high) * Wide(Index(1) << 62))};
}

template <class Float> auto square_rows(In<Float> score, Any label, Index threads) {
    demand_equal(length(score), {length(label)});
    demand(threads >= 1, "threads must be one or more");
    std::vector<SquareSums> sums(static_cast<std::size_t>(threads));
    const Packed ok = with_labels(label, [&](auto *labels) {
        nb::gil_scoped_release release;
        return heed_parts(length(score), threads, [&](Index part, Index first, Index last, auto pause) {
            return square_sums(score.data() + first, labels + first, last - first, sums[static_cast<std::size_t>(part)], pause);
        });
    });
    for (std::size_t part = 1; part < sums.size(); ++part) sums[0].add(sums[part]);
    return std::tuple(split(sums[0].squares), split(sums[0].expected), split(sums[0].variance), ok.scores_ok, ok.labels_ok);
}

template <class Int> Index count_row_groups(In<Int> key) {
    nb::gil_scoped_release release;
    return count_groups(Keys<Int>{key.data(), length(key)});
}

template <class Int>
void collapse_rows(In<Int> key, std::optional<In<Index>> weight, Out<double> score, Out<Index> n, Out<Index> pos) {
    demand_equal(length(score), {length(n), length(pos)});
    if (weight) demand_equal(length(key), {length(*weight)});
    nb::gil_scoped_release release;
    Interrupt interrupt;
    const bool fits = collapse(Keys<Int>{key.data(), length(key)}, weight ? weight->data() : nullptr, length(score),
                               score.data(), n.data(), pos.data(), [&] { interrupt.check(); });
    demand(fits, "there must be room for every group");
}

// A table's slots are the pairs of an array.
Table as_table(Out<Index> slots, Index taken) {
    int bits = 0;
    while ((std::size_t(2) << bits) < slots.shape(0)) ++bits;
    demand(bits > 0 && (std::size_t(2) << bits) == slots.shape(0), "slots must be a power of two");
    return {reinterpret_cast<Slot *>(slots.data()), bits, taken};
}

// How many rows were counted, and how many slots are taken.
template <class Float>
std::tuple<Index, Index> count_rows(In<Float> score, Any label, Out<Index> slots, Index taken) {
    demand_equal(length(score), {length(label)});
    return with_labels(label, [&](auto *labels) {
        nb::gil_scoped_release release;
        Table table = as_table(slots, taken);
        const Index counted = table.add_rows(score.data(), labels, length(score));
        return std::tuple(counted, table.taken);
    });
}

template <class Float> Index count_in_grid(GridTable &table, In<Float> score, Any label, Index most) {
    demand_equal(length(score), {length(label)});
    demand(most >= 1, "a table must have room for a cell");
    return with_labels(label, [&](auto *labels) {
        nb::gil_scoped_release release;
        return table.add_rows(score.data(), labels, length(score), most);
    });
}

auto to_arrays(CellColumns &&found) {
    return std::tuple(to_array(std::move(found.key)), to_array(std::move(found.n)), to_array(std::move(found.k)),
                      to_array(std::move(found.s1)), to_array(std::move(found.s2)), to_array(std::move(found.s3)));
}

// The cells of rows; whether all scores and all labels are what they must be. Without the GIL.
template <class Float, class Label>
Packed find_cells(const Float *score, const Label *label, Index size, Index threads, bool pooled, CellColumns &found) {
    constexpr Index few = 1 << 17; // that are sorted sooner than a table of all cells is passed over
    if (pooled) {
        PooledTable table;
        Interrupt interrupt;
        const Packed fine = table.add_rows(score, label, size, [&] { interrupt.check(); });
        if (fine.scores_ok && fine.labels_ok) found = table.columns();
        return fine;
    }
    if (size <= few) return few_rows(score, label, size, found);
    std::vector<CellTable> tables(static_cast<std::size_t>(threads));
    const Packed fine = heed_parts(size, threads, [&](Index part, Index first, Index last, auto pause) {
        CellTable &table = tables[static_cast<std::size_t>(part)];
        return table.add_rows(score + first, label + first, last - first, pause);
    });
    for (std::size_t part = 1; part < tables.size(); ++part) tables[0].add(tables[part]);
    if (fine.scores_ok && fine.labels_ok) found = tables[0].columns();
    return fine;
}

template <class Float> auto cell_rows(In<Float> score, Any label, Index threads, bool pooled) {
    demand_equal(length(score), {length(label)});
    demand(threads >= 1, "threads must be one or more");
    CellColumns found;
    const Packed ok = with_labels(label, [&](auto *labels) {
        nb::gil_scoped_release release;
        return find_cells(score.data(), labels, length(score), threads, pooled, found);
    });
    return std::tuple(to_arrays(std::move(found)), ok.scores_ok, ok.labels_ok);
}

// Local TCE of rows.
template <class Float> auto local_rows(In<Float> score, Any label, Index threads, double significance) {
    demand_equal(length(score), {length(label)});
    demand(length(score) > 0 && length(score) <= Index(1) << 31, "rows must be 1 to 2^31");
    demand(threads >= 1, "threads must be one or more");
    return with_labels(label, [&](auto *labels) {
        nb::gil_scoped_release release;
        CellColumns cells;
        const Packed ok = find_cells(score.data(), labels, length(score), threads, false, cells);
        if (!ok.scores_ok || !ok.labels_ok) return std::tuple(0.0, ok.scores_ok, ok.labels_ok);
        const std::size_t size = cells.n.size();
        std::unique_ptr<bool[]> upper(new bool[size]);
        const auto middle = std::lower_bound(cells.key.begin(), cells.key.end(), 0.5) - cells.key.begin();
        std::fill(std::fill_n(upper.get(), middle, false), upper.get() + size, true);
        const TrialCells trials{cells.n.data(), cells.k.data(), cells.s1.data(), cells.s2.data(), cells.s3.data(), upper.get()};
        Interrupt interrupt;
        const LocalShares found =
            local_shares(trials, static_cast<Index>(size), significance, [&] { interrupt.check(16); });
        return std::tuple(local_value(found), true, true);
    });
}

// The mean over rows of what the binomial test rejects of bins of PAVA-BC, in percent; whether rounding may decide about a
// row. For rows that fit the cache.
template <class Int, class Float>
auto rejected_rows(In<Float> score, Any label, Index n_min, Index n_max, bool paper, double significance, double log_factor) {
    demand_equal(length(score), {length(label)});
    demand(length(score) > 0 && length(score) <= 1 << 18, "rows must be 1 to 2^18");
    demand(n_min >= 0 && n_max >= n_min && n_max <= Index(1) << 60, "n_min must lie in 0..n_max, n_max up to 2^60");
    return with_labels(label, [&](auto *labels) {
        nb::gil_scoped_release release;
        // one piece, which the C library keeps for the next call sooner than two
        std::unique_ptr<Int[]> key(new Int[2 * score.shape(0)]);
        const Packed ok = sort_few_rows(score.data(), labels, key.get(), key.get() + score.shape(0), length(score));
        if (!ok.scores_ok || !ok.labels_ok) return std::tuple(0.0, false, ok.scores_ok, ok.labels_ok);
        const Keys<Int> rows{key.get(), length(score)};
        const auto blocks = pava_bc<Index>(rows, n_min, n_max, paper);
        std::vector<double> parts;
        bool doubtful = false;
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            const Index end = b + 1 < blocks.size() ? blocks[b + 1].start : rows.size;
            const auto n = static_cast<double>(blocks[b].n);
            const Rejected found = binomial_rejected(rows, blocks[b].start, end, static_cast<double>(blocks[b].k), n,
                                                     significance, log_factor);
            parts.push_back(n * (static_cast<double>(100 * (found.low + found.high)) / n));
            doubtful |= found.doubtful;
        }
        const double sum = pairwise_sum(parts.data(), static_cast<Index>(parts.size()));
        return std::tuple(sum / static_cast<double>(rows.size), doubtful, true, true);
    });
}

// The pooled cells of some classes, whose probabilities are columns of a matrix, each against the rest.
template <class Float>
nb::list cell_classes(nb::ndarray<const Float, nb::ndim<2>, nb::c_contig, nb::device::cpu> matrix, In<Index> target,
                      Index first, Index last) {
    demand_equal(length(matrix), {length(target)});
    demand(length(matrix) < Index(1) << 32, "rows are counted in 32 bits");
    demand(0 <= first && first <= last && last <= static_cast<Index>(matrix.shape(1)), "columns must be of the matrix");
    std::vector<CellColumns> found;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt;
        const auto columns = static_cast<Index>(matrix.shape(1));
        demand(class_columns(matrix.data(), target.data(), length(matrix), columns, first, last, found,
                             [&] { interrupt.check(); }),
               "scores must lie in [0, 1]");
    }
    nb::list result;
    for (CellColumns &each : found) result.append(nb::cast(to_arrays(std::move(each))));
    return result;
}

using Moments3 = std::tuple<In<double>, In<double>, In<double>>;

// Below, at and above the observed positives, and their mid-p-value, for the cells of each window [begin, end).
auto window_tails(In<Index> n, In<Index> positives, Moments3 sums, In<bool> upper, In<Index> begin, In<Index> end,
                  bool computed) {
    auto below = empty<double>(begin.shape(0)), at = empty<double>(begin.shape(0));
    auto above = empty<double>(begin.shape(0)), mid_p = empty<double>(begin.shape(0));
    const auto &[s1, s2, s3] = sums;
    demand_equal(length(n), {length(positives), length(s1), length(s2), length(s3), length(upper)});
    const Bins windows(begin, end, length(n));
    nb::gil_scoped_release release;
    Interrupt interrupt;
    Workspace space;
    const TrialCells trials{n.data(), positives.data(), s1.data(), s2.data(), s3.data(), upper.data()};
    const auto keep = [&](std::size_t i, const Tails &found) {
        below.data()[i] = found.below;
        at.data()[i] = found.at;
        above.data()[i] = found.above;
        mid_p.data()[i] = found.mid_p;
    };
    WaitingWindows waiting;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        interrupt.check(computed ? 1 : 16);
        const Index first = windows.begin[i], last = windows.end[i];
        const Law law = choose_law(trials, first, last, count_positives(trials, first, last), computed);
        if (computed || first == last) keep(i, Distribution::tails(convolve_cells(trials, first, last, Digits::exact, space), law.k, true));
        else if (law.computed) waiting.add(i, {first, last, law.rows, law.k});
        else keep(i, binomial_tails(law));
    }
    waiting.finish(trials, true, space, [&](std::size_t i, const Tails &found) {
        interrupt.check(16);
        keep(i, found);
    });
    return std::tuple(below, at, above, mid_p);
}

// For each window: from which to which number of positives nothing is rejected, and `beside` shares of numbers below, then above,
// each as too low and as too high.
using Known = std::tuple<In<Index>, In<Index>, In<double>>;

// How much of each window [begin, end) is rejected as too low and as too high; what is known need not be found again.
auto window_shares(In<Index> n, In<Index> positives, Moments3 sums, In<bool> upper, In<Index> begin, In<Index> end,
                   double significance, std::optional<Known> known) {
    constexpr Index beside = Untouched::beside;
    auto low = empty<double>(begin.shape(0)), high = empty<double>(begin.shape(0));
    const auto &[s1, s2, s3] = sums;
    demand_equal(length(n), {length(positives), length(s1), length(s2), length(s3), length(upper)});
    const Bins windows(begin, end, length(n));
    if (known) demand_equal(length(begin), {length(std::get<0>(*known)), length(std::get<1>(*known))});
    if (known) demand_equal(4 * beside * length(begin), {length(std::get<2>(*known))});
    nb::gil_scoped_release release;
    Interrupt interrupt;
    Workspace space;
    const TrialCells trials{n.data(), positives.data(), s1.data(), s2.data(), s3.data(), upper.data()};
    std::vector<Index> before(n.shape(0) + 1, 0); // positives
    for (std::size_t i = 0; i < n.shape(0); ++i) before[i + 1] = before[i] + positives.data()[i];
    const auto look = [&](std::size_t window, Index k, Shares &found) {
        if (!known) return false;
        const Index below = std::get<0>(*known).data()[window] - 1 - k, above = k - std::get<1>(*known).data()[window] - 1;
        if (below < 0 && above < 0) return true;
        if (below >= beside || above >= beside) return false;
        const Index at = below >= 0 ? below : beside + above;
        const double *shares = std::get<2>(*known).data() + 2 * (2 * beside * static_cast<Index>(window) + at);
        found = {shares[0], shares[1]};
        return true;
    };
    for (std::size_t i = 0; i < windows.size(); ++i) {
        interrupt.check(16);
        const Index first = windows.begin[i], last = windows.end[i];
        const Index k = before[static_cast<std::size_t>(last)] - before[static_cast<std::size_t>(first)];
        Shares found{0, 0};
        if (!look(i, k, found)) found = decide(trials, first, last, k, significance / 2, space);
        low.data()[i] = found.low;
        high.data()[i] = found.high;
    }
    return std::tuple(low, high);
}

auto untouched_heads(In<Index> n, Moments3 sums, In<bool> upper, In<Index> begin, In<Index> end, double significance) {
    auto first = empty<Index>(begin.shape(0)), last = empty<Index>(begin.shape(0));
    auto beside = empty<double>(4 * Untouched::beside * begin.shape(0));
    const auto &[s1, s2, s3] = sums;
    demand_equal(length(n), {length(s1), length(s2), length(s3), length(upper)});
    const Bins windows(begin, end, length(n));
    nb::gil_scoped_release release;
    Interrupt interrupt;
    Workspace space;
    const TrialCells trials{n.data(), nullptr, s1.data(), s2.data(), s3.data(), upper.data()};
    double *next = beside.data();
    for (std::size_t i = 0; i < windows.size(); ++i) {
        interrupt.check();
        const Untouched found = find_untouched(trials, windows.begin[i], windows.end[i], significance / 2, space);
        first.data()[i] = found.first;
        last.data()[i] = found.last;
        for (const auto &side : {found.below, found.above})
            for (Index j = 0; j < Untouched::beside; ++j) {
                *next++ = side[j].low;
                *next++ = side[j].high;
            }
    }
    return std::tuple(first, last, beside);
}

// The factor on the odds of the trials of each window [begin, end), and its ratio, each with the ends of its interval.
// `effect` and `freedom` of each window say how far clusters spread the positives.
auto odds_factors(In<Index> n, In<Index> positives, Moments3 sums, In<bool> upper, In<Index> begin, In<Index> end,
                  double significance, In<double> effect, In<double> freedom) {
    demand_equal(length(begin), {length(effect), length(freedom)});
    const auto &[s1, s2, s3] = sums;
    demand_equal(length(n), {length(positives), length(s1), length(s2), length(s3), length(upper)});
    const Bins windows(begin, end, length(n));
    const std::size_t size = windows.size();
    auto value = empty<double>(size), low = empty<double>(size), high = empty<double>(size);
    auto ratio = empty<double>(size), ratio_low = empty<double>(size), ratio_high = empty<double>(size);
    nb::gil_scoped_release release;
    Interrupt interrupt;
    Workspace space;
    const TrialCells trials{n.data(), positives.data(), s1.data(), s2.data(), s3.data(), upper.data()};
    for (std::size_t i = 0; i < size; ++i) {
        interrupt.check();
        const OddsFactor found = find_odds_factor(trials, windows.begin[i], windows.end[i], significance,
                                                  effect.data()[i], freedom.data()[i], space);
        value.data()[i] = found.value;
        low.data()[i] = found.low;
        high.data()[i] = found.high;
        ratio.data()[i] = found.ratio;
        ratio_low.data()[i] = found.ratio_low;
        ratio_high.data()[i] = found.ratio_high;
    }
    return std::tuple(value, low, high, ratio, ratio_low, ratio_high);
}

// Groups of `size` cells, end to end: where each begins, and the end of the last one.
class CellRanges {
  public:
    CellRanges(const In<Index> &starts, Index size) : starts_(copy(starts)) {
        demand(!starts_.empty() && starts_.front() == 0 && starts_.back() == size,
               "starts must begin at 0 and end with the cells");
        demand(std::is_sorted(starts_.begin(), starts_.end()), "starts must not fall");
    }

    Index count() const { return static_cast<Index>(starts_.size()) - 1; }
    const Index *starts() const { return starts_.data(); }

    // Calls use(group, first, last) for each group.
    template <class Use> void for_each(Use use) const {
        nb::gil_scoped_release release;
        Interrupt interrupt;
        for (Index g = 0; g < count(); ++g) {
            interrupt.check();
            use(g, starts_[static_cast<std::size_t>(g)], starts_[static_cast<std::size_t>(g) + 1]);
        }
    }

  private:
    std::vector<Index> starts_;
};

// Pairs of clusters and cells, of which there are so many.
struct CopiedPairs {
    CellRanges clusters;
    std::vector<Index> cell, n;

    CopiedPairs(const In<Index> &starts, const In<Index> &cell_, const In<Index> &n_, Index cells)
        : clusters(starts, length(cell_)), cell(copy_between(cell_, 0, cells - 1)), n(copy(n_)) {
        demand_equal(length(cell_), {length(n_)});
    }
    ClusterPairs get() const { return {clusters.starts(), clusters.count(), cell.data(), n.data()}; }
};

// For each window of cells, the sums of f_i f_j and of g_i g_j over ordered pairs of two rows of one cluster.
auto cluster_products(In<Index> starts, In<Index> cell, In<Index> n, In<double> f, In<double> g, In<Index> begin,
                      In<Index> end) {
    demand_equal(length(f), {length(g)});
    const Bins windows(begin, end, length(f));
    const CopiedPairs pairs(starts, cell, n, length(f));
    auto cross_f = empty<double>(begin.shape(0)), cross_g = empty<double>(begin.shape(0));
    std::fill(cross_f.data(), cross_f.data() + begin.shape(0), 0.0);
    std::fill(cross_g.data(), cross_g.data() + begin.shape(0), 0.0);
    nb::gil_scoped_release release;
    Interrupt interrupt;
    add_products(pairs.get(), f.data(), g.data(), Layers(windows.begin.data(), windows.end.data(), length(begin), length(f)),
                 cross_f.data(), cross_g.data(), [&] { interrupt.check(); });
    return std::tuple(cross_f, cross_g);
}

auto cut_groups(In<double> weight, In<Index> starts, In<double> smallest, bool pairs) {
    const CellRanges groups(starts, length(weight));
    demand_equal(groups.count(), {length(smallest)});
    Levels found;
    groups.for_each([&](Index group, Index first, Index last) {
        cut_levels(weight.data(), first, last, smallest.data()[group], pairs, group, found);
    });
    return std::tuple(to_array(found.begin), to_array(found.end), to_array(found.first), to_array(found.group));
}

// The cells of groups of scores, end to end, and where each group begins among them.
auto cell_groups(In<double> score, In<Index> n, In<Index> pos, In<Index> starts) {
    demand_equal(length(score), {length(n), length(pos)});
    const CellRanges groups(starts, length(score));
    CellColumns found;
    found.reserve(length(score));
    std::vector<Index> begin{0};
    {
        const auto cells = std::make_unique<FewCells>();
        groups.for_each([&](Index, Index first, Index last) {
            add_cells<CellPlace>(Groups{score.data() + first, n.data() + first, pos.data() + first, last - first}, *cells, found);
            begin.push_back(static_cast<Index>(found.n.size()));
        });
    }
    return std::tuple(to_arrays(std::move(found)), to_array(begin));
}

// The same groups in cells of fewer bits.
auto coarsen_groups(In<double> key, In<Index> n, In<Index> pos, Moments3 sums, In<Index> starts, int bits) {
    const auto &[s1, s2, s3] = sums;
    demand_equal(length(key), {length(n), length(pos), length(s1), length(s2), length(s3)});
    demand(bits > 0 && bits <= 53, "a cell must have 1 to 53 bits");
    const CellRanges groups(starts, length(key));
    const Coarse found = coarsen(key.data(), groups.starts(), groups.count(), bits);
    const auto add = [&](const auto &column) {
        auto own = empty<std::remove_const_t<std::remove_pointer_t<decltype(column.data())>>>(found.begin.size());
        add_runs(column.data(), found.begin, length(key), own.data());
        return own;
    };
    auto first = empty<double>(found.begin.size());
    for (std::size_t i = 0; i < found.begin.size(); ++i) first.data()[i] = key.data()[found.begin[i]];
    return std::tuple(first, add(n), add(pos), add(s1), add(s2), add(s3), to_array(found.starts));
}

// Of each group, with its own factor on the odds.
auto shift_groups(In<double> n, In<double> q, In<bool> upper, In<Index> starts, In<double> factor) {
    demand_equal(length(n), {length(q), length(upper)});
    const CellRanges groups(starts, length(n));
    demand_equal(groups.count(), {length(factor)});
    auto change = empty<double>(factor.shape(0)), spread = empty<double>(factor.shape(0));
    groups.for_each([&](Index group, Index first, Index last) {
        const double by = factor.data()[group];
        std::tie(change.data()[group], spread.data()[group]) = shift(n.data(), q.data(), upper.data(), first, last, by);
    });
    return std::tuple(change, spread);
}

// The smallest log-factor on the odds of each group that is found, `up`, `down` or whichever of both; see `Search`.
auto find_factors(In<double> n, In<double> q, In<bool> upper, In<Index> starts, In<double> reach, In<double> limit,
                  double wanted, bool up, bool down, double largest) {
    demand_equal(length(n), {length(q), length(upper)});
    const CellRanges groups(starts, length(n));
    demand_equal(groups.count(), {length(reach), length(limit)});
    auto found = empty<double>(reach.shape(0));
    groups.for_each([&](Index group, Index first, Index last) {
        found.data()[group] = Search{n.data(), q.data(), upper.data(), first, last, reach.data()[group],
                                     limit.data()[group], wanted, up, down}.find(largest);
    });
    return found;
}

// Each function of sorted entries, once for every layout; `make` turns its columns into entries.
template <class Make, class... Columns> void bind_entries(nb::module_ &m, Make make) {
    m.def("pava_bc", [=](std::tuple<Columns...> columns, Index n_min, Index n_max, bool paper, Index threads) {
        const auto e = std::apply(make, columns);
        demand(n_min >= 0 && n_max >= n_min && n_max <= Index(1) << 60, "n_min must lie in 0..n_max, n_max up to 2^60");
        std::vector<Block> blocks;
        {
            nb::gil_scoped_release release;
            blocks = e.total() <= 3'000'000'000 ? pava_bc<Index>(e, n_min, n_max, paper, threads)
                                                : pava_bc<Wide>(e, n_min, n_max, paper, threads);
        }
        auto starts = empty<Index>(blocks.size() + 1);
        auto n = empty<Index>(blocks.size()), k = empty<Index>(blocks.size());
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            starts.data()[b] = blocks[b].start;
            n.data()[b] = blocks[b].n;
            k.data()[b] = blocks[b].k;
        }
        starts.data()[blocks.size()] = e.size;
        return std::tuple(starts, n, k);
    });
    m.def("quantile_starts", [=](std::tuple<Columns...> columns, Index n_bins) {
        std::vector<Index> starts;
        {
            nb::gil_scoped_release release;
            starts = quantile_starts(std::apply(make, columns), n_bins);
        }
        return to_array(starts);
    });
    m.def("cells", [=](std::tuple<Columns...> columns, int bits) {
        demand(bits > 0 && bits <= 52, "bits must lie in 1..52");
        GridCells found;
        {
            nb::gil_scoped_release release;
            found = cells(std::apply(make, columns), bits);
        }
        return std::tuple(to_array(found.starts), to_array(found.sums));
    });
    m.def("cell_sums", [=](std::tuple<Columns...> columns, bool pooled) {
        CellColumns found;
        {
            nb::gil_scoped_release release;
            const auto entries = std::apply(make, columns);
            found = pooled ? cell_columns<PooledPlace>(entries) : cell_columns<CellPlace>(entries);
        }
        return to_arrays(std::move(found));
    });
    m.def("count", [=](std::tuple<Columns...> columns, In<Index> starts) {
        const auto e = std::apply(make, columns);
        demand(length(starts) > 0, "starts must not be empty");
        const std::vector<Index> own = copy_between(starts, 0, e.size);
        auto n = empty<Index>(own.size() - 1), k = empty<Index>(own.size() - 1);
        nb::gil_scoped_release release;
        count(e, own.data(), length(starts) - 1, n.data(), k.data());
        return std::tuple(n, k);
    });
    m.def("score_sums", [=](std::tuple<Columns...> columns, In<Index> starts) {
        const auto e = std::apply(make, columns);
        demand(length(starts) > 0, "starts must not be empty");
        const std::vector<Index> own = copy_between(starts, 0, e.size);
        auto sums = empty<double>(own.size() - 1);
        nb::gil_scoped_release release;
        score_sums(e, own.data(), length(starts) - 1, sums.data());
        return sums;
    });
    m.def("locate", [=](std::tuple<Columns...> columns, In<double> x, bool after) {
        const auto e = std::apply(make, columns);
        auto found = empty<Index>(x.shape(0));
        for (std::size_t i = 0; i < x.shape(0); ++i)
            found.data()[i] = locate(e, x.data()[i], after, 0, e.size);
        return found;
    });
    // as many edges of each bin, in increasing order: the first and the last are the bin's ends, despite rounding
    m.def("locate_within", [=](std::tuple<Columns...> columns, In<double> x, In<Index> begin, In<Index> end) {
        const auto e = std::apply(make, columns);
        const Bins given(begin, end, e.size);
        const std::size_t bins = given.size(), edges = bins == 0 ? 0 : x.shape(0) / bins;
        demand(x.shape(0) == bins * edges && (bins == 0 || edges > 1), "every bin must have as many edges, two or more");
        auto found = empty<Index>(x.shape(0));
        for (std::size_t b = 0; b < bins; ++b) {
            const Index first = given.begin[b], last = given.end[b];
            for (std::size_t i = 0; i < edges; ++i)
                found.data()[b * edges + i] = i == 0            ? first
                                              : i + 1 == edges ? last
                                                               : locate(e, x.data()[b * edges + i], false, first, last);
        }
        return found;
    });
    m.def("place", [=](std::tuple<Columns...> columns, In<double> cuts, In<double> reach, In<Index> begin, In<Index> end) {
        const auto e = std::apply(make, columns);
        demand_equal(6 * length(begin), {length(cuts), length(reach)});
        const Bins bins(begin, end, e.size);
        auto places = empty<Index>(cuts.shape(0));
        auto close = empty<bool>(bins.size());
        for (std::size_t b = 0; b < bins.size(); ++b)
            close.data()[b] = place(e, cuts.data() + 6 * b, reach.data() + 6 * b, bins.begin[b], bins.end[b],
                                    places.data() + 6 * b);
        return std::tuple(places, close);
    });
    m.def("binomial_rejected", [=](std::tuple<Columns...> columns, In<Index> starts, In<Index> k, In<Index> n,
                                   double significance, double log_factor) {
        const auto e = std::apply(make, columns);
        demand_equal(length(k), {length(n), length(starts) - 1});
        const std::vector<Index> own = copy_between(starts, 0, e.size);
        auto low = empty<Index>(k.shape(0)), high = empty<Index>(k.shape(0));
        bool doubtful = false;
        nb::gil_scoped_release release;
        Interrupt interrupt;
        for (std::size_t b = 0; b < k.shape(0); ++b) {
            interrupt.check(16);
            const Index begin = own[b], end = own[b + 1], positives = k.data()[b], rows = n.data()[b];
            demand(begin <= end && positives >= 0 && positives <= rows && (rows > 0 || begin == end),
                   "k must lie in 0..n, n above 0 unless a bin is empty");
            Rejected found{0, 0, false};
            if (begin < end)
                found = binomial_rejected(e, begin, end, static_cast<double>(positives), static_cast<double>(rows),
                                          significance, log_factor);
            low.data()[b] = found.low;
            high.data()[b] = found.high;
            doubtful |= found.doubtful;
        }
        return std::tuple(low, high, doubtful);
    });
    m.def("rows_before", [=](std::tuple<Columns...> columns, In<Index> position) {
        const auto e = std::apply(make, columns);
        const std::vector<Index> own = copy_between(position, 0, e.size);
        auto rows = empty<Index>(own.size());
        nb::gil_scoped_release release;
        rows_before(e, own.data(), length(position), rows.data());
        return rows;
    });
    m.def("edges_between", [=](std::tuple<Columns...> columns, In<Index> starts) {
        const auto e = std::apply(make, columns);
        demand(length(starts) > 1, "there must be a bin");
        const std::vector<Index> own = copy_between(starts, 0, e.size);
        auto edges = empty<double>(own.size());
        const std::size_t last = own.size() - 1;
        edges.data()[0] = 0;
        edges.data()[last] = 1;
        for (std::size_t b = 1; b < last; ++b) {
            const Index at = own[b];
            demand(at > 0 && at < e.size, "a cut must lie between entries");
            const double left = e.score(at - 1), right = e.score(at), middle = left + (right - left) / 2;
            edges.data()[b] = middle > left ? middle : right;
        }
        return edges;
    });
    m.def("scores_at", [=](std::tuple<Columns...> columns, In<Index> position) {
        const auto e = std::apply(make, columns);
        const std::vector<Index> own = copy_between(position, 0, e.size - 1);
        auto score = empty<double>(own.size());
        for (std::size_t i = 0; i < own.size(); ++i) score.data()[i] = e.score(own[i]);
        return score;
    });
}

auto accepted(In<Index> k, In<Index> n, double significance, double log_factor, bool generous) {
    const BinCounts bins(k, n);
    auto cuts = empty<double>(6 * k.shape(0)), reach = empty<double>(6 * k.shape(0));
    auto fragile = empty<bool>(k.shape(0));
    nb::gil_scoped_release release;
    Interrupt interrupt;
    for (std::size_t b = 0; b < k.shape(0); ++b) {
        interrupt.check();
        fragile.data()[b] = binomial_accepted(static_cast<double>(bins.k[b]), static_cast<double>(bins.n[b]),
                                              significance, log_factor, generous, cuts.data() + 6 * b,
                                              reach.data() + 6 * b);
    }
    return std::tuple(cuts, reach, fragile);
}

auto p_values(In<Index> k, In<Index> n, In<double> p) {
    const BinCounts bins(k, n);
    demand_equal(length(k), {length(p)});
    auto out = empty<double>(k.shape(0));
    nb::gil_scoped_release release;
    Interrupt interrupt;
    for (std::size_t b = 0; b < k.shape(0); ++b) {
        interrupt.check();
        out.data()[b] = binomial_p_value(static_cast<double>(bins.k[b]), static_cast<double>(bins.n[b]), p.data()[b]);
    }
    return out;
}

// Adds rows to the tables of pairs of columns, which stand end to end; column -1 has one level. Rows are taken in blocks
// that stay in the cache while all pairs see them.
void cross_sums(In<std::uint8_t> codes, In<Index> sizes, In<std::uint8_t> bin, Index bins, In<std::uint8_t> label,
                In<double> q, In<Index> first, In<Index> second, Out<double> tables) {
    constexpr Index block = 1 << 15;
    const Index rows = length(bin), columns = length(sizes), pairs = length(first);
    demand_equal(rows, {length(label), length(q)});
    demand_equal(pairs, {length(second)});
    demand(length(codes) == rows * columns && bins > 0, "codes must be those of every column");
    const std::vector<Index> one = copy_between(first, -1, columns - 1), other = copy_between(second, -1, columns - 1);
    const std::vector<Index> levels = copy_between(sizes, 1, 256);
    const auto column = [&](Index at) {
        return at < 0 ? Coded{nullptr, 1} : Coded{codes.data() + at * rows, levels[static_cast<std::size_t>(at)]};
    };
    std::vector<Index> places;
    Index size = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        places.push_back(size);
        size += 5 * bins * column(one[i]).size * column(other[i]).size;
    }
    demand(length(tables) == size, "tables must hold every pair");
    bool fine = true;
    {
        nb::gil_scoped_release released;
        Interrupt interrupt;
        for (Index begin = 0; begin < rows; begin += block)
            for (std::size_t i = 0; i < one.size(); ++i) {
                interrupt.check();
                fine &= cross(column(one[i]), column(other[i]), bin.data(), bins, label.data(), q.data(), begin,
                              std::min(begin + block, rows), tables.data() + places[i]);
            }
    }
    demand(fine, "codes and bins must lie below their sizes");
}

// Who made this, for reports of bugs.
#define TRUECAL_TEXT_OF(x) #x
#define TRUECAL_TEXT(x) TRUECAL_TEXT_OF(x)
#if defined(__clang__)
constexpr const char *compiler = "Clang " TRUECAL_TEXT(__clang_major__) "." TRUECAL_TEXT(__clang_minor__);
#elif defined(__GNUC__)
constexpr const char *compiler = "GCC " TRUECAL_TEXT(__GNUC__) "." TRUECAL_TEXT(__GNUC_MINOR__);
#elif defined(_MSC_VER)
constexpr const char *compiler = "MSVC " TRUECAL_TEXT(_MSC_VER);
#else
constexpr const char *compiler = "unknown";
#endif

NB_MODULE(_kernel, m) {
    m.attr("compiler") = compiler;
    m.def("pack", &pack_rows<std::int64_t, double>);
    m.def("pack", &pack_rows<std::int32_t, float>);
    m.def("pack", &pack_rows<std::int32_t, double>);
    m.def("pack_sorted", &pack_sorted<std::int64_t, double>);
    m.def("pack_sorted", &pack_sorted<std::int32_t, float>);
    m.def("pack_sorted", &pack_sorted<std::int32_t, double>);
    m.def("sort_keys", &sort_keys<std::int64_t>);
    m.def("sort_keys", &sort_keys<std::int32_t>);
    m.def("fits_float", [](In<double> score) { return fits_float(score.data(), length(score)); });
    m.def("fixed_bins", &fixed_bins<double>);
    m.def("fixed_bins", &fixed_bins<float>);
    m.def("mean_gap", &mean_gap<double>);
    m.def("mean_gap", &mean_gap<float>);
    m.def("count_groups", &count_row_groups<std::int64_t>);
    m.def("count_groups", &count_row_groups<std::int32_t>);
    m.def("collapse", &collapse_rows<std::int64_t>, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def("collapse", &collapse_rows<std::int32_t>, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def("count_rows", &count_rows<double>);
    m.def("count_rows", &count_rows<float>);
    m.def("move_slots", [](In<Index> from, Out<Index> to) {
        demand(from.shape(0) % 2 == 0, "slots must be pairs");
        Table table = as_table(to, 0);
        for (std::size_t i = 0; i < from.shape(0); i += 2)
            if (from.data()[i + 1] > 0) table.add(from.data()[i], from.data()[i + 1]);
    });

    nb::class_<GridTable>(m, "GridTable")
        .def("__init__", [](GridTable *table, int bits) {
            demand(bits >= 2 && bits <= 20, "bits must lie in 2..20");
            new (table) GridTable(bits);
        })
        .def_prop_ro("size", &GridTable::size)
        .def("add_rows", &count_in_grid<double>)
        .def("add_rows", &count_in_grid<float>)
        .def("columns", [](const GridTable &table) {
            const GridColumns found = table.columns();
            return std::tuple(to_array(found.n), to_array(found.pos), to_array(found.sum), to_array(found.low),
                              to_array(found.high));
        });

    m.def("check_csv", [](In<std::uint8_t> text, int separator, Index fields, Out<Index> state) {
        demand(state.shape(0) * sizeof(Index) >= sizeof(CsvState), "the state must be of its length");
        nb::gil_scoped_release release;
        CsvState &seen = *reinterpret_cast<CsvState *>(state.data());
        const auto [at, odd] = CsvCheck{static_cast<unsigned char>(separator), fields - 1, seen}.run(text.data(), length(text));
        return std::tuple(at, static_cast<int>(odd));
    });

    m.def("check_json_lines", [](In<std::uint8_t> text, Index deepest) {
        nb::gil_scoped_release release;
        const auto [lines, fault] = check_json_lines(text.data(), length(text), deepest);
        return std::tuple(lines, static_cast<int>(fault));
    });

    m.def("add_fixed", [](In<double> x, std::optional<In<Index>> count) {
        if (count) demand_equal(length(x), {length(*count)});
        nb::gil_scoped_release release;
        Wide sum = 0;
        const bool fine = add_fixed(x.data(), count ? count->data() : nullptr, length(x), sum);
        return std::tuple(split(sum), fine);
    }, nb::arg(), nb::arg().none());
    m.def("square_rows", &square_rows<double>);
    m.def("square_rows", &square_rows<float>);
    m.def("cell_rows", &cell_rows<double>);
    m.def("cell_rows", &cell_rows<float>);
    m.def("local_rows", &local_rows<double>);
    m.def("local_rows", &local_rows<float>);
    m.def("rejected_rows", &rejected_rows<std::int64_t, double>);
    m.def("rejected_rows", &rejected_rows<std::int32_t, float>);
    m.def("cell_classes", &cell_classes<double>);
    m.def("cell_classes", &cell_classes<float>);
    m.def("window_costs", [](In<Index> n, In<double> v, In<Index> starts) {
        demand_equal(length(n), {length(v)});
        const CellRanges groups(starts, length(n));
        auto cost = empty<Index>(n.shape(0));
        groups.for_each([&](Index, Index first, Index last) {
            window_costs(n.data(), v.data(), first, last, cost.data());
        });
        return cost;
    });
    m.def("window_starts", [](In<Index> cost, In<Index> starts) { // of every grid
        std::vector<Index> found[grids];
        const std::vector<Index> own = copy_between(cost, 0, Index(1) << 53);
        CellRanges(starts, length(cost)).for_each([&](Index, Index first, Index last) {
            const WindowGrids windows(own.data(), first, last);
            for (int grid = 0; grid < grids; ++grid) windows.add_starts(grid, found[grid]);
        });
        nb::list result;
        for (std::vector<Index> &each : found) {
            each.push_back(length(cost));
            result.append(nb::cast(to_array(each)));
        }
        return nb::tuple(result);
    });
    m.def("local_shares", [](In<Index> n, In<Index> positives, Moments3 sums, In<bool> upper, double significance) {
        const auto &[s1, s2, s3] = sums;
        demand_equal(length(n), {length(positives), length(s1), length(s2), length(s3), length(upper)});
        demand(length(n) > 0, "there must be a cell");
        LocalShares found;
        {
            nb::gil_scoped_release release;
            Interrupt interrupt;
            const TrialCells trials{n.data(), positives.data(), s1.data(), s2.data(), s3.data(), upper.data()};
            found = local_shares(trials, length(n), significance, [&] { interrupt.check(16); });
        }
        return std::tuple(to_array(found.rows), to_array(found.low), to_array(found.high));
    });
    m.def("window_tails", &window_tails);
    m.def("window_shares", &window_shares, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg().none());
    m.def("untouched_heads", &untouched_heads);
    m.def("odds_factors", &odds_factors);
    m.def("cluster_products", &cluster_products);
    m.def("spread_tails", [](In<double> tail, In<double> effect, In<double> freedom) {
        demand_equal(length(tail), {length(effect), length(freedom)});
        auto found = empty<double>(tail.shape(0));
        for (std::size_t i = 0; i < tail.shape(0); ++i)
            found.data()[i] = spread_tail(tail.data()[i], effect.data()[i], freedom.data()[i]);
        return found;
    });
    m.def("unspread_tails", [](double level, In<double> effect, In<double> freedom) {
        demand_equal(length(effect), {length(freedom)});
        demand(level > 0 && level <= 0.5, "a level must lie above 0 and at most at 1/2");
        auto found = empty<double>(effect.shape(0));
        for (std::size_t i = 0; i < effect.shape(0); ++i)
            found.data()[i] = unspread_tail(level, effect.data()[i], freedom.data()[i]);
        return found;
    });
    m.def("normal_quantiles", [](In<double> p) {
        auto found = empty<double>(p.shape(0));
        for (std::size_t i = 0; i < p.shape(0); ++i) found.data()[i] = normal_quantile_at(p.data()[i]);
        return found;
    });
    m.def("covariance_together", [](In<double> quantile, In<Index> starts, In<Index> cell, In<Index> n, double shared,
                                    In<double> nodes, In<double> weights) {
        demand_equal(length(nodes), {length(weights)});
        demand(shared >= 0 && shared < 1, "what is shared must lie in [0, 1)");
        const CopiedPairs pairs(starts, cell, n, length(quantile));
        nb::gil_scoped_release release;
        Interrupt interrupt;
        return covariance_together(pairs.get(), quantile.data(), length(quantile), shared, nodes.data(), weights.data(),
                                   length(nodes), [&] { interrupt.check(); });
    });
    m.def("draw_together", [](In<double> quantile, In<Index> starts, In<Index> cell, In<Index> n, double shared,
                              std::uint64_t seed, Out<Index> pos) {
        demand_equal(length(quantile), {length(pos)});
        demand(shared >= 0 && shared < 1, "what is shared must lie in [0, 1)");
        const CopiedPairs pairs(starts, cell, n, length(quantile));
        std::fill(pos.data(), pos.data() + length(pos), Index(0));
        nb::gil_scoped_release release;
        Interrupt interrupt;
        draw_together(pairs.get(), quantile.data(), shared, seed, pos.data(), [&] { interrupt.check(); });
    });
    m.def("outlines", [](In<Index> before, Index cells, In<bool> single) { // of bins that have as many cells each
        demand(cells > 0, "there must be a cell");
        demand_equal((cells + 1) * length(single), {length(before)});
        auto width = empty<Index>(static_cast<std::size_t>(cells) * single.shape(0));
        for (Index b = 0; b < length(single); ++b)
            outline(before.data() + b * (cells + 1), cells, single.data()[b], width.data() + b * cells);
        return width;
    });
    m.def("cell_groups", &cell_groups);
    m.def("coarsen", &coarsen_groups);
    m.def("cut_levels", &cut_groups);
    m.def("shift", &shift_groups);
    m.def("find_factors", &find_factors);
    m.def("cross_sums", &cross_sums);
    m.def("recalibrate", [](In<double> x, In<Index> n, In<Index> k, bool slope) {
        demand_equal(length(x), {length(n), length(k)});
        const auto fit = Recalibration(x.data(), n.data(), k.data(), length(x)).fit(slope);
        return std::tuple(fit.intercept, fit.slope);
    });
    m.def("recalibration_gains", [](In<double> x, In<Index> n, In<Index> k, In<Index> starts, In<bool> slope) {
        demand_equal(length(x), {length(n), length(k)});
        const CellRanges groups(starts, length(x));
        demand_equal(groups.count(), {length(slope)});
        auto gains = empty<double>(slope.shape(0));
        groups.for_each([&](Index group, Index first, Index last) {
            Recalibration cells(x.data() + first, n.data() + first, k.data() + first, last - first);
            gains.data()[group] = std::max(cells.gain(cells.fit(slope.data()[group])), 0.0); // below 0 by rounding
        });
        return gains;
    });
    m.def("gamma_tails", [](In<double> shape, In<double> x) {
        demand_equal(length(shape), {length(x)});
        auto found = empty<double>(x.shape(0));
        for (std::size_t i = 0; i < x.shape(0); ++i) found.data()[i] = gamma_tail(shape.data()[i], x.data()[i]);
        return found;
    });
    m.def("range_tails", [](In<double> x) {
        auto found = empty<double>(x.shape(0));
        for (std::size_t i = 0; i < x.shape(0); ++i) found.data()[i] = range_tail(x.data()[i]);
        return found;
    });
    // of each level of each group, and whose it is
    m.def("square_tails", [](In<Index> n, In<double> q, In<double> v, In<double> surplus, In<bool> upper, In<Index> starts,
                             double smallest) {
        demand_equal(length(n), {length(q), length(v), length(surplus), length(upper)});
        const CellRanges groups(starts, length(n));
        const SquareCells cells{n.data(), q.data(), v.data(), surplus.data(), upper.data()};
        std::vector<double> tails;
        std::vector<Index> owner;
        groups.for_each([&](Index group, Index first, Index last) {
            add_square_tails(cells, first, last, smallest, tails);
            owner.resize(tails.size(), group);
        });
        return std::tuple(to_array(tails), to_array(owner));
    });
    m.def("walk_ranges", [](In<double> step, In<Index> starts) {
        const CellRanges groups(starts, length(step));
        auto found = empty<double>(static_cast<std::size_t>(groups.count()));
        groups.for_each([&](Index group, Index first, Index last) {
            found.data()[group] = walk_range(step.data(), first, last);
        });
        return found;
    });

    using Key64 = In<std::int64_t>;
    using Key32 = In<std::int32_t>;
    const auto rows64 = [](const Key64 &key) { return Keys<std::int64_t>{key.data(), length(key)}; };
    const auto rows32 = [](const Key32 &key) { return Keys<std::int32_t>{key.data(), length(key)}; };
    const auto groups = [](const In<double> &score, const In<Index> &n, const In<Index> &pos) {
        demand_equal(length(score), {length(n), length(pos)});
        return Groups{score.data(), n.data(), pos.data(), length(score)};
    };
    bind_entries<decltype(rows64), Key64>(m, rows64);
    bind_entries<decltype(rows32), Key32>(m, rows32);
    bind_entries<decltype(groups), In<double>, In<Index>, In<Index>>(m, groups);

    m.def("draw_starts", [](In<double> probability, In<Index> n) {
        demand_equal(length(n), {length(probability)});
        auto start = empty<double>(n.shape(0));
        nb::gil_scoped_release release;
        bool fine = true; // other probabilities would be drawn from for ever
        for (std::size_t i = 0; i < n.shape(0); ++i) {
            const double p = probability.data()[i];
            fine &= p >= 0 && p <= 1;
            start.data()[i] = fine && n.data()[i] > 1 ? Random::start(n.data()[i], p) : 0;
        }
        demand(fine, "probabilities must lie in [0, 1]");
        return start;
    });
    m.def("draw_positives", [](In<double> probability, In<Index> n, In<double> start, std::uint64_t seed, Out<Index> pos) {
        demand_equal(length(n), {length(probability), length(start), length(pos)});
        nb::gil_scoped_release release;
        Interrupt interrupt;
        draw_positives(probability.data(), n.data(), start.data(), length(n), seed, pos.data(),
                       [&] { interrupt.check(); });
    });
    m.def("explain_abort", &explain_abort);
    m.def("binomial_accepted", &accepted);
    m.def("binomial_p_values", &p_values);
    m.def("critical_counts", [](In<Index> n, In<double> p, In<double> significance) {
        demand_equal(length(n), {length(p), length(significance)});
        auto low = empty<Index>(n.shape(0)), high = empty<Index>(n.shape(0));
        nb::gil_scoped_release release;
        Interrupt interrupt;
        for (std::size_t i = 0; i < n.shape(0); ++i) {
            interrupt.check();
            const Index rows = n.data()[i];
            const double rate = p.data()[i], level = significance.data()[i];
            demand(rows > 0 && rate >= 0 && rate <= 1, "n must be above 0, p lie in [0, 1]");
            low.data()[i] = critical_count(rows, rate, level, -1);
            high.data()[i] = critical_count(rows, rate, level, rows + 1);
        }
        return std::tuple(low, high);
    });
    m.def("binomial_rates", [](In<Index> k, In<Index> n, double level) {
        const BinCounts bins(k, n);
        auto rates = empty<double>(k.shape(0));
        nb::gil_scoped_release release;
        Interrupt interrupt;
        for (std::size_t i = 0; i < k.shape(0); ++i) {
            interrupt.check();
            rates.data()[i] = binomial_rate(static_cast<double>(bins.k[i]), static_cast<double>(bins.n[i]), level);
        }
        return rates;
    });
}
