"""`dislab encode`: writes a model's codes of images that are the same for every run."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dislab.cli.arguments import Existing, Parser, add_checkpoint, chosen
from dislab.functional.checks import check_count
from dislab.study.stages.codes import SPLITS

if TYPE_CHECKING:
    from dislab.base import Split

_DESCRIPTION: Final = """\
Write a model's codes of some images, and the KL of each latent in nats, to a file.

The images are drawn by --seed alone, so that runs on the same data encode the same images, and
their latents can be compared. The file is what numpy.savez writes: codes, kl, states (numbers of
the images in the data set), factors and names, which `dislab score FILE` reads; for images of your
own also files (their names in the folder) or rows (their numbers in your array). Images without a
value of some factor are left out unless --with_gaps is given; a file that has some lacks factors,
and is not scored. Nothing is written for a method without codes. `dislab predict` writes the codes
of the whole test split instead."""


def run(args: list[str]) -> int:
    """Write the codes and KLs of some images, the same ones for every run."""
    options = _parser().parse_args(args)
    check_count("images", options.images, 1)
    check_count("batch_size", options.batch_size, 1)
    encode(
        Path(options.run),
        options.images,
        options.split,
        options.seed,
        options.batch_size,
        Path(options.out) if options.out else None,
        options.checkpoint,
        options.with_gaps,
    )
    return 0


def encode(
    folder: Path,
    images: int,
    split: "Split",
    seed: int,
    batch_size: int,
    out: Path | None = None,
    checkpoint: str | None = None,
    with_gaps: bool = False,
) -> None:
    """Writes the codes of a run into `out`, or into `codes.npz` in the run folder.

    `seed` determines which `images` of the split are encoded; a smaller split is encoded entirely.
    Images without a value of some factor are among them only `with_gaps`.
    """
    import numpy as np

    from dislab import plugins
    from dislab.base.datamodule import draw_states, drawable
    from dislab.cli.messages import explain_data
    from dislab.runs import load_run
    from dislab.runs.codes import CODES, write_codes
    from dislab.runs.opened import made_ready, run_config, run_data
    from dislab.storage import check_output

    config = run_config(folder)
    path = out or folder / CODES
    check_output("--out", path, partial(_is_own, folder=folder) if out else None, [".npz"])
    plugins.load_all(plugins.PARTS)
    source = chosen(folder, checkpoint)
    model = load_run(source)
    if not model.has_codes:
        print(f"nothing to encode, as {type(model).__name__} has no codes")
        return
    data = run_data(folder, config, explain_data)
    opened = made_ready(source, model, data, config)
    states = draw_states(opened.data, split, images, seed, with_gaps)
    encoding = opened.encode(batch_size=batch_size, states=states)
    kl = np.full(encoding.codes.shape[1], np.nan) if encoding.kl is None else encoding.kl
    write_codes(path, data, encoding.states, encoding.codes, source, kl=kl)
    count, latents = encoding.codes.shape
    available = len(drawable(opened.data, split, with_gaps=True))
    lacking = available - len(drawable(opened.data, split))
    gaps = f" ({lacking:,} without a value of some factor are left out; --with_gaps encodes them)"
    if not lacking or with_gaps:
        gaps = ""
    part = "all splits" if split == "all" else f"the {split} split"
    print(f"{path}: {count:,} of {available:,} images of {part}{gaps}, {latents} latents")


def _is_own(path: Path, folder: Path) -> bool:
    """Whether this command wrote a file; the codes in the folder of another run stay."""
    from dislab.runs import CONFIG
    from dislab.runs.codes import is_codes

    is_of_another = (path.parent / CONFIG).exists() and not path.parent.samefile(folder)
    return is_codes(path) and not is_of_another


def _parser() -> Parser:
    parser = Parser(
        "dislab encode",
        description=_DESCRIPTION,
        example="dislab encode runs/factorvae/version_0 --images 10000 --split test",
    )
    parser.add_argument("run", metavar="RUN", action=Existing, help="folder of a finished run")
    add_checkpoint(parser)
    parser.add_argument(
        "--images", type=int, default=5_000, metavar="N", help="how many; all if they are fewer"
    )
    parser.add_argument("--split", choices=SPLITS, default="all", help="where they are drawn from")
    parser.add_argument("--seed", type=int, default=0, help="decides which images")
    parser.add_argument(
        "--batch_size", type=int, default=256, metavar="N", help="images encoded at a time"
    )
    parser.add_argument(
        "--with_gaps", action="store_true", help="also images without a value of some factor"
    )
    parser.add_argument(
        "--out", metavar="FILE.npz", help="the file; codes.npz in the run folder unless given"
    )
    return parser
