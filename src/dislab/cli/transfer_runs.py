"""Transfer scores of finished runs."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import jsonargparse

from dislab import plugins
from dislab.base import DataModule, PredictorBuilder
from dislab.callbacks import TransferScores
from dislab.cli.checkpoint_choice import chosen
from dislab.cli.messages import explain_data
from dislab.errors import InputError, one_line
from dislab.functional.checks import check_count
from dislab.naming.rebuilding import arguments_of
from dislab.runs import load_run
from dislab.runs.opened import placed, run_config, run_data
from dislab.storage import check_output
from dislab.transfer import Transfer, load_scenarios, made_for, shipped
from dislab.transfer.choices import Choices, builders
from dislab.transfer.images import Sizes, check_sizes
from dislab.transfer.run import check_predictors, score_run
from dislab.transfer.table import transfer_table
from dislab.yaml_files import is_yaml, parse_mapping, read_mapping

_OTHERWISE: Final = ". Codes of another program are scored with --codes"
_EXAMPLE: Final = "ridge: {class_path: Ridge, init_args: {penalty: 0.1}}"


def score_runs(options: argparse.Namespace) -> None:
    """Scores each run, writes its scores.json, and prints all scores side by side."""
    plugins.load_all(plugins.PARTS)
    scores = {}
    for run in dict.fromkeys(options.runs):
        if (scored := _scored(Path(run), options)) is not None:
            scores[run] = scored
    if len(scores) > 1:
        print(f"\n{transfer_table(scores)}")


def _scored(folder: Path, options: argparse.Namespace) -> Transfer | None:
    """The scores of one run; None for a method without codes."""
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
    model, precision = placed(checkpoint, model, config.get("trainer") or {})
    data.prepare_data()
    transfer, path = score_run(
        folder,
        "test_transfer" if len(data.indices("test")) else "validate_transfer",
        model,
        data,
        scenarios,
        predictors,
        sizes,
        options.batch_size,
        options.reconstructions,
        list(dict.fromkeys(options.baselines)),
        precision,
        checkpoint,
    )
    print(f"\n{transfer_table({str(folder): transfer})}\n{path}")
    return transfer


def _choices(words: Sequence[str] | None) -> Choices:
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


def _suitable(data: DataModule) -> list[str]:
    name = type(data.dataset).__name__
    if not (suitable := [scenario.name for scenario in made_for(name)]):
        raise InputError(
            f"no scenario that comes with dislab was made for {name}; name some by --scenarios: "
            f"YAML files of your own, or {', '.join(shipped())}"
        )
    return suitable
