"""Frames of every engine, through one fixture."""

import pytest
from engines import ENGINES, make_builder

from truecal.reading import _plain


@pytest.fixture(params=ENGINES)
def make(request, need):
    """From columns (lists with None) to a frame of the engine."""
    return make_builder(request.param, need, request)


@pytest.fixture
def ask_both(monkeypatch):
    """What is found without polars where that is possible, and what polars finds."""

    def answer(function, *given):
        try:
            return function(*given)
        except (ValueError, TypeError) as error:
            return type(error).__name__, str(error)

    def both(function, *given):
        found = answer(function, *given)
        with monkeypatch.context() as patch:
            patch.setattr(_plain, "MOST", 0)
            return found, answer(function, *given)

    return both
