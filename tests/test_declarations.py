"""Every option is declared once: the signature, the docstring, the check and the command line follow from it."""

import inspect
import re
from types import ModuleType
from typing import get_args

import pytest

import truecal
from truecal import _options
from truecal._options import DECLARED, OPTIONS, options_of
from truecal._threads import count_cores
from truecal.cli import _options as cli

MODULES = [truecal, *(value for name in truecal.__all__ if isinstance(value := getattr(truecal, name), ModuleType))]
# functions of few fixed parameters below `read` and `evaluate`, whose docstrings tell them in sentences
LOW = {"sort_rows", "infer_time", "infer_columns", "scan"}


def list_callables():
    """Public functions, and public classes with a declaration."""
    found = {}
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or (inspect.isclass(value) and options_of(value)):
                found[f"{module.__name__}.{name}"] = value
    return found | {"truecal.Monitor.update": truecal.Monitor.update}


CALLABLES = list_callables()


def test_a_name_has_one_declaration():
    for declared in DECLARED:
        for name, hint in declared.__annotations__.items():
            assert get_args(hint)[1] is OPTIONS[name], (declared.__name__, name)
    options = [value for value in vars(_options).values() if isinstance(value, _options.Option)]
    assert all(any(value is known for known in OPTIONS.values()) for value in options)


def test_variants_are_of_functions_and_commands_that_exist():
    known = {value.__name__.lower() for value in CALLABLES.values()} | {*cli.COMMANDS, _options.ARRAYS, "rule"}
    for name, each in OPTIONS.items():
        for keys in (*each.meanings, *each.variants):
            assert set(keys.split()) <= known, (name, keys)
        assert set(each.commands.split()) | set(each.more) - {""} <= set(cli.COMMANDS), name


@pytest.mark.parametrize("name", CALLABLES)
def test_every_parameter_is_in_the_docstring_once(name):
    function, doc = CALLABLES[name], inspect.getdoc(CALLABLES[name])
    for parameter in {*inspect.signature(function).parameters} - {"self"}:
        entries = re.findall(rf"^(?:\w+, )*{parameter}(?:, \w+)*(?: :|$)", doc, re.MULTILINE)
        assert len(entries) == 1 or function.__name__ in LOW, parameter
    assert not re.search(r"^options$", doc, re.MULTILINE)  # no parameter is called so


@pytest.mark.parametrize("name", CALLABLES)
def test_a_parameter_of_a_declared_name_is_declared(name):
    """What is called like an option is that option, with its default."""
    function, declared = CALLABLES[name], options_of(CALLABLES[name])
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in declared:
            assert parameter.default == declared[parameter.name].default, parameter.name
        elif function.__name__ not in LOW:
            assert parameter.name not in OPTIONS or (function.__name__, parameter.name) in OTHERS, parameter.name


OTHERS = {  # the same word for something else
    ("compute", "metric"),
    ("save", "kind"),
    ("from_json", "kind"),
    ("intervals", "metrics"),
    ("differences", "metrics"),
    ("null_distribution", "metrics"),
    ("read_rules", "metrics"),
    ("differences", "pairs"),
    ("recalibration", "recalibration"),
}


@pytest.mark.parametrize("name", [name for name, value in CALLABLES.items() if options_of(value)])
def test_declared_defaults_satisfy_their_constraints(name):
    for key, each in options_of(CALLABLES[name]).items():
        each.check(key, each.default)
        if each.constraint is not None:
            with pytest.raises(each.constraint.kind, match=f"`{key}` must {re.escape(each.constraint.rule)}"):
                each.check(key, object())


# what only the command line has: files, forms of output, and switches for values of options
ONLY_HERE = {
    *("files", "folder", "shell", "rate", "output", "json", "csv", "junit", "markdown", "plot", "bins", "explain"),
    *("state", "reset", "log", "prom", "check", "sql", "map", "into", "no_color", "debug", "compare", "rules"),
    *("segment", "allow_inconclusive", *cli.LIMITS),
    *("drop_missing", "percent", "logit", "no_pairs"),  # missing, score_scale and pairs
}
# options whose default is another than in the library, and why
ELSEWHERE = {
    "null_draws": "a person reads the answer, who wants to know what a calibrated model would have",
    "resamples": "as null_draws",
    "random_state": "the same answer on every run",
    "threads": "all cores",
    "every": "observations have their own",
    "limit": "all rows, as a file is read in this process",
    "memory": "that of the library, written with a unit",
    "min_rows": "that of a rule",
    "significance": "that of a rule, and of a monitor that is kept",
    "metrics": "a terminal has less room than a result",
    "adjust": "groups are adjusted for by Holm",
}


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_option_of_a_command_is_a_declared_one_or_of_the_command_line_alone(command):
    for argument in cli.options_of(command):
        if argument.option is None:
            special = {("plot", "kind"), ("apply", "score")}  # of a picture; of a map, which knows its own
            assert argument.name in ONLY_HERE or (command, argument.name) in special, argument.words
            continue
        name = {"seed": "random_state"}.get(argument.name, argument.name)
        assert argument.option is OPTIONS[name]
        assert command in argument.option.commands.split() or (command, name) == ("merge", "by")
        each = argument.option.of(command)
        if argument.default != (None if each.default == () else each.default):
            assert name in ELSEWHERE, argument.words
            assert argument.default in (None, 0, "holm", count_cores())
        assert set(argument.choices or ()) <= {*each.choices, "none"}


def test_a_declared_option_is_on_the_command_line_without_being_listed_there():
    without = [argument for argument in cli.LISTED if argument.name not in ("power", "worst")]
    found = [(argument.words, argument.help, argument.commands) for argument in cli.bind_others(without)]
    listed = [argument for argument in cli.LISTED if argument.name in ("power", "worst")]
    assert sorted(found) == sorted((argument.words, argument.help, argument.commands) for argument in listed)
    assert list(cli.bind_others(cli.LISTED)) == []


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_the_command_line_admits_what_the_constraint_admits(command):
    for argument in cli.options_of(command):
        if argument.option is not None and argument.type is not None:
            constraint = argument.option.of(command).constraint
            if isinstance(constraint, _options.AtLeast) and argument.name not in ("memory", "min_rows"):
                assert argument.type(str(constraint.least)) == constraint.least
                with pytest.raises(Exception, match="whole number"):
                    argument.type(str(constraint.least - 1))


@pytest.mark.parametrize(
    "function",
    [*(f for f in CALLABLES.values() if options_of(f) and getattr(f, "__keywords__", None))],
    ids=lambda function: function.__name__,
)
def test_a_misspelt_keyword_is_answered_with_the_one_that_is_meant(function):
    """Wherever keywords are taken as options."""
    name = next(iter(function.__keywords__))
    required = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}x'") as caught:
        function(*[None] * len(required), **{f"{name}x": 1})
    assert f"did you mean {name!r}?" in str(caught.value)
