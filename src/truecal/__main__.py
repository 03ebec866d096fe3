"""`python -m truecal` is `truecal`."""

import sys

from truecal.cli import main

sys.exit(main())
