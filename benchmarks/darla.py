"""Tables and pictures of docs/results/darla.md, from agents that have been trained and tested.

python benchmarks/darla.py --study studies/darla_laptop --agents agents/darla_laptop

Where dislab-control is installed, after the commands of that page; in the folder in which they ran.
Writes benchmarks/results/darla_laptop.json and docs/images/results/darla_curves.png; from the file
`study_figures.py` draws the returns.
"""

import argparse
import csv
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dislab.runs import versions
from dislab.storage.writing import atomic
from dislab.study import Study
from dislab_control.agent_config import read_config
from dislab_control.agent_progress import PROGRESS
from dislab_control.observations import observer
from dislab_control.returns import pooled_returns
from dislab_control.stages import FOLDER
from dislab_control.world import States
from dislab_control.worlds import world_of
from hardware import processor

ROOT: Final = Path(__file__).parents[1]
RESULT: Final = ROOT / "benchmarks/results/darla_laptop.json"
PICTURES: Final = ROOT / "docs/images/results"
DOMAINS: Final = ("source", "target", "new-wall-hue", "new-object-hue", "wall-equals-object")
NAMES: Final = {
    "factors": "true factors",
    "darla": "DARLA: β-VAE_DAE",
    "betavae": "β-VAE, β = 4",
    "entangled": "β-VAE, β = 0.1",
    "codes": "features of the autoencoder",
    "pixels": "pixels",
    "untrained": "untrained encoder",
}
"""Names of representations on the page, by name of the encoder or of the observations."""


FRAMES: Final = 3000
OBJECTS: Final = 8
"""Columns of what is seen: presence, bearing and distance of the nearest ball and cube."""
SCORES: Final = {
    "score.mig": "MIG",
    "score.dci_hgbt_disentanglement": "DCI D",
    "score.dci_hgbt_informativeness": "DCI I",
}
EACH: Final = 10
"""Steps of the random agent between two frames of a probe."""


def agents_of(study: Study, folder: Path) -> dict[str, list[Path]]:
    """Folders of the agents of each representation, in the order of the page."""
    folders: dict[str, list[Path]] = {}
    for run, encoder in study.table()["encoder"].items():
        folders[encoder] = sorted((study.folder.run(str(run)) / FOLDER).glob("PPO-codes-*"))
    for path in sorted(folder.glob("PPO-*")):
        folders.setdefault(read_config(path).observations, []).append(path)
    return {name: folders[name] for name in NAMES if folders.get(name)}


def returns_of(agents: dict[str, list[Path]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Pooled returns of each representation, by domain."""
    pooled = {name: list(pooled_returns(folders).values()) for name, folders in agents.items()}
    return {name: domains for name, (domains,) in pooled.items()}


def states_of(domain: str, seed: int) -> States:
    """States that an agent meets that acts at random."""
    world = world_of("SeekAvoid", {"domain": domain})
    draws = [np.random.default_rng((seed, copy)) for copy in range(100)]
    states = np.concatenate([world.start(generator) for generator in draws])
    actions, frames = np.random.default_rng(seed), []
    while len(frames) * len(draws) < FRAMES:
        for _ in range(EACH):
            chosen = actions.integers(world.actions.n, size=len(draws))
            states = world.step(states, chosen, draws).states
        frames.append(states)
    return np.concatenate(frames)


def probes_of(encoders: dict[str, tuple[str, Path]]) -> dict[str, dict[str, float]]:
    """R² of what is seen of the nearest ball and cube, by ridge regression on the representation.

    Learnt on frames of the source, tested on others there and in each new domain.
    """
    test_states = {domain: states_of(domain, 1) for domain in DOMAINS}
    train_states = states_of("source", 0)
    probes: dict[str, dict[str, float]] = {}
    for name, encoder in encoders.items():
        worlds = {domain: world_of("SeekAvoid", {"domain": domain}) for domain in DOMAINS}
        eyes = {domain: observer(world, *encoder) for domain, world in worlds.items()}
        ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7)))
        ridge.fit(
            eyes["source"].observe(train_states), worlds["source"].seen(train_states)[:, :OBJECTS]
        )
        probes[name] = {
            domain: float(
                r2_score(
                    worlds[domain].seen(states)[:, :OBJECTS],
                    ridge.predict(eyes[domain].observe(states)),
                )
            )
            for domain, states in test_states.items()
        }
    return probes


def curves(agents: dict[str, list[Path]]) -> Figure:
    """Returns of the training: the mean of the agents, and each of them thin."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for name, folders in agents.items():
        tables = [
            list(csv.DictReader((rows / PROGRESS).open(encoding="utf-8"))) for rows in folders
        ]
        length = min(map(len, tables))
        steps = [float(row["steps"]) / 1000 for row in tables[0][:length]]
        values = np.array([[float(row["return"]) for row in rows[:length]] for rows in tables])
        (line,) = axes.plot(steps, values.mean(0), label=NAMES[name], linewidth=2)
        axes.plot(steps, values.T, color=line.get_color(), linewidth=0.5, alpha=0.5)
    axes.set(xlabel="thousand steps", ylabel="mean return of 100 episodes")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure


def rounded(value: float) -> str:
    """Two digits, and no minus before zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def cell(summary: dict[str, Any]) -> str:
    """A return with its standard error, and the ratio to the source where it has one."""
    return f"{rounded(summary['mean'])} ± {summary['error']:.2f}"


def ratio(summary: dict[str, Any]) -> str:
    """A ratio with its interval."""
    if summary["ratio"] is None:
        return "–"
    low, high = summary["interval"]
    return f"{rounded(summary['ratio'])} [{rounded(low)}, {rounded(high)}]"


def cells(probe: dict[str, float], scores: pd.DataFrame, encoder: str) -> list[str]:
    """R² in each domain, and the scores of an encoder that the study has trained."""
    texts = [f"{probe[domain]:.2f}" for domain in DOMAINS]
    if encoder not in scores.index:
        return texts + ["–"] * len(SCORES)
    return texts + [f"{scores.loc[encoder, column]:.2f}" for column in SCORES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", type=Path, required=True)
    parser.add_argument("--agents", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    study = Study(options.study)
    agents = agents_of(study, options.agents)
    returns = returns_of(agents)
    scores = study.table().set_index("encoder")
    encoders = {
        name: (read_config(folders[0]).observations, read_config(folders[0]).encoder)
        for name, folders in agents.items()
        if name not in ("factors", "pixels")
    }
    probes = probes_of(encoders)
    chance = next(iter(returns.values()))
    tables: dict[str, Any] = {}
    tables["returns"] = {
        "header": ["representation", *DOMAINS],
        "rows": [
            *(
                [NAMES[name], *(cell(row_values[key]) for key in DOMAINS)]
                for name, row_values in returns.items()
            ),
            ["random actions", *(f"{chance[key]['random']:.2f}" for key in DOMAINS)],
        ],
    }
    tables["ratios"] = {
        "header": ["representation", *DOMAINS[1:]],
        "rows": [
            [NAMES[name], *(ratio(row_values[key]) for key in DOMAINS[1:])]
            for name, row_values in returns.items()
        ],
        "intervals": "episodes",
    }
    tables["probes"] = {
        "header": ["representation", *DOMAINS, *SCORES.values()],
        "rows": [
            [NAMES[name], *cells(row_values, scores, name)] for name, row_values in probes.items()
        ],
    }
    record = {
        "command": "python benchmarks/darla.py --study studies/darla_laptop --agents "
        "agents/darla_laptop",
        "hardware": {"processor": processor(), "threads": 1},
        "versions": {
            **versions(),
            **{name: version(name) for name in ("gymnasium", "stable-baselines3")},
        },
        "tables": tables,
        "returns": returns,
        "probes": probes,
    }
    with atomic(RESULT) as temporary:
        text = json.dumps(record, indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    PICTURES.mkdir(parents=True, exist_ok=True)
    curves(agents).savefig(PICTURES / "darla_curves.png", dpi=110)
    for row_values in tables.values():
        for row in [row_values["header"], *row_values["rows"]]:
            print(" | ".join(row))
        print()


if __name__ == "__main__":
    main()
