"""`dislab export`: writes the model of a run for other programs."""

import argparse
from pathlib import Path
from typing import Final

from dislab.cli.arguments import Parser
from dislab.cli.checkpoint_choice import add_checkpoint, chosen

_DESCRIPTION: Final = """\
Write the model of a run for other programs, with a model card (README.md).

safetensors   weights and settings; load_run(FOLDER) of dislab makes the model, and no code is read
onnx          encoder.onnx and decoder.onnx, for onnxruntime and other programs
torch-export  encoder.pt2 and decoder.pt2, for torch without dislab

The encoder takes images with pixels in [0, 1] and returns codes, and means and log-variances of
methods with posteriors; the decoder takes latents and returns images. Each file is loaded again and
compared with the model before the folder gets its name."""


def run(args: list[str]) -> int:
    """Writes a folder and returns the exit status."""
    options = _parser().parse_args(args)
    from dislab.exports import export

    formats = list(dict.fromkeys(options.to))
    out = Path(options.out)
    for part in export(
        options.run, out, formats, options.half, chosen(Path(options.run), options.checkpoint)
    ):
        checked = "" if part.difference is None else f"   within {part.difference:.2g} of the model"
        print(f"{out / part.file}{checked}")
    return 0


def _parser() -> Parser:
    parser = Parser(
        "dislab export",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", metavar="RUN", help="folder of a finished run, or a checkpoint file")
    add_checkpoint(parser)
    parser.add_argument(
        "--to",
        nargs="+",
        required=True,
        choices=("safetensors", "onnx", "torch-export"),
        help="one format or several",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="a new folder")
    parser.add_argument(
        "--half",
        action="store_true",
        help="store the safetensors in half precision (float16): half the space, outputs rounded",
    )
    return parser
