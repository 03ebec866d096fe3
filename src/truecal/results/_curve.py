"""The isotonic reliability curve, and where the curves of right models lie.

Isotonic regression of labels on predictions is the best fit that never falls (CORP: Dimitriadis, Gneiting, Jordan.
Stable reliability diagrams for probabilistic classifiers. PNAS 118, 2021). Curves of labels that were drawn from the
predictions make the consistency band. Both are kept at a fixed number of predictions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truecal.data import Cells, Floats, Ints, Sorted, Tally, find_distinct
from truecal.inference import Draws, Labels, find_quantiles, map_seeds
from truecal.metrics import Isotonic, Partition
from truecal.results._json import JsonMixin, register
from truecal.results._shapes import RankIndex, space_evenly

CURVE_POINTS = 60  # evenly by rows, as many evenly on each scale
ENDS = (0.025, 0.975)
MOST, BITS = 20_000, 10  # scores that labels are drawn for; more are put into cells of so many significant bits


@register
@dataclass(frozen=True, slots=True, eq=False)
class Curve(JsonMixin):
    """The isotonic curve at some predictions, `score`: the fitted `rate`, and the 2.5 and 97.5 % quantiles `low` and
    `high` of the curves of right models, NaN where none were drawn.

    Examples
    --------
    >>> import truecal
    >>> curve = truecal.evaluate([0, 1, 0, 1] * 50, [0.2, 0.7, 0.4, 0.3] * 50).curve
    >>> curve.rate.tolist()
    [0.0, 0.5, 0.5, 1.0]
    """

    score: Floats
    rate: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, ranked: RankIndex, blocks: Partition) -> Curve:
        """The curve of sorted rows, given the blocks of isotonic regression, without a band."""
        places = _choose_places(ranked)
        rate = ranked.data.sampling.to_population(_find_rates(blocks, places))
        nothing = np.full(len(places), np.nan)
        return cls(ranked.score(places), np.clip(rate, 0, 1), nothing, nothing)

    @classmethod
    def with_band(cls, tally: Tally, draws: Draws) -> Curve:
        """The curve of a tally, with the band of labels that are drawn from its predictions."""
        if len(tally) > MOST:
            tally = Cells.grid(tally.unweighted, BITS).tally  # weights do not move the curve
        ranked = RankIndex(tally)
        places, labels = _choose_places(ranked), Labels.of(tally, tally.score)

        def fit(seeds: list[int]) -> list[Floats]:
            return [_fit(tally.relabel(labels.draw(seed)), places) for seed in seeds]

        low, high = find_quantiles(np.array(map_seeds(fit, draws)), ENDS)
        found = (np.clip(tally.sampling.to_population(each), 0, 1) for each in (_fit(tally, places), low, high))
        return cls(ranked.score(places), *found)


def _choose_places(data: RankIndex) -> Ints:
    """The first entries of scores that are spread evenly over rows, over scores and over log-odds."""
    last = len(data) - 1
    rows = data.entry(np.linspace(0, data.data.n_rows - 1, CURVE_POINTS).astype(np.int64))
    low, high = data.score(np.array([0, last])).tolist()
    scales = [data.find(space_evenly(low, high, CURVE_POINTS, logit)) for logit in (False, True)]
    chosen = data.score(find_distinct(np.clip(np.concatenate([rows, *scales]), 0, last)))
    return np.clip(data.find(find_distinct(chosen)), 0, last)


def _fit(data: Sorted, places: Ints) -> Floats:
    """The isotonic rates at some entries."""
    return _find_rates(Isotonic().partition(data), places)


def _find_rates(blocks: Partition, places: Ints) -> Floats:
    """The rates of the blocks that some entries lie in."""
    return np.asarray((blocks.k / blocks.n)[np.searchsorted(blocks.starts, places, side="right") - 1])
