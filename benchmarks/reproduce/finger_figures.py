"""Pictures of transfer on the robot finger, from the records of its models."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from finger_codes import Bank
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from dislab.plots import image_grid, pixels
from dislab.runs import load_run

Record = dict[str, Any]

SCENARIOS: Final = ("OOD1-A", "OOD1-B", "OOD1-C", "OOD2-A", "OOD2-B")
HIGHEST: Final = 0.42
"""Top of the panels; the median of the labels errs by about 0.285."""
COLOURS: Final = {"weak": "#1b7837", "alone": "#762a83", "mixed": "#9a9a9a"}
LABELS: Final = {"weak": "Ada-GVAE", "alone": "β-VAE", "mixed": "mixed codes"}
MARKERS: Final = {False: "o", True: "^"}
NOISES: Final = {False: "without noise", True: "with noise"}


def keep(figure: Figure, path: Path, colours: int = 64) -> None:
    """Writes a figure as a PNG of few colours, which is small; with 0 of all its colours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(pixels(figure))
    (image.quantize(colours) if colours else image).save(path, optimize=True)


def against_dci(models: list[Record], rho: dict[str, Any], path: Path) -> None:
    """Transfer error over disentanglement: one column a scenario, one row a predictor."""
    predictors = list(models[0]["transfer"][SCENARIOS[0]])
    shape = len(predictors), len(SCENARIOS)
    figure = Figure(figsize=(11, 0.7 + 2.1 * shape[0]), dpi=90, layout="constrained")
    axes = figure.subplots(*shape, sharex=True, sharey="row", squeeze=False)
    for row, predictor in enumerate(predictors):
        for column, scenario in enumerate(SCENARIOS):
            panel = axes[row, column]
            _scatter(panel, models, scenario, predictor)
            found = rho["trained"][scenario][predictor]
            text = f"ρ = {found['rho']:.2f}"
            if scenario in rho["mixed"]:
                text += f" (mixed {rho['mixed'][scenario][predictor]['rho']:.2f})"
            panel.set_title(f"{scenario}\n{text}" if not row else text, fontsize=9)
            _above(panel, models, scenario, predictor)
            panel.grid(alpha=0.3)
            panel.tick_params(labelsize=8)
        axes[row, 0].set_ylabel(f"{predictor}\nerror", fontsize=9)
        axes[row, 0].set_ylim(0, HIGHEST)
    figure.supxlabel("DCI disentanglement", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=8, frameon=False)
    keep(figure, path)


def _above(panel: Axes, models: list[Record], scenario: str, predictor: str) -> None:
    """Says how many points lie above the panel."""
    errors = [
        one["transfer"][scenario][predictor]["error"]
        for one in models
        if scenario in one["transfer"]
    ]
    count = sum(error > HIGHEST for error in errors)
    if count:
        text = f"{count} above, to {max(errors):.2f}"
        panel.text(0.97, 0.94, text, transform=panel.transAxes, ha="right", va="top", fontsize=8)


def _scatter(panel: Axes, models: list[Record], scenario: str, predictor: str) -> None:
    groups = [("mixed", False), *((kind, noise) for kind in ("alone", "weak") for noise in MARKERS)]
    for kind, noise in groups:
        chosen = [
            one
            for one in models
            if one["kind"] == kind and one["noise"] == noise and scenario in one["transfer"]
        ]
        panel.scatter(
            [one["scores"]["dci_hgbt_disentanglement"] for one in chosen],
            [one["transfer"][scenario][predictor]["error"] for one in chosen],
            s=14 if kind == "mixed" else 34,
            c=COLOURS[kind],
            marker="x" if kind == "mixed" else MARKERS[noise],
            linewidths=1,
            label=LABELS[kind] if kind == "mixed" else f"{LABELS[kind]} {NOISES[noise]}",
        )


def of_noise(models: list[Record], predictor: str, factors: list[str], path: Path) -> None:
    """What input noise changes: the error of each model, and of each factor where encoders fail."""
    trained = [one for one in models if one["kind"] != "mixed"]
    figure = Figure(figsize=(11, 3.4), dpi=90, layout="constrained")
    lowest = min(one["beta"] for one in trained)
    left, *others = figure.subplots(1, 3, width_ratios=(1.3, 1, 1))
    for place, scenario in enumerate(SCENARIOS):
        for one in (one for one in trained if not one["noise"]):
            pair = [one, *(two for two in trained if two["noise"] and _same(one, two))]
            errors = [two["transfer"][scenario][predictor]["error"] for two in pair]
            x = place + np.array([-0.18, 0.18])[: len(errors)]
            label = None if place else f"{LABELS[one['kind']]}, β {one['beta']:g}"
            style = "-" if one["beta"] == lowest else "--"
            left.plot(x, errors, style, c=COLOURS[one["kind"]], lw=1, marker="o", ms=4, label=label)
    left.set_xticks(range(len(SCENARIOS)), SCENARIOS)
    left.set_title(f"{predictor}: without noise → with noise", fontsize=9)
    left.set_ylabel("error", fontsize=9)
    for panel, scenario in zip(others, ("OOD2-A", "OOD2-B"), strict=True):
        for noise, colour in ((False, "#bdbdbd"), (True, "#2b6cb0")):
            rows = [
                [one["transfer"][scenario][predictor]["factors"].get(name) for name in factors]
                for one in trained
                if one["noise"] == noise
            ]
            heights = np.array(rows, dtype=float).mean(0)
            x = np.arange(len(factors)) + (0.2 if noise else -0.2)
            panel.bar(x, heights, 0.4, color=colour, label=NOISES[noise])
        panel.set_xticks(range(len(factors)), factors, rotation=45)
        panel.set_title(f"{scenario}, {predictor}, mean over models", fontsize=9)
    for panel in (left, *others):
        panel.set_ylim(0, 1.35 * panel.get_ylim()[1])  # leaves room for the legend
        panel.legend(fontsize=8, frameon=False, loc="upper left", ncols=2)
        panel.grid(alpha=0.3, axis="y")
        panel.tick_params(labelsize=8)
    keep(figure, path)


def _same(one: Record, two: Record) -> bool:
    """Whether two models differ in noise alone."""
    return all(one[key] == two[key] for key in ("kind", "beta", "seed"))


def of_reconstructions(
    runs: dict[str, Path], domain: dict[str, Bank], path: Path, count: int = 3
) -> None:
    """Images of each domain, and what some models make of them; one row a model."""
    for data, _ in domain.values():
        data.prepare_data()
    images = [data.images(states[7 : 7 + count]) for data, states in domain.values()]
    inputs = torch.cat(images)
    rows = [inputs]
    with torch.inference_mode():
        rows += [load_run(run).reconstruct(inputs) for run in runs.values()]
    grid = torch.stack(rows).float().numpy()
    title = "Training set, held-out hues (OOD2-A), second domain (OOD2-B)"
    keep(image_grid(grid, ["image", *runs], title=title, blocks=len(domain)), path, 0)
