"""Answers of language models with their confidence: logs of Inspect AI and samples of lm-eval.

A row is an answer: right or wrong, and how sure the model said it was. Confidences in percent are common, and so are
ties: 90 % may be the answer to half of all questions.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from truecal._errors import did_you_mean
from truecal.observations import Floats, Ints

CORRECT = {"C": 1, "I": 0, True: 1, False: 0, "true": 1, "false": 0}


def read_inspect(
    path: str | os.PathLike[str], *, confidence: str = "confidence", scorer: str | None = None
) -> tuple[Ints, Floats]:
    """Read an evaluation log of Inspect AI: whether each answer was right, and the confidence in it.

    Parameters
    ----------
    path : path
        A log as JSON or as an `.eval` file.
    confidence : str
        The key of the confidence in the metadata of a score or of its sample: a number in [0, 1], or text in percent
        such as "85%". Numbers above 1 are refused, unless all are whole numbers up to 100, which are percentages.
    scorer : str, optional
        The scorer to read, where there are several.

    Returns
    -------
    correct, confidence : arrays
        1 for a right answer, 0 for a wrong one; and probabilities. Give both to `truecal.evaluate`.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> from truecal.plugs import read_inspect
    >>> scores = [{"value": value, "metadata": {"confidence": said}} for value, said in (("C", "90%"), ("I", "60%"))]
    >>> log = {"samples": [{"scores": {"match": score}} for score in scores]}
    >>> written = Path("log.json").write_text(json.dumps(log))
    >>> correct, p = read_inspect("log.json")
    >>> correct.tolist(), p.tolist()
    ([1, 0], [0.9, 0.6])
    """
    correct, said = [], []
    for place, sample in enumerate(_open_inspect(path)):
        score = _choose_score(sample, scorer, place)
        known = {**(sample.get("metadata") or {}), **(score.get("metadata") or {})}
        correct.append(_as_label(score.get("value"), place))
        said.append(_find(known, confidence, place))
    return np.array(correct, dtype=np.int64), _as_probabilities(said)


def read_lm_eval(path: str | os.PathLike[str], *, metric: str = "acc") -> tuple[Ints, Floats]:
    """Read a file of samples that lm-eval writes with `--log_samples`, of a task of multiple choice.

    The confidence is the share of the chosen answer in the likelihood of all.

    Parameters
    ----------
    path : path
        A file `samples_<task>_<date>.jsonl`.
    metric : str
        Which of the task's metrics says whether an answer was right; "acc" or "acc_norm".

    Returns
    -------
    correct, confidence : arrays
        1 for a right answer, 0 for a wrong one; and probabilities. Give both to `truecal.evaluate`.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> from truecal.plugs import read_lm_eval
    >>> sample = {"filtered_resps": [[-1.0, True], [-3.0, False]], "acc": 1.0}  # log-likelihoods of two answers
    >>> written = Path("samples_arc_easy.jsonl").write_text(json.dumps(sample))
    >>> correct, p = read_lm_eval("samples_arc_easy.jsonl")
    >>> correct.tolist(), p.round(3).tolist()
    ([1], [0.881])
    """
    correct, said = [], []
    with open(path, encoding="utf-8") as file:
        for place, line in enumerate(file):
            sample = json.loads(line)
            logs = [float(part[0]) for part in sample["filtered_resps"]]
            highest = max(logs)
            said.append(1 / sum(math.exp(each - highest) for each in logs))
            correct.append(_as_label(_find(sample, metric, place), place))
    return np.array(correct, dtype=np.int64), np.array(said, dtype=np.float64)


def _open_inspect(path: str | os.PathLike[str]) -> Iterator[Mapping[str, Any]]:
    """The samples of a log; an `.eval` file is an archive with a file for each."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
            yield from (json.loads(archive.read(name)) for name in names)
        return
    with open(path, encoding="utf-8") as file:
        yield from json.load(file).get("samples") or ()


def _choose_score(sample: Mapping[str, Any], scorer: str | None, place: int) -> Mapping[str, Any]:
    scores = sample.get("scores") or {}
    if scorer is None and len(scores) == 1:
        found: Mapping[str, Any] = next(iter(scores.values()))
        return found
    if scorer is None:
        raise ValueError(f"`scorer` must be one of {sorted(scores)}; sample {place + 1} has {len(scores)} scores.")
    return dict(_find(scores, scorer, place))


def _find(known: Mapping[str, Any], key: str, place: int) -> Any:
    if key not in known:
        raise KeyError(f"Sample {place + 1} has no {key!r}.{did_you_mean(key, known)}")
    return known[key]


def _as_label(value: Any, place: int) -> int:
    if isinstance(value, str):
        value = value if value in CORRECT else value.lower()
    if value not in CORRECT:
        raise ValueError(f"An answer must be right or wrong; that of sample {place + 1} is {value!r}.")
    return CORRECT[value]


def _as_probabilities(said: list[Any]) -> Floats:
    """Confidences as probabilities; text in percent, and whole numbers up to 100 where any is above 1."""
    percent = [isinstance(each, str) and each.strip().endswith("%") for each in said]
    values = np.array([_as_number(each, place) for place, each in enumerate(said)], dtype=np.float64)
    whole = len(values) and values.max() > 1 and not any(percent) and bool(np.all(values == np.round(values)))
    values = values / 100 if whole else np.where(percent, values / 100, values)
    if not np.all((values >= 0) & (values <= 1)):
        place = int(np.argmax(~((values >= 0) & (values <= 1))))
        raise ValueError(
            f"A confidence must lie in [0, 1] or be in percent; that of sample {place + 1} is {said[place]!r}."
        )
    return values


def _as_number(value: Any, place: int) -> float:
    """A number, or text of one with or without a percent sign, which is left out."""
    try:
        return float(re.sub(r"\s*%\s*$", "", str(value)))
    except ValueError:
        raise ValueError(f"A confidence must be a number; that of sample {place + 1} is {value!r}.") from None
