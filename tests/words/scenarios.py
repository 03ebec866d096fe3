"""What truecal says, scenario by scenario: small data of fixed seeds, and everything that is printed about them.

A scenario is a function of a `Page`. It writes its data into the folder that it runs in, runs commands and shows objects,
and the page keeps what these say: standard output, standard error and the exit code at a width of 100 columns, without
colour; of objects whatever they have of `TOLD`. Versions and times are replaced by placeholders, numbers of more than eight
digits are rounded to six, and HTML is broken into lines, so that a page is the same everywhere and reads as a diff.
"""

import platform
import re
import shlex
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from datetime import date, timedelta
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

import numpy as np
from command import run, write_csv

import truecal
from truecal import demo
from truecal.data import Cells, LabelDelay, Sampling
from truecal.metrics import Direction
from truecal.plot import make_svg
from truecal.plot._kinds import make_picture
from truecal.results import from_json
from truecal.verdict import COMPONENTS, Status

WIDTH = 100
TOLD = (
    *("summary", "sentences", "overall", "notes", "__str__", "__repr__", "_repr_html_"),
    *("to_markdown", "to_junit", "to_github"),
)
BRIEF = tuple(name for name in TOLD if name not in ("__str__", "__repr__", "_repr_html_"))
PLACEHOLDERS = (  # what differs from run to run or from machine to machine
    (re.compile(r"(?<=base64,)[A-Za-z0-9+/=]+"), "..."),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d UTC"), "TIME"),
    (re.compile(r'(?<="time": ")[^"]+'), "TIME"),
    (re.compile(r"\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}\b"), "DATE"),
    (re.compile(rf"\b{re.escape(truecal.__version__)}\b"), "VERSION"),
    (re.compile(rf"(?<=Python ){re.escape(platform.python_version())}"), "VERSION"),
)
LONG = re.compile(r"\d+\.\d{9,}(?:e[-+]?\d+)?|\d+\.\d+e[-+]?\d+")
BREAKS = re.compile(r"(?<=>)(?=<(?!/t[dh]>|t[dh][ >]))")  # between elements, but for the cells of a row
BLOCKS = {
    *(
        "p",
        "div",
        "h1",
        "h2",
        "h3",
        "tr",
        "caption",
        "section",
        "figure",
        "figcaption",
        "summary",
        "details",
        "dt",
        "dd",
    ),
    *("dl", "table", "nav", "a", "text", "title", "span", "li"),
}
UNREAD = {"style", "script"}


class Page:
    """What a scenario says, in the order in which it is said."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def run(self, *words: str, width: int = WIDTH, **environment: str) -> None:
        """A command, and what it prints."""
        done = run(*words, COLUMNS=str(width), NO_COLOR="1", **environment)
        self.add(f"$ {shlex.join(['truecal', *words])}", done.stdout.rstrip("\n"))
        if done.stderr:
            self.add("(standard error)", done.stderr.rstrip("\n"))
        self.add(f"(exit code {done.returncode})")

    def show(self, name: str, found: object, told: tuple[str, ...] = TOLD) -> None:
        """What an object says of itself; of its picture the words for those who cannot see it."""
        for attribute in told:
            value = getattr(found, attribute, None)
            if value is None or (attribute == "__str__" and type(found).__str__ is object.__str__):
                continue
            with patch.object(truecal.plot, "draw_inline", describe_inline):
                value = value() if callable(value) else value
            lines = [value] if isinstance(value, str) else [f"- {each}" for each in value]
            text = "\n".join(lines)
            self.add(f"> {name}.{attribute}", BREAKS.sub("\n", text) if attribute == "_repr_html_" else text)

    def show_file(self, name: str) -> None:
        """What was written to a file."""
        self.add(f"# {name}", Path(name).read_text(encoding="utf-8").rstrip("\n"))

    def show_page(self, name: str) -> None:
        """The texts of a page, without its pictures' own."""
        self.add(f"# {name}", read_html(Path(name).read_text(encoding="utf-8"), pictures=False))

    def draw(self, kind: str, *data: object, **options: object) -> None:
        """The texts of a picture."""
        picture = make_picture(kind, *data, **options)
        drawn = make_svg(kind, *data, label="", **options)
        self.add(f"# picture {kind}", picture.summary, picture.title, "", read_html(drawn, pictures=True))

    def add(self, *lines: str) -> None:
        self.parts.append("\n".join(line for line in lines if line is not None))

    @property
    def text(self) -> str:
        """All of it, with placeholders."""
        found = "\n\n".join(self.parts)
        for pattern, word in PLACEHOLDERS:
            found = pattern.sub(word, found)
        found = LONG.sub(lambda number: f"{float(number[0]):.6g}", found)
        return f"{found}\n"


def describe_inline(kind: str, found: object, words: str) -> str:
    """A picture in a notebook, without drawing it."""
    return f'<img class="{kind}" alt="{words}">'


class Reader(HTMLParser):
    """The texts of HTML, each block and each row of a table on a line; without those of SVG unless these are asked for."""

    def __init__(self, *, pictures: bool) -> None:
        super().__init__()
        self.pictures, self.unread, self.texts = pictures, 0, [""]

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.unread += self._is_unread(tag)
        if label := given.get("aria-label"):
            self.texts.append(f"[{label}]")
        if tag in BLOCKS:
            self.texts.append("")
        if tag in ("td", "th"):
            self.texts[-1] += " | " * bool(self.texts[-1])

    def handle_endtag(self, tag):
        self.unread -= self._is_unread(tag)
        if tag in BLOCKS:
            self.texts.append("")

    def handle_data(self, data):
        if not self.unread:
            self.texts[-1] += data

    def _is_unread(self, tag: str) -> bool:
        return tag in UNREAD or (tag == "svg" and not self.pictures)


def read_html(text: str, *, pictures: bool) -> str:
    """The texts of HTML in lines; those of a picture once each."""
    reader = Reader(pictures=pictures)
    reader.feed(text)
    lines = [line for each in reader.texts if (line := re.sub(r"[ \n]+", " ", each).strip(" |"))]
    return "\n".join(dict.fromkeys(lines) if pictures else lines)


SCENARIOS: dict[str, Callable[[Page], None]] = {}


def scenario(about: Callable[[Page], None]) -> Callable[[Page], None]:
    """Add a scenario under the name of its function."""
    SCENARIOS[about.__name__.replace("_", "-")] = about
    return about


def tell(name: str, folder: Path) -> str:
    """Run a scenario in an empty folder, and return what was said."""
    page = Page()
    with chdir(folder):
        SCENARIOS[name](page)
    return page.text


# ---- data ----------------------------------------------------------------------------------------------------------


def logit(p):
    return np.log(p / (1 - p))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def with_odds(p, factor):
    return factor * p / (1 - p + factor * p)


@cache
def draw_scores(rows: int = 1200, seed: int = 0):
    """Predictions of 20 % on average, none of them exactly 0 or 1, and uniform numbers to draw labels with."""
    rng = np.random.default_rng(seed)
    return np.clip(np.round(rng.beta(1, 4, rows), 6), 1e-6, 1 - 1e-6), rng.random(rows)


def simulate(truth=lambda p: p, rows: int = 1200, seed: int = 0):
    """Columns of labels and predictions, whose truth a function of the predictions tells."""
    p, u = draw_scores(rows, seed)
    return {"y": (u < truth(p)).astype(int).tolist(), "p": p.tolist()}


def save(columns, name: str = "a.csv") -> None:
    write_csv(Path(name), {key: list(values) for key, values in columns.items()})


def evaluate(columns, **options):
    return truecal.evaluate(columns["y"], columns["p"], random_state=0, **options)


def evaluate_file(page: Page, columns, *words: str) -> None:
    """The verdict on a model as the command line and Python tell it."""
    save(columns)
    drawn = "5" if "--explain" in words or not words else "0"
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p", "--null-draws", drawn, *words)
    if not words:
        found = evaluate(columns, metrics=["ltce", "slope"])
        page.show("evaluate(...)", found, BRIEF)
        page.show("evaluate(...).verdict", found.verdict, ("summary", "sentences", "status", "direction"))


def days(rows, first: date = date(2026, 3, 1)):
    """As many rows each day, in order."""
    return [str(first + timedelta(days=day)) for day, count in enumerate(rows) for _ in range(count)]


# ---- the verdict on one model --------------------------------------------------------------------------------------


@scenario
def evaluate_consistent(page):
    evaluate_file(page, simulate())
    save(simulate(rows=300))
    page.run("evaluate", "a.csv", "--null-draws", "5", "--resamples", "5", "--explain", "--bins")
    page.run("evaluate", "a.csv", "--null-draws", "5", "--metrics", "all", "--explain")
    page.run("evaluate", "a.csv", "--null-draws", "5", "--metrics", "log_loss,brier", "--bins")
    page.run("evaluate", "a.csv", "--null-draws", "5", "--csv")


@scenario
def evaluate_too_low(page):
    evaluate_file(page, simulate(lambda p: with_odds(p, 1.6)))


@scenario
def evaluate_too_high(page):
    evaluate_file(page, simulate(lambda p: with_odds(p, 0.6)))


@scenario
def evaluate_too_low_in_the_upper_half(page):
    evaluate_file(page, simulate(lambda p: np.where(p > 0.3, with_odds(p, 1.6), p)))


@scenario
def evaluate_slightly_too_low(page):
    evaluate_file(page, simulate(lambda p: with_odds(p, 1.25), 1500))


@scenario
def evaluate_overconfident(page):
    columns = simulate(lambda p: sigmoid(-1.4 + 0.55 * (logit(p) + 1.4)))
    evaluate_file(page, columns)
    columns = simulate(lambda p: sigmoid(-1.4 + 0.75 * (logit(p) + 1.4)), 2000)
    evaluate_file(page, columns)


@scenario
def evaluate_underconfident(page):
    evaluate_file(page, simulate(lambda p: sigmoid(-1.4 + 1.8 * (logit(p) + 1.4))))
    evaluate_file(page, simulate(lambda p: sigmoid(-1.4 + 1.3 * (logit(p) + 1.4)), 2000))


@scenario
def evaluate_mixed_directions(page):
    evaluate_file(page, simulate(lambda p: np.where(p < 0.1, 2 * p, np.where(p > 0.4, 0.6 * p, p))))
    evaluate_file(
        page, simulate(lambda p: np.where((p > 0.1) & (p < 0.25), 1.5 * p, np.where(p > 0.4, 0.6 * p, p)), 6000)
    )


@scenario
def evaluate_miscalibrated_without_a_place(page):
    """Errors that change from score to score; a slope alone; few rows."""
    p, u = draw_scores(800)
    evaluate_file(page, {"y": np.repeat(u < p, 3).astype(int).tolist(), "p": np.repeat(p, 3).tolist()})
    evaluate_file(page, simulate(lambda p: sigmoid(-1.0 + 0.8 * (logit(p) + 1.0)), 2000, seed=1))
    timid = np.clip(np.random.default_rng(5).normal(0.5, 0.12, 2000), 0.01, 0.99)
    for slope in (1.35, 0.65):
        drawn = draw_scores(2000)[1] < sigmoid(slope * logit(timid))
        evaluate_file(page, {"y": drawn.astype(int).tolist(), "p": timid.tolist()})
    evaluate_file(page, {"y": [1, 0, 1, 0, 0, 1], "p": [0.02, 0.98, 0.03, 0.97, 0.9, 0.1]})


@scenario
def evaluate_contradicted(page):
    columns = simulate()
    p, y = list(columns["p"]), list(columns["y"])
    p[:200], y[:200] = [0.0] * 200, [1] * 3 + [0] * 197
    evaluate_file(page, {"y": y, "p": p})
    y[:200] = [1] + [0] * 199
    p[200:300], y[200:300] = [1.0] * 100, [1] * 100
    evaluate_file(page, {"y": y, "p": p})
    low = simulate(lambda p: with_odds(p, 1.6))
    evaluate_file(page, {"y": [1] * 4 + low["y"], "p": [0.0] * 4 + low["p"]})
    evaluate_file(page, {"y": [1] * 3 + [0] * 97, "p": [0.0] * 100})
    high = simulate(lambda p: np.where(p > 0.3, with_odds(p, 2.5), p))
    evaluate_file(page, {"y": [1] * 4 + [0] * 200 + high["y"], "p": [0.0] * 204 + high["p"]})


@scenario
def evaluate_all_certain(page):
    y = [0, 1, 1, 0] * 100
    evaluate_file(page, {"y": y, "p": y})
    evaluate_file(page, {"y": y, "p": [1 - y[0], *y[1:]]})


@scenario
def evaluate_one_label(page):
    p = simulate()["p"]
    evaluate_file(page, {"y": [0] * len(p), "p": p})
    evaluate_file(page, {"y": [1] * len(p), "p": p})
    evaluate_file(page, {"y": [0] * 30, "p": p[:30]})


@scenario
def evaluate_inconclusive(page):
    evaluate_file(page, simulate(rows=60))
    evaluate_file(page, simulate(rows=9))
    evaluate_file(page, {"y": [0, 1, 0, 0, 1, 0], "p": [0.3, 0.4, 0.2, 0.5, 0.6, 0.1]})
    evaluate_file(page, simulate(rows=60), "--negative-rate", "0.1")
    evaluate_file(page, {"y": [0] * 300, "p": np.linspace(0.0005, 0.002, 300).tolist()})


@scenario
def evaluate_one_score(page):
    evaluate_file(page, {"y": [0, 1, 0, 0] * 200, "p": [0.25] * 800})
    evaluate_file(page, {"y": [0, 1] * 100, "p": [0.3] * 200})
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p", "--metrics", "tce_q,ace,tce", "--null-draws", "5")
    evaluate_file(page, {"y": [0, 1] * 100, "p": [0.3, 0.6, 0.6, 0.8] * 50}, "--metrics", "tce_q,ace,tce")


@scenario
def evaluate_labels_that_the_scores_separate(page):
    p, _ = draw_scores(400)
    evaluate_file(page, {"y": (p > 0.3).astype(int).tolist(), "p": p.tolist()})


@scenario
def evaluate_with_tolerance(page):
    columns = simulate(lambda p: with_odds(p, 1.3))
    for tolerance in ("5%", "50%", "0.02", "0.3"):
        evaluate_file(page, columns, "--tolerance", tolerance)
    evaluate_file(page, {"y": [1 - y for y in columns["y"]], "p": [1 - p for p in columns["p"]]}, "--tolerance", "0.4")
    few = simulate(rows=100)
    evaluate_file(page, few, "--tolerance", "10%")
    page.show("evaluate(...)", evaluate(columns, tolerance=0.3), BRIEF)


@scenario
def evaluate_of_a_region(page):
    columns = simulate(lambda p: np.where(p > 0.4, 0.7 * p, p))
    for words in (("--threshold", "0.3"), ("--top", "500"), ("--top", "0.1"), ("--threshold", "0.3", "--grid", "6")):
        evaluate_file(page, columns, *words)
    page.show("evaluate(...)", evaluate(columns, top=0.1), BRIEF)


@scenario
def evaluate_with_sampled_negatives(page):
    columns = simulate()
    kept = [i for i, y in enumerate(columns["y"]) if y or i % 5 == 0]
    sampled = {name: [values[i] for i in kept] for name, values in columns.items()}
    evaluate_file(page, sampled, "--negative-rate", "0.2")
    evaluate_file(page, sampled, "--negative-rate", "0.2", "--positive-rate", "0.7")
    evaluate_file(page, sampled)


@scenario
def evaluate_with_label_noise(page):
    rng = np.random.default_rng(1)
    columns = simulate()
    y = np.array(columns["y"])
    y = np.where(rng.random(len(y)) < np.where(y == 1, 0.1, 0.02), 1 - y, y)
    evaluate_file(page, {"y": y.tolist(), "p": columns["p"]}, "--label-noise", "0.02,0.1")
    evaluate_file(page, {"y": y.tolist(), "p": columns["p"]})


@scenario
def evaluate_with_label_delay(page):
    rng = np.random.default_rng(2)
    columns = simulate()
    age = rng.integers(0, 40, len(columns["y"]))
    share = np.interp(age, [0, 7, 30], [0, 0.5, 1])
    y = [int(label and seen) for label, seen in zip(columns["y"], rng.random(len(age)) < share, strict=True)]
    late = {"y": y, "p": columns["p"], "age": age.tolist()}
    evaluate_file(page, late, "--label-delay", "age:0=0,7=0.5,30=1")
    tallies = truecal.read(
        late, label="y", score="p", sampling=Sampling(label_delay=LabelDelay("age", {0: 0, 7: 0.5, 30: 1}))
    )
    page.show("evaluate(read(..., sampling=...))", truecal.evaluate(tallies), BRIEF)


def clustered(count: int, rows: int = 2000, factor: float = 1.0):
    """Rows of customers, each of which has odds of its own."""
    rng = np.random.default_rng(count)
    p, u = draw_scores(rows)
    customer = rng.integers(0, count, rows)
    own = np.exp(rng.normal(0, 0.8, count))[customer]
    y = u < with_odds(p, factor * own)
    return {"y": y.astype(int).tolist(), "p": p.tolist(), "customer_id": [f"c{number:04}" for number in customer]}


@scenario
def evaluate_with_clusters(page):
    for count, factor in ((6, 1.0), (400, 2.5), (400, 1.0)):
        columns = clustered(count, factor=factor)
        evaluate_file(page, columns, "--cluster", "customer_id")
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p", "--null-draws", "0")
    tallies = truecal.read(columns, label="y", score="p", cluster="customer_id")
    page.show("evaluate(read(..., cluster=...))", truecal.evaluate(tallies), BRIEF)
    page.show("evaluate(..., cluster=...)", evaluate(columns, cluster=columns["customer_id"]), BRIEF)


@scenario
def evaluate_with_importance_weights(page):
    rng = np.random.default_rng(3)
    columns = simulate() | {"w": np.round(rng.uniform(0.2, 3, 1200), 3).tolist()}
    evaluate_file(page, columns, "--importance-weight", "w")
    tallies = truecal.read(columns, label="y", score="p", importance_weight="w")
    page.show("evaluate(read(..., importance_weight=...))", truecal.evaluate(tallies), BRIEF)


@scenario
def evaluate_with_counts(page):
    columns = simulate(rows=800) | {"seen": [i % 5 for i in range(800)]}
    evaluate_file(page, columns, "--count", "seen")
    counts = np.array(columns["seen"], dtype=float)
    page.show("evaluate(..., sample_weight=...)", evaluate(columns, sample_weight=counts), BRIEF)
    page.show("evaluate(..., sample_weight=...)", evaluate(columns, sample_weight=np.full(800, 3)), BRIEF)


def with_gaps(rows: int = 1500):
    """Columns with labels, scores and countries that are missing."""
    columns = simulate(rows=rows)
    y, p = list(map(str, columns["y"])), list(map(str, columns["p"]))
    y[:30], p[20:60] = [""] * 30, [""] * 40
    p[100:103] = ["nan"] * 3
    return {"y": y, "p": p, "country": ["de" if i % 3 else "fr" for i in range(rows)]}


@scenario
def evaluate_with_dropped_rows(page):
    evaluate_file(page, with_gaps(), "--drop-missing")
    columns = with_gaps(400) | {"seen": [i % 4 for i in range(400)]}
    evaluate_file(page, columns, "--drop-missing", "--count", "seen")
    columns["country"][:60] = ["gone"] * 60
    columns["p"][:60] = [""] * 60
    save(columns)
    page.run("segments", "a.csv", "-y", "y", "-p", "p", "--by", "country", "--drop-missing")


@scenario
def evaluate_of_several_files_with_dropped_rows(page):
    Path("days").mkdir()
    for day in range(5):
        columns = with_gaps(300 + 100 * day)
        if day == 3:
            columns["p"] = [text or "0.2" for text in columns["p"]]
        save(columns, f"days/{day}.csv")
    page.run("evaluate", "days", "-y", "y", "-p", "p", "--drop-missing", "--null-draws", "0")
    page.run("evaluate", "days/0.csv", "days/1.csv", "-y", "y", "-p", "p", "--drop-missing", "--null-draws", "0")


@scenario
def evaluate_on_a_grid(page):
    columns = simulate(lambda p: with_odds(p, 1.3))
    evaluate_file(page, columns, "--grid", "4")
    evaluate_file(page, columns, "--grid", "10", "--explain")
    evaluate_file(page, columns, "--limit", "1000")
    tallies = truecal.read(columns, label="y", score="p", limits=truecal.reading.Limits(grid=4))
    page.show("evaluate(read(..., limits=Limits(grid=4)))", truecal.evaluate(tallies, null_draws=5, random_state=0))


@scenario
def evaluate_hints_at_the_columns(page):
    """Reversed scores, percentages, copies of rows, repeated customers, names that could be a score, too."""
    columns = simulate(rows=1500)
    evaluate_file(page, {"y": [1 - y for y in columns["y"]], "p": columns["p"]})
    percent = {"y": columns["y"], "p": [round(100 * p, 4) for p in columns["p"]]}
    evaluate_file(page, percent, "--percent")
    small = {"y": columns["y"], "p": [p / 100 for p in columns["p"]]}
    evaluate_file(page, small, "--percent")
    rare = {"y": [int(y and i % 100 == 0) for i, y in enumerate(columns["y"])], "p": columns["p"]}
    evaluate_file(page, rare | {"country": ["de", "fr", "it"] * 500})
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p", "--logit", "--null-draws", "0")
    save(columns | {"p_old": columns["p"][::-1], "day": days([150] * 10)})
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p", "--null-draws", "0")
    page.run("evaluate", "a.csv", "--null-draws", "0")
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p_old", "--null-draws", "0")
    save(timed(lambda _: 1.8, windows=3) | {"country": ["de", "fr", "it"] * 240})
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p", "--null-draws", "0")
    save({"id": [*range(700), *range(100)], **{k: [*v[:700], *v[:100]] for k, v in columns.items()}})
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p", "--null-draws", "0")
    save({"y": columns["y"], "p_recalibrated": columns["p"]})
    page.run("evaluate", "a.csv", "--null-draws", "0")


@scenario
def evaluate_of_saved_results(page):
    save(simulate(lambda p: with_odds(p, 1.6)) | {"q": simulate()["p"][::-1]})
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p", "--null-draws", "5", "--json", "-o", "one.json")
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p,q", "--null-draws", "0", "--json", "-o", "two.json")
    page.run("evaluate", "one.json")
    page.run("evaluate", "two.json")
    page.show("from_json(...)", from_json(Path("one.json").read_text()), BRIEF)


# ---- several models, several classes -------------------------------------------------------------------------------


def three_models():
    columns = simulate()
    p = np.array(columns["p"])
    return columns | {"low": with_odds(p, 0.6).tolist(), "timid": sigmoid(-1.4 + 0.5 * (logit(p) + 1.4)).tolist()}


@scenario
def evaluate_several_models(page):
    columns = three_models()
    save(columns)
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p,low,timid", "--null-draws", "5")
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p,low", "--null-draws", "5", "--explain", "--bins")
    page.run("evaluate", "a.csv", "-y", "y", "-p", "p,low", "--null-draws", "5", "--csv")
    models = {name: truecal.Tally.from_arrays(columns["y"], columns[name]) for name in ("p", "low", "timid")}
    page.show("evaluate({...})", truecal.evaluate(models))
    page.show("evaluate({...})", truecal.evaluate({"a": models["p"], "b": models["p"]}), ("__repr__",))


def pets(power: float = 1.4, rows: int = 2000):
    """Probabilities of three classes, overconfident where the power is above 1."""
    rng = np.random.default_rng(4)
    q = rng.dirichlet([1, 2, 3], rows)
    pet = np.array(["bee", "cat", "dog"])[(q.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)]
    q = np.round(q**power / np.sum(q**power, axis=1, keepdims=True), 9)
    q[:, 2] = np.round(1 - q[:, 0] - q[:, 1], 9)
    return {"pet": pet.tolist(), **{f"p_{name}": q[:, i].tolist() for i, name in enumerate(("bee", "cat", "dog"))}}


@scenario
def evaluate_classes_top_label(page):
    for power in (1.4, 1.0):
        save(pets(power))
        page.run("evaluate", "a.csv", "--null-draws", "5")
    save(pets(rows=40))
    page.run("evaluate", "a.csv", "--null-draws", "5")
    tallies = truecal.read(pets(), label="pet", score="p_*", multiclass="top-label")
    page.show("evaluate(read(..., multiclass='top-label'))", truecal.evaluate(tallies), BRIEF)


@scenario
def evaluate_classes_classwise(page):
    for power in (1.4, 1.0):
        save(pets(power))
        page.run("evaluate", "a.csv", "--multiclass", "classwise", "--null-draws", "5")
    page.run("evaluate", "a.csv", "--multiclass", "classwise", "--null-draws", "5", "--csv")
    found = pets()
    p = np.array([found[f"p_{name}"] for name in ("bee", "cat", "dog")]).T
    page.show("evaluate_classes(...)", truecal.evaluate_classes(found["pet"], p, labels=["bee", "cat", "dog"]))


@scenario
def compare_two_models(page):
    columns = three_models()
    rng = np.random.default_rng(5)
    p = np.array(columns["p"])
    columns["noisy"] = sigmoid(logit(p) + rng.normal(0, 0.02, len(p))).tolist()
    columns["flat"] = with_odds(np.full(len(p), 0.2) + 1e-3 * rng.random(len(p)), 1.0).tolist()
    save(columns)
    for second in ("p,low", "p,noisy", "low,flat", "timid,low"):
        page.run("compare", "a.csv", "-y", "y", "-p", second, "--resamples", "20")
    page.run("compare", "a.csv", "-y", "y", "-p", "p,low", "--metrics", "net_benefit@0.2,slope", "--resamples", "20")
    page.run("compare", "a.csv", "-y", "y", "-p", "p,low", "--resamples", "20", "--csv")
    found = truecal.compare(columns["y"], columns["low"], columns["flat"], resamples=20, random_state=0)
    page.show("compare(...)", found)


@scenario
def compare_with_dropped_rows_and_clusters(page):
    columns = clustered(150, 800)
    p = np.array(columns["p"])
    old = list(map(str, with_odds(p, 1.5).tolist()))
    old[:25] = [""] * 25
    save(columns | {"old": old})
    words = ("-y", "y", "-p", "p,old", "--cluster", "customer_id", "--drop-missing", "--resamples", "20")
    page.run("compare", "a.csv", *words)
    options = {"baseline": "old", "cluster": "customer_id", "missing": "drop"}
    tallies = truecal.read("a.csv", label="y", score="p", **options)
    page.show("compare(read(..., baseline=..., cluster=...))", truecal.compare(tallies, resamples=20, random_state=0))


# ---- groups of rows ------------------------------------------------------------------------------------------------


def in_countries(factors, rows: int = 1200):
    """Countries in turn, each with a factor on its odds, or a function of its predictions."""
    p, u = draw_scores(rows)
    names = list(factors)
    country = [names[i % len(names)] for i in range(rows)]
    truth = np.zeros(rows)
    for name, factor in factors.items():
        own = np.array([each == name for each in country])
        truth[own] = factor(p[own]) if callable(factor) else with_odds(p[own], factor)
    return {"y": (u < truth).astype(int).tolist(), "p": p.tolist(), "country": country}


@scenario
def segments_some_miscalibrated(page):
    timid = lambda p: sigmoid(-1.4 + 2.2 * (logit(p) + 1.4))  # noqa: E731
    bent = lambda p: np.where((p > 0.12) & (p < 0.3), 1.9 * p, 0.65 * p)  # noqa: E731
    columns = in_countries({"at": 1, "de": 2, "fr": 0.5, "it": timid, "se": bent, "us": 1}, 6000)
    save(columns)
    page.run("segments", "a.csv", "--by", "country")
    page.run("segments", "a.csv", "--by", "country", "--worst", "2", "--adjust", "bh", "--metrics", "ece")
    page.run("segments", "a.csv", "--by", "country", "--tolerance", "10%", "--adjust", "none", "--null-draws", "5")
    page.run("segments", "a.csv", "--by", "country", "--grid", "5", "--metrics", "tce", "--null-draws", "5", width=200)
    page.run("evaluate", "a.csv", "--by", "country")
    page.show("segments(...)", truecal.segments(truecal.read(columns, label="y", score="p", by="country")))


@scenario
def segments_none_miscalibrated(page):
    columns = in_countries({"de": 1, "fr": 1})
    save(columns)
    page.run("segments", "a.csv", "--by", "country")
    page.show("segments(...)", truecal.segments(truecal.read(columns, label="y", score="p", by="country")), BRIEF)


@scenario
def segments_of_few_rows(page):
    columns = in_countries({"de": 1, "fr": 1, "it": 1}, 120) | {"kind": ["card", "cash"] * 60}
    save(columns)
    page.run("segments", "a.csv", "--by", "country")
    page.run("segments", "a.csv", "--by", "country,kind", "--threshold", "0.5")
    page.run("segments", "a.csv", "--by", "kind", "--csv")
    one = in_countries({"de": 2})
    save(one | {"q": one["p"][::-1]})
    page.run("segments", "a.csv", "-y", "y", "-p", "p,q", "--by", "country")


@scenario
def segments_of_classes_and_clusters(page):
    save(pets() | {"country": ["de", "fr"] * 1000})
    page.run("segments", "a.csv", "--by", "country")
    save(clustered(300, factor=1.8) | {"country": ["de", "fr"] * 1000})
    page.run("segments", "a.csv", "-y", "y", "-p", "p", "--by", "country", "--cluster", "customer_id")


def sliced(factor: float, other: float = 1.0):
    columns = in_countries({"de": 1, "fr": factor, "it": 1}, 4500)
    age = np.random.default_rng(6).integers(18, 90, 4500)
    y, p, u = np.array(columns["y"]), *draw_scores(4500)
    old = (age > 70) & np.array([each == "de" for each in columns["country"]])
    y = np.where(old, u < with_odds(p, other), y)
    return columns | {"y": y.astype(int).tolist(), "age": age.tolist(), "kind": ["card", "cash", "cash"] * 1500}


@scenario
def slices_found(page):
    columns = sliced(1.9, 0.3)
    save(columns)
    page.run("slices", "a.csv", "-y", "y", "-p", "p")
    page.run("slices", "a.csv", "-y", "y", "-p", "p", "--columns", "country", "--no-pairs")
    page.run("slices", "a.csv", "-y", "y", "-p", "p", "--csv")
    page.show("slices(...)", truecal.slices(columns, label="y", score="p"))


@scenario
def slices_none(page):
    columns = sliced(1.0)
    save(columns | {"note": [f"text {i}" for i in range(4500)], "same": ["x"] * 4500})
    page.run("slices", "a.csv", "-y", "y", "-p", "p")
    page.run("slices", "a.csv", "-y", "y", "-p", "p", "--negative-rate", "0.5", "--columns", "country,age")
    page.show("slices(...)", truecal.slices(columns, label="y", score="p", columns=["country"]))


# ---- time ----------------------------------------------------------------------------------------------------------


def timed(factor, *, windows: int = 12, rows: int = 240, moves: float = 1.0, seed: int = 7):
    """Days whose odds are off by factor(day), and whose predictions move by a factor from the eighth day on."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(windows), rows)
    p = rng.beta(1, 4, windows * rows)
    p = np.clip(np.round(np.where(day >= 8, with_odds(p, moves), p), 6), 1e-6, 1 - 1e-6)
    truth = with_odds(p, np.array([factor(i) for i in range(windows)])[day])
    return {"y": (rng.random(len(p)) < truth).astype(int).tolist(), "p": p.tolist(), "day": days([rows] * windows)}


def drift(page: Page, columns, *words: str, told: tuple[str, ...] = ()) -> None:
    """The verdict over time as the command line tells it, and what is asked for of the table."""
    save(columns)
    page.run("drift", "a.csv", *words)
    if told:
        tallies = truecal.read("a.csv", label="y", score="p", time="day", every="1d")
        page.show("drift(...)", truecal.drift(tallies), told)


@scenario
def drift_stable(page):
    drift(page, timed(lambda _: 1), told=TOLD)


@scenario
def drift_base_rate_shifted(page):
    drift(page, timed(lambda _: 1, moves=2.0), told=BRIEF)
    drift(page, timed(lambda _: 1, moves=1.0, seed=11), "--baseline", "2026-03-01..2026-03-03")


@scenario
def drift_miscalibrated_throughout(page):
    drift(page, timed(lambda _: 1.6), told=BRIEF)
    drift(page, timed(lambda day: 1.4 if day < 6 else 2.6))


@scenario
def drift_calibration_drift(page):
    drift(page, timed(lambda day: 2.0 if day >= 8 else 1), told=TOLD)
    drift(page, timed(lambda day: 2.5 if day >= 11 else 1))
    page.run("drift", "a.csv", "--metrics", "ece", "--null-draws", "5", "--every", "1w", width=200)
    page.run("drift", "a.csv", "--csv")


@scenario
def drift_recovered(page):
    drift(page, timed(lambda day: 2.2 if day < 4 else 1), told=BRIEF)


@scenario
def drift_inconclusive(page):
    drift(page, timed(lambda _: 1, rows=12), told=BRIEF)


@scenario
def drift_without_a_time(page):
    """Off, but not since when; consistent, but not whether it moved; off here and there."""
    drift(page, timed(lambda _: 1.2, rows=180, seed=8))
    drift(page, timed(lambda day: 3 if day == 0 else 1 / 3 if day == 1 else 1), told=BRIEF)
    drift(page, timed(lambda _: 1, windows=4, rows=9))
    drift(page, timed(lambda _: 1, rows=60), told=BRIEF)
    drift(page, timed(lambda day: 3.0 if day == 5 else 1 / 3 if day == 6 else 1))
    drift(page, timed(lambda _: 1.6, windows=1, rows=800))
    drift(page, timed(lambda _: 1, windows=1, rows=800))


@scenario
def drift_of_incomplete_periods(page):
    columns = timed(lambda _: 1)
    short = {name: values[160:-100] for name, values in columns.items()}
    drift(page, short, "--label-lag", "3d")
    drift(page, short, "--label-lag", "30d")


@scenario
def drift_of_classes(page):
    save(pets() | {"day": days([400] * 5)})
    page.run("drift", "a.csv", "--time", "day")


@scenario
def drift_against_other_rows(page):
    save(simulate(rows=2000), "release.csv")
    save(timed(lambda day: 1.8 if day >= 6 else 1))
    page.run("drift", "a.csv", "--baseline", "release.csv", "--tolerance", "5%")


def monitor(page: Page, *words: str) -> None:
    page.run("monitor", "a.csv", "-y", "y", "-p", "p", "--time", "day", "--state", "m.json", *words)


@scenario
def monitor_alarm(page):
    columns = timed(lambda day: 2.0 if day >= 5 else 1) | {"country": ["de", "fr"] * 1440}
    save({name: values[:960] for name, values in columns.items()})
    monitor(page, "--by", "country", "--now", "2026-03-05")
    save(columns)
    monitor(page, "--by", "country", "--now", "2026-03-13", "--prom", "m.prom")
    page.show_file("m.prom")
    page.show_file("m.jsonl")
    monitor(page, "--by", "country", "--now", "2026-03-13", "--csv")
    monitor(page, "--by", "country", "--now", "2026-03-13", "--reset")
    page.show("Monitor.load(...)", truecal.Monitor.load("m.json"))


@scenario
def monitor_no_alarm(page):
    save(timed(lambda _: 1))
    monitor(page, "--now", "2026-03-13")
    page.show("Monitor.load(...)", truecal.Monitor.load("m.json"))
    Path("m.json").unlink()
    monitor(page, "--now", "2026-03-13", "--negative-rate", "0.9", "--label-noise", "0.01,0.02")


@scenario
def monitor_of_confidence(page):
    monitors = {"timid": truecal.Monitor(), "extreme": truecal.Monitor()}
    for day in range(6):
        p, u = draw_scores(2000, day)
        for name, slope in (("timid", 1.6), ("extreme", 0.6)):
            monitors[name].update(u < sigmoid(-1.4 + slope * (logit(p) + 1.4)), p, period=date(2026, 3, 1 + day))
    for name, monitor in monitors.items():
        page.show(name, monitor)


@scenario
def monitor_with_clusters(page):
    save(clustered(150, 3000, factor=2.0) | {"day": days([250] * 12)})
    monitor(page, "--cluster", "customer_id", "--now", "2026-03-13")


@scenario
def monitor_with_pending_periods(page):
    save(timed(lambda _: 1))
    monitor(page, "--label-lag", "30d", "--now", "2026-03-13")
    monitor(page, "--now", "2026-04-05")
    monitor(page, "--now", "2026-04-07")


# ---- recalibration ----------------------------------------------------------------------------------------------------


def recalibrate(page: Page, columns, *words: str) -> None:
    save(columns)
    folds = () if {"--folds", "--check", "--time"} & {*words} else ("--folds", "2")
    page.run("recalibrate", "a.csv", "-y", "y", "-p", "p", "-o", "map.json", *folds, *words)


@scenario
def recalibrate_helps(page):
    columns = simulate(lambda p: with_odds(p, 1.8))
    recalibrate(page, columns, "--sql", "--folds", "5")
    for kind in ("logistic", "beta", "isotonic", "none"):
        recalibrate(page, columns, "--kind", kind)
    found = truecal.recalibrate(columns["y"], columns["p"], folds=2)
    page.show("recalibrate(...)", found)
    page.show("recalibrate(...).validation", found.validation, BRIEF)


@scenario
def recalibrate_leaves_alone(page):
    columns = simulate()
    recalibrate(page, columns)
    recalibrate(page, columns, "--folds", "0")
    page.show("recalibrate(...)", truecal.recalibrate(columns["y"], columns["p"], folds=2), BRIEF)


@scenario
def recalibrate_without_an_improvement(page):
    columns = in_countries({"de": 2.2, "fr": 1 / 2.2})
    recalibrate(page, columns)
    recalibrate(page, columns, "--by", "country")
    recalibrate(page, simulate(lambda p: with_odds(p, 1.25), 500), "--kind", "isotonic")


@scenario
def recalibrate_by_segment(page):
    columns = in_countries({"de": 2.2, "fr": 1 / 2.2, "it": 1})
    recalibrate(page, columns, "--by", "country", "--sql")
    page.show("recalibrate(..., by='country')", truecal.recalibrate(
        truecal.read(columns, label="y", score="p", by="country"), kind="offset", by="country", folds=2
    ))  # fmt: skip
    recalibrate(page, in_countries({"de": 1.8, "fr": 1.8}, 2000), "--by", "country", "--kind", "offset")


@scenario
def recalibrate_with_time(page):
    recalibrate(page, timed(lambda day: 2.5 if day >= 8 else 1, rows=150), "--time", "day", "--kind", "logistic")
    recalibrate(page, timed(lambda _: 1.8, windows=6, rows=250), "--time", "day", "--kind", "offset")
    recalibrate(page, timed(lambda _: 1.8, windows=6, rows=250))


@scenario
def recalibrate_that_cannot_fit(page):
    p = simulate(rows=500)["p"]
    recalibrate(page, {"y": [0] * 500, "p": p})
    recalibrate(page, {"y": [1] * 500, "p": p})


@scenario
def recalibrate_odd_rows(page):
    """Reversed scores, certain ones that are contradicted, few rows, rows kept apart, sampled rows, clusters."""
    columns = simulate(lambda p: with_odds(p, 1.8), 1000)
    recalibrate(page, {"y": [1 - y for y in columns["y"]], "p": columns["p"]}, "--kind", "logistic")
    recalibrate(page, {"y": [1, 1, *columns["y"]], "p": [0.0, 0.0, *columns["p"]]}, "--kind", "offset")
    recalibrate(page, {"y": [1, *columns["y"]], "p": [0.0, *columns["p"]]}, "--kind", "isotonic", "--folds", "0")
    recalibrate(page, columns | {"w": [0.5, 1.5] * 500}, "--importance-weight", "w", "--folds", "0", "--kind", "offset")
    recalibrate(page, simulate(lambda p: with_odds(p, 1.8), 150))
    save(simulate(lambda p: with_odds(p, 1.8), 1000, seed=9), "new.csv")
    recalibrate(page, columns, "--check", "new.csv", "--kind", "offset")
    recalibrate(page, columns, "--negative-rate", "0.5", "--kind", "offset")
    recalibrate(page, clustered(200, 1000, 2.0), "--cluster", "customer_id", "--kind", "offset")
    recalibrate(page, with_gaps(500), "--drop-missing", "--kind", "offset")


@scenario
def apply_a_map(page):
    recalibrate(page, in_countries({"de": 2.2, "fr": 1 / 2.2}), "--by", "country", "--folds", "0", "--kind", "offset")
    save(in_countries({"de": 2.2, "xx": 1}, 200) | {"p_recalibrated": [0.5] * 200}, "new.csv")
    page.run("apply", "map.json", "new.csv", "--into", "q", "-o", "recalibrated.csv")
    recalibrate(page, simulate(lambda p: with_odds(p, 1.8)), "--folds", "0", "--kind", "offset")
    page.run("apply", "map.json", "new.csv", "-p", "p_recalibrated", "-o", "twice.csv")
    page.run("apply", "map.json", "a.csv", "-o", "recalibrated.csv", "--json")


@scenario
def plan_data(page):
    page.run("plan", "0.01", "--ratio", "1.2")
    page.run("plan", "0.3", "--factor", "0.8", "--power", "0.9", "--significance", "0.01")
    for rows in ("50000", "500", "20", "2"):
        page.run("plan", "0.01", "--rows", rows)
    page.run("plan", "0.01", "--rows", "500", "--csv")
    page.run("plan", "0.01", "--rows", "500", "--json")


# ---- the release gate ----------------------------------------------------------------------------------------------

DRAWS = ("--null-draws", "40", "--resamples", "40")
LEVEL = ("--significance", "0.05")  # at which so many draws do


def check(page: Page, columns, *words: str, **environment: str) -> None:
    save(columns)
    page.run("check", "a.csv", "-y", "y", *(() if "-p" in words else ("-p", "p")), *DRAWS, *words, **environment)


@scenario
def check_the_default_rule(page):
    check(page, simulate())
    check(page, simulate() | {"country": ["de", "fr"] * 600})
    check(page, simulate(lambda p: with_odds(p, 1.6)))
    check(page, simulate(lambda p: with_odds(p, 1.22)))
    check(page, simulate(rows=60))
    check(page, simulate(rows=60), "--allow-inconclusive")
    check(page, {"y": [0, 1] * 100, "p": [0, 1] * 100})
    check(page, {"y": [0] * 300, "p": np.linspace(0.0005, 0.002, 300).tolist()})


@scenario
def check_with_tolerance(page):
    check(page, simulate(lambda p: with_odds(p, 1.3)), "--tolerance", "30%")
    check(page, simulate(lambda p: with_odds(p, 1.6)), "--tolerance", "5%")
    check(page, simulate(lambda p: with_odds(p, 1.28)), "--tolerance", "8%")
    check(page, simulate(), "--tolerance", "0.4")
    check(page, simulate(lambda p: with_odds(p, 1.6)), "--top", "0.1")


LIMITS = (
    *("--max-value", "ece=0.2", "--min-value", "slope=0.5", "--max-excess", "50", "--max-upper", "90"),
    *("--min-p-value", "0.05", "--max-dropped", "0.1", "--max-value", "log_loss=0.6", *LEVEL),
)
STRICT = (
    *("--max-value", "ece=0.01", "--min-value", "slope=1.3", "--max-excess", "1", "--max-upper", "10"),
    *("--min-p-value", "0.03", "--max-dropped", "0", "--max-value", "log_loss=0.2", *LEVEL),
)


@scenario
def check_limits_that_pass(page):
    check(page, simulate(), *LIMITS)
    check(page, simulate(lambda p: with_odds(p, 1.25)), *LIMITS)
    check(page, simulate(rows=60), *LIMITS)
    check(page, simulate(rows=60), "--max-value", "ece=0.2", "--allow-inconclusive")


@scenario
def check_limits_that_fail(page):
    check(page, simulate(lambda p: with_odds(p, 2.2)), *STRICT)
    check(page, with_gaps(), "--drop-missing", *STRICT)
    check(page, simulate(lambda p: with_odds(p, 2.2)), "--max-value", "tce=30", "--grid", "4", *LEVEL)
    check(page, simulate(lambda p: with_odds(p, 1.3)), "--max-value", "tce=20", "--grid", "3", *LEVEL)
    check(page, simulate(lambda p: with_odds(p, 1.18)), "--max-value", "0.5", "--max-value", "ece=0.001", *LEVEL)
    check(
        page, simulate(lambda p: with_odds(p, 1.5)), "--max-value", "ece=0.055", "--max-value", "log_loss=0.45", *LEVEL
    )
    save(simulate())
    page.run("check", "a.csv", "-y", "y", "-p", "p", "--min-p-value", "0.001", "--null-draws", "100")
    check(page, simulate(), "--max-upper", "50", "--significance", "0.001", "--min-rows", "10000")


@scenario
def check_a_contradicted_prediction(page):
    columns = simulate()
    impossible = {"y": [1, *columns["y"]], "p": [0.0, *columns["p"]]}
    check(page, impossible)
    check(page, impossible, "--max-value", "log_loss=0.6", "--max-upper", "log_loss=0.6", *LEVEL)


@scenario
def check_against_a_baseline(page):
    columns = three_models()
    columns["close"] = with_odds(np.array(columns["p"]), 1.02).tolist()
    rules = ["--max-worse", "log_loss=0", "--non-inferior", "log_loss=0.01", "--max-worse", "0", *LEVEL]
    rules += ["--max-worse", "slope=0"]
    for model, baseline in (("p", "low"), ("low", "p"), ("close", "p")):
        check(page, columns, "-p", model, "--baseline", baseline, *rules)
    check(page, columns, "-p", "low,p", "--baseline", "p", "--max-worse", "net_benefit@0.2=0", *LEVEL)
    save(columns)
    saved = ("--metrics", "log_loss", "--resamples", "40", "--null-draws", "0", "-o", "old.json")
    page.run("evaluate", "a.csv", "-y", "y", "-p", "low", *saved)
    check(page, columns, "--baseline", "old.json", "--max-worse", "log_loss=0", *LEVEL)
    columns["low"][:20] = [""] * 20
    check(
        page, columns, "--baseline", "low", "--max-worse", "log_loss=0", "--max-dropped", "0", "--drop-missing", *LEVEL
    )


@scenario
def check_segments(page):
    columns = in_countries({"de": 1, "fr": 1.9, "it": 1}, 2400)
    check(page, columns, "--by", "country", "--segment", "*")
    check(
        page, columns, "--by", "country", "--segment", "country=*", "--max-value", "30", "--min-p-value", "0.1", *LEVEL
    )
    check(
        page,
        columns,
        "--by",
        "country",
        "--segment",
        "country=fr",
        "--max-excess",
        "10",
        "--max-dropped",
        "0.1",
        *LEVEL,
    )
    check(page, in_countries({"de": 1, "fr": 1}, 150), "--by", "country", "--segment", "*", "--min-rows", "10")
    check(page, columns, "--by", "country", "--segment", "*", "--min-rows", "2000")
    check(page, columns, "--by", "country", "--segment", "*", "--threshold", "0.9")
    gone = with_gaps() | {"country": ["gone"] * 60 + ["de"] * 1440}
    check(page, gone, "--by", "country", "--segment", "*", "--drop-missing", "--max-dropped", "0.1")
    check(page, gone, "--by", "country", "--segment", "*", "--drop-missing")


@scenario
def check_rules_that_match_nothing(page):
    rules = (
        '[[rule]]\nverdict = true\nmodel = "fraud-*"\n\n[[rule]]\nverdict = true\nsegment = "contry=de"\n\n'
        '[[rule]]\nverdict = true\nsegment = "country=de"\n'
    )
    Path("gate.toml").write_text(rules)
    check(page, in_countries({"de": 1, "fr": 1}), "--by", "country", "--rules", "gate.toml")


@scenario
def check_rules_of_a_file(page):
    rules = (
        '[data]\nnegative_rate = 0.5\n\n[[rule]]\nverdict = true\ntolerance = "10%"\n\n'
        "[[rule]]\nmax_value = 20\nthreshold = 0.2\nsignificance = 0.05\n\n"
        "[[rule]]\nmax_value = 0.05\nmetric = 'ece'\ntop = 0.2\nsignificance = 0.05\n"
    )
    Path("gate.toml").write_text(rules)
    check(page, simulate(rows=500), "--rules", "gate.toml")


@scenario
def check_classes(page):
    for power in (1.4, 1.0):
        save(pets(power))
        page.run("check", "a.csv", "--multiclass", "classwise", *DRAWS)


@scenario
def check_a_map(page):
    recalibrate(page, simulate(lambda p: with_odds(p, 1.8)), "--kind", "offset", "--folds", "0")
    check(page, simulate(lambda p: with_odds(p, 1.8), seed=10), "--map", "map.json")
    check(page, simulate(seed=10), "--map", "map.json")


@scenario
def check_written_forms(page):
    columns = in_countries({"de": 1, "fr": 1.9, "it|<b>": 1}, 2400)
    more = ("--by", "country", "--segment", "*", "--max-value", "ece=0.05", "--max-dropped", "0.01", *LEVEL)
    summary = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md"}
    check(page, columns, *more, "--junit", "junit.xml", "--markdown", "gate.md", **summary)
    for name in ("junit.xml", "gate.md", "summary.md"):
        page.show_file(name)
    check(page, columns, *more, "--json")
    check(page, columns, *more, "--csv")


@scenario
def check_in_python(page):
    many = in_countries({f"{chr(97 + i)}{i:02}": 1 for i in range(22)})
    tallies = truecal.read(many, label="y", score="p", by="country")
    found = truecal.check(tallies, [truecal.Rule("verdict", segment="*")])
    page.show("check(...)", found, ("summary", "__repr__"))
    page.add("> check(...).to_markdown(3)", found.to_markdown(3))
    page.add("> check(...).to_github(3)", found.to_github(3))
    page.add("> check(...)._repr_html_(3)", BREAKS.sub("\n", found._repr_html_(3)))
    save(with_gaps())
    tallies = truecal.read("a.csv", label="y", score="p", missing="drop")
    rules = [truecal.Rule("verdict"), truecal.Rule("dropped", 0.001), truecal.Rule("value", 60)]
    page.show("check(...)", truecal.check(tallies, rules, null_draws=200, resamples=200))
    kinds = ("value", "least", "excess", "upper", "p_value", "worse", "non_inferior", "dropped")
    refused = {"ltce": {"least"}, "net_benefit@0.2": {"value", "excess", "upper"}}  # on the side of good values
    for metric in ("ltce", "slope", "net_benefit@0.2"):
        named = [truecal.Rule(kind, 0.5, metric=metric) for kind in kinds if kind not in refused.get(metric, ())]
        page.add(f"> rules of {metric}", "\n".join(map(str, named)))


# ---- files, pages and pictures -------------------------------------------------------------------------------------


@scenario
def tally_and_merge(page):
    columns = timed(lambda _: 1.6) | {"country": ["de", "fr"] * 1440}
    Path("days").mkdir()
    for half in range(2):
        save({name: values[1440 * half : 1440 * (half + 1)] for name, values in columns.items()})
        words = ("--by", "country", "--time", "day", "-o", f"days/{half}.parquet")
        page.run("tally", "a.csv", "-y", "y", "-p", "p", *words)
    page.run("merge", "days", "-o", "all.parquet")
    page.run("merge", "all.parquet", "days/0.parquet", "--by", "country", "-o", "all.parquet", "--json")
    page.run("evaluate", "days", "--null-draws", "0")
    page.run("drift", "days/0.parquet", "days/1.parquet")
    page.run("tally", "a.csv", "-y", "y", "-p", "p", "--grid", "6", "-o", "cells.parquet")
    page.run("evaluate", "cells.parquet", "--null-draws", "0")


def write_report(page: Page, *words: str, name: str = "report.html") -> None:
    page.run("report", "a.csv", "-y", "y", "--null-draws", "5", "--resamples", "5", "--threads", "1", *words)
    page.show_page(name)


@scenario
def report_of_one_model(page):
    save(simulate(lambda p: with_odds(p, 1.6)))
    write_report(page, "-p", "p")
    for columns in (simulate(), simulate(rows=60)):
        save(columns)
        write_report(page, "-p", "p", "--metrics", "ltce,tce")
    save(simulate())
    for words in (
        ("--label-noise", "0.01,0.02", "--metrics", "ltce", "--null-draws", "5", "--resamples", "0"),
        ("--metrics", "ltce", "--null-draws", "0", "--resamples", "0"),
    ):
        page.run("report", "a.csv", "-y", "y", "-p", "p", "--threads", "1", *words)
        page.show_page("report.html")
    save({"y": [1] * 3 + [0] * 9, "p": [0.0] * 12})
    write_report(page, "-p", "p", "--metrics", "ltce,ece")
    save({"y": [0, 0, 1], "p": [0.01, 0.02, 0.4]})
    write_report(page, "-p", "p", "--metrics", "ltce,ece")
    save(simulate())
    write_report(page, "-p", "p", "--tolerance", "10%", "--threshold", "0.1", "--grid", "6", "--metrics", "ltce,tce")


@scenario
def report_of_groups(page):
    rng = np.random.default_rng(12)
    columns = timed(lambda day: 2.2 if day >= 8 else 1)
    columns |= {"country": rng.choice(["de", "fr"], 2880).tolist(), "age": rng.integers(18, 90, 2880).tolist()}
    recalibrate(page, columns, "--by", "country")
    write_report(page, "-p", "p", "--by", "country", "--time", "day", "--slices", "--map", "map.json")
    columns = timed(lambda _: 1.25, rows=150, seed=9)
    save(columns | {"q": columns["p"][::-1], "country": ["de", "fr"] * 900})
    more = ("--by", "country", "--time", "day", "--slices", "--map", "map.json", "--metrics", "ltce")
    write_report(page, "-p", "p,q", *more)


@scenario
def report_of_two_models(page):
    columns = three_models() | {"country": ["de", "fr"] * 600}
    save(columns)
    read = partial(truecal.read, "a.csv", label="y")
    names = ("low", "p")
    models = {
        name: evaluate({"y": columns["y"], "p": columns[name]}, metrics=["ltce", "tce", "slope"]) for name in names
    }
    compared = truecal.compare(read(score="low", baseline="p"), resamples=20, random_state=0)
    by = truecal.segments(read(score="low", by="country"))
    truecal.report(models, "report.html", title="Two models", comparison=compared, segments=by)
    page.show_page("report.html")


@scenario
def report_of_many_models(page):
    columns = simulate(rows=600)
    p = np.array(columns["p"])
    save(columns | {f"m{i}": with_odds(p, 1 + i / 4).tolist() for i in range(4)})
    write_report(page, "-p", "m0,m1,m2,m3", "--metrics", "ltce,ece")


@scenario
def report_of_classes(page):
    save(pets())
    page.run("report", "a.csv", "--multiclass", "classwise", "--null-draws", "5", "--resamples", "0", "--threads", "1")
    page.show_page("report.html")


@scenario
def report_as_html(page):
    """The whole page as it is written."""
    result = truecal.evaluate(
        [0, 1, 0, 0, 1] * 8, [0.1, 0.8, 0.3, 0.2, 0.6] * 8, ["ltce", "ece"], null_draws=10, random_state=0
    )
    truecal.report(result, "report.html", settings={"data": "a.csv"})
    page.add("# report.html", BREAKS.sub("\n", Path("report.html").read_text(encoding="utf-8")))


@scenario
def plots_of_a_result(page):
    columns = simulate(lambda p: with_odds(p, 1.6), 1000)
    found = {"low": evaluate(columns, null_draws=10, resamples=10), "few": evaluate(simulate(rows=60))}
    for kind in ("calibration", "test_reliability", "reliability", "binnings", "power"):
        page.draw(kind, found["low"], **({"title": "a model"} if kind == "calibration" else {}))
    page.draw("calibration", found["few"])
    page.draw("calibration", evaluate(simulate(rows=1000)))
    page.draw("models", found)
    page.draw("metrics", found)


@scenario
def plots_of_groups(page):
    columns = timed(lambda day: 2.2 if day >= 8 else 1, rows=200) | {"country": ["de", "fr", "it"] * 800}
    by = truecal.read(columns, label="y", score="p", by="country")
    page.draw("segments", truecal.segments(by))
    save(columns)
    page.draw("drift", truecal.drift(truecal.read("a.csv", label="y", score="p", time="day", every="1d")))
    page.draw("slices", truecal.slices(sliced(1.9, 0.3), label="y", score="p"))
    page.draw("recalibration", truecal.recalibrate(columns["y"], columns["p"], "offset", folds=2))
    models = three_models()
    page.draw("comparison", truecal.compare(models["y"], models["p"], models["low"], resamples=20, random_state=0))
    q = pets()
    p = np.array([q[f"p_{name}"] for name in ("bee", "cat", "dog")]).T
    page.draw("classes", truecal.evaluate_classes(q["pet"], p, labels=["bee", "cat", "dog"]).table)
    monitor = truecal.Monitor()
    for day in range(8):
        p, u = draw_scores(500, day)
        monitor.update(u < with_odds(p, 2.0 if day > 3 else 1), p, period=date(2026, 3, 1 + day))
    page.draw("monitor", monitor)


@scenario
def notebook(page):
    """What a notebook and a prompt show of a result."""
    columns = simulate(lambda p: with_odds(p, 1.6), 1000)
    page.show("evaluate(...)", evaluate(columns, null_draws=5, resamples=5, adjust="holm"))
    page.show("evaluate(...)", evaluate(simulate(rows=1000), metrics=["ltce", "tce", "slope"]), ("__repr__",))
    page.show("evaluate(...).bins", evaluate(columns).bins)


@scenario
def verdicts_that_few_data_give(page):
    """Sentences on verdicts that are made by hand, as data that lead to them are rare."""
    found = evaluate(simulate(lambda p: with_odds(p, 1.06)), metrics=["ltce"]).verdict
    wrong = replace(found, status=Status.MISCALIBRATED, p_value=0.01)
    few = replace(found, status=Status.INCONCLUSIVE, detectable=np.inf)
    alone = replace(found.odds_ratio, ratio_low=1.01, ratio_high=1.1)
    cases = {
        "miscalibrated, in no band": wrong,
        "miscalibrated, one band": replace(wrong, bands=wrong.bands[:1]),
        "miscalibrated, no bands": replace(wrong, bands=()),
        "overconfident": replace(wrong, slope_direction=Direction.OVERCONFIDENT),
        "underconfident": replace(wrong, slope_direction=Direction.UNDERCONFIDENT),
        "contradicted": replace(wrong, contradicted=2),
        "nothing predicted": replace(wrong, observed=3, expected=0.0, bands=()),
        "the total alone": replace(found, odds_ratio=alone, tests={"total": 0.03}),
        "nothing detectable": few,
        "a fifth never detectable": replace(found, detectable_above=np.inf, detectable_below=np.inf),
        "no confidence correct": replace(
            wrong, outcome="correct", observed=0, odds_ratio=replace(alone, ratio_high=0.9)
        ),
        "confidences inconclusive": replace(few, outcome="correct"),
    }
    cases |= {f"smallest p {test.name}": replace(wrong, tests={test.name: 0.001}) for test in COMPONENTS}
    for name, verdict in cases.items():
        page.show(name, verdict, ("summary", "sentences", "direction", "__str__"))


@scenario
def prompt(page):
    """What a prompt shows of data and settings."""
    columns = simulate(rows=50) | {"country": ["de", "fr"] * 25, "customer": list(range(25)) * 2}
    tally = truecal.Tally.from_arrays(columns["y"], columns["p"])
    read = partial(truecal.read, columns, label="y", score="p")
    found = {
        "Tally.from_arrays(...)": tally,
        "Tally([], [], [])": truecal.Tally([], [], []),
        "Cells.grid(...)": Cells.grid(tally, 6),
        "read(...)": read(),
        "read(..., by=..., cluster=...)": read(by="country", cluster="customer"),
        "read(..., limits=...)": read(limits=truecal.reading.Limits(grid=6)),
        "read(..., sampling=...)": read(sampling=Sampling(label_noise=(0.01, 0.02))),
        "read(..., importance_weight=...)": read(importance_weight="p"),
        "Relative(0.1)": truecal.Relative(0.1),
        "Rule(...)": truecal.Rule("value", 15, segment="*"),
        "plan(...)": truecal.plan(0.01, ratio=1.2),
        "Models({})": truecal.results.Models({}),
    }
    for name, each in found.items():
        page.show(name, each, ("__repr__", "notes"))


@scenario
def demo_on_the_terminal(page):
    """With fewer rows and draws, and without its pictures."""
    pictures = [Path("demo/report.html"), Path("demo/models.png")]

    def evaluate_quickly(*data, **options):
        return truecal.evaluate(*data, **options | {name: 5 for name in ("null_draws", "resamples") if name in options})

    with (
        patch.object(demo, "simulate", partial(demo.simulate, 5_000)),
        patch.object(demo, "evaluate", evaluate_quickly),
        patch.object(demo, "write_pictures", lambda *_: pictures),
    ):
        page.run("demo")


@scenario
def help_of_commands(page):
    commands = ("evaluate", "compare", "slices", "drift", "monitor", "recalibrate", "apply", "plan", "demo", "check")
    for command in (*commands, "tally", "merge"):
        page.run(command, "--help")
