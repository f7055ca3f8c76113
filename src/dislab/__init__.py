"""dislab: disentangled representation learning with PyTorch Lightning."""

import sys

if (
    sys.argv[:1] == ["-m"]  # Python looks for `__main__`
    and sys.orig_argv[-len(sys.argv)] in ("dislab", "-mdislab")
    and not sys.flags.safe_path
):
    # `python -m` imports from the working folder first, such as a user's random.py
    del sys.path[0]

from importlib.metadata import version

__version__ = version("dislab")
