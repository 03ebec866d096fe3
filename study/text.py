"""What the study's page says around its tables."""

HEAD = """# How far the inference can be trusted

Measured by `make study`, which writes this page; the numbers are in `study/results/`. Labels are simulated, so the
truth is known."""

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

Nominal coverage 95 %, 500 data sets a line, 200 replicates each. The target is the metric's expectation over labels
given the predictions, known here by redrawing labels from the truth; an excess has the same interval, shifted by the
reference's mean.

The method was chosen among six by this measure. For TCE at N = 2,000 and 20,000 an ordinary bootstrap of rows, taken
as a percentile interval, covered 40 to 100 %, as a basic one 32 to 82 %; redrawing from the recalibrated predictions,
the percentile interval covered 95 to 100 %, the basic one 50 to 75 %, a normal one 92 to 99 %, the centred
percentiles 92 to 95 %. What is offered is the mean of the last two. Recalibration has two parameters: a model
that is wrong in one region only is described by them badly, and its interval is then too wide rather than too narrow
(99.8 to 100 % coverage at N = 20,000).

TCE's intervals keep to 92 to 98 % in all twelve settings. ECE's are too wide at 1 % positives (99 %): read them as
such. Those of differences of ECE and ACE cover 86 to 95 %, so `compare` does not offer them."""

VERDICT = """## Who finds what

The share of data sets, in percent, in which each test finds the model wrong at 5 %: TCE, ECE and ACE by their
references, the others by their own p-values. Perfect models in the first row: what is far above 5 there is a false
alarm. True probabilities are spread as Beta(1, (1 - prevalence) / prevalence); the number of data sets falls from 100
at N = 500 to 4 at a million, so the last column is coarse."""

VALUES = """Values at N = 50,000:"""

ALERT = """An error in the top 1 % of predictions alone, found by TCE over all rows and over `top=0.01`:"""

END = """### Where TCE is the right tool, and where it is not

- **As a size.** TCE says which share of predictions the data refute, and where: 90 % for a prior shift at 10 %
  positives, 40 % where one region (a fifth of the rows, and what shares bins with it) is wrong, 12 % for a perfect
  model. ECE's 0.05 and 0.004 for the same shift at 10 % and 1 % positives cannot be read without knowing the
  prevalence.
- **Against chance.** Read it with its reference. What a perfect model scores depends on its scores: 1 to 18 % here.
- **As an alarm it is not the most sensitive.** It needs single bins to be refuted, so small errors that all point one
  way are found sooner by Cox's test and by cumulative differences, at every prevalence and size above. The verdict
  has both; take it for a yes or no, and TCE for how much and where. Spiegelhalter's test is blind to over-
  and under-confidence that leaves the Brier score alone.
- **Not over all rows for a rare region.** An error confined to the top 1 % of predictions can add at most one point
  to TCE, and its bins hold more rows than that: it is not found at any size. Restricted to the region that acts
  (`above=`, `top=`) it is.
- **Few positives refute little.** At 0.1 % positives and 5,000 rows next to nothing is found. A low TCE then means "not
  refuted"; `plan` says how much data it takes, and every bin lists the rates it could have seen."""
