"""Options are declared once, and everything else follows from the declarations."""

import inspect
import math
import re
from dataclasses import asdict

import numpy as np
import pytest

import truecal
from truecal import Sampling
from truecal._errors import option, set_spelling
from truecal._options import (
    METRICS,
    AtLeast,
    Column,
    Columns,
    DataOptions,
    EvaluateOptions,
    Interval,
    LimitOptions,
    OneOf,
    SamplingOptions,
    find_options,
    options_of,
)
from truecal._threads import count_cores
from truecal.cli import _commands as commands
from truecal.cli import _options as options
from truecal.gate import LIMITS
from truecal.plot._kinds import KINDS
from truecal.reading import Limits


@pytest.mark.parametrize("command", options.COMMANDS)
def test_a_command_is_a_function_and_has_options(command):
    assert callable(getattr(commands, command))
    names = [declared.name for declared in options.options_of(command)]
    assert len(set(names)) == len(names)  # each once
    parsed = {action.dest for action in options.make_parser(command)._actions} - {"help"}
    assert parsed == set(names)


def test_every_option_belongs_to_commands_that_exist():
    for declared in options.OPTIONS:
        assert set(declared.commands.split()) <= set(options.COMMANDS), declared.words


def test_parameters_of_the_library_are_spelled_as_options():
    """Whatever a command hands on is called there as the user wrote it."""
    judging = set(find_options(EvaluateOptions)) - {"binning", "test", "confidence"}  # no options of commands
    for name in {*find_options(DataOptions), *find_options(SamplingOptions), *judging}:
        assert options.spell_parameters("evaluate")[name].startswith("--"), name
    assert options.spell_parameters("drift")["draws"] == "--null-draws"
    assert options.spell_parameters("compare")["draws"] == "--resamples"
    assert options.spell_parameters("plan")["y_prob"] == "RATE"


FUNCTIONS = {
    truecal.read: ("data",),
    truecal.read_models: ("data",),
    truecal.evaluate: ("y_true", "y_prob", "metrics"),
    truecal.compare: ("y_true", "y_prob", "y_prob_other", "metrics"),
    truecal.segments: ("data", "metric", "by"),
    truecal.drift: ("data", "metric"),
    truecal.slices: ("data",),
    truecal.recalibrate: ("y_true", "y_prob"),
    truecal.check: ("data", "rules", "baseline", "recalibration"),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_keyword_of_a_function_is_declared_and_documented(function):
    parameters, declared = inspect.signature(function).parameters, options_of(function)
    assert set(parameters) == {*FUNCTIONS[function], *declared}
    for name, each in declared.items():
        assert parameters[name].default == each.default, name
        assert re.search(rf"^ *(\w+, )*{name}(, \w+)* : ", function.__doc__, re.MULTILINE), name
        each.check(name, each.default)
    assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_is_not_declared_is_refused_with_what_may_be_meant(function):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        function(None, nothing_of_ours=1)


TWINS = {  # the functions of commands, and what differs on the command line, with why
    "compare": (
        truecal.compare,
        {"random_state": 0, "threads": count_cores()},
    ),  # the same answer on every run, all cores
    "segments": (truecal.segments, {"null_draws": None, "random_state": 0, "threads": count_cores()}),
    "drift": (truecal.drift, {"null_draws": None, "every": None, "random_state": 0, "threads": count_cores()}),
    "evaluate": (
        truecal.evaluate,  # more is computed where a person reads it
        {"null_draws": None, "resamples": None, "random_state": 0, "threads": count_cores()},
    ),
    "slices": (truecal.slices, {}),
    "recalibrate": (truecal.recalibrate, {}),
    "check": (truecal.check, {"threads": count_cores(), "significance": None}),  # that of rules
    "plan": (truecal.plan, {}),
}
NAMED = {"random_state": "seed"}


@pytest.mark.parametrize("command", TWINS)
def test_options_of_a_command_have_the_defaults_and_choices_of_their_twins(command):
    function, differ = TWINS[command]
    parameters, declared = inspect.signature(function).parameters, options_of(function)
    found = {argument.name: argument for argument in options.options_of(command)}
    twins = [name for name in parameters if NAMED.get(name, name) in found and name not in ("metrics", "rules")]
    assert len(twins) > 1
    for name in twins:
        argument = found[NAMED.get(name, name)]
        usual = differ.get(name, parameters[name].default)
        assert argument.default == (None if usual in ((), inspect.Parameter.empty) else usual), name
        choices = declared[name].choices if name in declared else ()
        assert set(choices) <= {*(argument.choices or choices)}, name


def test_reading_has_the_defaults_of_read_on_every_command():
    declared = find_options(DataOptions, SamplingOptions, LimitOptions)
    for command in options.COMMANDS:
        for argument in options.options_of(command):
            if argument.name in declared and argument.group in options.NEEDS_ROWS and command != "drift":
                given = (None, declared[argument.name].default)
                assert argument.default in given, (command, argument.name)
    assert asdict(Sampling()) == {name: option.default for name, option in find_options(SamplingOptions).items()}
    assert asdict(Limits()) == {name: option.default for name, option in find_options(LimitOptions).items()}


def test_names_that_are_declared_have_an_implementation():
    assert tuple(truecal.metrics.METRICS) == METRICS
    assert {name.replace("-", "_") for name in options.PLOTTED} <= set(KINDS)
    assert all(callable(getattr(truecal.plot, name)) for name in KINDS)
    assert list(options.LIMITS) == list(LIMITS)


@pytest.mark.parametrize(
    ("constraint", "good", "bad", "rule"),
    [
        (Interval(0, 1), [0, 1, 0.5, np.float32(0.5)], [-0.1, 1.1, math.nan, True, "0.5", None], "lie in [0, 1]"),
        (Interval(0, 1, "neither"), [0.5], [0, 1, math.nan], "lie between 0 and 1"),
        (Interval(0, 1, "right"), [1, 1e-9], [0, 2], "lie in (0, 1]"),
        (Interval(0, 1, "left"), [0, 0.9], [1, -1], "lie in [0, 1)"),
        (AtLeast(1), [1, np.int64(5)], [0, 1.0, True, "1", None], "be a whole number, 1 or more"),
        (OneOf(("holm", "bh", None)), ["holm", None], ["Holm", 1, ["holm"]], 'be "holm", "bh" or None'),
        (Column(), ["p"], [1, ["p"], None], "be the name of a column"),
        (Columns(), ["p", ["p", "q"], ()], [1, [1], {"p"}], "be the name of a column, or names"),
    ],
)
def test_constraints_admit_what_their_rule_says(constraint, good, bad, rule):
    assert constraint.rule == rule
    assert all(constraint.admits(value) for value in good)
    assert not any(constraint.admits(value) for value in bad)


def test_errors_speak_as_they_are_told(monkeypatch):
    from contextvars import copy_context

    def tell():
        set_spelling(options.spell_parameters("evaluate"))
        return option("pos_label"), option("nothing of ours")

    assert copy_context().run(tell) == ("--pos-label", "`nothing of ours`")
    assert option("pos_label") == "`pos_label`"  # the library again


def test_defaults_are_those_of_the_library():
    read = options.make_parser("evaluate").read(["a.csv"])
    assert (read.grid, read.significance) == (Limits().grid, 0.05)
    assert options.size("4GiB") == Limits().memory  # as the help says
    parameters = inspect.signature(truecal.plan).parameters
    planned = options.make_parser("plan").read(["0.1", "--ratio", "2"])
    assert (planned.power, planned.significance) == (parameters["power"].default, parameters["significance"].default)


def test_names_come_by_commas_and_by_repeating():
    read = options.make_parser("evaluate").read(["-p", "a,b", "x.csv", "--score", "c", "y.csv"])
    assert read.score == ["a", "b", "c"]
    assert read.files == ["x.csv", "y.csv"]
    assert options.make_parser("merge").read(["a.parquet", "--by", "none", "-o", "b.parquet"]).by == []
    assert options.make_parser("merge").read(["a.parquet", "-o", "b.parquet"]).by is None
