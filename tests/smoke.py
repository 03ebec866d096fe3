"""A first number from an installed wheel, with nothing but what it requires: `python tests/smoke.py`."""

import random

import truecal

random.seed(1)
p = [random.betavariate(1, 20) for _ in range(5000)]
y = [random.random() < value for value in p]
right, half = truecal.evaluate(y, p).verdict, truecal.evaluate(y, [value / 2 for value in p]).verdict
print(f"truecal {truecal.__version__}: {right.status} as it is, {half.status} by x {half.ratio:.2f} where halved")
assert right.status == "consistent"
assert half.status == "miscalibrated"
assert 1.8 < half.ratio < 2.2
