"""The prose of docs/inference.md, around the tables of the study."""

HEAD = """# How far the inference can be trusted

Measured by `make study`, which writes this page; the numbers are in `study/results/`. Labels are simulated, so the
truth is known. Rows are independent except in [clusters](#rows-of-one-customer)."""

LOCAL = """## Local TCE

Local TCE is truecal's own variant of TCE, not in the paper. A calibrated model must score the level, 5, whatever its
rows, prevalence, ties and shape of scores. Mean Local TCE of calibrated
models by rows / by information, {sets} data sets per cell (4,000 for the two shapes with two scores, whose few
windows make single values vary widely); the standard error is at most {error}. From
1,000 rows on the means lie between {low} and {high} by rows, and between {least} and {most} by information if the
information V, the sum of p (1 - p), is above 1. Below that there is next to no information.

Positives are simulated cell by cell, Binomial(n, mean score of the cell): a cell is 1/2048 of its score wide, so this
is the distribution of the rows to within a 2^-24 part of its variance. Up to 1,000 rows every data set has predictions
of its own, at 10,000 one in a hundred, beyond that all labels belong to one set of predictions."""

GROWTH = """**It is not an effect size.** Local TCE of Beta(.5, 5) predictions whose true rate is 0, 2, 5 and 20% higher,
without and with a tolerance of a tenth of each prediction (`Relative(0.1)`). Without one, the same error scores more
the more rows there are; every error reaches 100 in the end. With one, an error within it goes to 0 and one beyond it
goes to 100: the number has a limit. So read observed over expected beside it, and give a tolerance if small errors do
not matter."""

SIZE = """## The verdict

How often a calibrated model is called miscalibrated: p at most 0.05 / at most 0.01, in percent, in the data sets above.
Over all cells it is {low} to {high}% at 0.05, {mean}% on average, and {least} to {most}% at 0.01, {usual}% on average;
{sets} data sets leave a standard error of {error} points at 5%. The last four shapes were added for this table only,
after the verdict was finished: {fresh_low} to {fresh_high}% at 0.05. If few positives are expected, few outcomes
are possible, and the verdict stays below its level."""

POWER = """**Power**, in percent, at 20,000 rows, {sets} data sets per line: how often the verdict is "miscalibrated" for
models that are, beside the plain Cauchy combination of five component tests (cox, cumulative, total, scan_information,
scan_rows) in the same data sets. The five call {five}% of the calibrated models above miscalibrated at 0.05 on average,
the verdict {ours}%. m is N^(2/3), 737 rows; blocks are 1.4 and 0.6 times the prediction in turn. A bad half percent is
100 neighbouring rows: anywhere, most of them have few expected positives, which cannot be distinguished from three
times as many; in the upper third of the scores they predict 9% or more."""

CONSISTENT = """**"Consistent"** must be ruled out for an odds ratio of 1.5 on all predictions. At the fewest rows that
make this status possible, how often such models are called miscalibrated and consistent (the rest: for other draws of
the predictions the verdict is inconclusive). By its definition the status may be wrong here in one of five."""

TOLERANCE = """**With a tolerance** of a tenth, how often the verdict is "miscalibrated", at 0.05, for predictions that
are calibrated, too low or too high by exactly the tolerance, and too low by a fifth. The first three must be at most
5."""

GATE = """## The gate

The gate uses the verdict at 0.01. Calibrated models, {sets} data sets per cell: in percent, how often it fails / how
often it passes; the rest is "inconclusive". It fails {mean}% on average, {high}% at most, with a standard
error of 0.3 points in each cell."""

SEGMENTS = """Sets of 12 calibrated segments ({sets} sets per line), each of so many rows, under one rule for all of
them, whose p-values are adjusted by Holm's procedure:"""

WRONG = """Miscalibrated models, and models about which the data carry no information:"""

GROUPS = """## Segments

Calibrated segments, {sets} data sets per line: how often any of them is called miscalibrated, in %, which should be at
most 5, and how often a gate fails that requires every segment to be consistent."""

BAD_SEGMENT = """One of 20 segments is miscalibrated: it has 0.4 times the expected positives, or its log-odds
are twice as far apart as the true ones. How often it is detected, in %, with Holm's adjustment for 20 segments.
`expected` is the number of expected positives in one segment."""

DRIFT = """## Drift statuses

One look at 30 periods, {sets} series per line, the first 10 periods being the baseline: how often each status is given,
in %. Calibrated models are called miscalibrated in {low} to {high}%. This holds for one look. A job that looks every
day at the last 30 periods looks 365 times a year: `monitor` is made for that."""

SIZES = """## The default sizes

n_min = min(N/20, c N^(2/3)), n_max = 4 n_min. TCE should measure how wrong a model is, not how many rows it was
tested on, so a calibrated model should score low at every N, and a miscalibrated one high. Below: the mean TCE of
calibrated predictions / of predictions a fifth too low. The paper's fixed shares reach 70 to 94% for calibrated models.
Every c keeps them level; c = 1 is the largest that stays within 1 to 16% on all five shapes (grey), it has the highest
power, and it leaves the paper's sizes unchanged up to N = 8000. So c = 1 is the default."""

LEVEL = """## Null distributions

For calibrated predictions the null mean must be the mean TCE, and p-values must be uniform: 1000 data sets per
line, 199 draws each. With rare positives TCE takes few values, many of them 0, so p-values are coarse and
conservative. Below that, how often predictions a fifth too low are detected."""

BETWEEN = """## Confidence intervals

Nominal coverage 95%, {sets} data sets per line, each with predictions and labels of its own. The target is the metric's
expectation, its mean over data sets of this size from the same source. The method was chosen on the cases marked so.

The confidence intervals of test-based metrics cover {low} to {high}%, {below} of their {lines} lines below 92. For
calibrated models they are mostly too wide, since some chance variation is taken for error. Those of gap metrics cover
{least} to {most}%; below 92 are {worst}."""

DIFFERENCES = """**Differences** of two models on the same rows, as `compare` computes them, nominal coverage 95%. Log
loss and Brier score have the confidence interval of a paired mean, the others resample labels from a logistic
regression on both models. Those of ECE and ACE cover too little where they were measured (86 to 95%), so `compare` does
not offer them; those of intercept, Spiegelhalter's z, cumulative differences, smooth ECE, ATB and net benefit were not
measured. Log loss and Brier score cover less than 92% if 1,000 rows have ten positives: a mean of so few large terms is
not normal. Those of the slope cover 89 to 100%: distances from 1 are compared, which bend at 1, and slopes are often
near it."""

WATCH = """## The monitor

How often series of calibrated models ever raise an alarm in {looks} daily looks at a significance of 0.05. An alarm at
any look counts, so no stopping rule can do worse."""

DELAY = """How soon a lasting error is detected, at 50 positives a day; in series without an alarm before it began:"""
VISITORS = """\
Customers with several rows, some of whom return every day, each with a lasting effect on the labels (a
normal copula of this correlation); predictions are calibrated on average over customers. In percent of series of 100
days, with `cluster=`; and how often an odds ratio of 1.5 on all predictions, present from the first day, is detected
within 30 days, in a quarter as many series. If customers are taken as new ones every day, the same 25 raise an alarm in
70% and the same 200 in 50%."""

SLICES = """## Slices

How often the search lists anything at 0.05. The odds of one group, of a pair of columns ("c0=b" and c1 above its mean),
are multiplied by an odds ratio: 1 is a calibrated model."""

SLICES_CLUSTERS = """The same for calibrated models with rows correlated by customer (a copula of this correlation),
with [`cluster=`](data.md#several-of-one-customer) and without. Half of the columns are the customer's, half the row's,
and none is informative."""

RECALIBRATION = """## Recalibration

The mean excess log loss (x 10,000) of each kind of calibration map on all future rows, over that of the true
probabilities. "auto" chooses among all of them, and may shrink or average. "over best" is its loss beyond that of the
best kind in the scenario, which is unknown beforehand: in percent, and in parameters, the cost of fitting one
parameter: 1 / (2 N) in log loss. Of {worlds} scenarios auto is within 10% in {near}, and otherwise within half of a
parameter's cost in {slight}; of the {fresh} that the rule was not tuned on, in {fresh_near} and {fresh_slight}. It
falls short in {short}.

No rule is within 10% everywhere. For a calibrated model, no map costs nothing and every other one infinitely more,
and a rule that costs little there must leave errors that the data hardly show, or correct them in part. By theory, with
no kind but an offset, a rule that requires a gain of 4 in log-likelihood costs calibrated models a twentieth of a
parameter's cost, and 3.5 parameters' cost if the error is as large as that gain; with a penalty of 1.5, and shrunk, it
is a seventh, and 1.4 at most. Penalties were tuned on the scenarios marked so and on four like them; the others were
not used for that.

The last column is how often the held-out validation found that it helps, in {proven} data sets of miscalibrated models;
for calibrated models in at most {right}% of {sets} data sets."""

RECALIBRATION_CLUSTERS = """The same for calibrated models with rows correlated by customer, so many rows each: how often the
validation found that a map helps, in percent, with `cluster=`."""

RECALIBRATION_PERIODS = """Periods of so many rows each, whose odds are twice those predicted, and in the second half of
the periods multiplied again by "odds later": how often `recalibrate` notes that the error changes over time, in
percent. If the odds stay (x 1), that is a false alarm."""

ROWS = """## Sampling, label noise and label delay

How often the verdict calls a calibrated model miscalibrated at 0.05, in percent, if rows are sampled by label, or
labels are noisy or delayed, and [`Sampling`](data.md) declares it. {sets} data sets of about 4,000 rows per
number, with a 95% margin of error of {error} points. The lowest are those with fewer than ten expected positives."""

ROWS_POWER = """And how often it detects an odds ratio of 1.25 on all predictions, beside plain rows of the same
information, in percent of {sets} data sets, {flipped} with label noise. With label noise the third number is for plain
rows with the information of the number of positives: positive labels of small predictions are mostly noise, and a count
of positives weighs them like the others. One component test, `odds_ratio`, weighs labels by their information; the
fourth number is how often their weighted sum alone exceeds 1.96 standard deviations. With 5 and 1% positive rows the
verdict detects {counted}% of what the same counted information would, and {same}% of what all of it would, but less
than 80% of that in {short} of {lines} lines; least if {worst}.{blank}"""

ROWS_RARE = """Shortfalls below 80% there are due to chance or to an uneven comparison with few positive rows.
The number of positives of plain rows varies more if more are observed than expected, which takes it farther out, and
less if fewer are; label noise varies as before. So at the same information plain rows detect more of odds that are too
low and less of odds that are too high, the more so the lower the power. The same four numbers for odds times 1.25 and
odds over 1.25, with 1% positive and a tenth of them mislabelled, for 4,000 rows and others, on {fewest} to {most} other
data sets; and the power for both errors over that of plain rows of the same information: {both_low} to {both_high}%.
For odds over 1.25 alone it is {down_low} to {down_high}%. For odds times 1.25 alone it is {up_low} to {up_high}% if
plain rows have a power of 20% or more, and {few_low} to {few_high}% if they have less; {below} of {lines} lines stay
short of 80%, {named}."""

CLUSTERS = """## Rows of one customer

How often the verdict calls a calibrated model miscalibrated at 0.05, in percent, if rows of one customer are correlated
and [`cluster=`](data.md#several-of-one-customer) is given; {sets} data sets per number, or {again_sets}. Labels are
correlated by a copula of this correlation (c), by an effect of the customer on all log-odds (o), or by a rate of the
customer's own, around one prediction for all rows, with labels of this correlation (r). Without `cluster=` up to
{without}% are called miscalibrated.

Of the {many} numbers with {least} expected positives or more, counted as independent ones (over the design effect),
{many_inside} lie within 3 to 7, where all should (lower: {many_below}, higher: {many_above}). Those that lay
outside of 3.5 to 6.5 were measured again on {again_sets} other data sets, and these alone count: {again} numbers, with
a margin of error of {again_error} points, the others of {error}.{outside}
Of the other {few} numbers, {few_inside} lie within 3 to 7 (lower: {few_below}, higher: {few_above}): outcomes are
too few for a level of 5%. No positives at all would not be surprising, and too many positives belong to few customers,
which is also a sign of correlated rows. There the verdict is "inconclusive".{missing}

Nothing was tuned on {worlds} random scenarios: 500 to 8,000 rows, customers of 2 to 50 rows on average, equal or
uneven, 0.5 to 90% positive, correlations up to 0.5. {worlds_inside} of the {worlds_many} with {least} expected labels of
the rarer class or more lie within 3 to 7%{worlds_others}; and {few_worlds_inside} of the {worlds_few} with fewer.
The highest is {worlds_most}%."""

OUTSIDE = """Outside: {named}. 20 customers are hardly enough to estimate the correlation."""

CLUSTERS_POWER = """And how often it detects an odds ratio on all predictions, beside independent rows of the same
information (rows over the design effect), in percent of {sets} data sets."""

FINDS = """## Power of each test

The share of data sets, in percent, in which each test rejects calibration at 5%: TCE, ECE and ACE by their null
distributions, the others by their own p-values. Calibrated models are in the first row: rates far above 5 there are
false positives. True probabilities are distributed as Beta(1, (1 - prevalence) / prevalence); the number of data sets
falls from 100 at N = 500 to 4 at a million, so the last column is coarse."""

VALUES = """Values at N = 50,000:"""

ALERT = """An error in the top 1% of predictions alone, detected by TCE over all rows and over `top=0.01`:"""

END = """### When to use TCE, and when not

- **Not as an effect size.** TCE is the share of predictions that are rejected. That depends on the error, on the rows
  and on the prevalence: predictions a fifth too low score {fifth}% at 50, 10, 1 and 0.1% positives, in the table above.
  ECE has the opposite fault: it shrinks with the prevalence, and has no null distribution. Observed over expected is
  the effect size.
- **With its null distribution.** Read TCE beside its null mean. What a calibrated model scores depends on its scores:
  {low} to {high}% here.
- **Not for a yes or no.** It needs single bins to be rejected, so small errors in one direction are detected sooner
  by Cox's test and by cumulative differences, at every prevalence and size above. Both are component tests of the
  verdict; use that. Spiegelhalter's test is insensitive to over- and underconfidence that leaves the Brier score
  unchanged.
- **Not over all rows for a rare region.** An error confined to the top 1% of predictions can add at most one point to
  TCE, and its bins hold more rows than that: it is not detected at any size. Restricted to the region above the
  decision threshold (`threshold=`, `top=`) it is.
- **With few positives little is rejected.** At 0.1% positives and 5,000 rows next to nothing is detected. A low TCE then
  means "not rejected"; `plan` computes the required sample size, and every bin lists the nearest rates it could have
  detected."""
