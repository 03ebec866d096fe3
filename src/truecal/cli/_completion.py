"""Completion scripts for shells, made from the commands' parsers."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass

from truecal.cli._arguments import METRICS
from truecal.cli._options import COMMANDS

FILES = ("FILE", "FOLDER", "COLUMN|FILE")


@dataclass(frozen=True, slots=True)
class Option:
    """An option as a shell sees it: its words, its help, and what follows it."""

    words: tuple[str, ...]
    about: str
    takes: bool
    choices: tuple[str, ...]
    files: bool


def write_script(shell: str) -> str:
    """The script of a shell: "bash", "zsh" or "fish"."""
    found = {name: _options(command.parser(name)) for name, command in COMMANDS.items()}
    places = {name: _choices(command.parser(name)) for name, command in COMMANDS.items()}
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](found, places)


def _options(parser: argparse.ArgumentParser) -> list[Option]:
    return [
        Option(
            tuple(action.option_strings),
            (action.help or "").partition(";")[0].replace("%%", "%"),
            action.nargs != 0,
            METRICS if action.dest == "metrics" else tuple(map(str, action.choices or ())),
            action.metavar in FILES,
        )
        for action in parser._actions
        if action.option_strings
    ]


def _choices(parser: argparse.ArgumentParser) -> tuple[str, ...]:
    """What stands in the place of files, if it is one of a few."""
    found = [action.choices for action in parser._actions if not action.option_strings and action.choices]
    return tuple(map(str, found[0])) if found else ()


def _bash(commands: dict[str, list[Option]], places: dict[str, tuple[str, ...]]) -> str:
    values, options, words = [], [], []
    for name, found in commands.items():
        for option in found:
            pattern = "|".join(f'"{name} {word}"' for word in option.words)
            if option.choices:
                values.append(f'        {pattern}) _truecal_words "{" ".join(option.choices)}"; return ;;')
            elif option.takes:
                values.append(f"        {pattern}) {'' if option.files else 'compopt +o default; '}return ;;")
        options.append(f'            {name}) _truecal_words "{" ".join(w for o in found for w in o.words)}" ;;')
        if places[name]:
            words.append(f'        {name}) _truecal_words "{" ".join(places[name])}" ;;')
    lines = [
        "# bash completion for truecal",
        "_truecal_words() {",
        '    COMPREPLY=($(compgen -W "$1" -- "${COMP_WORDS[COMP_CWORD]}"))',
        "}",
        "_truecal() {",
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        _truecal_words "{" ".join(commands)} --help --version"',
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in',
        *values,
        "    esac",
        '    if [[ "${COMP_WORDS[COMP_CWORD]}" == -* ]]; then',
        '        case "${COMP_WORDS[1]}" in',
        *options,
        "        esac",
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]}" in',
        *words,
        "    esac",
        "}",
        "complete -o default -F _truecal truecal",
    ]
    return "\n".join(lines)


def _zsh(commands: dict[str, list[Option]], places: dict[str, tuple[str, ...]]) -> str:
    names = " ".join(shlex.quote(f"{name}:{COMMANDS[name].about.replace(':', ',')}") for name in commands)
    cases = []
    for name, found in commands.items():
        specs = [shlex.quote(spec) for option in found for spec in _zsh_option(option)]
        specs.append(f"'*:{name}:({' '.join(places[name])})'" if places[name] else "'*:file:_files'")
        joined = " \\\n                ".join(specs)
        cases.append(f"        {name})\n            _arguments -s \\\n                {joined} ;;")
    return "\n".join(
        [
            "#compdef truecal",
            "_truecal() {",
            "    local -a commands",
            f"    commands=({names})",
            "    if (( CURRENT == 2 )); then",
            "        _describe command commands",
            "        return",
            "    fi",
            "    local name=$words[2]",
            "    shift words",
            "    (( CURRENT-- ))",
            "    case $name in",
            *cases,
            "    esac",
            "}",
            'if [ "$funcstack[1]" = "_truecal" ]; then _truecal "$@"; else compdef _truecal truecal; fi',
        ]
    )


def _zsh_option(option: Option) -> list[str]:
    about = option.about.replace("[", "(").replace("]", ")").replace(":", ",")
    value = ""
    if option.takes:
        value = (
            f":value:({' '.join(option.choices)})" if option.choices else ":file:_files" if option.files else ":value:"
        )
    return [f"*{word}[{about}]{value}" for word in option.words]


def _fish(commands: dict[str, list[Option]], places: dict[str, tuple[str, ...]]) -> str:
    lines = ["# fish completion for truecal"]
    for name, command in COMMANDS.items():
        lines.append(f"complete -c truecal -n __fish_use_subcommand -f -a {name} -d {_fish_quote(command.about)}")
        seen = f"complete -c truecal -n '__fish_seen_subcommand_from {name}'"
        for option in commands[name]:
            flags = " ".join(f"-l {w[2:]}" if w.startswith("--") else f"-s {w[1:]}" for w in option.words)
            value = ""
            if option.choices:
                value = f" -x -a {_fish_quote(' '.join(option.choices))}"
            elif option.takes:
                value = " -r -F" if option.files else " -x"
            lines.append(f"{seen} {flags}{value} -d {_fish_quote(option.about)}")
        if places[name]:
            lines.append(f"{seen} -f -a {_fish_quote(' '.join(places[name]))}")
    return "\n".join(lines)


def _fish_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
