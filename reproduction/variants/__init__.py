"""What exists only to match a published number: never part of the library.

Each module names one habit of the paper's computations that differs from the paper's text or from truecal.
"""
