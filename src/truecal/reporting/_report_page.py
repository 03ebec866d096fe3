"""The parts of the report that are the same for all: how a figure and a table are written, style, script, explanations.

The writers escape what they are given; the rest does not come from the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

Formats = Mapping[str, Callable[[float], str]]


def write_figure(number: str, size: str, label: str, caption: str) -> str:
    """The place of a figure, which the script draws."""
    return (
        f'<figure><h3>{escape(label)}</h3><div class="plot {size}" data-figure="{number}" id="{number}" role="img" '
        f'aria-label="{escape(label)}. {escape(caption)}"></div><figcaption>{escape(caption)}</figcaption></figure>'
    )


def as_rate(value: float) -> str:
    """A probability in percent."""
    return f"{100 * value:.4g} %"


def as_share(value: float) -> str:
    """A share of predictions in percent."""
    return f"{100 * value:.1f} %"


def write_table(
    number: str, what: str, names: Mapping[str, str], columns: Mapping[str, list[Any]], formats: Formats
) -> str:
    """A table that sorts and downloads, with these headings; numbers of a column without a format have no unit."""
    what = escape(what)
    head = "".join(
        f'<th scope="col" aria-sort="none" data-name="{key}"><button type="button">{text}</button></th>'
        for key, text in names.items()
    )
    rows = "".join(
        "<tr>" + "".join(_cell(value, formats.get(key)) for key, value in zip(names, row, strict=True)) + "</tr>"
        for row in zip(*(columns[key] for key in names), strict=True)
    )
    return (
        f"<p><button type='button' class='act csv' data-table='{number}' data-file='truecal-{number}.csv'>"
        f'Download as CSV</button></p><div class="wide" tabindex="0" role="region" aria-label="{what}">'
        f'<table class="sorts" id="{number}"><caption>{what}; a heading sorts</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(value: float | str, show: Callable[[float], str] | None) -> str:
    if isinstance(value, str):
        return f'<td data-v="{escape(value)}">{escape(value)}</td>'
    if value != value:  # noqa: PLR0124
        return '<td data-v=""></td>'
    if isinstance(value, int):
        return f'<td data-v="{value}">{value:,}</td>'
    raw = "Infinity" if value == float("inf") else repr(value)
    return f'<td data-v="{raw}">{show(value) if show else f"{value:.4g}"}</td>'


STYLE = """
:root { --ink: #1f2328; --soft: #57606a; --page: #ffffff; --card: #f6f8fa; --line: #d0d7de; --good: #0b6e4f;
  --bad: #a33f00; --link: #0550ae; --violin: #4a5058; --grid: #e4e8ec; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa6b2; --page: #0d1117; --card: #161b22;
  --line: #30363d; --good: #56d4a0; --bad: #ff9d5c; --link: #79c0ff; --violin: #c3cad1; --grid: #262c33; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 70rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; margin: 0.5rem 0; } h2 { font-size: 1.3rem; margin: 2.5rem 0 0.5rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 0.3rem; }
a { color: var(--link); } .soft { color: var(--soft); font-size: 0.9rem; }
.verdict { font-size: 1.15rem; padding: 0.8rem 1rem; border-left: 0.35rem solid var(--soft); background: var(--card); }
.verdict.good { border-color: var(--good); } .verdict.bad { border-color: var(--bad); }
nav ul { padding-left: 1.2rem; }
summary { cursor: pointer; color: var(--link); margin: 1rem 0; }
.wide { overflow-x: auto; max-width: 100%; position: relative; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding: 0.3rem 0; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap;
  vertical-align: top; }
th:first-child, td:first-child { text-align: left; } td.text, th.text { text-align: left; white-space: normal; }
td .soft, th .soft { display: block; font-size: 0.8rem; font-weight: normal; }
#metrics th.text { min-width: 8rem; }
thead th { border-bottom: 2px solid var(--line); }
button, .switch label { font: inherit; color: inherit; cursor: pointer; }
th button { background: none; border: 0; padding: 0; font-weight: inherit; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
.act { background: var(--card); border: 1px solid var(--line); border-radius: 0.4rem; padding: 0.3rem 0.8rem; }
.switch { border: 1px solid var(--line); border-radius: 0.4rem; padding: 0.3rem 0.8rem; display: inline-flex; gap: 1rem;
  margin: 0.5rem 0; flex-wrap: wrap; } .switch legend { padding: 0 0.3rem; font-size: 0.85rem; color: var(--soft); }
figure { margin: 1rem 0; } .plot { width: 100%; height: 34rem; } .plot.low { height: 20rem; }
.plot.free { height: auto; min-height: 10rem; }
figcaption { color: var(--soft); font-size: 0.9rem; }
dt { font-weight: 600; margin-top: 0.6rem; } dd { margin: 0 0 0 1rem; }
.twin { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; } .twin > * { min-width: 0; }
.twin > .all { grid-column: 1 / -1; }
@media (max-width: 50rem) { #metrics th .soft { display: none; }
  .twin { grid-template-columns: 1fr; } .plot { height: 28rem; } }
@media print { :root { --ink: #000; --soft: #444; --page: #fff; --card: #fff; --line: #bbb; --violin: #4a5058; }
  body { max-width: none; font-size: 11pt; } .switch, .act, .modebar { display: none !important; }
  .wide { overflow: visible; } table { font-size: 6.5pt; } th, td { padding: 0.1rem 0.15rem; }
  thead th { white-space: normal; vertical-align: bottom; }
  figure, tr, .verdict { break-inside: avoid; } h2, h3 { break-after: avoid; } .twin { display: block; }
  .plot, .plot.low { height: auto; } .plot text { fill: #000 !important; } summary { display: none; } }
"""

SCRIPT = """
'use strict';
(function () {
  const figures = JSON.parse(document.getElementById('figures').textContent);
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const plots = Array.from(document.querySelectorAll('.plot'));
  let scale = document.querySelector('input[name=scale]:checked').value;
  let printing = false;
  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function draw(plot) {
    const both = figures[plot.dataset.figure];
    let text = JSON.stringify(both[scale] || both.linear);
    if (dark.matches && !printing) {
      for (const [from, to] of [['#0072b2', '#58a6ff'], ['#000000', '#ffffff'], ['rgba(0,114,178,0.25)',
        'rgba(88,166,255,0.35)']]) { text = text.split(from).join(to); }
    }
    const figure = JSON.parse(text);
    const narrow = plot.clientWidth < 560;
    const layout = Object.assign({ font: { size: narrow ? 11 : 13 },
      margin: { l: narrow ? 52 : 70, r: 12, t: 36, b: 44 },
      legend: { orientation: 'h', x: 0, y: 1.01, yanchor: 'bottom' }, paper_bgcolor: 'rgba(0,0,0,0)',
      plot_bgcolor: 'rgba(0,0,0,0)', autosize: true, dragmode: narrow ? false : 'zoom',
      modebar: { bgcolor: 'rgba(0,0,0,0)', color: colour('--soft'), activecolor: colour('--ink') },
      hoverlabel: { align: 'left', font: { size: 13 } } }, figure.layout);
    const edges = layout.xaxis3;
    if (narrow && edges && edges.tickangle) {
      edges.ticktext = edges.ticktext.map(function (text, i) { return i % 2 ? '' : text; });
    }
    if (narrow && plot.classList.contains('free')) { layout.yaxis.tickfont = { size: 9 }; }
    if (printing) { layout.width = 680; layout.height = layout.height || plot.clientHeight; layout.autosize = false; }
    layout.font.color = printing ? '#000' : colour('--ink');
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis/.test(key)) {
        layout[key].gridcolor = printing ? '#ddd' : colour('--grid');
        layout[key].linecolor = layout[key].zerolinecolor = printing ? '#bbb' : colour('--line');
        layout[key].automargin = true;
        if (layout[key].title) { layout[key].title.standoff = 8; }
      }
    }
    for (const trace of figure.data) {
      if (trace.meta === 'ink') {
        const ink = printing ? '#4a5058' : colour('--violin');
        if (trace.fillcolor) { trace.fillcolor = ink; }
        if (trace.line) { trace.line.color = ink; }
        if (trace.marker) { trace.marker.color = ink; }
      }
    }
    if (figure.layout.height) { plot.style.height = figure.layout.height + 'px'; }
    plot.dataset.drawn = scale;
    return Plotly.react(plot, figure.data, layout, { responsive: true, displaylogo: false,
      displayModeBar: narrow || printing ? false : 'hover',
      modeBarButtons: [['toImage', 'zoom2d', 'pan2d', 'resetScale2d']] });
  }
  const seen = new IntersectionObserver(function (entries) {
    for (const entry of entries) { if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); } }
  }, { rootMargin: '600px' });
  plots.forEach(function (plot) { seen.observe(plot); });
  function again(all) { plots.forEach(function (plot) { if (all || plot.dataset.drawn) { draw(plot); } }); }
  document.querySelectorAll('input[name=scale]').forEach(function (input) {
    input.addEventListener('change', function () { scale = input.value; again(false); });
  });
  dark.addEventListener('change', function () { again(false); });
  window.addEventListener('beforeprint', function () {
    document.querySelectorAll('details').forEach(function (part) { part.open = true; });
    printing = true; again(true);
  });
  window.addEventListener('afterprint', function () { printing = false; again(false); });
  document.querySelectorAll('table.sorts').forEach(function (table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      head.firstElementChild.addEventListener('click', function () {
        const down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach(function (other) { other.setAttribute('aria-sort', 'none'); });
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const rows = Array.from(table.tBodies[0].rows);
        rows.sort(function (a, b) {
          const x = a.cells[column].dataset.v, y = b.cells[column].dataset.v;
          if (x === '' || y === '') { return (x === '') - (y === ''); }
          const text = ['segment', 'window', 'verdict'].includes(head.dataset.name);
          const order = text ? x.localeCompare(y, 'en', { numeric: true }) : x - y;
          return (down ? -order : order) || 0;
        });
        rows.forEach(function (row) { table.tBodies[0].appendChild(row); });
      });
    });
  });
  document.querySelectorAll('button.csv').forEach(function (button) {
    button.addEventListener('click', function () {
      const table = document.getElementById(button.dataset.table);
      const heads = Array.from(table.tHead.rows[0].cells);
      const lines = [heads.map(function (cell) { return cell.dataset.name; }).join(',')];
      for (const row of table.tBodies[0].rows) {
        lines.push(Array.from(row.cells).map(function (cell) {
          const v = cell.dataset.v;
          return /[",\\r\\n]/.test(v) ? '"' + v.replace(/"/g, '""') + '"' : v;
        }).join(','));
      }
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([lines.join('\\n') + '\\n'], { type: 'text/csv' }));
      link.download = button.dataset.file;
      link.click();
      setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
    });
  });
})();
"""

EXPLANATIONS = {
    "TCE, test-based calibration error": (
        "Predictions of similar size are put into a bin. A prediction is rejected if a statistical test finds"
        " that, were it right, the bin's positives would be surprisingly many or few. TCE is the percentage "
        "of predictions rejected: 0 is best, 100 worst, and it reads the same for common and for rare events."
    ),
    "By chance": (
        "What the number would be were the model perfectly calibrated, found by drawing labels from the "
        "predictions themselves. Only what exceeds it speaks against the model; p is the probability of a "
        "number at least as large by chance alone."
    ),
    "Interval": ("Where the number would lie, on average, over data sets of this size from the same source."),
    "Accepted": (
        "The predictions that the test accepts for a bin, given its positives: the range in which the truth "
        "plausibly lies."
    ),
    "Observed / expected": (
        "The positives of a bin over the sum of its predictions; 2 means twice as many as predicted. The "
        "interval is exact (Clopper-Pearson)."
    ),
    "ECE, ACE": (
        "The average distance between the observed rate and the mean prediction, over bins of equal width "
        "(ECE) or equal size (ACE). With rare events both are small, whatever the model."
    ),
    "MCE, RMSCE": ("The largest such distance, and the root of its mean square."),
    "PAVA-BC bins": (
        "Bins found from the data so that observed rates rise from bin to bin, with a smallest and a largest size."
    ),
    "Logit scale": (
        "Stretches the ends of the probability axis, so that 0.001 and 0.01 are as far apart as 0.01 and 0.1."
        " Predictions of exactly 0 or 1, and the few far beyond the others, are shown at its margins and counted."
    ),
}

CITATION = (
    "Matsubara, Tax, Mudd, Guy. TCE: A Test-Based Approach to Measuring Calibration Error. Proceedings of the 39th "
    "Conference on Uncertainty in Artificial Intelligence (UAI), 2023. arXiv:2306.14343"
)
