"""Results that pictures and pages are tried on: few bins and many, one class, one score, zeros and ones, a million rows."""

import numpy as np

import truecal
from truecal import Metric, Quantile
from truecal.metrics import PointwiseTest


def data(rows=4000, seed=1, factor=0.6):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 5, rows)
    return (rng.random(rows) < factor * p).astype(int), p


def with_bins(count, rows=4000):
    return truecal.evaluate(*data(rows), metrics={"tce": Metric(Quantile(count), PointwiseTest())})


y, p = data()
q = p.copy()
q[:300], q[300:340] = 0, 1
RESULTS = {
    **{f"{count} bins": with_bins(count) for count in (1, 5, 20, 500)},
    "one class": truecal.evaluate(np.zeros(4000, int), p),
    "all equal": truecal.evaluate(y, np.full(4000, 0.3)),
    "zeros and ones": truecal.evaluate(y, q),
    "a million rows": with_bins(20, 1_000_000),
}
