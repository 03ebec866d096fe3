"""One HTML page of results."""

from truecal.reporting._report import report as report
