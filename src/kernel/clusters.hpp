// Rows in clusters: sums of products within them, tails of counts that they spread, and labels drawn for them together.
//
// Rows come as pairs of a cluster and a cell (or a score): n rows each, the pairs of a cluster neighbours and its cells
// increasing. `starts` says where clusters begin among the pairs, and where the last one ends.
#pragma once

#include "random.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace truecal {

struct ClusterPairs {
    const Index *starts;
    Index clusters;
    const Index *cell, *n;
};

// Windows that do not overlap, as many as fit into each layer: the window of each cell, or -1.
class Layers {
  public:
    Layers(const Index *begin, const Index *end, Index windows, Index cells) : begin_(begin), end_(end), of_cell_(cells) {
        std::vector<Index> order(static_cast<std::size_t>(windows));
        for (Index w = 0; w < windows; ++w) order[static_cast<std::size_t>(w)] = w;
        std::stable_sort(order.begin(), order.end(), [=](Index a, Index b) { return begin[a] < begin[b]; });
        std::vector<Index> last;
        for (const Index w : order) {
            std::size_t layer = 0;
            while (layer < last.size() && last[layer] > begin[w]) ++layer;
            if (layer == last.size()) {
                last.push_back(0);
                windows_.emplace_back();
            }
            last[layer] = end[w];
            windows_[layer].push_back(w);
        }
    }

    std::size_t count() const { return windows_.size(); }

    const std::vector<Index> &at(std::size_t layer) {
        std::fill(of_cell_.begin(), of_cell_.end(), Index(-1));
        for (const Index w : windows_[layer])
            for (Index i = begin_[w]; i < end_[w]; ++i) of_cell_[static_cast<std::size_t>(i)] = w;
        return of_cell_;
    }

  private:
    const Index *begin_, *end_;
    std::vector<Index> of_cell_;
    std::vector<std::vector<Index>> windows_;
};

// For each window of cells, the sum of f_i f_j over all ordered pairs of two rows of one cluster in it, and the same of g.
template <class Pause>
void add_products(const ClusterPairs &pairs, const double *f, const double *g, Layers layers, double *cross_f,
                double *cross_g, Pause pause) {
    for (std::size_t layer = 0; layer < layers.count(); ++layer) {
        pause();
        const std::vector<Index> &window = layers.at(layer);
        for (Index c = 0; c < pairs.clusters; ++c) {
            const Index last = pairs.starts[c + 1];
            for (Index i = pairs.starts[c]; i < last;) {
                const Index w = window[static_cast<std::size_t>(pairs.cell[i])];
                double sum_f = 0, sum_g = 0, own_f = 0, own_g = 0;
                Index rows = 0;
                for (; i < last && window[static_cast<std::size_t>(pairs.cell[i])] == w; ++i) {
                    const double n = static_cast<double>(pairs.n[i]), a = f[pairs.cell[i]], b = g[pairs.cell[i]];
                    sum_f += n * a;
                    sum_g += n * b;
                    own_f += n * a * a;
                    own_g += n * b * b;
                    rows += pairs.n[i];
                }
                if (w < 0 || rows < 2) continue;
                cross_f[w] += std::max(sum_f * sum_f - own_f, 0.0);
                cross_g[w] += std::max(sum_g * sum_g - own_g, 0.0);
            }
        }
    }
}

inline double normal_tail(double z) { return 0.5 * std::erfc(z * 0.70710678118654752440); }

// The z that a standard normal variable exceeds with the probability `tail`, at most 1/2.
inline double normal_quantile(double tail) {
    if (tail <= 0) return std::numeric_limits<double>::infinity();
    const double u = std::sqrt(-2 * std::log(tail));
    double z = std::max(u - (2.30753 + 0.27061 * u) / (1 + (0.99229 + 0.04481 * u) * u), 0.0); // to 0.003
    for (int i = 0; i < 20; ++i) { // Newton's method on the logarithm of the tail
        const double reached = normal_tail(z);
        if (reached == 0) break;
        const double step = reached / (std::exp(-z * z / 2) * 0.39894228040143267794) * std::log(reached / tail);
        z += step;
        if (std::abs(step) < 1e-14 * (1 + std::abs(z))) break;
    }
    return z;
}

// I_x(a, b) by Lentz's continued fraction (DLMF 8.17.22), for x below (a + 1) / (a + b + 2).
inline double beta_fraction(double a, double b, double x) {
    constexpr double tiny = 1e-300;
    double c = 1, d = 1 / std::max(1 - (a + b) * x / (a + 1), tiny), f = d;
    for (double m = 1; m < 10000; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        f *= c * d;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        f *= c * d;
        if (std::abs(c * d - 1) < 1e-15) break;
    }
    const double log_beta = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
    return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta) * f / a;
}

// The probability that Student's t with real degrees of freedom exceeds u >= 0.
inline double student_tail(double u, double freedom) {
    if (freedom > 1e10 || u == 0) return normal_tail(u);
    const double square = u * u, x = freedom / (freedom + square), a = freedom / 2;
    if (!std::isfinite(square)) return 0;
    if (x < (a + 1) / (a + 2.5)) return 0.5 * beta_fraction(a, 0.5, x);
    return 0.5 * (1 - beta_fraction(0.5, a, square / (freedom + square)));
}

// A tail of a count of independent rows as that of rows whose clusters multiply its variance by an effect, which is known
// with so many degrees of freedom: P(T > z / sqrt(effect)) with z = the normal quantile of the tail.
inline double spread_tail(double tail, double effect, double freedom) {
    if (!(effect > 1)) return tail;
    if (tail > 0.5) return 1 - spread_tail(1 - tail, effect, freedom);
    return student_tail(normal_quantile(tail) / std::sqrt(effect), freedom);
}

// The tail of a count of independent rows that becomes `level`, at most 1/2: the inverse of `spread_tail`.
inline double unspread_tail(double level, double effect, double freedom) {
    if (!(effect > 1)) return level;
    double low = 0, high = 1; // of Student's quantile
    while (student_tail(high, freedom) > level && high < 1e150) {
        low = high;
        high *= 4;
    }
    for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
        const double middle = (low + high) / 2;
        (student_tail(middle, freedom) > level ? low : high) = middle;
    }
    return normal_tail(high * std::sqrt(effect));
}

// The quantile of a standard normal variable at a probability.
inline double normal_quantile_at(double p) {
    return p < 0.5 ? -normal_quantile(p) : normal_quantile(1 - p);
}

// The normal distribution function from a table, interpolated to 5e-7.
class NormalTable {
  public:
    NormalTable() : table_(static_cast<std::size_t>(2 * reach * steps + 2)) {
        for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = normal_tail(reach - static_cast<double>(i) / steps);
    }

    double operator()(double x) const {
        if (!(std::abs(x) < reach)) return x > 0;
        const double at = (x + reach) * steps, whole = std::floor(at);
        const std::size_t k = static_cast<std::size_t>(whole);
        return table_[k] + (at - whole) * (table_[k + 1] - table_[k]);
    }

  private:
    static constexpr int steps = 512, reach = 9;
    std::vector<double> table_;
};

// The sum of the covariances of all ordered pairs of two labels of one cluster, were labels drawn as `draw_together` does;
// the mean over a cluster's variable is taken at `nodes` with `weights`.
template <class Pause>
double covariance_together(const ClusterPairs &pairs, const double *quantile, Index cells, double shared,
                           const double *nodes, const double *weights, Index count, Pause pause) {
    const NormalTable normal;
    const double own = std::sqrt(1 - shared * shared);
    std::vector<double> p(static_cast<std::size_t>(cells)), mean(static_cast<std::size_t>(cells), 0.0);
    double products = 0;
    const auto add = [&](const std::vector<double> &rate) {
        double total = 0;
        for (Index c = 0; c < pairs.clusters; ++c) {
            double sum = 0, squares = 0;
            for (Index i = pairs.starts[c]; i < pairs.starts[c + 1]; ++i) {
                const double n = static_cast<double>(pairs.n[i]), r = rate[static_cast<std::size_t>(pairs.cell[i])];
                sum += n * r;
                squares += n * r * r;
            }
            total += sum * sum - squares;
        }
        return total;
    };
    for (Index k = 0; k < count; ++k) {
        pause();
        for (std::size_t i = 0; i < p.size(); ++i) {
            p[i] = normal((quantile[i] - shared * nodes[k]) / own);
            mean[i] += weights[k] * p[i];
        }
        products += weights[k] * add(p);
    }
    return products - add(mean);
}

// Positives at each place, drawn so that each row is positive with its probability and the rows of a cluster go together:
// a row is positive where a normal variable, made of `shared` times its cluster's and sqrt(1 - shared^2) times its own, lies
// below the probability's quantile. `pos` is added to.
template <class Pause>
void draw_together(const ClusterPairs &pairs, const double *quantile, double shared, std::uint64_t seed, Index *pos,
                   Pause pause) {
    const NormalTable normal;
    const double own = std::sqrt(1 - shared * shared);
    Random random(seed);
    Index before = 0;
    for (Index c = 0; c < pairs.clusters; ++c) {
        if ((pairs.starts[c] - before) >= stretch) {
            pause();
            before = pairs.starts[c];
        }
        const double common = shared * normal_quantile_at(random.uniform() + 0x1p-54);
        for (Index i = pairs.starts[c]; i < pairs.starts[c + 1]; ++i) {
            const double p = normal((quantile[pairs.cell[i]] - common) / own);
            const Index n = pairs.n[i];
            pos[pairs.cell[i]] += n == 1 ? random.uniform() < p : random.binomial(n, p);
        }
    }
}

} // namespace truecal
