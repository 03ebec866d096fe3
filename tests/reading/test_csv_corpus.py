"""Odd and faulty CSV files: the rows that pandas, Python's csv and DuckDB agree on, or an error.

A case is a file with what is expected: (rows, positives, sum of scores, dropped rows), or a phrase of the error. Where
the three agree and truecal differs, the case says why; where they disagree, nothing is owed to any of them.
"""

import csv
import gzip
import io
import math
from dataclasses import dataclass

import numpy as np
import pytest
from csv_readers import ask_csv, ask_duckdb, ask_pandas
from hypothesis import given, settings
from hypothesis import strategies as st

import truecal
from truecal.reading import column_names, infer_columns, scan
from truecal.reading._csv import open_table

H = b"y,p,t\n"  # a header
R = b"0,0.25,a\n1,0.75,b\n"  # two rows: 1 positive, the scores add up to 1
OK = (2, 1, 1.0, 0)
FIELDS = "must have as many fields in each row as in its header"
DECIMAL = "Hint: these look like decimal commas; write decimal points"
NUMBERS = "must hold numbers"
AFTER = "text follows a closing quote"
OPEN = "must close every quote"
UTF8 = "must be UTF-8"
EMPTY = "must have a line of column names; it is empty"
RANGE = "is outside [0, 1]"
LOST = "text after a closing quote may mean that the quote was opened rows before, which would be lost"
DAMAGE = "zeros in text are a sign of a file that a crash cut off"
TWICE = "it is not known which of the two is meant"


@dataclass(frozen=True)
class Case:
    """A file, what is expected of it, why that is not what the others agree on, and its separator for them."""

    name: str
    data: bytes
    expected: tuple | str
    why: str = ""
    separator: str = ","
    suffix: str = "csv"


def quoted(n, field):
    """n rows, the second and the last with a field that holds a quote."""
    rows = [f"{i % 2},0.5,{field if i in (1, n - 1) else 'a'}" for i in range(n)]
    return H + "\n".join(rows).encode() + b"\n"


CASES = [
    # quotes
    Case("quote inside a field", H + b'0,0.1,5" pipe\n1,0.2,a\n0,0.3,b\n1,0.8,4" pipe\n1,0.9,c\n', (5, 3, 2.3, 0)),
    Case("quotes inside, far apart", quoted(5000, '5" pipe'), (5000, 2500, 2500.0, 0)),
    Case("one quote inside", H + b'0,0.25,5" pipe\n1,0.75,b\n', OK),
    Case("quote at the end of a field", H + b'0,0.25,a"\n1,0.75,b\n', OK),
    Case("quotes around a word in a field", H + b'0,0.25,a "b" c\n1,0.75,b\n', OK),
    Case("quote in the first column", b't,y,p\n5" pipe,0,0.25\nb,1,0.75\n', OK),
    Case("quote in the middle column", b'y,t,p\n0,5",0.25\n1,4",0.75\n', OK),
    Case("quoted separator", H + b'0,0.25,"a,b"\n1,0.75,b\n', OK),
    Case("quoted line end", H + b'0,0.25,"a\nb"\n1,0.75,b\n', OK),
    Case("quoted carriage return", H + b'0,0.25,"a\rb"\n1,0.75,b\n', OK),
    Case("quoted CRLF", H + b'0,0.25,"a\r\nb"\r\n1,0.75,b\r\n', OK),
    Case("quoted row", H + b'0,0.25,"x\n1,0.5,y\nz"\n1,0.75,b\n', OK),
    Case("doubled quotes", H + b'0,0.25,"5"" pipe"\n1,0.75,b\n', OK),
    Case("only doubled quotes", H + b'0,0.25,""""\n1,0.75,""""""\n', OK),
    Case("empty quotes", H + b'0,0.25,""\n1,0.75,""\n', OK),
    Case("all quoted", b'"y","p","t"\n"0","0.25","a"\n"1","0.75","b"\n', OK),
    Case("quoted numbers", H + b'"0","0.25",a\n"1","0.75",b\n', OK),
    Case("one number quoted", H + b'0,"0.25",a\n1,0.75,b\n', OK),
    Case("quoted empty score", H + b'0,"",a\n1,0.75,b\n', (1, 1, 0.75, 1)),
    Case("text after a closing quote", H + b'0,0.25,"a"b\n1,0.75,b\n', AFTER, LOST),
    Case("space after a closing quote", H + b'0,0.25,"a" \n1,0.75,b\n', AFTER, LOST),
    Case("number after a closing quote", H + b'0,"0.2"5,a\n1,0.75,b\n', AFTER),
    Case("backslash before a quote", H + b'0,0.25,"a\\"b"\n1,0.75,b\n', AFTER, LOST),
    Case("quote that another row closes", H + b'0,0.25,"a\n1,0.5,b\n1,0.75,"c"\n', AFTER),
    Case("open quote at the end", H + b'0,0.25,a\n1,0.75,"b\n', OPEN),
    Case("open quote in the first row", H + b'0,0.25,"a\n1,0.75,b\n', OPEN),
    Case("open quote after a quote inside", H + b'0,0.25,5"\n1,0.75,"b\n', OPEN),
    Case("open quote as the last byte", H + R + b'1,0.75,"', OPEN),
    Case("open quote in the header", b'y,p,"t\n0,0.25,a\n1,0.75,b\n', "must have"),
    Case("space before a quote", H + b'0,0.25, "a"\n1,0.75,b\n', OK),
    Case("space, quote, separator", H + b'0,0.25, "a,b"\n1,0.75,b\n', FIELDS),
    Case("single quotes", H + b"0,0.25,'a\n1,0.75,b'\n", OK),
    Case("single quotes around a separator", H + b"0,0.25,'a,b'\n1,0.75,b\n", FIELDS),
    Case("quoted header with a separator", b'y,p,"t,u"\n0,0.25,a\n1,0.75,b\n', OK),
    Case("quoted header with a line end", b'y,p,"t\nu"\n0,0.25,a\n1,0.75,b\n', OK),
    Case("quoted header with a carriage return", b'y,p,"t\ru"\n0,0.25,a\n1,0.75,b\n', OK),
    Case("quoted header with a carriage return and CRLF", b'y,p,"\rt"\r\n0,0.25,5"\r\n1,0.75,b\r\n', OK),
    Case("quoted header with a quote", b'y,p,"t""u"\n0,0.25,a\n1,0.75,b\n', OK),
    Case("quote inside the header", b'y,p,5"\n0,0.25,a\n1,0.75,b\n', OK),
    Case("quotes in every row", H + b'0,0.25,5"\n1,0.75,6"\n' * 500, (1000, 500, 500.0, 0)),
    Case("quoted at 64 bytes", H + b"0,0.25," + b"a" * 50 + b'\n1,0.75,"' + b"b" * 200 + b'\n"\n', OK),
    # ragged
    Case("a field too few", H + b"0,0.25\n1,0.75,b\n", FIELDS),
    Case("a field too few in the last row", H + R + b"1,0.5\n", FIELDS),
    Case("a score too few", b"t,y,p\na,0,0.25\nb,1\n", FIELDS),
    Case("only the label", H + R + b"1\n", FIELDS),
    Case("a field too many", H + R + b"1,0.5,c,d\n", FIELDS),
    Case("a field too many in every row", H + b"0,0.25,a,\n1,0.75,b,\n", FIELDS),
    Case("an index without a name in the header", b"y,p\n0,0,0.25\n1,1,0.75\n", FIELDS),
    Case("too many and too few", H + b"0,0.25,a,b\n1,0.75\n", FIELDS),
    Case("truncated in the last row", H + R + b"1", FIELDS),
    Case("truncated after a separator", H + R + b"1,", FIELDS),
    Case("truncated in a number", H + b"0,0.25,a\n1,0.75,", OK),
    Case("trailing separators everywhere", b"y,p,t,\n0,0.25,a,\n1,0.75,b,\n", OK),
    Case("trailing separator in the header alone", b"y,p,t,\n0,0.25,a\n1,0.75,b\n", FIELDS),
    Case("separators alone", H + R + b",,\n", (2, 1, 1.0, 1)),
    Case("comment above", b"# made by x\n" + H + R, FIELDS),
    Case("comment below", H + R + b"# end\n", FIELDS),
    Case("comment among rows", H + b"0,0.25,a\n# note\n1,0.75,b\n", FIELDS),
    Case("two tables", H + R + b"\nm,n\n1,2\n", FIELDS),
    Case("summary at the end", H + R + b"total: 2\n", FIELDS),
    Case("header again", H + R + H + R, "must hold"),
    Case("ragged after a quote inside", H + b'0,0.25,5"\n1,0.75\n', FIELDS),
    Case("ragged in row 3000", H + R * 1500 + b"1,0.5\n" + R, FIELDS),
    # line ends
    Case("CRLF", (H + R).replace(b"\n", b"\r\n"), OK),
    Case("CR", (H + R).replace(b"\n", b"\r"), OK),
    Case("CR without the last", (H + R).replace(b"\n", b"\r")[:-1], OK),
    Case("CRLF and LF", b"y,p,t\r\n0,0.25,a\n1,0.75,b\r\n", OK),
    Case("LF header and CRLF", b"y,p,t\n0,0.25,a\r\n1,0.75,b\r\n", OK),
    Case("CR among LF", b"y,p,t\n0,0.25,a\r1,0.75,b\n", OK),
    Case("CR header and LF", b"y,p,t\r0,0.25,a\n1,0.75,b\n", OK),
    Case("score last, CRLF", b"t,y,p\r\na,0,0.25\r\nb,1,0.75\r\n", OK),
    Case("score last, CR at the end of the file", b"t,y,p\na,0,0.25\nb,1,0.75\r", OK),
    Case("two CRs and LF", b"y,p,t\n0,0.25,a\r\r\n1,0.75,b\n", OK),
    Case("no last line end", (H + R)[:-1], OK),
    Case("blank line", H + b"0,0.25,a\n\n1,0.75,b\n", OK),
    Case("blank lines at the end", H + R + b"\n\n\n", OK),
    Case("blank CRLF line", (H + b"0,0.25,a\n\n1,0.75,b\n").replace(b"\n", b"\r\n"), OK),
    Case("blank line above", b"\n" + H + R, OK),
    Case("blank lines and semicolons", b"\n\ny;p;t\n0;0.25;a\n1;0.75;b\n", OK, separator=";"),
    Case("blank line below the header", H + b"\n" + R, OK),
    Case("line of spaces", H + R + b"   \n", FIELDS),
    Case("vertical tab in text", H + b"0,0.25,a\x0bb\n1,0.75,b\n", OK),
    Case("form feed in text", H + b"0,0.25,a\x0cb\n1,0.75,b\n", OK),
    Case("line separator of Unicode", H + "0,0.25,a\u2028b\n1,0.75,b\n".encode(), OK),
    Case("next line of Unicode", H + "0,0.25,a\u0085b\n1,0.75,b\n".encode(), OK),
    # encodings
    Case("UTF-8", H + "0,0.25,é\n1,0.75,😀\n".encode(), OK),
    Case("UTF-8 mark", b"\xef\xbb\xbf" + H + R, OK),
    Case("UTF-8 mark and a quote inside", b"\xef\xbb\xbf" + H + b'0,0.25,5"\n1,0.75,b\n', OK),
    Case("UTF-8 mark and quoted names", b'\xef\xbb\xbf"y","p"\n0,0.25\n1,0.75\n', OK),
    Case("UTF-16", (H + R).decode().encode("utf-16"), "it is UTF-16"),
    Case("UTF-16, big end first", b"\xfe\xff" + (H + R).decode().encode("utf-16-be"), "it is UTF-16"),
    Case("UTF-16 without a mark, big end first", (H + R).decode().encode("utf-16-be"), "it looks like UTF-16"),
    Case("UTF-16 without a mark", (H + R).decode().encode("utf-16-le"), "Hint: convert it with `iconv -f UTF-16LE -t UTF-8`"),
    Case("Latin-1", H + b"0,0.25,caf\xe9\n1,0.75,b\n", UTF8),
    Case("Latin-1 in the header", b"y,p,caf\xe9\n" + R, UTF8),
    Case("Latin-1 and a quote inside", H + b'0,0.25,5"\n1,0.75,caf\xe9\n', UTF8),
    Case("Latin-1 in row 2000", H + R * 1000 + b"1,0.5,\xfc\n", "row 2,001 holds the byte 0xfc"),
    Case("half a character at the end", H + b"0,0.25,a\n1,0.75,\xc3", UTF8),
    Case("Windows-1252 quotes", H + b"0,0.25,\x93a\x94\n1,0.75,b\n", UTF8),
    Case("zero byte", H + b"0,0.25,a\x00b\n1,0.75,b\n", "zero byte", DAMAGE),
    Case("zeros at the end", H + R + b"\x00" * 100, "zero byte"),
    Case("zero byte in a score", H + b"0,0.25\x00,a\n1,0.75,b\n", "zero byte"),
    Case("end of file of DOS", H + R + b"\x1a", FIELDS),
    Case("no-break space by a score", H + "0,\u00a00.25,a\n1,0.75,b\n".encode(), NUMBERS),
    # names
    Case("columns twice", b"y,p,p\n0,0.25,0.5\n1,0.75,0.5\n", "must name the column 'p' once", TWICE),
    Case("label twice", b"y,p,y\n0,0.25,1\n1,0.75,1\n", "must name the column 'y' once"),
    Case("another column twice", b"y,p,t,t\n0,0.25,1,1\n1,0.75,1,1\n", OK),
    Case("columns twice and a quote inside", b'y,p,p\n0,0.25,5"\n', "must name the column 'p' once"),
    Case("no name of the first column", b",y,p\n0,0,0.25\n1,1,0.75\n", OK),
    Case("names of spaces", b" y, p,t\n" + R, "must be one of the columns"),
    Case("names in capitals", b"Y,P,t\n" + R, "must be one of the columns"),
    Case("no header", R, "must be one of the columns"),
    # nothing
    Case("empty", b"", EMPTY),
    Case("line ends alone", b"\n\n\n", EMPTY),
    Case("mark alone", b"\xef\xbb\xbf", EMPTY),
    Case("header alone", H, "at least one valid row"),
    Case("header without its end", H[:-1], "at least one valid row"),
    Case("one row", H + b"1,0.75,b\n", (1, 1, 0.75, 0)),
    # separators
    Case("semicolons", b"y;p;t\n0;0.25;a\n1;0.75;b\n", OK, separator=";"),
    Case("semicolons and a quote inside", b'y;p;t\n0;0.25;5"\n1;0.75;b\n', OK, separator=";"),
    Case("semicolons, commas in text", b"y;p;t\n0;0.25;a,b\n1;0.75;c\n", OK, separator=";"),
    Case("bars", b"y|p|t\n0|0.25|a\n1|0.75|b\n", OK, separator="|"),
    Case("tabs in a CSV", b"y\tp\tt\n0\t0.25\ta\n1\t0.75\tb\n", OK, separator="\t"),
    Case("tabs", b"y\tp\tt\n0\t0.25\ta\n1\t0.75\tb\n", OK, separator="\t", suffix="tsv"),
    Case("tabs and a quote inside", b'y\tp\tt\n0\t0.25\t5"\n1\t0.75\t4"\n', OK, separator="\t", suffix="tsv"),
    Case("decimal commas", b"y;p;t\n0;0,25;a\n1;0,75;b\n", "Hint: write decimal points", separator=";"),
    Case("quoted decimal commas", H + b'0,"0,25",a\n1,"0,75",b\n', "Hint: write decimal points"),
    Case("decimal commas with commas", b"y,p\n0,0,25\n1,0,75\n", DECIMAL),
    Case("decimal commas, text, commas", H + b"0,0,25,a\n1,0,75,b\n", DECIMAL),
    Case("decimal commas after a quote inside", H + b'0,0,25,5"\n1,0,75,b\n', DECIMAL),
    Case("Excel's sep line", b"sep=;\ny;p;t\n0;0.25;a\n1;0.75;b\n", "begins with `sep=`"),
    Case("Excel's sep line, CRLF", b"sep=,\r\ny,p\r\n0,0.25\r\n1,0.75\r\n", "begins with `sep=`"),
    Case("two separators", b"y;p,t\n0;0.25,a\n", "must be one of the columns"),
    # numbers
    Case("spaces before numbers", H + b"0, 0.25,a\n1, 0.75,b\n", OK),
    Case("spaces after numbers", H + b"0,0.25 ,a\n1,0.75 ,b\n", OK),
    Case("spaces around labels", H + b" 0 ,0.25,a\n 1 ,0.75,b\n", OK),
    Case("spaces around text", H + b"0,0.25, a\n1,0.75,b \n", OK),
    Case("score of spaces", H + b"0,   ,a\n1,0.75,b\n", NUMBERS),
    Case("space before the line end", b"t,y,p\na,0,0.25 \nb,1,0.75 \n", OK),
    Case("space before CRLF", b"t,y,p\r\na,0,0.25 \r\nb,1,0.75\r\n", OK),
    Case("empty score", H + b"0,,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("empty label", H + b",0.25,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("NA", H + b"0,NA,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("N/A", H + b"0,N/A,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("NULL", H + b"0,NULL,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("null", H + b"0,null,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("None", H + b"None,0.25,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("nan", H + b"0,nan,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("NaN", H + b"0,NaN,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("n/a", H + b"0,n/a,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("#N/A of a spreadsheet", H + b"0,#N/A,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("<NA> of pandas", H + b"0,<NA>,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("a dash for a missing score", H + b"0,-,a\n1,0.75,b\n", "Hint: leave the fields of missing values empty"),
    Case("n/a for a label", H + b"n/a,0.25,a\n1,0.75,b\n", (1, 1, 0.75, 1)),
    Case("a dash", H + b"0,-,a\n1,0.75,b\n", NUMBERS),
    Case("a word", H + b"0,high,a\n1,0.75,b\n", NUMBERS),
    Case("percent sign", H + b"0,25%,a\n1,75%,b\n", "Hint: write percentages without their signs"),
    Case("hexadecimal", H + b"0,0x1,a\n1,0.75,b\n", NUMBERS),
    Case("thousands", H + b'0,"1,000",a\n1,0.75,b\n', NUMBERS),
    Case("underscore in a number", H + b"0,0.2_5,a\n1,0.75,b\n", NUMBERS),
    Case("full-width digits", H + "0,\uff10.25,a\n1,0.75,b\n".encode(), NUMBERS),
    Case("infinity", H + b"0,inf,a\n1,0.75,b\n", RANGE),
    Case("minus infinity", H + b"0,-inf,a\n1,0.75,b\n", RANGE),
    Case("score of 1e400", H + b"0,1e400,a\n1,0.75,b\n", RANGE),
    Case("score above 1", H + b"0,1.5,a\n1,0.75,b\n", RANGE),
    Case("score below 0", H + b"0,-0.5,a\n1,0.75,b\n", RANGE),
    Case("minus zero", H + b"0,-0.0,a\n1,0.75,b\n", (2, 1, 0.75, 0)),
    Case("exponents", H + b"0,2.5e-1,a\n1,7.5E-1,b\n", OK),
    Case("no leading zero", H + b"0,.25,a\n1,.75,b\n", OK),
    Case("plus signs", H + b"0,+0.25,a\n1,+0.75,b\n", OK),
    Case("whole scores", H + b"0,0,a\n1,1,b\n", (2, 1, 1.0, 0)),
    Case("trailing points", H + b"0,0.,a\n1,1.,b\n", (2, 1, 1.0, 0)),
    Case("many digits", H + b"0,0." + b"2" * 400 + b",a\n1,0.75,b\n", (2, 1, 0.75 + 2 / 9, 0)),
    Case("labels with points", H + b"0.0,0.25,a\n1.0,0.75,b\n", OK),
    Case("labels of leading zeros", H + b"00,0.25,a\n01,0.75,b\n", OK),
    Case("a label of 2", H + R + b"2,0.5,a\n", "is neither 0 nor 1"),
    Case("labels of words", H + b"no,0.25,a\nyes,0.75,b\n", "must hold 0 and 1 or booleans"),
    Case("a date for a score", H + b"0,2026-01-01,a\n1,0.75,b\n", NUMBERS),
    Case("dates beside", b"y,p,d\n0,0.25,2026-01-01\n1,0.75,03/04/2026\n", OK),
    # size
    Case("a field of a megabyte", H + b"0,0.25," + b"a" * (1 << 20) + b"\n1,0.75,b\n", OK),
    Case("a quoted megabyte", H + b'0,0.25,"' + b"a\n" * (1 << 19) + b'"\n1,0.75,b\n', OK),
    Case("300 columns", b"y,p" + b"".join(b",c%d" % i for i in range(298)) + b"\n1,0.75" + b"," * 298 + b"\n", (1, 1, 0.75, 0)),
    Case("packed", gzip.compress(H + R), OK, suffix="csv.gz"),
    Case("packed, with a quote inside", gzip.compress(H + b'0,0.25,5"\n1,0.75,b\n'), OK, suffix="csv.gz"),
    Case("packed and truncated", gzip.compress(H + R * 1000)[:-20], "must be a whole file of gzip", suffix="csv.gz"),
    Case("packed with a wrong sum", gzip.compress(H + R)[:-8] + b"\0" * 8, "must be a whole file of gzip", suffix="csv.gz"),
    Case("not packed", H + R, "must be a whole file of gzip", suffix="csv.gz"),
    Case("packed in two parts", gzip.compress(H + R) + gzip.compress(R), (4, 2, 2.0, 0), suffix="csv.gz"),
]  # fmt: skip


ORACLES = {"pandas": ask_pandas, "csv": ask_csv, "duckdb": ask_duckdb}


def same(a, b):
    return a == b or (
        isinstance(a, tuple) and isinstance(b, tuple) and a[:2] == b[:2] and a[3] == b[3] and math.isclose(a[2], b[2])
    )


def ask(oracle, path, separator):
    """What another reader finds; "error" if it refuses, or finds what is no prediction."""
    try:
        return oracle(path, separator)
    except pytest.skip.Exception:
        raise
    except Exception:  # each has its own kinds
        return "error"


@pytest.mark.parametrize("text", ["y;p\n0;0,25\n1;0,75\n0;\n", 'y,p\n0,"0,25"\n1,"0,75"\n'])
def test_decimal_commas_are_named_where_no_column_is(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=r"(?s)`p` must hold numbers; it holds text such as '0,25'.*decimal points"):
        infer_columns(tmp_path / "a.csv")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_row_is_lost(need, tmp_path, case):
    need("polars")
    path = tmp_path / f"a.{case.suffix}"
    path.write_bytes(case.data)
    if isinstance(case.expected, str):
        with pytest.raises((ValueError, TypeError)) as caught:
            truecal.read(path, label="y", score="p", missing="drop")
        assert case.expected in str(caught.value)
    else:
        found = truecal.read(path, label="y", score="p", missing="drop")
        tally = found.tally
        got = tally.n_rows, tally.positives, float(np.dot(tally.score, tally.n)), found.row_counts.n_dropped
        assert same(got, case.expected)
    expected = "error" if isinstance(case.expected, str) else case.expected
    answers = {name: ask(oracle, path, case.separator) for name, oracle in ORACLES.items()}
    first = answers["pandas"]
    if all(same(first, other) for other in answers.values()):
        assert same(first, expected) == (not case.why), answers


@pytest.mark.parametrize("case", [case for case in CASES if case.suffix != "csv.gz"], ids=lambda case: case.name)
def test_a_file_is_read_alike_without_polars(need, tmp_path, ask_both, case):
    need("polars")
    path = tmp_path / f"a.{case.suffix}"
    path.write_bytes(case.data)
    for function in (
        infer_columns,
        column_names,
        lambda path: truecal.read(path, label="y", score="p", missing="drop"),
    ):
        plain, polars = ask_both(function, path)
        assert plain == polars


def test_there_are_at_least_120_cases():
    assert len({case.name for case in CASES}) == len(CASES) >= 120


def read_strictly(text):
    """The rows that Python's csv finds, if all have as many fields as the header; else None."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None
    return rows if len({len(row) for row in rows}) == 1 else None


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(st.sampled_from([*'",\n\r a1', '""', '","', "0.5", "\n1,0.5,", "\r\n", "é"]), max_size=40))
def test_any_text_is_read_as_csv_reads_it_or_refused(tmp_path_factory, parts):
    """The third column is any text; one chunk of the kernel is 64 bytes, so rows before it move its border."""
    pytest.importorskip("polars")
    path = tmp_path_factory.mktemp("fuzz") / "a.csv"
    for lead in (0, 3, 7):
        text = "y,p,t\n" + "0,0.25,abc\n" * lead + "1,0.5," + "".join(parts) + "\n"
        path.write_text(text, encoding="utf-8", newline="")
        expected = read_strictly(text)
        try:
            table = open_table(path, "csv")
        except ValueError:
            assert expected is None
            continue
        assert expected is not None
        assert table.rows == len(expected) - 1
        assert len(scan(path).select("p").collect()) == table.rows
        words = [["" if field is None else str(field) for field in row] for row in scan_text(path).rows()]
        assert words == expected[1:]


def scan_text(path):
    """All fields as text."""
    import polars as pl

    table = open_table(path, "csv")
    options = {"separator": table.separator, "infer_schema": False, "glob": False, "empty_string_is_null": False}
    return pl.read_csv(table.place, **options)
