"""Units of metrics: the format and the range of their values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from truecal.metrics._decisions import is_number


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a metric: a name, a symbol to print after a value, the largest value, decimals, the smallest value.

    Examples
    --------
    >>> Unit("cents", " ct", digits=1).format(12.345)
    '12.3 ct'
    """

    name: str = ""
    symbol: str = ""
    top: float = math.inf
    digits: int = 5
    bottom: float = 0.0

    def __post_init__(self) -> None:
        for name, text in (("name", self.name), ("symbol", self.symbol)):
            if not isinstance(text, str):
                raise TypeError(f"`{name}` of a unit must be text; it is {text!r}.")
        if not is_number(self.top) or not self.top > 0:
            raise ValueError(f"`top` of a unit must be a number above 0; it is {self.top!r}.")
        if isinstance(self.digits, bool) or not isinstance(self.digits, int) or self.digits < 0:
            raise ValueError(f"`digits` of a unit must be a whole number, 0 or more; it is {self.digits!r}.")

    def format(self, value: float) -> str:
        """Return a number with its symbol; "none" for NaN."""
        if math.isnan(value):
            return "none"
        return f"{value:.{self.digits}f}{self.symbol}"


PERCENT = Unit("percent", "%", 100.0, 2)
PROBABILITY = Unit("probability", "", 1.0, 5)
UNKNOWN = Unit()
SIGNED = Unit(digits=3, bottom=-math.inf)
