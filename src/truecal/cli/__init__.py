"""The command line."""

from truecal.cli._main import main as main
