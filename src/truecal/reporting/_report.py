"""One HTML file that says how far the predictions of one or more models can be trusted, and opens anywhere offline."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

from truecal import __version__, words
from truecal._atomic import write_text
from truecal._errors import option
from truecal._options import ReportOptions, declare, resolve
from truecal._text import escape_html as escape
from truecal._text import plural, prose_html
from truecal.plot import check_models, choose_scale, get_table
from truecal.reporting._figures import Figures
from truecal.reporting._groups import (
    write_classes,
    write_comparison,
    write_drift,
    write_segments,
    write_slices,
)
from truecal.reporting._headline import write_headline, write_source, write_strip
from truecal.reporting._page import PageColumn, write_fold, write_glossary, write_page, write_table
from truecal.reporting._recalibration import write_recalibration
from truecal.reporting._sections import write_bins, write_diagrams, write_metrics, write_sure, write_where
from truecal.results import (
    ClassResults,
    ClassTable,
    Comparison,
    DriftTable,
    GroupTable,
    Recalibration,
    Result,
    SliceTable,
)
from truecal.words import advise_on_drift, describe_alarms, label_outcome, summarize_models

FULL = 3  # models up to which each has all diagrams and bins
OMITTED = f"Of more than {FULL} models a page has one diagram each, and its windows; a report of one model has all."
SENTENCES = ("labels", "notes")  # settings that are told in words
PARTS: dict[str, type] = {  # what a report has besides results
    "segments": GroupTable,
    "slices": SliceTable,
    "drift": DriftTable,
    "recalibration": Recalibration,
    "comparison": Comparison,
}
FOLDED = ("all-metrics", "settings", "glossary")


@declare(first=(ReportOptions,))
def report(
    results: Result | ClassResults | Mapping[str, Result],
    path: str | os.PathLike[str],
    **options: Unpack[ReportOptions],
) -> Path:
    """Write results as one HTML file that needs nothing else, and return its path.

    Parameters
    ----------
    results : Result, ClassResults or mapping
        A result, results by the names of their models, or those of a model of several classes: the most probable
        class as a model's result, and a table of all classes.
    path : path
        The file to write; an existing one is replaced when the new one is complete.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> truecal.report({"my model": result}, "report.html").name
    'report.html'
    """
    options = resolve(report, options)
    _check_parts(options)
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{option('path')} of a report must end in .html; it is {os.fspath(path)!r}.")
    named, metric, title, settings = _name_results(results), options["metric"], options["title"], options["settings"]
    for result in named.values():
        get_table(result, metric)
    logit = choose_scale(named.values(), metric, options["scale"])
    figures = Figures("logit" if logit else "linear")
    whole = results if isinstance(results, ClassResults) else None
    classes, drift = None if whole is None else whole.table, options["drift"]
    alarms, advice = describe_alarms(classes, options["segments"], options["slices"], drift), advise_on_drift(drift)
    groups = _write_groups(classes, options, figures, f" of {next(iter(named))}" if len(named) > 1 else "")
    body = [
        _write_top(named, title, settings or {}),
        *(
            _write_models(named, alarms, groups, metric, figures, advice)
            if len(named) > 1
            else _write_model(named, alarms, groups, metric, figures, whole, advice)
        ),
        write_fold("all-metrics", "All metrics", write_metrics(named, figures)),
        write_fold("settings", "How it was made", _write_settings(named, settings or {})),
        write_fold("glossary", "What the words mean", write_glossary({result.outcome for result in named.values()})),
    ]
    return write_text(path, write_page(title, "\n".join(body)))


def _check_parts(options: ReportOptions) -> None:
    """Raise an error unless tables are of the functions that they are called after."""
    for name, kind in PARTS.items():
        given = options[name]  # type: ignore[literal-required]
        if given is not None and not isinstance(given, kind):
            raise TypeError(f"{option(name)} of a report must be a `{kind.__name__}`; it is {type(given).__name__}.")


def _write_groups(classes: ClassTable | None, options: ReportOptions, figures: Figures, whose: str) -> dict[str, str]:
    """The sections on tables besides results, by their anchors; `whose` names the first of several models."""
    groups: dict[str, str] = {}
    if options["comparison"] is not None:
        groups["compared"] = write_comparison(options["comparison"], figures)
    if classes is not None:
        groups["by-class"] = write_classes(classes)
    if options["segments"] is not None:
        groups["by-segment"] = write_segments(options["segments"], figures, whose)
    if options["slices"] is not None:
        groups["by-slice"] = write_slices(options["slices"], whose)
    if options["drift"] is not None:
        groups["by-period"] = write_drift(options["drift"], figures, whose)
    if options["recalibration"] is not None:
        groups["recalibration"] = write_recalibration(options["recalibration"], figures, whose)
    return groups


def _name_results(results: Result | ClassResults | Mapping[str, Result]) -> dict[str, Result]:
    if isinstance(results, Result):
        return {"model": results}
    if isinstance(results, ClassResults):
        return {"most probable class": results.top}
    return check_models(results)


def _write_top(named: Mapping[str, Result], title: str, settings: Mapping[str, Any]) -> str:
    """The title, whose data these are, how many, and when."""
    source = None if settings.get("data") is None else str(settings["data"])
    first, *others = named.values()
    about = write_source(first, source) if not others else " \N{MIDDLE DOT} ".join(filter(None, [source]))
    name = f"{next(iter(named))} \N{MIDDLE DOT} " if not others and next(iter(named)) != "model" else ""
    now = datetime.now(UTC)
    today = f"{now.day} {now:%b %Y}"
    line = " \N{MIDDLE DOT} ".join(
        filter(None, [f"{title} \N{MIDDLE DOT} {name}{about}".strip(" \N{MIDDLE DOT}"), today])
    )
    return f'<p class="top">{escape(line)}</p>'


def _write_model(
    named: Mapping[str, Result],
    alarms: list[str],
    groups: dict[str, str],
    metric: str | None,
    figures: Figures,
    classes: ClassResults | None,
    advice: str | None,
) -> list[str]:
    """The page of one model, which may have several classes."""
    ((name, result),) = named.items()
    return [
        f'<section id="model-1" class="model">{write_headline(result, alarms, classes=classes, advice=advice)}'
        f"{_write_links(['where', *groups, 'how-sure', *FOLDED, 'bins'])}"
        f'<h2 id="where">Where</h2>{write_where(1, name, result, figures)}</section>',
        *groups.values(),
        f'<section id="how-sure"><h2>How sure</h2>{write_sure(1, result)}</section>',
        write_fold("diagrams", "Other diagrams", write_diagrams(1, name, result, metric, figures)),
        write_fold("bins", "Bins", write_bins(1, name, result, metric)),
    ]


def _write_models(
    named: Mapping[str, Result],
    alarms: list[str],
    groups: dict[str, str],
    metric: str | None,
    figures: Figures,
    advice: str | None,
) -> list[str]:
    """The page of several models: all of them in a table, then each; the advice is about the first."""
    count = summarize_models(named).rstrip(".")
    first = next(iter(named))
    text = f"Miscalibrated in {first}: {'; '.join(alarms)}."
    alarm = f'<p class="alarms">{escape(text)}</p>' if alarms else ""
    strip = write_strip(named, figures.scale, compared="compared" in groups)
    parts = [
        f'<section id="verdict" class="model"><h1>{escape(count)}</h1>{alarm}{strip}'
        f"{_write_links([*groups, *FOLDED])}</section>",
        *groups.values(),
    ]
    full = len(named) <= FULL
    for i, (name, result) in enumerate(named.items(), 1):
        diagrams = write_diagrams(i, name, result, metric, figures) if full else f"<p>{OMITTED}</p>"
        parts.append(
            f'<section id="model-{i}" class="model"><p class="top">{escape(name)} \N{MIDDLE DOT} '
            f"{escape(write_source(result, None))}</p>"
            f"{write_headline(result, [], 2, advice=advice if i == 1 else None)}"
            f"{write_where(i, name, result, figures)}"
            f"<details><summary>How sure</summary>{write_sure(i, result)}</details>"
            f"<details><summary>Other diagrams</summary>{diagrams}</details>"
            f"<details><summary>Bins</summary>{write_bins(i, name, result, metric, full=full)}</details></section>"
        )
    return parts


def _write_links(sections: Iterable[str]) -> str:
    """Links to the sections."""
    names = {
        "where": "Where",
        "compared": "Which is better",
        "by-class": "Classes",
        "by-segment": "Segments",
        "by-slice": "Slices",
        "by-period": "Over time",
        "recalibration": "Recalibration",
        "how-sure": "How sure",
        "all-metrics": "All metrics",
        "bins": "Bins",
    }
    names |= {"settings": "How it was made", "glossary": "What the words mean"}
    links = {number: name for number, name in names.items() if number in sections}
    items = "".join(f'<a href="#{number}">{name}</a>' for number, name in links.items())
    return f"<nav>{items}</nav>"


def _write_settings(named: Mapping[str, Result], settings: Mapping[str, Any]) -> str:
    """What a regulator asks for: where rows went, every option, seeds and draws, versions and the time."""
    row_counts = [result.row_counts.without_zero_counts for result in named.values()]
    columns = [
        PageColumn("model", list(named), text=True),
        PageColumn("rows read", [f"{each.read:,}" for each in row_counts]),
        PageColumn("dropped", [f"{each.n_dropped:,}" for each in row_counts]),
        PageColumn(
            "why", [prose_html(words.describe_reasons(each.dropped)) for each in row_counts], text=True, html=True
        ),
        PageColumn("out of scope", [f"{each.out_of_scope:,}" for each in row_counts]),
        PageColumn("evaluated", [f"{each.evaluated:,}" for each in row_counts]),
        PageColumn(
            label_outcome(next(iter(named.values())).outcome), [f"{result.positives:,}" for result in named.values()]
        ),
    ]
    rows = write_table("rows", "Where rows went", [column for column in columns if any(column.cells)])
    found: dict[str, dict[str, str]] = {}
    for name, result in named.items():
        for key, value in _list_options(result).items():
            found.setdefault(key, {})[name] = value
    lines = {str(key): str(value) for key, value in settings.items()}
    for key, values in found.items():
        same = len(set(values.values())) == 1 and len(values) == len(named)
        text = next(iter(values.values())) if same else "; ".join(f"{name}: {text}" for name, text in values.items())
        lines.setdefault(key, text)
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    lines["written"] = f"{written}, by truecal {__version__} and Python {platform.python_version()}"
    told = [(prose_html if key in SENTENCES else escape)(value) for key, value in lines.items()]
    options = [PageColumn("setting", list(lines), text=True), PageColumn("value", told, text=True, html=True)]
    return rows + write_table("options", "Every setting", options)


def _list_options(result: Result) -> dict[str, str]:
    """How a result was made."""
    drawn = {null.draws for null in result.nulls.values()}
    spans = {(span.resamples, span.confidence) for span in result.intervals.values()}
    return {
        "test": result.rejection.name_test(),
        "significance": f"{result.significance:g}",
        "tolerance": "none" if result.tolerance is None else repr(result.tolerance),
        "p-values of bins": f"adjusted ({result.adjust})" if result.adjust else "not adjusted",
        "evaluated": "all predictions" if result.region is None else words.describe_region(result.region),
        "labels": "; ".join(map(words.describe_note, result.sampling.notes)) or "of the sample",
        "metrics": ", ".join(result.metrics),
        "null draws": ", ".join(f"{count:,}" for count in sorted(drawn)) or "none",
        "resamples": ", ".join(f"{n:,} ({100 * level:g}% CI)" for n, level in sorted(spans)) or "none",
        "seed": "none" if result.seed is None else f"{result.seed}",
        "evaluated by": f"truecal {result.version}",
        "notes": "; ".join(map(words.describe_note, result.notes)) or plural(0, "note"),
    }
