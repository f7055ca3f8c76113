"""`dislab push` and `dislab pull`: upload and download of models at the Hugging Face Hub."""

import argparse
from pathlib import Path
from typing import Final

from dislab.cli.arguments import Parser

_PUSH: Final = """\
Upload the model of a run to the Hugging Face Hub, as safetensors with a model card.

Log in first by `hf auth login`, or set HF_TOKEN."""

_PULL: Final = """\
Download a model from the Hugging Face Hub, check that it can be loaded, and print its folder.

The files hold tensors and settings; no code is read, and the settings may name parts of dislab,
torch, lightning and installed plugins only. `load_run(FOLDER)` makes the model in Python."""


def push(args: list[str]) -> int:
    """Uploads a model and returns the exit status."""
    parser = _parser("dislab push", _PUSH)
    parser.add_argument(
        "run", metavar="RUN", help="folder of a finished run, or of an export in safetensors"
    )
    parser.add_argument(
        "repository", metavar="REPO", help="user/name on the Hub; made when missing"
    )
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    parser.add_argument(
        "--half", action="store_true", help="store the weights in half precision (float16)"
    )
    options = parser.parse_args(args)
    from dislab import exports

    print(exports.push(options.run, options.repository, options.private, options.half))
    return 0


def pull(args: list[str]) -> int:
    """Downloads a model and returns the exit status."""
    parser = _parser("dislab pull", _PULL)
    parser.add_argument("repository", metavar="REPO", help="user/name on the Hub")
    parser.add_argument(
        "--out", metavar="FOLDER", help="a new folder; the name of the repository unless given"
    )
    parser.add_argument(
        "--revision", metavar="NAME", help="a branch, tag or commit; the newest unless given"
    )
    options = parser.parse_args(args)
    from dislab import exports

    out = Path(options.out or options.repository.rpartition("/")[2])
    print(exports.pull(options.repository, out, options.revision))
    return 0


def _parser(name: str, description: str) -> Parser:
    return Parser(
        name, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
