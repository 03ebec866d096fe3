"""What the paper's text, its tables and its code disagree on, in plain words; the numbers come from the results."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Disagreement:
    """A heading, what is said of it, and the topics of `readings.csv` that show both readings.

    `tables` and `other` name the two readings: the one the published numbers follow, and the other one.
    """

    title: str
    text: str
    topics: tuple[str, ...] = ()
    tables: str = ""
    other: str = ""


MEANS = Disagreement(
    "Class means: 2y - 1 in the text, half of that in the tables",
    "The text samples x around -1 and +1. The tables are reproduced, every digit, with means of -1/2 and +1/2. The "
    "classes then overlap more, which is why a shift of ten points in prevalence moves TCE to 96 rather than "
    "84.",
    ("class_means",),
    "means -1/2, 1/2",
    "means -1, 1",
)
SIZES = Disagreement(
    "N_min and N_max are exchanged in a caption",
    "A caption of the two size tables names the wrong one of the two limits. The numbers settle it: TCE(P) "
    "is reproduced when the minimum-size table varies N_min with N_max = N and the maximum-size table varies N_max "
    "with N_min = 0.",
    ("swapped_sizes",),
    "as the row is labelled",
    "exchanged",
)
RANGES = Disagreement(
    'A "bin size range" [3, 10] is a range of numbers of bins',
    "The ranges are labelled as sizes, but hold numbers of bins: [3, 10] means sizes from N/10 to N/3, and [5, "
    "20] is the paper's default N/20 to N/5. Read as sizes the rows give other numbers.",
    ("range_labels",),
    "numbers of bins",
    "sizes",
)
SLIP = Disagreement(
    "The row [10, 20] is [5, 20]",
    "In the size-range table the fourth label is [5, 20] at 50% and [10, 20] at 40%. Only TCE(P) depends on it, "
    "and it shows that the row was run with [5, 20].",
    ("range_slip",),
    "[5, 20]",
    "[10, 20] as printed",
)
COUNTS = Disagreement(
    "The number of quantile and uniform bins in the size tables",
    "ECE, ACE, MCE, MCE(Q) and TCE(Q) change from row to row although none of them has a minimum or maximum "
    "size. Trying every number of bins shows which were used: 1000, 500, 100, 50, 10, 5, 1 in both tables, and "
    "half the larger number of the label in the range table. In the minimum-size table that is N / (2 N_min), "
    "except for the first row, where it would be 3000. The maximum-size table repeats the same seven numbers "
    "although N / N_max is 1000, 200, 100, 20, 10, 2, 1: its rows 30, 300 and 3000 show bins that have nothing "
    "to do with their label.",
    ("bins_of_max_size", "bins_of_min_size"),
    "bins as listed above",
    "N / N_max; 3000",
)
CUTS = Disagreement(
    "Quantile cuts in floating point",
    "The published quantile bins are cut at the whole part of a fraction times N, the fraction being a float: "
    "0.29 x 6000 is 1739.9999999999998, so that the cut falls one row early. Ten bins of these data never "
    "suffer; 50 and more do. truecal counts in whole numbers.",
    ("quantile_cuts",),
    "int(0.29 x 6000) = 1739",
    "floor(29 x 6000 / 100) = 1740",
)
ROWS = Disagreement(
    "Sample size: the training set grows too",
    "A row of the sample-size table is labelled with its test rows. The training rows go with it, seven for "
    "every three; so the model is a poor one in the small rows and a good one in the large ones.",
    ("training_rows",),
    "7/3 of the test rows",
    "14000",
)
NOISE = Disagreement(
    "Prediction noise is drawn from the data's random stream",
    "The noise is added to the logit of each prediction. It is drawn from the random stream of the data, one "
    "vector for each row of the table including the row without noise; that gives all 84 cells. A generator of "
    "its own gives other draws; the result file `gda_noise_seeds.csv` has the range of each cell over twenty of "
    "them.",
    ("noise_stream",),
    "the data's stream",
    "default_rng(0)",
)
RATES = Disagreement(
    "Neighbouring blocks of equal rate",
    "Algorithm 2 as printed cuts only where fitted values differ, so that neighbouring blocks of equal rate "
    "fall into one bin far above N_max. The table keeps them apart, as truecal does.",
    ("equal_rates",),
    "blocks are bins",
    "Algorithm 2 as printed",
)
LAST = Disagreement(
    "The rule for the last bin",
    "Line 10 of Algorithm 1 joins the last N_min rows to the last block only while the sum stays within N_max. "
    "The published numbers come from another test, 2 N_min <= N_max, which does not look at the block: with "
    "N/20 and N/5 it always joins, and the last bin can exceed N_max. Among the available published cells it "
    "decides two, both on mammography, and it is the whole reason for the random forest's 19.40, which none of "
    "the 103 tie orders above reaches by the paper's rule. On ImageNet both rules give the same TCE. The last "
    "row counts random data sets (N = 1000, N_min = 20, N_max = 50).",
    ("last_bin", "last_bin_beyond"),
    "joined if 2 N_min <= N_max",
    "joined if it fits (text, truecal)",
)
SOLVER = Disagreement(
    "The solver's version, and the 1% rows",
    "Logistic regression in scikit-learn 1.2.1 minimised the sum of the losses and stopped at a gradient of "
    "1e-4; since 1.4 (pull request 26721) it minimises the mean, so the same 1e-4 stops far earlier. The "
    "predictions change by up to 0.03 (abalone), and those for rare events enough to change the paper's 1% rows: "
    "the solver alone accounts for them. Solving the old problem with SciPy gives back the stored predictions "
    "of 1.2.1 to 3e-9 on the seven sets, and every published cell.",
    ("solver", "solver_uci"),
    "scikit-learn 1.2.1's problem",
    "scikit-learn installed here",
)
READINGS = (MEANS, SIZES, LAST, SOLVER, RATES, RANGES, SLIP, COUNTS, CUTS, ROWS, NOISE)

TIES = """A random forest's or a boosted ensemble's scores are full of ties. Code that sorts rows and cuts them anywhere
separates equal scores, and its result depends on which of them the sort happened to leave first. truecal groups
equal scores, so it has one value. Below: the published cell, the grouped value, and the range over 103 orders
of the very same rows (stable, labels ascending, labels descending, a hundred random ones). NumPy's sort of the
paper's time, an introsort, leaves ties in an order of its own; following it step by step reproduces every
published cell that ties touch, mammography's random forest together with the last-bin rule below."""

T_TEST = """The published t-test divides by the variance of the labels where the standard deviation belongs. A
variance is at most 1/4 and its root at least twice as large, so every t is at least twice too large. With
the variance, all 30 cells of the -T columns are reproduced; with the root the t-test rejects {proper_low:.1f}
to {proper_high:.1f}% of the calibrated model's predictions instead of {wrong_low:.1f} to
{wrong_high:.1f}%, and TCE(P) with it stays within {apart:.1f} points of the binomial one in every row.
The paper's conclusion that the t-test is the worse choice is an artefact of the missing root."""

TIME = """The paper gives 71.78 s for TCE. Here truecal's TCE of {model} (50,000 rows, sort included, median of seven
runs) takes {tce:.2f} ms: {ratio:,} times less. Much of that factor is the machine and the language; what the
algorithm itself saves is measured here, on one machine, against one `scipy.stats.binomtest` per prediction:
{oracle:.0f} s (timed on every hundredth prediction and multiplied by a hundred; all of those decisions agree),
{own:,} times truecal's time. Two entries of the published row cannot be like for like: MCE needs the same bins
and gaps as ECE and MCE(Q) those of ACE, yet they are given as a hundred times faster. Here they cost the same."""

VERSION = """Gradient boosting of the installed scikit-learn no longer grows the trees of 1.2.1: on pen_digits the
predictions are the same to 3e-16, on the other sets some differ, by up to {distance}. Which change of the
library does it was not determined. On the stored predictions every cell is reproduced. Support vector
machines, random forests and multilayer perceptrons need no such help: fitted here, they give the
published numbers."""

DIGITS = """Two available cells remain whose last digit no computation tried here gives.

- ImageNet, Res152, MCE(Q): published 0.0102, here {imagenet:.6f}. The bin holds 5000 rows and no tie is cut, so there
  is nothing to choose; rounding first to 0.01015 and then to 0.0102 would print it.
- Bins, satimage, within-bin error of 10 quantiles: published 0.047, here {grouped:.4f} with ties grouped (nine bins)
  and {sorted:.5f} with ten bins, whatever the tie order. The total error of ten bins of 193 or 194 rows lies within
  0.0003 of their averaged error, because the weights n/N are within 0.0005 of 1/10; with the total of {total:.5f}
  (published 0.048) the average cannot fall below 0.0477, let alone print as 0.047. Cutting 0.04796 off after three
  digits gives it; the other five cells are rounded."""
