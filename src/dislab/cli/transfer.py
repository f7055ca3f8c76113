"""`dislab transfer`: scores predictors, trained on codes, on shifted images."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dislab.cli.arguments import Existing, Parser, add_checkpoint, chosen
from dislab.errors import InputError, one_line
from dislab.yaml_files import is_yaml, no_run, parse_mapping, read_mapping

if TYPE_CHECKING:
    from dislab.base import DataModule, PredictorBuilder
    from dislab.transfer import Scenario, Transfer
    from dislab.transfer.choices import Choices
    from dislab.transfer.images import Sizes

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

_OTHERWISE: Final = ". Codes of another program are scored with --codes"
_OWN_SCENARIO: Final = (
    "write one of your own, a YAML file such as {train: {x: [0, 1]}, test: {x: [2, 3]}} with "
    "values of a factor x of the data, and name it by --scenarios FILE.yaml (docs/transfer.md, "
    "Scenarios)"
)
_EXAMPLE: Final = "ridge: {class_path: Ridge, init_args: {penalty: 0.1}}"

_OF_RUNS: Final[dict[str, Any]] = {
    "batch_size": 256,
    "reconstructions": 8,
    "baselines": [],
    "checkpoint": None,
}
"""Defaults of the options that apply only to runs, as codes in a file need no encoding."""


def run(args: list[str]) -> int:
    """Score predictors, trained on a model's codes, on shifted images."""
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
    return _score_runs(options)


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
        example="dislab transfer runs/dittadi/version_0 --scenarios finger_ood1_a",
    )
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        action=Existing,
        refusal=partial(no_run, advice=_OTHERWISE),
        help="folders of finished runs",
    )
    of_runs, of_codes = (
        parser.add_argument_group(name) for name in ("Of runs only", "With --codes only")
    )
    add_checkpoint(of_runs)
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
        help="class names, as `dislab plugins predictors` lists them, or settings such as "
        "Ridge.penalty=0.1; of runs also a YAML file, or "
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
    _add_settings_of_runs(of_runs)
    _add_settings_of_codes(of_codes)
    return parser


def _add_settings_of_runs(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--batch_size",
        type=int,
        metavar="N",
        help=f"images encoded at a time ({_OF_RUNS['batch_size']})",
    )
    parser.add_argument(
        "--reconstructions",
        type=int,
        metavar="N",
        help="images of each distribution that are drawn with their "
        f"reconstructions ({_OF_RUNS['reconstructions']}); 0 for none",
    )
    parser.add_argument(
        "--baselines",
        nargs="+",
        choices=("untrained", "pixels", "pca"),
        help="baseline codes for comparison: a copy with fresh weights, grey pixels "
        "averaged over a grid of 8×8, principal components; none unless given",
    )


def _add_settings_of_codes(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--other",
        action="append",
        default=[],
        metavar="SCENARIO=FILE.npz",
        help="codes of the other data set that a scenario tests on",
    )
    parser.add_argument("--json", metavar="FILE", help="write scores, parts and provenance there")


def _score_file(options: argparse.Namespace) -> int:
    from dislab.cli.arrays import is_record, write_record
    from dislab.storage import check_output
    from dislab.transfer import Domain, load_scenarios, transfer_scores
    from dislab.transfer.table import transfer_table

    path = Path(options.codes)
    if options.json:
        check_output("--json", Path(options.json), partial(is_record, key="scenarios"), [".json"])
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


def _score_runs(options: argparse.Namespace) -> int:
    """Scores each run, writes its scores.json, and prints all scores side by side."""
    from dislab import plugins
    from dislab.transfer.table import transfer_table

    plugins.load_all(plugins.PARTS)
    scores = {}
    for run in dict.fromkeys(options.runs):
        if (scored := _scored(Path(run), options)) is not None:
            scores[run] = scored
    if len(scores) > 1:
        print(f"\n{transfer_table(scores)}")
    return 0


def _scored(folder: Path, options: argparse.Namespace) -> "Transfer | None":
    """The scores of one run; None for a method without codes."""
    from dislab.callbacks import TransferScores
    from dislab.cli.messages import explain_data
    from dislab.functional.checks import check_count
    from dislab.runs import load_run
    from dislab.runs.opened import made_ready, run_config, run_data
    from dislab.runs.records import scored_stage
    from dislab.storage import check_output
    from dislab.transfer import load_scenarios
    from dislab.transfer.choices import builders
    from dislab.transfer.images import Sizes, check_sizes
    from dislab.transfer.run import check_predictors, score_run
    from dislab.transfer.table import transfer_table

    config = run_config(folder, _OTHERWISE)
    check_output("scores.json", folder / "scores.json")
    checkpoint = chosen(folder, options.checkpoint)
    model = load_run(checkpoint)
    if not model.has_codes:
        print(f"{folder}: nothing to score, as {type(model).__name__} has no codes")
        return None
    data = run_data(folder, config, explain_data)
    scenarios = load_scenarios(options.scenarios or _suitable(data))
    predictors = builders(_choices(options.predictors), options.seed)
    sizes = Sizes(options.labels, options.tested, options.seed)
    check_sizes(sizes)
    check_count("batch_size", options.batch_size, 1)
    check_count("reconstructions", options.reconstructions, 0, most=100)
    check_predictors(predictors)
    opened = made_ready(checkpoint, model, data, config)
    scenarios = _fitting(opened.data, scenarios, sizes, bool(options.scenarios))
    names = ", ".join(scenario.name for scenario in scenarios)
    print(f"Scoring {folder} by {', '.join(predictors)} in {names} …", file=sys.stderr)
    transfer, path = score_run(
        folder,
        TransferScores.stages[scored_stage(data)],
        opened.model,
        opened.data,
        scenarios,
        predictors,
        sizes,
        options.batch_size,
        options.reconstructions,
        list(dict.fromkeys(options.baselines)),
        opened.precision,
        checkpoint,
    )
    print(f"\n{transfer_table({str(folder): transfer})}\n{path}")
    return transfer


def _choices(words: Sequence[str] | None) -> "Choices":
    """Predictors given by `--predictors`: class names, or a file or text with settings."""
    if words is None or len(words) != 1:
        return words
    (word,) = words
    if is_yaml(word):
        entries = read_mapping(Path(word), _EXAMPLE)
    elif word.startswith("{"):
        entries = parse_mapping(word, "--predictors", _EXAMPLE)
    else:
        return words
    import jsonargparse

    from dislab.callbacks import TransferScores
    from dislab.naming.rebuilding import arguments_of

    try:
        # parsed like the section `transfer` of a configuration
        read: dict[str, PredictorBuilder] = arguments_of(TransferScores, {"predictors": entries})[
            "predictors"
        ]
    except InputError:
        raise
    except (jsonargparse.ArgumentError, ValueError) as error:
        raise InputError(f"--predictors: {one_line(error)[:300]}") from error
    return read


def _fitting(
    data: "DataModule", scenarios: "Sequence[Scenario]", sizes: "Sizes", named: bool
) -> "list[Scenario]":
    """The scenarios for which prepared data have states; says which ones are left out.

    A scenario that the user `named` is refused instead.
    """
    from dislab.transfer.shifts import shifts_of

    fitting, faults, dataset = [], [], type(data.dataset).__name__
    for scenario in scenarios:
        try:
            shifts_of(data, [scenario], sizes)
        except InputError as error:
            if named and scenario.made_for not in ("", dataset):
                raise InputError(
                    f"{error}; the scenario was made for {scenario.made_for}, and the data of the "
                    f"run are {dataset}: {_choice_for(dataset)}"
                ) from error
            if named:
                raise
            faults.append(str(error))
        else:
            fitting.append(scenario)
    if not fitting:
        raise InputError(
            "no scenario that comes with dislab fits the data of this run; "
            f"{_OWN_SCENARIO}. {'; '.join(faults)}"
        )
    for fault in faults:
        print(f"Left out: {fault}", file=sys.stderr)
    return fitting


def _choice_for(dataset: str) -> str:
    """The scenarios for a data set, or how to write one."""
    from dislab.transfer import made_for

    names = [scenario.name for scenario in made_for(dataset)]
    return f"name one of {', '.join(names)}" if names else _OWN_SCENARIO


def _suitable(data: "DataModule") -> "list[Scenario]":
    from dislab.transfer import made_for

    name = type(data.dataset).__name__
    if not (suitable := made_for(name)):
        raise InputError(f"no scenario that comes with dislab was made for {name}; {_OWN_SCENARIO}")
    return suitable
