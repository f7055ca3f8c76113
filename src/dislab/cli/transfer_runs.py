"""Transfer scores of finished runs."""

import argparse
from pathlib import Path
from typing import Final

from dislab import plugins
from dislab.base import DataModule
from dislab.cli.run_data import placed, run_config, run_data
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.runs import checkpoint_of, load_run
from dislab.storage import check_output
from dislab.transfer import Transfer, load_scenarios, made_for, shipped
from dislab.transfer.choices import builders
from dislab.transfer.plan import Sizes, check_sizes
from dislab.transfer.run import check_predictors, score_run
from dislab.transfer.table import transfer_table

_OTHERWISE: Final = ". Codes of another program are scored with --codes"


def score_runs(options: argparse.Namespace) -> None:
    """Scores each run, writes its scores.json, and prints all side by side."""
    plugins.load_all(plugins.PARTS)
    found = {one: _scored(Path(one), options) for one in dict.fromkeys(options.runs)}
    if len(found) > 1:
        print(f"\n{transfer_table(found)}")


def _scored(folder: Path, options: argparse.Namespace) -> Transfer:
    config = run_config(folder, _OTHERWISE)
    check_output("scores.json", folder / "scores.json", [])
    model = load_run(folder)
    if not model.has_codes:
        raise InputError(f"{folder} is a run of {type(model).__name__}, which makes no codes")
    data = run_data(folder, config)
    scenarios = load_scenarios(options.scenarios or _suitable(data))
    predictors = builders(options.predictors, options.seed)
    sizes = Sizes(options.labels, options.tested, options.seed)
    check_sizes(sizes)
    check_count("batch_size", options.batch_size, 1)
    check_count("reconstructions", options.reconstructions, 0, most=100)
    check_predictors(predictors)
    model, precision = placed(folder, model, config.get("trainer") or {})
    data.prepare_data()
    found, path = score_run(
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
        checkpoint_of(folder),
    )
    print(f"\n{transfer_table({str(folder): found})}\n{path}")
    return found


def _suitable(data: DataModule) -> list[str]:
    name = type(data.dataset).__name__
    if not (suitable := [one.name for one in made_for(name)]):
        raise InputError(
            f"no scenario that comes with dislab was made for {name}; name some by --scenarios: "
            f"YAML files of your own, or {', '.join(shipped())}"
        )
    return suitable
