"""Text for people: counts, widths, tables."""

import time

import pytest

from truecal import Tally
from truecal._text import Terminal, TextColumn, disarm, measure, plural, printable, shorten, shorten_all


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1_000, "1,000 rows"), (1_000_001, "1,000,001 rows")],
)
def test_one_thing_is_singular(count, expected):
    assert plural(count, "row") == expected


def test_one_row_is_never_rows():
    assert repr(Tally([0.5], [1], [1])) == "Tally(1 score in [0.5, 0.5], 1 row, 1 positive)"


def test_width_counts_columns_of_a_terminal():
    """Unicode: wide signs take two columns (UAX 11), a combining accent none."""
    assert [measure(text) for text in ("abc", "日本", "e\N{COMBINING ACUTE ACCENT}", "")] == [3, 4, 1, 0]


def test_what_cannot_be_printed_is_escaped():
    assert printable("a\x00b\x1b[31m\n") == "a\\x00b\\x1b[31m\\n"


def test_columns_that_do_not_fit_are_named():
    columns = [
        TextColumn("name", ["a"], left=True),
        TextColumn("first", ["1"], 1),
        TextColumn("a long heading", ["2"], 2),
    ]
    assert (
        Terminal(width=20).table(columns)
        == "  name  first\n  a         1\n  columns that do\n  not fit: a long\n  heading"
    )
    assert Terminal(width=40).table(columns) == "  name  first  a long heading\n  a         1               2"


def test_names_shrink_before_a_column_is_left_out():
    names = ["country=Germany, product=card", "country=Germany, product=cash"]
    columns = [TextColumn("segment", names, left=True, shrinks=0.6), TextColumn("n", ["1,000", "12"], 1)]
    assert Terminal(width=26).table(columns).splitlines() == [
        *("  segment               n", "  country=\N{HORIZONTAL ELLIPSIS}ct=card  1,000"),
        "  country=\N{HORIZONTAL ELLIPSIS}ct=cash     12",
    ]


def test_names_that_would_look_alike_lose_what_they_share():
    names = ["Germany, retail customers", "Germany, business customers", "Italy"]
    columns = [TextColumn("segment", names, left=True, shrinks=0.5), TextColumn("n", ["1", "2", "3"])]
    shown = [line[2:19].rstrip() for line in Terminal(width=23).table(columns).splitlines()[1:]]
    assert len(set(shown)) == 3
    assert shown[0] == "\N{HORIZONTAL ELLIPSIS}retail customers"
    assert shown[1] == "\N{HORIZONTAL ELLIPSIS}business\N{HORIZONTAL ELLIPSIS}stomers"
    assert shorten_all(["abc", "abc"], 2) == ["a\N{HORIZONTAL ELLIPSIS}"] * 2  # the same name twice stays the same


def test_long_cells_are_cut_in_signs_of_the_encoding():
    assert Terminal(unicode=True).clip("abcdef", 4) == "ab\N{HORIZONTAL ELLIPSIS}f"
    assert Terminal(unicode=False).clip("abcdef", 4) == "a..."
    assert Terminal().clip("abcd", 4) == "abcd"


def test_colour_is_only_where_it_is_wanted():
    assert Terminal(colour=True).paint("x", "red") == "\x1b[31mx\x1b[0m"
    assert Terminal().paint("x", "red") == "x"


def test_long_names_are_shortened_in_linear_time():
    begin = time.process_time()
    for sign in ("x", "ä", "漢", "e\u0301"):
        text = shorten(sign * 100_000, 60)
        assert measure(text) in (59, 60)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n::error::b", "a\n\\::error::b"),
        ("  ::set-output", "  \\::set-output"),
        ("a::b", "a::b"),
        ("x ##[group]", "x #\\#[group]"),
        ("##vso[task]", "#\\#vso[task]"),
        ("## [link]", "## [link]"),
        ("\x1b[31mred\r", "\\x1b[31mred\\r"),
        ("\u2028\u202e\x85", "\\u2028\\u202e\\x85"),
    ],
)
def test_lines_that_look_like_commands_are_disarmed(text, shown):
    assert disarm(text) == shown
    assert disarm(disarm(text)) == shown
