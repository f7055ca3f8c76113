"""Tables and pictures of docs/results/darla.md, from agents that have been trained and tested.

python benchmarks/darla.py --study studies/darla_room --agents agents/darla_room
python benchmarks/darla.py --study studies/darla_finger --agents agents/darla_finger
python benchmarks/darla.py --study studies/darla_laptop --agents agents/darla_laptop

Where dislab-control is installed, after the commands of that page; in the folder in which they ran.
Writes benchmarks/results/NAME.json for the NAME of the study, and the curves of darla_room;
`study_figures.py` draws its returns.
"""

import argparse
import csv
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import torch
from gymnasium.spaces import Box
from matplotlib.figure import Figure
from scipy.stats import spearmanr, t, ttest_ind
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dislab.runs import versions
from dislab.storage.writing import atomic
from dislab.study import Study
from dislab.study.statistics import holm, rank_correlations
from dislab.study.summary import label
from dislab_control.agent_config import read_config
from dislab_control.agent_progress import PROGRESS
from dislab_control.observations import observer
from dislab_control.returns import pool, read_returns
from dislab_control.stages import FOLDER
from dislab_control.world import States, World
from dislab_control.worlds import world_of
from hardware import processor
from kept_runs import keep_runs

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "benchmarks/results"
PICTURES: Final = ROOT / "docs/images/results"


class Experiment(NamedTuple):
    """What an experiment is about.

    Attributes:
        world: Name of the world.
        domains: Its domains, the source first.
        seen: Columns of `World.seen` that a probe predicts.
        is_main: Whether the page shows the returns in training, and scores of runs are kept.
    """

    world: str
    domains: tuple[str, ...]
    seen: Sequence[int]
    is_main: bool = False


EXPERIMENTS: Final = {
    "darla_laptop": Experiment(
        "SeekAvoid",
        ("source", "target", "new-wall-hue", "new-object-hue", "wall-equals-object"),
        range(8),  # presence, bearing and distance of the nearest ball and cube
    ),
    "darla_finger": Experiment(
        "FingerReach",
        ("source", "new-cube-hue", "new-cube-place"),
        range(6, 10),  # position of the cube, and vector from the tip to it
    ),
    "darla_room": Experiment(
        "ShapesRoom",
        ("source", "target", "new-hues", "evening"),
        (2, 5, 6, 7),  # hue of the cube as cosine and sine, size and angle
        is_main=True,
    ),
}
"""By the name of the study."""
NAMES: Final = {
    "factors": "true factors",
    "darla": "DARLA: β-VAE_DAE",
    "betatcvae": "β-TCVAE, β = 6",
    "betavae": "β-VAE, β = 4",
    "entangled": "β-VAE, β = 0.1",
    "codes": "features of the autoencoder",
    "pixels": "pixels",
    "untrained": "untrained encoder",
}
"""Names of representations on the page, by name of the encoder or of the observations."""


ENTANGLED: Final = "entangled"
BLIND: Final = ("factors", "pixels")
"""Representations that no model makes."""
FRAMES: Final = 3000
D_SCORE: Final = "score.dci_hgbt_disentanglement"
ORDERS: Final = 100_000
"""Permutations of a test."""
SCORES: Final = {
    name: label(name) for name in ("score.mig", D_SCORE, "score.dci_hgbt_informativeness")
}
EACH: Final = 10
"""Steps of the random agent between two frames of a probe."""


def agents_of(study: Study, folder: Path) -> dict[str, list[Path]]:
    """Folders of the agents of each representation, in the order of the page."""
    folders: dict[str, list[Path]] = {}
    for run, encoder in study.table()["encoder"].items():
        path = study.folder.run(str(run)) / FOLDER
        folders.setdefault(encoder, []).extend(sorted(path.glob("PPO-codes-*")))
    for path in sorted(folder.glob("PPO-*")):
        folders.setdefault(read_config(path).observations, []).append(path)
    return {name: folders[name] for name in NAMES if folders.get(name)}


def shares_of(folders: list[Path]) -> dict[str, list[float]]:
    """The share of its return that each agent keeps, by new domain; none if one earns nothing."""
    tables = [read_returns(folder) for folder in folders]
    shares: dict[str, list[float]] = {}
    for table in tables:
        for domain, row in table.items():
            if row["ratio"] is not None:
                shares.setdefault(domain, []).append(row["ratio"])
    return {domain: each for domain, each in shares.items() if len(each) == len(tables)}


def states_of(world: World, seed: int) -> States:
    """States that an agent meets that acts at random."""
    draws = [np.random.default_rng((seed, copy)) for copy in range(100)]
    states = np.concatenate([world.start(generator) for generator in draws])
    actions, frames = np.random.default_rng(seed), []
    while len(frames) * len(draws) < FRAMES:
        for _ in range(EACH):
            states = world.step(states, random_actions(world, actions, len(draws)), draws).states
        frames.append(states)
    return np.concatenate(frames)


def random_actions(world: World, generator: np.random.Generator, count: int) -> np.ndarray:
    """Actions drawn uniformly."""
    space = world.actions
    if isinstance(space, Box):
        return generator.uniform(space.low, space.high, (count, *space.shape))
    return generator.integers(space.n, size=count)


def probes_of(
    experiment: Experiment, encoders: dict[str, list[tuple[str, Path]]]
) -> dict[str, dict[str, float]]:
    """R² of what is seen of objects, by ridge regression on the representation.

    Learnt on frames of the source, tested on others there and in each new domain; the mean over the
    encoders of a kind.
    """
    worlds = {
        domain: world_of(experiment.world, {"domain": domain}) for domain in experiment.domains
    }
    test_states = {domain: states_of(world, 1) for domain, world in worlds.items()}
    train_states = states_of(worlds["source"], 0)
    seen = {
        domain: worlds[domain].seen(states)[:, list(experiment.seen)]
        for domain, states in test_states.items()
    }
    probes: dict[str, dict[str, float]] = {}
    for name, group in encoders.items():
        rows = []
        for encoder in group:
            eyes = {domain: observer(world, *encoder) for domain, world in worlds.items()}
            ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7)))
            ridge.fit(
                eyes["source"].observe(train_states),
                worlds["source"].seen(train_states)[:, list(experiment.seen)],
            )
            rows.append(
                [
                    r2_score(seen[domain], ridge.predict(eyes[domain].observe(states)))
                    for domain, states in test_states.items()
                ]
            )
        probes[name] = dict(zip(worlds, np.mean(rows, axis=0).tolist(), strict=True))
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


def with_interval(value: float, interval: Sequence[float]) -> str:
    """A number with its interval in brackets."""
    low, high = map(rounded, interval)
    return f"{rounded(value)} [{low}, {high}]"


def ratio(summary: dict[str, Any]) -> str:
    """The share of the return in the source, with its interval over episodes."""
    if summary["ratio"] is None:
        return "–"
    return with_interval(summary["ratio"], summary["interval"])


def mean_share(shares: Sequence[float]) -> str:
    """The mean share of several agents, with its interval by Student's distribution."""
    if not shares:
        return "–"
    error = np.std(shares, ddof=1) / len(shares) ** 0.5
    mean, width = float(np.mean(shares)), float(t.ppf(0.975, len(shares) - 1) * error)
    return with_interval(mean, (mean - width, mean + width))


def difference_rows(
    shares: dict[str, dict[str, list[float]]], domains: Sequence[str]
) -> list[list[str]]:
    """DARLA's mean share less that of every other representation, by Welch's t, for each domain.

    A star: p < .05 after Holm's correction over the representations.
    """
    others = [name for name in shares if name != "darla" and shares[name]]
    columns = []
    for domain in domains:
        tests = [
            ttest_ind(shares["darla"][domain], shares[name][domain], equal_var=False)
            for name in others
        ]
        columns.append(
            [
                with_interval(
                    float(np.mean(shares["darla"][domain]) - np.mean(shares[name][domain])),
                    test.confidence_interval(0.95),
                )
                + ("\\*" if p < 0.05 else "")
                for name, test, p in zip(
                    others, tests, holm([test.pvalue for test in tests]), strict=True
                )
            ]
        )
    return [[NAMES[name], *cells] for name, *cells in zip(others, *columns, strict=True)]


def relation(table: pd.DataFrame, new: Sequence[str]) -> dict[str, Any]:
    """Rank correlation of disentanglement and the share of the return kept, over all encoders."""
    shares = {f"act-transfer.PPO/codes/{domain}/ratio": domain for domain in new}
    correlations = rank_correlations(table, D_SCORE, list(shares), orders=ORDERS)
    others = table[table["encoder"] != ENTANGLED]
    rows = [
        [
            shares[row["right"]],
            with_interval(row["rho"], (row["low"], row["high"])),
            f"{row['p_holm']:.3f}",
            rounded(spearmanr(others[D_SCORE], others[row["right"]]).statistic),
        ]
        for row in correlations.to_dict("records")
    ]
    header = [
        "domain",
        "ρ of DCI disentanglement and share",
        "p (Holm)",
        f"without {NAMES[ENTANGLED]}",
    ]
    return {"header": header, "rows": rows, "intervals": "runs"}


def probe_cells(probe: dict[str, float], scores: pd.DataFrame, encoder: str) -> list[str]:
    """R² in each domain, and the mean scores of encoders that the study has trained."""
    texts = [rounded(error) for error in probe.values()]
    if encoder not in scores.index:
        return texts + ["–"] * len(SCORES)
    return texts + [rounded(scores.loc[encoder, column]) for column in SCORES]


def tables_of(
    experiment: Experiment,
    agents: dict[str, list[Path]],
    returns: dict[str, dict[str, dict[str, Any]]],
    shares: dict[str, dict[str, list[float]]],
    probes: dict[str, dict[str, float]],
    table: pd.DataFrame,
) -> dict[str, Any]:
    """The tables of the page, by name."""
    scores = table.groupby("encoder")[list(SCORES)].mean()
    source, *new = experiment.domains
    tables: dict[str, Any] = {}
    chance = next(iter(returns.values()))
    tables["returns"] = {
        "header": ["representation", source, *new],
        "rows": [
            *(
                [NAMES[name], *(cell(summary[domain]) for domain in (source, *new))]
                for name, summary in returns.items()
            ),
            ["random actions", *(rounded(chance[domain]["random"]) for domain in (source, *new))],
        ],
    }
    several = len({read_config(folder).encoder for folder in agents["darla"]}) > 1
    tables["ratios"] = {
        "header": ["representation", *new],
        "rows": [
            [
                NAMES[name],
                *(
                    mean_share(shares[name].get(domain, [])) if several else ratio(summary[domain])
                    for domain in new
                ),
            ]
            for name, summary in returns.items()
        ],
        "intervals": "means" if several else "episodes",
    }
    if several:
        tables["differences"] = {
            "header": ["DARLA less", *new],
            "rows": difference_rows(shares, new),
            "intervals": "welch",
        }
        tables["relation"] = relation(table, new)
    tables["probes"] = {
        "header": ["representation", source, *new, *SCORES.values()],
        "rows": [
            [NAMES[name], *probe_cells(probe, scores, name)] for name, probe in probes.items()
        ],
    }
    return tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", type=Path, required=True)
    parser.add_argument("--agents", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    study = Study(options.study)
    name = study.schedule.name
    experiment = EXPERIMENTS[name]
    agents = agents_of(study, options.agents)
    returns = {name: pool(folders) for name, folders in agents.items()}
    eyes: dict[str, list[tuple[str, Path]]] = {}
    for kind, folders in agents.items():
        configs = [read_config(folder) for folder in folders if kind not in BLIND]
        pairs = {(config.observations, config.encoder) for config in configs}
        if pairs:
            eyes[kind] = sorted(pairs, key=str)
    probes = probes_of(experiment, eyes)
    shares = {name: shares_of(folders) for name, folders in agents.items()}
    tables = tables_of(experiment, agents, returns, shares, probes, study.table())
    record = {
        "command": f"python benchmarks/darla.py --study studies/{name} --agents agents/{name}",
        "hardware": {"processor": processor(), "threads": 1},
        "versions": {
            **versions(),
            **{name: version(name) for name in ("gymnasium", "stable-baselines3")},
        },
        "tables": tables,
        "returns": returns,
        "shares": shares,
        "probes": probes,
    }
    if experiment.is_main:
        keep_runs(study)
    with atomic(RESULTS / f"{name}.json") as temporary:
        text = json.dumps(record, indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    if experiment.is_main:
        curves(agents).savefig(PICTURES / f"{name}_curves.png", dpi=110)
    for table in tables.values():
        for row in [table["header"], *table["rows"]]:
            print(" | ".join(row))
        print()


if __name__ == "__main__":
    main()
