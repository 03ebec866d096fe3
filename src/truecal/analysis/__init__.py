"""From observations to results."""

from truecal._lazy import lazy_names as _open

_, __getattr__, __dir__ = _open(__name__, __file__)
