"""The paper, reproduced: every table and figure, truecal's number beside the published one.

`python -m reproduction` runs everything, `python -m reproduction gda_main` or `python -m reproduction.gda_main` one
experiment. Not shipped in the wheel.
"""
