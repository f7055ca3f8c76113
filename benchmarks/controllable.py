"""Seeds of independently controllable factors on a grid, for docs/results/controllable.md.

python benchmarks/controllable.py, where dislab-control is installed; 30 runs of 10 to 25 seconds on
one thread. Runs that benchmarks/results/controllable.json has are kept, so that a stopped study
goes on; `--table` prints the tables without training, `--only NAME` trains one variant.
"""

import argparse
import json
import os
import platform
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import gymnasium
import lightning.pytorch as pl
import numpy as np
import torch

from dislab import plots
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.metrics import MCC, MIG
from dislab.storage.writing import atomic
from dislab_control import (
    ActionData,
    ControlTable,
    IndependentlyControllableFactors,
    WorldStates,
    measured_control,
)
from dislab_control.control_callback import mean_steps
from dislab_control.control_pictures import arrow_figure, control_figure

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "benchmarks/results/controllable.json"
PICTURES: Final = ROOT / "docs/images/results"
STEPS: Final = 2000
SEEDS: Final = range(5)
VARIANTS: Final[dict[str, dict[str, Any]]] = {
    "standard": {},
    "autoencoder": {"weight": 0.0},
    "no bonus": {"entropy": 0.0},
    "grey": {},
    "signed": {"directions": "both_ways", "selectivity": "signed"},
    "log": {"form": "log"},
}
SCORES: Final = ("policy_selectivity", "feature_selectivity", "single_factor", "controlled_factors")


def data_of(variant: str) -> ActionData:
    """Both squares in a channel each, or in one grey channel."""
    colours = "grey" if variant == "grey" else "channels"
    data = ActionData(WorldStates(settings={"colours": colours}), batch_size=64)
    data.prepare_data()
    return data


def run(variant: str, seed: int, steps: int) -> dict[str, Any]:
    """Train one model and score it on the test split, on moves that are not blocked."""
    pl.seed_everything(seed, verbose=False)
    data = data_of(variant)
    model = IndependentlyControllableFactors(
        data.image_shape,
        data.action_names,
        4,
        partial(MLPEncoder, hidden=(128,)),
        partial(MLPDecoder, hidden=(128, 128)),
        optimizer=partial(torch.optim.Adam, lr=1e-3),
        **VARIANTS[variant],
    )
    trainer = pl.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=False,
        limit_val_batches=0,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    start = time.process_time()
    trainer.fit(model, data)
    seconds = time.process_time() - start
    model.eval()
    control = measured_control(model, data)
    ordinary = {}
    states = data.indices("test")
    with torch.no_grad():
        codes = model.codes(data.images(torch.from_numpy(states)))
    for metric in (MIG(data.factors), MCC(data.factors)):
        metric.update(codes, torch.from_numpy(data.factors.positions(states)))
        name, value = next(iter(metric.compute().items()))
        ordinary[name] = float(value)
    if seed == 0 and variant in ("standard", "grey"):
        picture(variant, model, data, control.table, control.names)
    return {
        "seconds": round(seconds, 1),
        "steps": steps,
        "scores": control.scores,
        "chance": control.chance,
        "ordinary": ordinary,
        "tables": {name: part.tolist() for name, part in control.table._asdict().items()},
    }


def picture(
    variant: str,
    model: IndependentlyControllableFactors,
    data: ActionData,
    table: ControlTable,
    names: tuple[str, ...],
) -> None:
    """The matrices of a model, and the arrows of the standard one."""
    plots.save(control_figure(table, names), PICTURES / f"controllable_{variant}_matrix.png")
    steps = mean_steps(model, data)
    if variant == "standard" and steps is not None:
        plots.save(arrow_figure(steps), PICTURES / "controllable_standard_arrows.png")


def stored() -> dict[str, Any]:
    """The results so far."""
    if RESULTS.exists():
        record: dict[str, Any] = json.loads(RESULTS.read_text())
        return record
    return {"machine": {}, "runs": {}}


def keep(results: dict[str, Any]) -> None:
    """Write the results."""
    results["machine"] = {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "lightning": version("lightning"),
        "gymnasium": gymnasium.__version__,
        "numpy": np.__version__,
    }
    with atomic(RESULTS) as temporary:
        temporary.write_text(json.dumps(results, indent=1) + "\n")


def tables(results: dict[str, Any]) -> None:
    """Means and standard errors over seeds, and the matched selectivity of every seed."""
    print("| variant | " + " | ".join(SCORES) + " | chance (moves shuffled) | MIG | MCC | CPU-s |")
    print("|---|" + "---|" * (len(SCORES) + 4))
    for variant in VARIANTS:
        rows = [results["runs"].get(f"{variant}/{seed}") for seed in SEEDS]
        rows = [row for row in rows if row]
        if not rows:
            continue
        cells = [spread([row["scores"][name] for row in rows]) for name in SCORES]
        cells.append(spread([row["chance"]["policy_selectivity"] for row in rows]))
        cells += [spread([row["ordinary"][name] for row in rows]) for name in rows[0]["ordinary"]]
        cells.append(f"{np.mean([row['seconds'] for row in rows]):.0f}")
        print(f"| {variant} | " + " | ".join(cells) + " |")
    print("\n| variant | " + " | ".join(f"seed {seed}" for seed in SEEDS) + " |")
    print("|---|" + "---|" * len(SEEDS))
    for variant in VARIANTS:
        values = [results["runs"].get(f"{variant}/{seed}") for seed in SEEDS]
        cells = ["" if row is None else f"{row['scores'][SCORES[0]]:.2f}" for row in values]
        print(f"| {variant} | " + " | ".join(cells) + " |")


def spread(values: list[float]) -> str:
    """Mean and standard error."""
    if len(values) < 2:
        return f"{values[0]:.2f}"
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="print the tables only")
    parser.add_argument("--only", choices=list(VARIANTS), help="train one variant")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of a run")
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = stored()
    variants = [options.only] if options.only else list(VARIANTS)
    for seed in () if options.table else SEEDS:
        for variant in variants:
            if f"{variant}/{seed}" not in results["runs"]:
                results["runs"][f"{variant}/{seed}"] = run(variant, seed, options.steps)
                keep(results)
                scores = results["runs"][f"{variant}/{seed}"]["scores"]
                print(variant, seed, scores, flush=True)
    tables(results)


if __name__ == "__main__":
    main()
