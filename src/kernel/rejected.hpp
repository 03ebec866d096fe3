// How many rows of a bin the exact binomial test rejects, and which counts it rejects.
//
// For p below k/n the p-value is at least P(X >= k), which grows with p: where that exceeds the significance at a bin's
// lowest score, no score of the bin is too low, and its cuts need not be found. The same holds above k/n. Most sides of most
// bins are settled so.
#pragma once

#include "binomial.hpp"
#include "keys.hpp"

#include <cstdlib>

namespace truecal {

struct Rejected {
    Index low, high;
    bool doubtful; // rounding may decide about a row
};

// Whether all of p..k/n are accepted, for p below k/n and q = 1 - p, beyond any doubt about the last digits.
inline bool surely_accepted(double k, double n, double p, double q, double significance) {
    return p * n >= k || Trials(n).upper(k, Odds(p, q)) > significance * (1 + 1e-6);
}

template <class Entries> Index add_rows(const Entries &e, Index begin, Index end) {
    if constexpr (Entries::single_rows) return end - begin;
    Index rows = 0;
    for (Index i = begin; i < end; ++i) rows += e.at(i).n;
    return rows;
}

// Of the entries [begin, end), which are those of a bin with k positives in n rows.
template <class Entries>
Rejected binomial_rejected(const Entries &e, Index begin, Index end, double k, double n, double significance,
                           double log_factor) {
    Rejected found{0, 0, false};
    for (const bool above : {false, true}) {
        const double p = e.score(above ? end - 1 : begin), positives = above ? n - k : k;
        if (surely_accepted(positives, n, above ? 1 - p : p, above ? p : 1 - p, significance)) continue;
        const LowerSide side = BinomialTest(positives, n, significance, log_factor).lower_side(true);
        const Cut cuts[3] = {side.first, side.hole, side.last};
        Index places[3];
        found.doubtful |= side.fragile;
        for (int c = 0; c < 3; ++c) {
            const Odds odds(above ? -cuts[c].at : cuts[c].at);
            const double reach = odds.p * odds.q * cuts[c].reach + 4e-16 * odds.p;
            found.doubtful |= place(e, odds.p, reach, above, begin, end, places[c]);
        }
        if (above) found.high = add_rows(e, places[2], places[1]) + add_rows(e, places[0], end);
        else found.low = add_rows(e, begin, places[0]) + add_rows(e, places[1], places[2]);
    }
    return found;
}

// The rejected count that is nearest to the likeliest one, on the side of `limit`, which is -1 or n + 1, or the limit where
// there is none: p-values fall with the distance. It is looked for around the place that a normal distribution has it at.
inline Index critical_count(Index n, double p, double significance, Index limit) {
    const auto rows = static_cast<double>(n);
    const Index likeliest = std::min(static_cast<Index>(std::floor((rows + 1) * p)), n), way = limit < likeliest ? -1 : 1;
    const double z = rough_quantile(significance / 2), guess = z * std::sqrt(rows * p * (1 - p)) + 0.5;
    const auto accepted = [&](double away) {
        return binomial_p_value(static_cast<double>(likeliest) + static_cast<double>(way) * away, rows, p) > significance;
    };
    const double last = last_whole(0, static_cast<double>(std::abs(limit - likeliest)), guess, accepted); // the likeliest is
    return likeliest + way * (static_cast<Index>(last) + 1);
}

} // namespace truecal
