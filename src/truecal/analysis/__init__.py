"""From observations to results."""

from truecal._face import open_face as _open

_, __getattr__, __dir__ = _open(__name__, __file__)
