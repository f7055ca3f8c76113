"""`dislab export`, `push` and `pull`: models for other programs, and at the Hugging Face Hub."""

from pathlib import Path
from typing import Final

from dislab.cli.arguments import Existing, Parser, add_checkpoint, chosen

_DESCRIPTION: Final = """\
Write the model of a run for other programs, with a model card (README.md).

The encoder takes images with pixels in [0, 1] and returns codes, and means and log-variances of
methods with posteriors; the decoder takes latents and returns images. Each file is loaded again and
compared with the model before the folder gets its name."""


_PUSH: Final = """\
Upload the model of a run to the Hugging Face Hub, as safetensors with a model card.

Log in first by `hf auth login`, or set HF_TOKEN."""

_PULL: Final = """\
Download a model from the Hugging Face Hub, check that it can be loaded, and print its folder.

The files hold tensors and settings; no code is read, and the settings may name parts of dislab,
torch, lightning and installed plugins only. `load_run(FOLDER)` makes the model in Python."""


def run(args: list[str]) -> int:
    """Write a model for other programs: safetensors, ONNX, torch."""
    parser = Parser(
        "dislab export",
        description=_DESCRIPTION,
        example="dislab export runs/factorvae/version_0 --to safetensors onnx --out model",
    )
    parser.add_argument(
        "run",
        metavar="RUN",
        action=Existing,
        help="folder of a finished run, or a checkpoint file",
    )
    add_checkpoint(parser)
    parser.add_argument(
        "--to",
        nargs="+",
        required=True,
        choices=("safetensors", "onnx", "torch-export"),
        help="safetensors: weights and settings, for load_run(FOLDER) of dislab; onnx: "
        "encoder and decoder for onnxruntime; torch-export: the same for torch without dislab",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="a new or an empty folder")
    parser.add_argument(
        "--half",
        action="store_true",
        help="store the safetensors in half precision (float16): half the space, outputs rounded",
    )
    options = parser.parse_args(args)
    from dislab.exports import export

    formats, out = list(dict.fromkeys(options.to)), Path(options.out)
    source = chosen(Path(options.run), options.checkpoint)
    for part in export(options.run, out, formats, options.half, source):
        checked = "" if part.difference is None else f"   within {part.difference:.2g} of the model"
        print(f"{out / part.file}{checked}")
    return 0


def push(args: list[str]) -> int:
    """Upload a model to the Hugging Face Hub."""
    parser = Parser(
        "dislab push",
        description=_PUSH,
        example="dislab push runs/factorvae/version_0 me/factorvae",
    )
    parser.add_argument(
        "run",
        metavar="RUN",
        action=Existing,
        help="folder of a finished run, or of an export in safetensors",
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
    """Download a model from the Hugging Face Hub."""
    parser = Parser("dislab pull", description=_PULL, example="dislab pull me/factorvae")
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
