"""Run `truecal check` with the inputs of the GitHub action; its exit code is that of the step.

The inputs come in the environment and are split into words as a shell does, but nothing in them is executed.
"""

import os
import shlex
import subprocess
import sys

MISUSE = 2  # the exit code of wrong usage


def split_words(name: str) -> list[str]:
    """Split an input into words."""
    try:
        return shlex.split(os.environ.get(name.upper(), ""))
    except ValueError as error:
        raise ValueError(f"`{name}` must be quoted as in a shell; it is not: {error}.") from error


def list_words() -> list[str]:
    """Return the words of the command; raise an error for inputs that would not check anything."""
    data, options = split_words("data"), split_words("options")
    if not data or not all(data):
        raise ValueError("`data` must name files, globs or folders; a name is empty.")
    if any(word.startswith("-") for word in data):
        raise ValueError("`data` must name files, globs or folders; an option belongs in `options`.")
    if any(word.startswith("-h") or word == "--help" for word in options):  # -hy is -h -y
        raise ValueError("`options` must not ask for help: that would check nothing.")
    return ["truecal", "check", *data, *options]


def main() -> int:
    """Run the command, and tell its exit code to later steps."""
    try:
        code = subprocess.run(list_words(), check=False).returncode
    except (OSError, ValueError) as error:
        print(f"truecal action: {error}", file=sys.stderr)
        code = MISUSE
    code = 128 - code if code < 0 else code  # ended by a signal
    if place := os.environ.get("GITHUB_OUTPUT"):
        with open(place, "a", encoding="utf-8") as file:
            file.write(f"exit-code={code}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
