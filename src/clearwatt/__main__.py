"""``python -m clearwatt``: the command line."""

import sys

from clearwatt.cli import main

if __name__ == "__main__":
    sys.exit(main())
