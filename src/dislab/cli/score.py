"""`dislab score`: scores the codes in a file written by any program."""

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast, get_args

from dislab.cli.arguments import Parser, add_checkpoint
from dislab.errors import InputError, beside
from dislab.yaml_files import CONFIG, no_run

if TYPE_CHECKING:
    from dislab.factors import PlainKind
    from dislab.metrics import Evaluation

_SHEET: Final = "score --sheet"
_DESCRIPTION = """\
Score codes against the factors that made the images.

The file is what numpy.savez(FILE, codes=…, factors=…) writes: codes with one row an image and one
column a latent, or one vector a latent, whose first principal component is scored; factors with one
row an image and one column a factor, integers that number the values 0, 1, 2, …, measured numbers,
or texts; if there is an array names (or factor_names), it names the factors. A factor with nearly
as many different numbers as images is continuous, and a line says so. Of a run folder the newer of
representations.npz, which `dislab predict` writes, and codes.npz of `dislab encode` is read."""


def run(args: list[str]) -> int:
    """Score codes from a file, whichever program wrote it."""
    options = _parser().parse_args(args)
    chosen = None
    if options.metrics is not None:
        from dislab.metrics.array_scores import builders

        chosen = builders(options.metrics, options.seed)
    path = _file(Path(options.codes), options.checkpoint)
    from dislab.cli.arrays import measured_factors, names_of, read_arrays, write_record
    from dislab.metrics.array_scores import prepare
    from dislab.metrics.score_table import images_text, score_table, title

    _check_outputs(options)
    kinds = _kinds(options.kinds)
    groups = None if options.groups is None else [_columns(word) for word in options.groups]
    arrays = read_arrays(path, ("codes", "factors"))
    names = options.names or names_of(arrays)
    factors, kinds = measured_factors(path, arrays, names, kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        prepared = prepare(
            arrays["codes"],
            factors,
            chosen,
            names,
            bootstrap=options.bootstrap,
            confidence=options.confidence,
            seed=options.seed,
            shuffle=not options.in_order,
            kinds=kinds,
            groups=groups,
        )
        scores = "the default scores" if chosen is None else ", ".join(map(title, chosen))
        print(f"Scoring {images_text(len(prepared.bank))} by {scores} …", file=sys.stderr)
        evaluation = prepared.evaluation(chance=not options.no_chance)
    print(score_table(evaluation.values, evaluation.intervals, {}, evaluation.chance))
    if options.json:
        write_record(Path(options.json), path, evaluation.record())
    if options.sheet:
        _plot(Path(options.sheet), path, evaluation)
    return 0


def _parser() -> Parser:
    parser = Parser(
        "dislab score",
        description=_DESCRIPTION,
        example="dislab score codes.npz --metrics MIG DCI.learner=gbt --sheet scores.png",
    )
    codes, scores, files = (
        parser.add_argument_group(name) for name in ("Codes and factors", "Scores", "Files")
    )
    codes.add_argument("codes", help="an .npz file, or a run folder")
    add_checkpoint(codes)
    scores.add_argument(
        "--metrics",
        nargs="+",
        metavar="NAME",
        help="class names, as `dislab plugins metrics` lists them, settings such as MIG.bins=30 or "
        "DCI.learner=gbt, or a .yaml file of the form of evaluate.metrics; the default set unless "
        "given",
    )
    _add_settings_of_arrays(codes)
    _add_estimates(scores)
    files.add_argument("--json", metavar="FILE", help="write scores, parts and provenance there")
    files.add_argument(
        "--sheet",
        metavar="FILE",
        help="draw scores, importances and mutual information as one page there: png, pdf or svg",
    )
    return parser


def _add_settings_of_arrays(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--names", nargs="+", metavar="NAME", help="names of the factors")
    parser.add_argument(
        "--kinds",
        nargs="+",
        default=[],
        metavar="NAME=KIND",
        help="ordinal, categorical or continuous, by factor; found out unless given",
    )
    parser.add_argument(
        "--groups",
        nargs="+",
        metavar="COLUMNS",
        help="columns of each vector-valued latent, such as 0-3 4-7 or 0,2 1,3; its first "
        "principal component is scored",
    )


def _add_estimates(parser: argparse._ActionsContainer) -> None:
    """Adds the options of intervals, order and chance."""
    parser.add_argument(
        "--bootstrap",
        type=int,
        default=0,
        metavar="N",
        help="resample the images N times for intervals, such as 200; 0 for none",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, help="share of resampled scores in an interval"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of everything that is drawn")
    parser.add_argument(
        "--in_order",
        action="store_true",
        help="keep the order of the images; scores that learn from the first and test on the last "
        "ones need a random order, so that the images are shuffled unless this is given",
    )
    parser.add_argument(
        "--no_chance",
        action="store_true",
        help="leave out the level of chance: scores of the same codes, each given to another image",
    )


def _kinds(words: list[str]) -> "dict[str, PlainKind]":
    """The kinds of factors by name."""
    from dislab.factors import PlainKind
    from dislab.functional.checks import check_choice

    kinds: dict[str, PlainKind] = {}
    for word in words:
        name, equals, kind = word.rpartition("=")
        if not equals or not name:
            raise InputError(f"--kinds has {word!r}; write NAME=KIND, such as x=continuous")
        check_choice(f"the kind of {name}", kind, get_args(PlainKind))
        kinds[name] = cast("PlainKind", kind)
    return kinds


def _columns(word: str) -> list[int]:
    """Column numbers of a group, given as `0-3`, `0,2` or both."""
    from dislab.functional.checks import MOST_LATENTS

    columns: list[int] = []
    for part in word.split(","):
        first, _, last = part.partition("-")
        last = last if "-" in part else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) < MOST_LATENTS):
            raise InputError(f"--groups has {word!r}; write columns as 0-3 or 0,2,5")
        columns.extend(range(int(first), int(last) + 1))
    return columns


def _file(path: Path, choice: str | None) -> Path:
    if path.is_dir():
        files = [path / name for name in ("representations.npz", "codes.npz")]
        if not (files := [file for file in files if file.is_file()]):
            if not (path / CONFIG).is_file():
                raise no_run(path, "; or give an .npz file")
            raise InputError(f"{path} has no file of codes; `dislab encode {path}` writes one")
        newest = max(files, key=lambda file: file.stat().st_mtime_ns)
        if len(files) > 1:
            print(f"Codes: {newest}, newer than the other file of codes", file=sys.stderr)
        if choice is not None:
            _check_checkpoint(path, newest, choice)
        return newest
    if choice is not None:
        raise InputError("--checkpoint goes with the folder of a run, not with a file of codes")
    if not path.is_file():
        if path.suffix != ".npz":
            raise no_run(path, "; or give an .npz file")
        raise InputError(f"{path} does not exist{beside(path)}; give an .npz file or a run folder")
    return path


def _check_checkpoint(run: Path, codes: Path, choice: str) -> None:
    """Refuses codes that another checkpoint made."""
    from dislab.cli.arguments import chosen
    from dislab.cli.arrays import read_arrays

    checkpoint = chosen(run, choice).name
    made_by = str(read_arrays(codes, ("codes", "checkpoint"))["checkpoint"])
    if made_by != checkpoint:
        raise InputError(
            f"{codes} holds codes of {made_by}, not of {checkpoint}; write those first: dislab "
            f"{'encode' if codes.name == 'codes.npz' else 'predict --run'} {run} "
            f"--checkpoint {choice}"
        )


def _check_outputs(options: argparse.Namespace) -> None:
    """Rejects outputs that cannot be written, before scoring."""
    from dislab.cli.arrays import is_record
    from dislab.storage import check_output

    if options.json:
        check_output("--json", Path(options.json), partial(is_record, key="intervals"), [".json"])
    if options.sheet:
        from dislab.plots import check_picture, is_picture

        check_picture("--sheet", Path(options.sheet))
        check_output("--sheet", Path(options.sheet), partial(is_picture, command=_SHEET))


def _plot(out: Path, source: Path, evaluation: "Evaluation") -> None:
    from dislab.metrics.sheet import sheet
    from dislab.plots import save

    save(sheet(evaluation, f"{source}: {evaluation.provenance['images']:,} images"), out, _SHEET)
    print(out)
