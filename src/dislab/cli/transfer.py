"""`dislab transfer`: scores predictors, trained on codes, on shifted images."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any, Final

from dislab.cli.arguments import Parser
from dislab.cli.checkpoint_choice import add_checkpoint
from dislab.errors import InputError

_DESCRIPTION = """\
Score how predictors on a model's codes carry over to images whose distribution has shifted.

Of each RUN a checkpoint encodes the images of its data set that the scenarios need; the
table goes to the terminal, and everything into scores.json of the run folder, under test_transfer
(validate_transfer for data without a test split). Several runs are shown side by side.

With --codes a file of any program is scored: what numpy.savez(FILE, codes=…, factors=…, names=…)
writes, with one row an image; factors are integers that number the values 0, 1, 2, …, and names
are those of the factors. An array values_NAME holds the values of factor NAME, which the
conditions of scenarios refer to: numbers in its unit, or texts for a kind; without it they are the
numbers 0, 1, 2, …."""

_OF_RUNS: Final[dict[str, Any]] = {
    "batch_size": 256,
    "reconstructions": 8,
    "baselines": [],
    "checkpoint": None,
}
"""Defaults of the options that apply only to runs, as codes in a file need no encoding."""


def run(args: list[str]) -> int:
    """Prints transfer scores and returns the exit status."""
    options = _parser().parse_args(args)
    if bool(options.runs) == bool(options.codes):
        raise InputError("give the folders of runs, or --codes FILE, and not both")
    if options.codes:
        _refuse_settings_of_runs(options)
        return _score_file(options)
    if options.other or options.json:
        raise InputError(
            "--other and --json go with --codes; a run encodes other data sets by itself, and its "
            "scores are written into its scores.json"
        )
    for name, value in _OF_RUNS.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    from dislab.cli import transfer_runs

    transfer_runs.score_runs(options)
    return 0


def _refuse_settings_of_runs(options: argparse.Namespace) -> None:
    for name in _OF_RUNS:
        if (value := getattr(options, name)) is not None:
            raise InputError(
                f"--{name} is {value}, and goes with runs; the codes in a file are there already, "
                "so that nothing is encoded or drawn; leave it out"
            )


def _parser() -> Parser:
    parser = Parser(
        "dislab transfer",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folders of finished runs")
    add_checkpoint(parser)
    parser.add_argument("--codes", metavar="FILE.npz", help="score the codes in a file instead")
    parser.add_argument(
        "--scenarios",
        nargs="+",
        metavar="NAME",
        help="names of scenarios that come with dislab, such as finger_ood1_a, or YAML files; "
        "unless given, all that were made for the run's data set",
    )
    parser.add_argument(
        "--predictors",
        nargs="+",
        metavar="NAME",
        help="class names, as `dislab plugins predictors` lists them; of runs also a YAML file, or "
        "a text such as '{ridge: {class_path: Ridge, init_args: {penalty: 0.1}}}', with their "
        "settings; boosted trees and an MLP unless given",
    )
    parser.add_argument(
        "--labels", type=int, default=10_000, metavar="N", help="images a predictor learns from"
    )
    parser.add_argument(
        "--tested", type=int, default=5_000, metavar="N", help="images of each test"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of everything that is drawn")
    parser.add_argument(
        "--batch_size",
        type=int,
        metavar="N",
        help=f"of runs only: images encoded at a time ({_OF_RUNS['batch_size']})",
    )
    parser.add_argument(
        "--reconstructions",
        type=int,
        metavar="N",
        help="of runs only: images of each distribution that are drawn with their "
        f"reconstructions ({_OF_RUNS['reconstructions']}); 0 for none",
    )
    parser.add_argument(
        "--baselines",
        nargs="+",
        choices=("untrained", "pixels", "pca"),
        help="of runs only: baseline codes for comparison: a copy with fresh weights, grey pixels "
        "averaged over a grid of 8×8, principal components; none unless given",
    )
    parser.add_argument(
        "--other",
        action="append",
        default=[],
        metavar="SCENARIO=FILE.npz",
        help="with --codes: codes of the other data set that a scenario tests on",
    )
    parser.add_argument(
        "--json", metavar="OUT", help="with --codes: write scores, parts and provenance there"
    )
    return parser


def _score_file(options: argparse.Namespace) -> int:
    from dislab.cli.arrays import is_record, write_record
    from dislab.storage import check_output
    from dislab.transfer import Domain, load_scenarios, transfer_scores
    from dislab.transfer.table import transfer_table

    path = Path(options.codes)
    if options.json:
        check_output("--json", Path(options.json), partial(is_record, key="scenarios"))
    load_scenarios(options.scenarios or [])
    codes, factors, space = _domain(path)
    others = {}
    for text in options.other:
        name, _, file = text.partition("=")
        if not file:
            raise InputError(f"--other is {text!r}; it is SCENARIO=FILE.npz")
        others[name] = Domain(*_domain(Path(file)))
    scores = transfer_scores(
        codes,
        factors,
        space,
        options.scenarios,
        options.predictors,
        options.labels,
        options.tested,
        options.seed,
        others,
    )
    print(transfer_table({str(path): scores}))
    if options.json:
        write_record(Path(options.json), path, scores.record())
    return 0


def _domain(path: Path) -> Any:
    """Codes, value numbers of factors, and factor space in a file."""
    from dislab.cli.arrays import read_arrays, space_of

    arrays = read_arrays(path, ("codes", "factors"))
    return arrays["codes"], arrays["factors"], space_of(path, arrays)
