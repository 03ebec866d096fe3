"""The component test of single score windows, used with a tolerance."""

from __future__ import annotations

from truecal.data import Bools, Floats
from truecal.metrics import prove_windows
from truecal.verdict._component import GroupData


class WindowsTest:
    """Test the windows of Local TCE if predictions may deviate by a tolerance.

    Each window of the first grid is tested twice: against the predictions raised by the tolerance for too many
    positives, and lowered for too few. The p-value is the smallest of all windows, adjusted by Holm's procedure.

    It takes the place of the scans, and of the tests whose null distributions belong to the predictions themselves.
    """

    name: str = "windows"
    title: str = "single windows"
    statistic: str = (
        "only with a tolerance: the windows of Local TCE with predictions raised and lowered by it, the smallest "
        "p-value by Holm"
    )
    looks_for: str = "the worst score window"
    weight: float = 1.0
    least_information: float = 0.0

    def applies(self, data: GroupData) -> Bools:
        """Return every group, if there is a tolerance."""
        return data.every(data.tolerance is not None)

    def p_values(self, data: GroupData) -> Floats:
        """Return the p-value of each group."""
        _, smallest, _ = prove_windows(data.groups, data.significance, data.tolerance)
        return smallest
