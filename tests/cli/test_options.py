"""Options are declared once, and everything else follows from the declarations."""

import inspect

import pytest

import truecal
from truecal._errors import option, speak
from truecal.analysis import Options
from truecal.cli import _commands as commands
from truecal.cli import _options as options
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
    reading = set(inspect.signature(truecal.read_models).parameters) - {"data"}
    judging = set(Options.__annotations__) - {"binning", "test", "tolerance", "confidence"}  # no options of commands
    for name in reading | judging:
        assert options.spell_parameters("score")[name].startswith("--"), name
    assert options.spell_parameters("drift")["replicates"] == "--reference"
    assert options.spell_parameters("compare")["replicates"] == "--replicates"
    assert options.spell_parameters("plan")["y_prob"] == "RATE"


def test_errors_speak_as_they_are_told(monkeypatch):
    from contextvars import copy_context

    def tell():
        speak(options.spell_parameters("score"))
        return option("pos_label"), option("nothing of ours")

    assert copy_context().run(tell) == ("--pos-label", "`nothing of ours`")
    assert option("pos_label") == "`pos_label`"  # the library again


def test_defaults_are_those_of_the_library():
    read = options.make_parser("score").read(["a.csv"])
    assert (read.grid, read.significance) == (Limits().grid, 0.05)
    assert options.size("4GiB") == Limits().memory  # as the help says
    parameters = inspect.signature(truecal.plan).parameters
    planned = options.make_parser("plan").read(["0.1", "--ratio", "2"])
    assert (planned.power, planned.significance) == (parameters["power"].default, parameters["significance"].default)


def test_names_come_by_commas_and_by_repeating():
    read = options.make_parser("score").read(["-p", "a,b", "x.csv", "--score", "c", "y.csv"])
    assert read.score == ["a", "b", "c"]
    assert read.files == ["x.csv", "y.csv"]
    assert options.make_parser("merge").read(["a.parquet", "--by", "", "-o", "b.parquet"]).by == []
    assert options.make_parser("merge").read(["a.parquet", "-o", "b.parquet"]).by is None
