// Integers of two words against the compiler's own; and what the kernel computes, printed so that builds by other compilers,
// for other processors and systems, can be compared: "near" are numbers that logarithms and exponentials of the system go
// into, everything else must be equal to the last bit.
#include "binomial.hpp"
#include "cell_sums.hpp"
#include "clusters.hpp"
#include "counting.hpp"
#include "crossing.hpp"
#include "csv.hpp"
#include "grid.hpp"
#include "json_lines.hpp"
#include "levels.hpp"
#include "local.hpp"
#include "odds_factor.hpp"
#include "pava.hpp"
#include "poisson_binomial.hpp"
#include "random.hpp"
#include "recalibration.hpp"
#include "rejected.hpp"
#include "sorting.hpp"
#include "sums.hpp"
#include "threads.hpp"

#include <cstdio>
#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string>

using namespace truecal;

static std::mt19937_64 rng(1);

// One draw a statement: in which order a compiler draws two in one expression is its own affair.
static std::uint64_t below(std::uint64_t limit) { return rng() % limit; }

#ifndef TRUECAL_TWO_WORDS
// Numbers of all lengths, with runs of equal bits.
static std::int64_t draw() {
    std::uint64_t bits = rng();
    bits >>= below(64);
    return static_cast<std::int64_t>(below(2) ? bits : ~bits);
}

static bool equal(TwoWords a, __int128 b) {
    return a == (TwoWords(static_cast<std::int64_t>(b >> 64)) << 32 << 32) + TwoWords(static_cast<std::uint64_t>(b));
}

static bool agree(std::int64_t a, std::int64_t b, std::int64_t c) {
    const unsigned shift = static_cast<unsigned>(below(62));
    const __int128 x = (static_cast<__int128>(a) * b) + c, y = static_cast<__int128>(b) - c;
    const TwoWords u = TwoWords(a) * TwoWords(b) + TwoWords(c), v = TwoWords(b) - TwoWords(c);
    const std::int64_t by = a < 0 ? ~a : a;
    const __int128 whole = x < 0 ? ~x : x;
    const TwoWords same = x < 0 ? -u - TwoWords(1) : u;
    return equal(u, x) && equal(v, y) && equal(-v, -y) && equal(u & v, x & y) && (u < v) == (x < y) && (u >= v) == (x >= y) &&
           (u > v) == (x > y) && (u <= v) == (x <= y) && equal(v << static_cast<int>(shift), y << shift) &&
           static_cast<double>(u) == static_cast<double>(x) && static_cast<double>(v) == static_cast<double>(y) &&
           static_cast<std::int64_t>(v) == static_cast<std::int64_t>(y) && (by == 0 || equal(same / by, whole / by));
}
#endif

static void print(const char *kind, std::initializer_list<double> numbers) {
    std::printf("%s", kind);
    for (double x : numbers) std::printf(" %016llx", static_cast<unsigned long long>(bit_cast<std::uint64_t>(x)));
    std::printf("\n");
}

static void print(const char *kind, std::initializer_list<Index> numbers) {
    std::printf("%s", kind);
    for (Index x : numbers) std::printf(" %lld", static_cast<long long>(x));
    std::printf("\n");
}

struct Drawn {
    std::vector<double> score;
    std::vector<Index> n, pos;
    Groups groups() const { return {score.data(), n.data(), pos.data(), static_cast<Index>(score.size())}; }
};

static Drawn draw_tally() {
    Drawn drawn;
    for (int i = 0; i < 2000; ++i) {
        const double digits = static_cast<double>(rng() >> 11);
        drawn.score.push_back(std::ldexp(digits, -53 - static_cast<int>(below(9))));
    }
    std::sort(drawn.score.begin(), drawn.score.end());
    for (std::size_t i = 0; i < drawn.score.size(); ++i) {
        const std::uint64_t bits = rng() >> 10;
        const Index n = 1 + static_cast<Index>(bits >> below(54)) % (Index(1) << 45);
        drawn.n.push_back(n);
        drawn.pos.push_back(static_cast<Index>(below(static_cast<std::uint64_t>(n) + 1)));
    }
    return drawn;
}

static void print_bins(const Groups &groups) {
    const Index starts[] = {0, 700, 1500, 2000};
    double sums[3];
    score_sums(groups, starts, 3, sums);
    for (double sum : sums) print("sum", {sum});
    for (const Block &block : pava_bc<Wide>(groups, Index(1) << 40, Index(1) << 50, false)) print("block", {block.start});
    for (Index start : quantile_starts(groups, 97)) print("start", {start});
}

static void print_cells(const Groups &groups) {
    const CellColumns cells = cell_columns<CellPlace>(groups);
    for (std::size_t i = 0; i < cells.n.size(); ++i) print("cell", {cells.key[i], cells.s1[i], cells.s2[i], cells.s3[i]});
    Levels levels;
    cut_levels(cells.s1.data(), 0, static_cast<Index>(cells.n.size()), cells.s1.back(), true, 0, levels);
    for (std::size_t i = 0; i < levels.begin.size(); ++i) print("level", {levels.begin[i], levels.end[i]});
    print("walk", {walk_range(cells.s2.data(), 0, static_cast<Index>(cells.n.size()))});
}

// The scores as rows, each several times, with labels in turn: as compilers do several at once.
static void print_rows(const Drawn &drawn) {
    std::vector<double> score;
    std::vector<std::uint8_t> label;
    for (std::size_t i = 0; i < 20'000; ++i) {
        score.push_back(drawn.score[i % 7 == 0 ? 5 : i * i % drawn.score.size()]);
        label.push_back(i % 3 == 0);
    }
    const auto size = static_cast<Index>(score.size());
    const auto go = [] { return true; };
    CellTable table;
    table.add_rows(score.data(), label.data(), size, go);
    const CellColumns cells = table.columns();
    for (std::size_t i = 0; i < cells.n.size(); ++i) print("row", {cells.s1[i], cells.s2[i], cells.s3[i]});
    const std::unique_ptr<bool[]> upper(new bool[cells.n.size()]);
    for (std::size_t i = 0; i < cells.n.size(); ++i) upper[i] = cells.key[i] >= 0.5;
    const TrialCells trials{cells.n.data(), cells.k.data(), cells.s1.data(), cells.s2.data(), cells.s3.data(), upper.get()};
    const LocalShares shares = local_shares(trials, static_cast<Index>(cells.n.size()), 0.05, [] {});
    for (std::size_t w = 0; w < shares.rows.size(); ++w) {
        print("start", {shares.rows[w]});
        std::printf("near %.17g %.17g\n", shares.low[w], shares.high[w]);
    }
    const double edges[] = {0, 0.25, 0.5, 0.75, 1};
    BinSums bins(4);
    histogram(score.data(), label.data(), size, FixedBins(edges, 4), bins, go);
    std::vector<Index> key(score.size());
    pack(score.data(), label.data(), key.data(), size);
    DigitSort<Index>().sort(key.data(), size);
    for (std::size_t i = 0; i < key.size(); i += 500) print("row", {key[i]});
    for (std::size_t b = 0; b < 4; ++b) print("row", {static_cast<double>(bins.k[b]), from_fixed(bins.total[b])});
    CellColumns few;
    few_rows(score.data(), label.data(), std::min<Index>(size, 1000), few);
    for (std::size_t i = 0; i < few.n.size(); ++i) print("row", {few.key[i], few.s1[i], few.s2[i], few.s3[i]});
    SquareSums sums;
    square_sums(score.data(), label.data(), size, sums, go);
    print("row", {from_fixed(sums.squares), from_fixed(sums.expected), from_fixed(sums.variance)});
}

// Rows of CSV, most of them plain so that whole blocks of bytes are, and one byte changed in each text.
static void print_csv() {
    const std::string odd = "\"\n\r ,;0a\xc3" + std::string(1, '\0');
    for (int i = 0; i < 400; ++i) {
        std::string text;
        for (int row = 0; row < 20; ++row) text += "1,0." + std::to_string(below(100000)) + ",de\n";
        const auto place = static_cast<std::size_t>(below(text.size()));
        text[place] = odd[static_cast<std::size_t>(below(odd.size()))];
        CsvState state{0, 0, '\n', 0, 0};
        const auto *bytes = reinterpret_cast<const unsigned char *>(text.data());
        const auto [at, why] = CsvCheck{',', 2, state}.run(bytes, static_cast<Index>(text.size()));
        print("csv", {at, static_cast<Index>(why), state.rows, state.marks, state.previous, state.quoted, state.other});
    }
}

// Lines of JSON, most of them with the same names, and one byte changed in each text.
static void print_json() {
    const std::string odd = "\"\n ,:{}[]0ap\\\xc3";
    const std::string values[] = {"null", "-1e+5", "\"de\"", "\"text, {longer} than \\\"32\\\" bytes\"", "[1, {}]"};
    for (int i = 0; i < 400; ++i) {
        std::string text;
        for (int row = 0; row < 20; ++row) {
            text += "{\"p\": 0." + std::to_string(below(100000));
            text += ",\"place of birth\":" + values[below(row ? 5 : 2)] + "}\n";
        }
        const auto place = static_cast<std::size_t>(below(text.size()));
        text[place] = odd[static_cast<std::size_t>(below(odd.size()))];
        const auto *bytes = reinterpret_cast<const unsigned char *>(text.data());
        const auto [lines, why] = check_json_lines(bytes, static_cast<Index>(text.size()), 2);
        print("json", {lines, static_cast<Index>(why)});
    }
}

static void print_tests() {
    for (double n : {1.0, 12.0, 300.0, 5000.0, 1e6}) {
        for (double share : {0.0, 0.01, 0.3, 0.5}) {
            const double k = std::floor(n * share);
            double cuts[6], reach[6];
            const bool fragile = binomial_accepted(k, n, 0.05, 0, false, cuts, reach);
            std::printf("near %.17g %.17g %.17g %.17g %d\n", binomial_p_value(k, n, 0.1), binomial_rate(k + 1, n + 1, 0.025), cuts[0],
                        cuts[5], fragile);
        }
    }
    for (Index n : {3, 40, 2000})
        for (double p : {0.001, 0.2, 0.7}) print("level", {critical_count(n, p, 0.05, -1), critical_count(n, p, 0.05, n + 1)});
    Random random(7);
    for (Index n : {3, 40, 2000}) {
        for (int i = 0; i < 50; ++i) {
            const double p = random.uniform();
            print("drawn", {random.binomial(n, p)});
        }
    }
}

// Parts of a loop, and what one of them throws; where no thread starts, as in a browser, they run one after another.
static void print_parts() {
    std::vector<Index> squares(1000);
    in_parts(1000, 3, [&](Index part, Index first, Index last) {
        for (Index i = first; i < last; ++i) squares[static_cast<std::size_t>(i)] = i * i + part;
    });
    for (Index each : squares) print("part", {each});
    try {
        in_parts(3, 3, [](Index part, Index, Index) { if (part == 1) throw std::invalid_argument("part"); });
    } catch (const std::invalid_argument &error) {
        std::printf("%s thrown\n", error.what());
    }
}

int main() {
#ifndef TRUECAL_TWO_WORDS
    for (int i = 0; i < 200'000; ++i) {
        const std::int64_t a = draw(), b = draw(), c = draw();
        if (!agree(a, b, c)) return 1;
    }
#endif
    rng.seed(2);
    const Drawn drawn = draw_tally();
    print_bins(drawn.groups());
    print_cells(drawn.groups());
    print_rows(drawn);
    print_csv();
    print_json();
    print_tests();
    print_parts();
    return 0;
}
