"""Which factors a few nats are spent on: KL per factor against capacity, images along the way.

python benchmarks/effects/bottleneck.py [--steps 50000] [--capacity 25] [--gamma 100] [--seed 0]

Trains the bottleneck generator on dSprites at 32×32 pixels. An interrupted run goes on from
its last state in --work. Writes benchmarks/results/bottleneck.json and docs/images/bottleneck.png.
"""

import argparse
import json
import os
import platform
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from torch.nn import functional as F

from dislab import runs
from dislab.base import ImageBatch
from dislab.datasets import DSprites
from dislab.decoders import MLPDecoder
from dislab.functional.random import device_generator
from dislab.functional.streams import Stream
from dislab.objectives import BottleneckGenerator
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")
SHOWN = (3.1, 7.3, 15.4, 23.8)
"""Capacities at which images are kept, in nats: those of Burgess et al. (2018), figure 3."""


def small(data: DSprites, index: torch.Tensor) -> torch.Tensor:
    return F.avg_pool2d(data.images(index).float() / 255, 2)


def train(options: argparse.Namespace, data: DSprites) -> dict[str, Any]:
    """The log of a run, and the images drawn of some states at some capacities."""
    torch.manual_seed(options.seed)
    space = data.factors
    model = BottleneckGenerator(
        (1, 32, 32),
        space.names,
        space.sizes,
        partial(MLPDecoder, hidden=(256, 256)),
        gamma=options.gamma,
        capacity=options.capacity,
        steps=options.steps,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    state: dict[str, Any] = {"step": 0, "log": [], "images": {}, "seconds": 0.0}
    settings = (options.steps, options.capacity, options.gamma, options.lr, options.seed)
    saved = options.work / f"bottleneck-{'-'.join(map(str, settings))}.pt"
    if saved.is_file():
        state = torch.load(saved, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    states = torch.randint(len(space), (8,), generator=device_generator(CPU, options.seed, 1))
    begin = time.perf_counter() - state["seconds"]
    for step in range(state["step"], options.steps + 1):
        generator = device_generator(CPU, options.seed, 2, step)
        index = torch.randint(len(space), (64,), generator=generator)
        batch = ImageBatch(small(data, index), torch.from_numpy(space.positions(index.numpy())))
        terms = model.losses(batch, model.draw(64, Stream(options.seed, step)), torch.tensor(step))
        optimizer.zero_grad()
        terms.loss.backward()
        optimizer.step()
        capacity = terms.log["capacity"].item()
        for nats in SHOWN:
            if str(nats) not in state["images"] and capacity >= nats:
                with torch.no_grad():
                    positions = torch.from_numpy(space.positions(states.numpy()))
                    state["images"][str(nats)] = model.render(positions)[:, 0]
        if step % 100 == 0:
            state["log"].append({name: value.item() for name, value in terms.log.items()})
        if step % 2000 == 0:
            keep = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            state |= {"step": step + 1, "seconds": time.perf_counter() - begin, **keep}
            with atomic(saved) as temporary:
                torch.save(state, temporary)
    state["seconds"] = time.perf_counter() - begin
    state["images"]["image"] = small(data, states)[:, 0]
    return state


def draw(state: dict[str, Any], names: tuple[str, ...], path: Path) -> None:
    """Curves on the left, images on the right."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    curves, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    capacity = [row["capacity"] for row in state["log"]]
    for name in names:
        values = torch.tensor([row[f"kl/{name}"] for row in state["log"]])
        smooth = F.avg_pool1d(values[None, None], 5, 1, 2, count_include_pad=False)[0, 0]
        if len(values) and values.max() > 0:
            curves.plot(capacity, smooth, label=name)
    curves.set(xlabel="capacity (nats)", ylabel="KL (nats)", title="What each factor gets")
    curves.legend(frameon=False)
    order = ["image", *sorted((k for k in state["images"] if k != "image"), key=float)]
    right.imshow(
        torch.cat([torch.cat(list(state["images"][key]), 1) for key in order]), cmap="gray"
    )
    right.set_yticks([32 * row + 16 for row in range(len(order))])
    right.set_yticklabels(["image", *(f"{float(key):.1f} nats" for key in order[1:])])
    right.set_xticks([])
    right.set_title("Drawn at a capacity")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, value in (("steps", 50_000), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, value in (("capacity", 25.0), ("gamma", 100.0), ("lr", 1e-3)):
        parser.add_argument(f"--{name}", type=float, default=value)
    parser.add_argument("--work", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    data = DSprites()
    data.prepare()
    state = train(options, data)
    draw(state, data.factors.names, ROOT / "docs" / "images" / "bottleneck.png")
    settings = {name: value for name, value in vars(options).items() if name != "work"}
    record = {
        "settings": settings | {"batch_size": 64, "pixels": "32×32", "decoder": "MLP 256, 256"},
        "data": data.provenance(),
        "seconds": round(state["seconds"], 1),
        "log": [{name: round(value, 4) for name, value in row.items()} for row in state["log"]],
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count(), "threads": 1},
        "versions": runs.versions(),
    }
    with atomic(ROOT / "benchmarks" / "results" / "bottleneck.json") as temporary:
        temporary.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
