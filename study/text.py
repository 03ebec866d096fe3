"""What the study's page says around its tables."""

HEAD = """# How far the inference can be trusted

Measured by `make study`, which writes this page; the numbers are in `study/results/`. Labels are simulated, so the
truth is known. Rows are independent but for those of [one customer](#rows-of-one-customer)."""

LOCAL = """## Local TCE

A right model must score the level, 5, whatever its rows, prevalence, ties and shape of scores. Mean Local TCE of right
models by rows / by information, {sets} data sets a cell (4,000 for the two shapes with two scores, whose few
windows make single values vary widely); the standard error is at most {error}. From
1,000 rows on the means lie between {low} and {high} by rows, and between {least} and {most} by information where the
evidence V, the sum of p (1 - p), is above 1. Below that there is no information to share out.

Positives are drawn cell by cell, Binomial(n, mean score of the cell): a cell is 1/2048 of its score wide, so this is
the rows' own distribution to within a 2^-24 part of its variance. Up to 1,000 rows every data set has predictions of
its own, at 10,000 one in a hundred, beyond that all labels belong to one set of predictions."""

GROWTH = """**It is not a size.** Local TCE of Beta(.5, 5) predictions whose truth is 0, 2, 5 and 20 % higher, without
and with a tolerance of a tenth of each prediction (`Relative(0.1)`). Without one, the same error scores more the more
rows show it; every error reaches 100 in the end. With one, an error within it goes to 0 and one beyond it goes on to
100: the number has a limit. So read observed over expected beside it, and give a tolerance where small errors do not
matter."""

SIZE = """## The verdict

How often a right model is called off: p at most 0.05 / at most 0.01, in percent, in the data sets above. Over all
cells it is {low} to {high} % at 0.05, {mean} % on average, and {least} to {most} % at 0.01, {usual} % on average;
{sets} data sets leave a standard error of {error} points at 5 %. The last four shapes were drawn for this table only,
after the verdict was finished: {fresh_low} to {fresh_high} % at 0.05. Where few positives are expected few outcomes
are possible, and the verdict stays below its level."""

POWER = """**Power**, in percent, at 20,000 rows, {sets} data sets a line: how often the verdict is "miscalibrated" for models
that are, beside the plain Cauchy mean of five parts (cox, cumulative, total, information, rows) in the same data sets.
The five call {five} % of the right models above off at 0.05 on average, the verdict {ours} %. m is N^(2/3), 737 rows;
blocks are 1.4 and 0.6 times the prediction in turn. A bad half percent is 100 neighbouring rows: anywhere, most of
them predict few positives, which nobody can tell from three times as many; in the upper third of the scores they
predict 9 % or more."""

CONSISTENT = """**"Consistent"** must not be said of a model whose odds are all off by 1.5. At the fewest rows that
make the word possible, how often such models are called off and consistent (the rest: at other draws of the
predictions the verdict cannot tell). By its definition the word may be wrong here in one of five."""

TOLERANCE = """**With a tolerance** of a tenth, how often the verdict is "miscalibrated", at 0.05, for predictions that are
right, too low or too high by exactly the tolerance, and too low by a fifth. The first three must be at most 5."""

GATE = """## The gate

The gate judges by the verdict at 0.01. Right models, {sets} data sets a cell: in percent, how often it fails / how
often it passes; the rest is "inconclusive". It fails {mean} % on average, {high} % at most, with a standard
error of 0.3 points in each cell."""

SEGMENTS = """Sets of 12 right segments ({sets} sets a line), each of so many rows, under one rule for all of them,
whose p-values are adjusted by Holm's procedure:"""

WRONG = """And models that are off, or of which the data say nothing:"""

GROUPS = """## Segments

Right segments, {sets} data sets a line: how often any of them is said to be off, in %, which should be at most 5, and
how often a gate with the rule that every segment be consistent fails."""

BAD_SEGMENT = """One of 20 segments is off: it sees 0.4 times the positives that its predictions say, or its log-odds
are twice as far apart as the truth's. How often it is found, in %, with Holm's adjustment for 20 segments. `expected`
is what one segment predicts."""

DRIFT = """## Drift's words

One look at 30 windows, {sets} streams a line, the first 10 windows being the baseline: how often each word is said, in
%. Right models are said to be off in {low} to {high} %. This holds for one look. A job that looks every day at the last
30 windows looks 365 times a year: `watch` is made for that."""

SIZES = """## The default sizes

n_min = min(N/20, c N^(2/3)), n_max = 4 n_min. TCE is meant to say how wrong a model is, not how many rows it was
tested on, so a perfect model should score low at every N, and a wrong one high. Below: the mean TCE of perfect
predictions / of predictions a fifth too low. The paper's fixed shares reach 70 to 94 % for perfect models. Every c
keeps them level; c = 1 is the largest that stays within 1 to 16 % on all five shapes (grey), it has the highest
power, and it leaves the paper's sizes as they are up to N = 8000. So c = 1 is the default."""

LEVEL = """## The reference

For perfect predictions the mean of the reference must be the mean TCE, and p-values must be uniform: 1000 data sets a
line, 199 replicates each. With rare positives TCE takes few values, many of them 0, so p-values are coarse and lean
to the safe side. Below that, how often predictions a fifth too low are found."""

BETWEEN = """## The intervals

Nominal coverage 95 %, {sets} data sets a line, each with predictions and labels of its own. The target is the metric's
expectation, its mean over data sets of this size from the same source. The method was chosen on the cases marked so.

The intervals of test-based metrics cover {low} to {high} %, {below} of their {lines} lines below 92. Those of right
models are mostly too wide, since some chance is taken for error. Those of gap metrics cover {least} to {most} %; below
92 are {worst}."""

DIFFERENCES = """**Differences** of two models on the same rows, as `compare` gives them, 95 % meant. Log loss and Brier
score have the interval of a paired mean, the others compute_on_draws labels from a logistic regression on both models. Those of
ECE and ACE cover too little where they were measured (86 to 95 %), so `compare` does not offer them; those of
intercept, Spiegelhalter's z, cumulative differences, smooth ECE, ATB and net benefit were not measured. Log loss and
Brier score cover less than 92 % where 1,000 rows have ten positives: a mean of so few large terms is not normal. Those
of the slope cover 89 to 100 %: distances from 1 are compared, which bend at 1, and slopes are often near it."""

WATCH = """## The monitor

How often streams of right models are ever alarmed of in {looks} daily looks at a significance of 0.05. An alarm at any
look counts, so no rule for stopping can do worse."""

DELAY = (
    """How soon a lasting error is found, at 50 positives a day; in streams that were not alarmed of before it began:"""
)
VISITORS = """\
Customers with several rows, of which some come again every day, each with a lasting effect of his own on his labels (a
normal copula of this correlation); predictions are right on average over customers. In percent of streams of 100 days,
with `cluster=`; and how often a factor of 1.5 on all odds, there from the first day, is found within 30 days, in a
quarter as many streams. Customers taken as new ones every day, the same 25 raise an alarm in 70 % and the same 200 in
50 %."""

SLICES = """## Slices

How often the search lists anything at 0.05. The odds of one group, of a pair of columns ("c0=b" and c1 above its mean),
are multiplied by a factor: 1 is a right model."""

SLICES_CLUSTERS = """The same of right models whose rows go together by customer (a copula of this correlation), with
[`cluster=`](data.md#several-of-one-customer) and without. Half of the columns are the customer's, half the row's, and
none says anything."""

REMEDY = """## Recalibration

The mean excess log loss (x 10,000) of each kind of map on all rows to come; what is lost to the true probabilities.
"auto" chooses among all of them, and may shrink or average. "over best" is what it loses more than the best kind of
the world does, which nobody knows beforehand: in percent, and in numbers, what fitting one number costs: 1 / (2 N) in
log loss. Of {worlds} worlds auto is within 10 % in {near}, and where it is not, within half of a number's cost in
{slight}; of the {fresh} that the rule was not set on, in {fresh_near} and {fresh_slight}. It falls short in {short}.

No rule is within 10 % everywhere. Where the model is right, no map costs nothing and every other one infinitely more,
and a rule that costs little there must leave errors that rows hardly show, or mend them in part. By theory, with no
kind but an offset, one that takes it for a gain of 4 in log-likelihood costs right models a twentieth of a number's
cost, and 3.5 numbers' cost where the error is as large as that gain; with a price of 1.5, and shrunk, it is a seventh,
and 1.4 at most. Prices were set on the worlds marked so and on four like them; the others had no part in that.

The last column is how often the proof said that it helps, in {proven} data sets of wrong models; right models in at
most {right} % of {sets} data sets."""

REMEDY_CLUSTERS = """The same of right models whose rows go together by customer, so many rows each: how often the proof
said that a map helps, in percent, with `cluster=`."""

REMEDY_WINDOWS = """Windows of time, so many rows each, whose odds are twice those predicted, and in the second half of
the windows as much more as "odds later" says: how often `recalibrate` says that the error moves over time, in percent.
Where the odds stay (x 1), that is a false alarm."""

ROWS = """## Rows as they come

How often the verdict calls a right model off at 0.05, in percent, where rows are sampled by label, or labels are
flipped or late, and [`Sampling`](data.md) say so. {sets} data sets of about 4,000 rows a
number, which chance moves by {error} points in one of twenty. The lowest are those that expect fewer than ten
positives."""

ROWS_POWER = """And how often it finds all odds off by 1.25, beside plain rows that carry the same information, in
percent of {sets} data sets, {flipped} where labels are flipped. Of these the third number is of plain rows with the
information that a number of positives carries: labels of small predictions are mostly flips, and who counts positives
weighs them like the others. One test of the verdict, `odds_ratio`, weighs labels by what they tell; the fourth
number is what their weighted sum finds alone, beyond 1.96 standard deviations. Of 5 and 1 % positive rows the verdict finds
{counted} % of what the same counted information would, and {same} % of what all of it would, but less than 80 % of
that in {short} of {lines} lines; least where {worst}.{blank}"""

ROWS_RARE = """What is short of 80 % there is so by chance or by an uneven comparison, where few rows are positive.
Positives of plain rows vary more where more come than were predicted, which takes them farther out, and less where
fewer come; flips vary as before. So of the same information plain rows find more of odds that are too low and less of
odds that are too high, the more so the less they find at all. The same four numbers for odds times 1.25 and odds over
1.25, where 1 % are positive and a tenth of them flipped, of 4,000 rows and others, on {fewest} to {most} other data
sets; and what is found of both errors over what plain rows of the same information find: {both_low} to {both_high} %.
Of odds over 1.25 alone it is {down_low} to {down_high} %. Of odds times 1.25 alone it is {up_low} to {up_high} % where
plain rows find 20 % or more, and {few_low} to {few_high} % where they find less; {below} of {lines} lines stay short of
80 %, {named}."""

CLUSTERS = """## Rows of one customer

How often the verdict calls a right model off at 0.05, in percent, where rows of one customer go together and
[`cluster=`](data.md#several-of-one-customer) says so; {sets} data sets a number, or {again_sets}. Labels go together by
a copula of this correlation (c), by an effect of the customer on all his log-odds (o), or by a rate of his own, around
one prediction for all his rows, with labels of this correlation (r). Without `cluster=` up to {without} % are called
off.

Of the {many} numbers that expect {least} positives or more, counted as independent ones (over the design effect),
{many_inside} lie within 3 to 7, where all should (lower: {many_below}, higher: {many_above}). Those that lay
outside of 3.5 to 6.5 were measured again on {again_sets} other data sets, and these alone count: {again} numbers, which
chance moves by {again_error} points in one of twenty, the others by {error}.{outside}
Of the other {few} numbers, {few_inside} lie within 3 to 7 (lower: {few_below}, higher: {few_above}): outcomes are
too few for a level of 5 %. None at all would not be surprising, and where too many come, they come from few customers,
which says as well that rows of one go together. There the verdict says "inconclusive".{missing}

Nothing was tuned on {worlds} worlds drawn at random: 500 to 8,000 rows, customers of 2 to 50 rows on average, equal or
uneven, 0.5 to 90 % positive, correlations up to 0.5. {worlds_inside} of the {worlds_many} that expect {least} of the
rarer label or more lie within 3 to 7 %{worlds_others}; and {few_worlds_inside} of the {worlds_few} with fewer.
The highest is {worlds_most} %."""

OUTSIDE = """Outside: {named}. 20 customers hardly tell how far rows of one go together."""

CLUSTERS_POWER = """And how often it finds all odds off by a factor, beside independent rows of the same information
(rows over the design effect), in percent of {sets} data sets."""

FINDS = """## Who finds what

The share of data sets, in percent, in which each test finds the model wrong at 5 %: TCE, ECE and ACE by their
references, the others by their own p-values. Perfect models in the first row: what is far above 5 there is a false
alarm. True probabilities are spread as Beta(1, (1 - prevalence) / prevalence); the number of data sets falls from 100
at N = 500 to 4 at a million, so the last column is coarse."""

VALUES = """Values at N = 50,000:"""

ALERT = """An error in the top 1 % of predictions alone, found by TCE over all rows and over `top=0.01`:"""

END = """### Where TCE is the right tool, and where it is not

- **Not as a size.** TCE says which share of predictions the data reject. That depends on the error, on the rows and on
  the prevalence: predictions a fifth too low score {fifth} % at 50, 10, 1 and 0.1 % positives, in the table above. ECE
  has the opposite fault: it shrinks with the prevalence and says nothing about chance. Observed over expected is the
  size.
- **Against chance.** Read it with its reference. What a perfect model scores depends on its scores: {low} to {high} %
  here.
- **Not for a yes or no.** It needs single bins to be rejected, so small errors that all point one way are found sooner
  by Cox's test and by cumulative differences, at every prevalence and size above. Both are tests of the verdict; take
  that. Spiegelhalter's test is blind to over- and under-confidence that leaves the Brier score alone.
- **Not over all rows for a rare region.** An error confined to the top 1 % of predictions can add at most one point to
  TCE, and its bins hold more rows than that: it is not found at any size. Restricted to the region that acts
  (`threshold=`, `top=`) it is.
- **Few positives reject little.** At 0.1 % positives and 5,000 rows next to nothing is found. A low TCE then means
  "not rejected"; `plan` says how much data it takes, and every bin lists the rates it could have seen."""
