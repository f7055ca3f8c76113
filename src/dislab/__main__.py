"""`python -m dislab`: the same as the `dislab` command."""

import sys

from dislab.cli import main

if __name__ == "__main__":
    sys.exit(main())
