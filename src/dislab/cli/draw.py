"""`dislab draw`: figures of a finished run, of chosen size and content, for print."""

import argparse
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from dislab.cli.arguments import Existing, Parser, add_checkpoint, chosen
from dislab.errors import InputError, suggestion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dislab.callbacks.pictures import Picture

_COMMAND: Final = "draw"
_DECODED: Final[Mapping[str, Mapping[str, str]]] = {
    "traversals": {
        "images": "images",
        "steps": "steps",
        "rows": "latents",
        "span": "span",
        "positions": "positions",
        "split": "split",
        "seed": "seed",
    },
    "reconstructions": {"images": "count", "split": "split", "seed": "seed"},
    "samples": {"rows": "rows", "images": "columns", "seed": "seed"},
    "interpolations": {"rows": "pairs", "steps": "steps", "split": "split", "seed": "seed"},
}
"""For each kind of decoded images, the options that it takes, with the picture's own names."""
_OPTIONS: Final[Mapping[str, Sequence[str]]] = {
    **{kind: (*options, "labels", "title", "checkpoint") for kind, options in _DECODED.items()},
    "scores": ("show",),
    "curves": ("show",),
}
"""Options that each kind takes, besides `--out` and `--width`."""
_PLAIN_LEGEND: Final[Mapping[str, Any]] = {
    "frameon": False,
    "fontsize": 8,
    "borderpad": 0.2,
    "handletextpad": 0.2,
}
_LETTERS: Final = 24
"""Letters of the name of a score in one line."""
_WIDTH: Final = 6.75  # as of `Picture.figure`, whose module imports torch
_NARROWEST: Final = 2.5
_DESCRIPTION: Final = """\
Draw one figure of a finished run, at the size at which it is printed: text has 7 to 9 points, and
is text in a PDF and outlines in an SVG."""


def run(args: list[str]) -> int:
    """Draw a figure of a finished run for print: traversals, samples, scores, …."""
    begun = args[1:2] not in ([], ["-h"], ["--help"])
    if begun and args[0] in _OPTIONS and not Path(args[0]).exists():
        line = f"RUN {args[0]} with the options behind it"
        if not args[1].startswith("-"):
            line = shlex.join([args[1], args[0], *args[2:]])
        raise InputError(f"write the run first: dislab draw {line}")
    options = _parser().parse_args(args)
    out, kind = Path(options.out), options.kind
    _check(options, out)
    if kind in _DECODED:
        _draw_images(options, out)
    else:
        from dislab.plots import save
        from dislab.plots.image_grid import PRINTED

        run_folder = Path(options.run)
        figure = (_scores if kind == "scores" else _curves)(run_folder, options.show, options.width)
        figure.set_dpi(PRINTED)
        save(figure, out, _COMMAND)
    print(out)
    return 0


def _parser() -> Parser:
    parser = Parser(
        "dislab draw",
        description=_DESCRIPTION,
        example="dislab draw runs/factorvae/version_0 traversals --out fig.pdf --width 3.25",
    )
    parser.add_argument("run", metavar="RUN", action=Existing, help="folder of a finished run")
    parser.add_argument("kind", choices=tuple(_OPTIONS), help="what to draw")
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="the figure: .pdf, .svg or .png; .gif for an animation of traversals",
    )
    parser.add_argument(
        "--width",
        type=float,
        default=_WIDTH,
        metavar="INCHES",
        help=f"total width (default: {_WIDTH}); 3.25 for one of two columns",
    )
    add_checkpoint(parser)
    _add_settings_of_kinds(parser.add_argument_group("Of some kinds"))
    return parser


def _add_settings_of_kinds(parser: argparse._ActionsContainer) -> None:
    """Adds the options that some kinds of figures take; see `_OPTIONS`."""
    parser.add_argument(
        "--rows",
        type=int,
        metavar="N",
        help="latents (at most; 20 unless given), rows of samples (4) or pairs of images (4)",
    )
    parser.add_argument(
        "--images",
        type=int,
        metavar="N",
        help="images to traverse (1), to reconstruct (8) or in a row of samples (8)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="positions of a traversal or an interpolation (9)",
    )
    parser.add_argument(
        "--latents",
        type=int,
        nargs="+",
        metavar="N",
        help="which latents to traverse; all unless given",
    )
    parser.add_argument(
        "--span",
        type=float,
        nargs=2,
        metavar=("A", "B"),
        help="first and last position of a traversal (-3 3; -2 2 for shifted positions)",
    )
    parser.add_argument(
        "--positions",
        choices=("shifted", "absolute"),
        help="whether a traversal moves a latent from 0 (absolute, the default, as on the page of "
        "the run), or from its code of the image, in standard deviations (shifted)",
    )
    parser.add_argument(
        "--split",
        choices=("train", "validation", "test", "all"),
        help="where images are drawn from: train, validation, test (the default) or all",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="decides which images or samples (0)")
    parser.add_argument(
        "--labels",
        choices=("short", "full", "none"),
        help="labels of rows and columns: short ones (names; the default), full ones (names with "
        "nats), or none",
    )
    parser.add_argument("--title", metavar="TEXT", help="above the figure; none unless given")
    parser.add_argument(
        "--show", nargs="+", metavar="NAME", help="scores, or terms of the loss, in this order"
    )


def _check(options: argparse.Namespace, out: Path) -> None:
    """Rejects options that the figure does not take, and outputs that cannot be written."""
    from dislab.functional.checks import check_count
    from dislab.plots import check_picture, is_picture
    from dislab.plots.output import SUFFIXES
    from dislab.runs.opened import run_config
    from dislab.storage import check_output

    kind = options.kind
    accepted = (*_OPTIONS[kind], *(["latents"] if kind == "traversals" else []))
    for name, value in vars(options).items():
        if name not in ("run", "kind", "out", "width", *accepted) and value is not None:
            raise InputError(
                f"--{name} does not go with {kind}, which takes --out, --width, --"
                f"{', --'.join(accepted)}"
            )
    for name in ("rows", "images", "steps"):
        if (value := getattr(options, name)) is not None:
            check_count(f"--{name}", value, 1, most=1000)
    animated = (".gif",) if kind == "traversals" else ()
    check_picture("--out", out, (*SUFFIXES, *animated))
    if not _NARROWEST <= options.width <= 50:
        raise InputError(f"--width is {options.width:g} inches; it is from {_NARROWEST} to 50")
    run_config(Path(options.run))
    check_output("--out", out, partial(is_picture, command=_COMMAND))


def _draw_images(options: argparse.Namespace, out: Path) -> None:
    """Draws decoded images."""
    from dislab import plots, plugins
    from dislab.callbacks.pictures import Traversals
    from dislab.cli.messages import explain_data
    from dislab.plots._traversals import frames_of
    from dislab.runs import load_run
    from dislab.runs.opened import made_ready, run_config, run_data

    plugins.load_all(plugins.PARTS)
    picture = _picture(options)
    folder = Path(options.run)
    config, checkpoint = run_config(folder), chosen(folder, options.checkpoint)
    data = run_data(folder, config, explain_data)
    model = load_run(checkpoint)
    picture.check(model, folder)
    opened = made_ready(checkpoint, model, data, config)
    if out.suffix.lower() == ".gif":
        assert isinstance(picture, Traversals)
        moves, _ = picture.moves(opened.data, opened.model, opened.precision)
        plots.save_animation(frames_of(moves), out, command=_COMMAND)
    else:
        figure = picture.figure(
            opened, options.width, options.labels or "short", options.title or ""
        )
        plots.save(figure, out, _COMMAND)


def _picture(options: argparse.Namespace) -> "Picture":
    """The picture of a kind with the given options; the others keep the settings of runs."""
    from dislab.callbacks import pictures

    names = _DECODED[options.kind]
    values = {name: getattr(options, name) for name in names}
    settings = {names[name]: value for name, value in values.items() if value is not None}
    if options.kind == "traversals":
        settings = {"images": 1, "positions": "absolute"} | settings  # as the page of the run
        if options.span is not None:
            settings["span"] = tuple(options.span)
    cls: Callable[..., Picture] = getattr(pictures, options.kind.capitalize())
    picture = cls(**settings)
    if isinstance(picture, pictures.Traversals):
        picture.chosen = options.latents or ()
    return picture


def _scores(run: Path, names: Sequence[str] | None, width: float) -> "Figure":
    """The scores of a run with intervals, and chance as red bars."""
    from matplotlib.lines import Line2D

    from dislab.metrics.score_table import is_detail, label, likelihood
    from dislab.plots import score_sheet
    from dislab.plots.score_sheet import CHANCE
    from dislab.report.run_record import scored_record
    from dislab.runs import SCORES, read_scores

    record = scored_record(read_scores(run) if (run / SCORES).is_file() else {})
    values = _numbers(record.get("scores"))
    if not values:
        raise InputError(f"{run} has no scores yet; dislab test --run {run} takes them")
    plotted = _chosen("scores", names, values, label) or [
        name
        for name in values
        if 0 <= values[name] <= 1 and not (is_detail(name, values) or likelihood(name))
    ]
    heads = {name: fill(label(name), _LETTERS) for name in plotted}
    ends, chance = record.get("intervals") or {}, _numbers(record.get("chance"))
    intervals = {name: pair for name in plotted if (pair := _pair(ends.get(name)))}
    figure = score_sheet(
        {heads[name]: values[name] for name in plotted},
        {heads[name]: pair for name, pair in intervals.items()},
        (),
        chance={heads[name]: chance[name] for name in plotted if name in chance},
        width=width,
    )
    mark = Line2D([], [], color=CHANCE, marker="|", linestyle="", markeredgewidth=2)
    for axes in figure.axes:  # the title is wider than a column
        axes.set_title("", loc="left")
        axes.set_xticks(axes.get_xticks(), ["0", "", "0.5", "", "1"])
    if any(0 <= chance.get(name, -1) <= 1 for name in plotted):
        figure.legend([mark], ["chance"], loc="outside upper right", **_PLAIN_LEGEND)
    return figure


def _pair(ends: object) -> tuple[float, float] | None:
    """The ends of an interval; None for anything else, which a record by hand may have."""
    match ends:
        case [int() | float() as low, int() | float() as high]:
            return low, high
    return None


def _numbers(values: object) -> dict[str, float]:
    """The numbers among values by name, as a file has them."""
    items = values.items() if isinstance(values, Mapping) else ()
    return {str(name): value for name, value in items if isinstance(value, int | float)}


def _curves(run: Path, names: Sequence[str] | None, width: float) -> "Figure":
    """The curves of the terms of the loss."""
    from dislab.report.figures import curves_figure, loss_terms
    from dislab.report.run_record import without_curves
    from dislab.runs.curves import CURVES, read_curves, term_name
    from dislab.yaml_files import read_config

    rows = read_curves(run / CURVES).rows
    available = loss_terms(rows)
    terms = _chosen("terms", names, available, term_name) if available else []
    figure = curves_figure(rows, terms or None, width)
    if figure is None:
        raise InputError(f"{run}: {without_curves(run, read_config(run)).removesuffix('.')}")
    return figure


def _chosen(
    section: str,
    names: Sequence[str] | None,
    available: Collection[str],
    shown: Callable[[str], str],
) -> list[str]:
    """The names after --show, each of which must exist, in a file or as the figure shows it."""
    by_title = {shown(name): name for name in available}
    names = [name if name in available else by_title.get(name, name) for name in names or ()]
    for name in names:
        if name not in available:
            hint = suggestion(name, list(available))
            raise InputError(
                f"--show names {name!r}, which is not among the run's {section}{hint}; they are "
                f"{', '.join(available)}"
            )
    return list(dict.fromkeys(names))
