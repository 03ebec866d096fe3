// Integers of two words against the compiler's own; and what the kernel computes from either, printed to the last bit.
#include "cell_sums.hpp"
#include "pava.hpp"
#include "sums.hpp"

#include <cstdio>
#include <random>

using namespace truecal;

static std::mt19937_64 rng(1);

#ifndef TRUECAL_TWO_WORDS
// Numbers of all lengths, with runs of equal bits.
static std::int64_t draw() {
    const std::uint64_t bits = rng() >> rng() % 64;
    return static_cast<std::int64_t>(rng() % 2 ? bits : ~bits);
}

static bool equal(TwoWords a, __int128 b) {
    return a == (TwoWords(static_cast<std::int64_t>(b >> 64)) << 32 << 32) + TwoWords(static_cast<std::uint64_t>(b));
}

static bool agree(std::int64_t a, std::int64_t b, std::int64_t c) {
    const unsigned shift = static_cast<unsigned>(rng() % 62);
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

int main() {
#ifndef TRUECAL_TWO_WORDS
    for (int i = 0; i < 200'000; ++i) {
        if (!agree(draw(), draw(), draw())) return 1;
    }
#endif
    rng.seed(2);
    std::vector<double> score;
    std::vector<Index> n, pos;
    for (int i = 0; i < 2000; ++i) score.push_back(std::ldexp(static_cast<double>(rng() >> 11), -53 - static_cast<int>(rng() % 9)));
    std::sort(score.begin(), score.end());
    for (std::size_t i = 0; i < score.size(); ++i) {
        n.push_back(1 + static_cast<Index>(rng() >> 10 >> rng() % 54) % (Index(1) << 45));
        pos.push_back(static_cast<Index>(rng() % static_cast<std::uint64_t>(n.back() + 1)));
    }
    const Groups groups{score.data(), n.data(), pos.data(), static_cast<Index>(score.size())};
    const Index starts[] = {0, 700, 1500, 2000};
    double sums[3];
    score_sums(groups, starts, 3, sums);
    for (double sum : sums) std::printf("sum %a\n", sum);
    const CellColumns cells = cell_columns(groups);
    for (std::size_t i = 0; i < cells.n.size(); ++i) std::printf("cell %a %a %a\n", cells.s1[i], cells.s2[i], cells.s3[i]);
    for (const Block &block : pava_bc<Wide>(groups, Index(1) << 40, Index(1) << 50, false)) {
        std::printf("block %lld\n", static_cast<long long>(block.start));
    }
    for (Index start : quantile_starts(groups, 97)) std::printf("start %lld\n", static_cast<long long>(start));
    return 0;
}
