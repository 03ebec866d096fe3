"""Two models on the same rows, grouped by both scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truecal.observations._tally import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Distinct pairs of scores in increasing order, with the observations and the positives at each.

    Like a `Tally` they have no row order, so that what is drawn for them with a seed depends on the data alone.
    """

    scores: tuple[Floats, Floats]
    n: Ints
    pos: Ints

    @classmethod
    def gathered(cls, first: Floats, second: Floats, n: Ints, pos: Ints) -> Pairs:
        """Pairs in any order, where the same one may come more than once."""
        order = np.lexsort((second, first))
        first, second, n, pos = first[order] + 0.0, second[order] + 0.0, n[order], pos[order]
        new = (np.diff(first, prepend=-1.0) != 0) | (np.diff(second, prepend=-1.0) != 0)
        starts = np.flatnonzero(new)
        return cls((first[starts], second[starts]), np.add.reduceat(n, starts), np.add.reduceat(pos, starts))
