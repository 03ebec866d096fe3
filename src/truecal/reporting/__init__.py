"""One HTML page of results."""

from truecal.reporting._reports import report as report
