"""Every sentence, label and formatted number about results."""

from truecal._lazy import lazy_names as _open

_, __getattr__, __dir__ = _open(__name__, __file__)
