"""Times a study for a laptop: its runs an hour against one bare PyTorch loop per core.

python benchmarks/study_throughput.py [--rounds 3] [--only runs|score|start]

Trains the β-VAE's runs of configs/studies/locatello_laptop.yaml, cut short: once by
`dislab study run --workers 2`, once by two processes that import torch and train the same networks
on the same images one run after another, without dislab, Lightning and files. Both take turns on
two cores, each process on one thread, with a short and a long training, so that the time of a step
and that of everything else are known apart. Times are those on the clock: nothing else may run.
`--only start` times `dislab --help` and imports. Writes benchmarks/results/study_throughput.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

RESULT: Final = Path(__file__).parent / "results" / "study_throughput.json"
STUDIES: Final = Path(__file__).parent.parent / "configs" / "studies"
STUDY: Final = "locatello_laptop"
WORKERS: Final = 2
RUNS: Final = 6
"""Two strengths and three seeds, three runs a worker."""
SHORT: Final = 300
LONG: Final = 6000
"""Steps of a run of the study itself, with its validations and checkpoints."""
FULL_RUNS: Final = 60
"""Runs of the study itself."""
SIDE: Final = 32
LATENTS: Final = 10
STARTS: Final = 11
COMMANDS: Final = {
    "`dislab --help`": ("-m", "dislab", "--help"),
    "`import torch`": ("-c", "import torch"),
    "what a worker of a study imports, once": ("-c", "from dislab.cli import training"),
}
ENVIRONMENT: Final = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}


def main() -> None:
    """Times the parts in turn and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--bare", nargs=3, metavar=("IMAGES", "RUNS", "STEPS"))
    options = parser.parse_args()
    if options.bare:
        images, runs, steps = options.bare
        bare(Path(images), int(runs), int(steps))
        return
    results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for part in [options.only] if options.only else list(PARTS):
        results[part] = PARTS[part](options.rounds) | surroundings(part, options.rounds)
        results["tables"] = tables(results)
        RESULT.write_text(json.dumps(results, indent=2) + "\n")
        print(json.dumps(results[part], indent=2))


def surroundings(part: str, rounds: int) -> dict[str, Any]:
    """Command, hardware and versions, as the file keeps them."""
    from dislab.runs import versions
    from hardware import processor

    command = f"python benchmarks/study_throughput.py --rounds {rounds} --only {part}"
    return {"command": command, "hardware": processor(), "versions": versions()}


def time_runs(rounds: int) -> dict[str, Any]:
    """Studies and bare loops, short and long, in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        images = folder / "images.npy"
        save_images(images)
        timed_study(folder / "warm_up", 20, score=False)
        seen = []
        for index in range(rounds):
            record: dict[str, Any] = {}
            for length, steps in (("short", SHORT), ("long", LONG)):
                path = folder / f"{length}_{index}"
                record[length] = {
                    "study": timed_study(path, steps, score=False),
                    "bare": timed_bare(images, steps),
                }
            seen.append(record | computed(record))
    return {"runs": RUNS, "workers": WORKERS, "steps": [SHORT, LONG], "rounds": seen}


def computed(record: dict[str, Any]) -> dict[str, float]:
    """What follows from the times of a round.

    A study of k runs a worker, each of n steps, takes start + k (run + n step). The seconds of a
    run are those of its record; the little time between runs is part of `start`.
    """
    each = RUNS // WORKERS
    short, long = record["short"]["study"], record["long"]["study"]
    step = (long["run_seconds"] - short["run_seconds"]) / (LONG - SHORT)
    run = long["run_seconds"] - LONG * step
    start = mean(both["seconds"] - each * both["run_seconds"] for both in (short, long))
    bare_short, bare_long = record["short"]["bare"], record["long"]["bare"]
    bare_step = (bare_long["seconds"] - bare_short["seconds"]) / (each * (LONG - SHORT))
    bare_start = bare_long["seconds"] - each * LONG * bare_step
    turns = FULL_RUNS // WORKERS
    total = start + turns * (run + LONG * step)
    bare_whole = bare_start + turns * LONG * bare_step
    return {
        "study_start": start,
        "study_run": run,
        "study_step": step,
        "bare_start": bare_start,
        "bare_step": bare_step,
        "ratio_short": bare_short["seconds"] / short["seconds"],
        "ratio_long": bare_long["seconds"] / long["seconds"],
        "ratio_step": bare_step / step,
        "computed_runs_an_hour": 3600 * FULL_RUNS / total,
        "computed_bare_runs_an_hour": 3600 * FULL_RUNS / bare_whole,
        "computed_ratio": bare_whole / total,
        "computed_share_of_start": (start + turns * run) / total,
    }


def time_score(_: int) -> dict[str, Any]:
    """One short study with its scores, once: seconds of the stage of each run."""
    with tempfile.TemporaryDirectory() as name:
        return timed_study(Path(name) / "score", SHORT, score=True, seeds=1)


def time_start(_: int) -> dict[str, Any]:
    """Seconds of fresh processes, from the lowest to the highest; the commands take turns."""
    seen: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(STARTS):
        for name, arguments in COMMANDS.items():
            seen[name].append(fresh(*arguments))
    return {name: sorted(seconds) for name, seconds in seen.items()}


def fresh(*arguments: str) -> float:
    """Seconds of a Python process."""
    began = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.perf_counter() - began


PARTS: Final = {"runs": time_runs, "score": time_score, "start": time_start}


def timed_study(folder: Path, steps: int, score: bool, seeds: int = RUNS // 2) -> dict[str, Any]:
    """Makes a study's runs; seconds of it all, and those of a run's stages, means over runs."""
    import yaml

    study = yaml.safe_load((STUDIES / f"{STUDY}.yaml").read_text())
    method = study["axes"]["method"]["betavae"]
    folder.mkdir()
    cut = folder / "steps.yaml"
    cut.write_text(yaml.safe_dump({"trainer": {"max_steps": steps}}))
    method["config"] = [
        *(str((STUDIES / config).resolve()) for config in method["config"]),
        str(cut),
    ]
    study["axes"] = {"method": {"betavae": method}}
    study["seeds"] = seeds
    study["stages"] = {
        word: settings
        for word, settings in study["stages"].items()
        if word == "train" or (score and word == "score")
    }
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(study, sort_keys=False))
    study_folder = folder / "made"
    command = [
        sys.executable,
        "-m",
        "dislab",
        "study",
        "run",
        str(file),
        "--folder",
        str(study_folder),
    ]
    began = time.perf_counter()
    done = subprocess.run(
        [*command, "--workers", str(WORKERS)], capture_output=True, text=True, env=ENVIRONMENT
    )
    seconds = time.perf_counter() - began
    durations = {
        word: [
            json.loads(config.read_text())["seconds"]
            for config in study_folder.glob(f"runs/*/stages/{word}/done.json")
        ]
        for word in study["stages"]
    }
    if done.returncode or any(len(config) != 2 * seeds for config in durations.values()):
        raise SystemExit(done.stdout + done.stderr)
    record = {"steps": steps, "seconds": seconds, "run_seconds": mean(durations["train"])}
    return record | ({"score_seconds": mean(durations["score"])} if score else {})


def timed_bare(images: Path, steps: int) -> dict[str, float]:
    """Two processes at once, each with its share of the runs: seconds until both have ended."""
    command = [sys.executable, __file__, "--bare", str(images), str(RUNS // WORKERS), str(steps)]
    began = time.perf_counter()
    both = [subprocess.Popen(command, env=ENVIRONMENT) for _ in range(WORKERS)]
    statuses = [process.wait() for process in both]
    if any(statuses):
        raise SystemExit("a bare loop has failed")
    return {"steps": steps, "seconds": time.perf_counter() - began}


def save_images(path: Path) -> None:
    """Writes the study's images: dSprites without turns, at half the size."""
    import numpy as np
    import torch

    from dislab.datamodules import SingleData
    from dislab.datasets import DSprites

    data = SingleData(DSprites(), include={"orientation": 0.0}, resize=SIDE)
    data.prepare_data()
    loader = data.train_dataloader()
    seen = [data.on_after_batch_transfer(batch, 0).image for batch in loader]
    np.save(path, (255 * torch.cat(seen)).round().to(torch.uint8).numpy())


def bare(path: Path, runs: int, steps: int) -> None:
    """Trains β-VAEs one after another, with nothing around the steps but a loop."""
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F

    images = torch.from_numpy(np.load(path))
    for run in range(runs):
        torch.manual_seed(run)
        encoder = nn.Sequential(nn.Flatten(), *layers([SIDE**2, 256, 256, 2 * LATENTS], nn.ReLU))
        decoder = nn.Sequential(*layers([LATENTS, 256, 256, 256, SIDE**2], nn.Tanh))
        weights = [*encoder.parameters(), *decoder.parameters()]
        optimizer = torch.optim.Adam(weights, lr=1e-3, fused=True)
        for _ in range(steps):
            image = images[torch.randint(len(images), (64,))].float() / 255
            mu, log_var = encoder(image).chunk(2, dim=1)
            z = mu + (0.5 * log_var).exp() * torch.randn_like(mu)
            logits, target = decoder(z), image.flatten(1)
            loss = F.binary_cross_entropy_with_logits(logits, target, reduction="sum")
            loss = loss + 0.25 * 0.5 * (mu.square() + log_var.exp() - log_var - 1).sum()
            optimizer.zero_grad()
            (loss / len(image)).backward()
            optimizer.step()


def layers(sizes: Sequence[int], activation: Any) -> list[Any]:
    """Fully connected layers with activations between them."""
    from torch import nn

    modules: list[Any] = []
    for into, out in pairwise(sizes):
        modules += [nn.Linear(into, out), activation()]
    return modules[:-1]


def tables(results: dict[str, Any]) -> dict[str, Any]:
    """The results as the pages show them."""
    by_name = {}
    if "runs" in results:
        seen = results["runs"]["rounds"]
        parts = [
            ["start and end of everything, once, s", "study_start", "bare_start", 1.0],
            ["around the steps of a run, s", "study_run", None, 1.0],
            ["a step, ms", "study_step", "bare_step", 1e3],
        ]
        rows = [
            [title, cell(seen, study, scale), cell(seen, loop, scale) if loop else "none"]
            for title, study, loop, scale in parts
        ]
        share = cell(seen, "computed_share_of_start", 100)
        rows.append([f"of {FULL_RUNS} runs of {LONG} steps all but steps, computed, %", share, ""])
        by_name["parts"] = {"header": ["", "study", "bare loops"], "rows": rows}
        short, long = results["runs"]["steps"]
        label = f"{FULL_RUNS} runs of {LONG} steps"
        rows = [
            [f"{RUNS} runs of {short} steps, measured", cell(seen, "ratio_short")],
            [f"{RUNS} runs of {long} steps, measured", cell(seen, "ratio_long")],
            [f"{label}, computed", cell(seen, "computed_ratio")],
        ]
        if "score" in results:
            score = FULL_RUNS // WORKERS * results["score"]["score_seconds"]
            scored = [with_scores(record, score) for record in seen]
            row = f"{label}, the study's with scores, the loops' without, computed"
            rows.append([row, cell(scored, "ratio")])
        by_name["ratios"] = {"header": ["", "runs an hour, bare loops = 1"], "rows": rows}
    if "start" in results:
        rows = [
            [name, cell([{"s": record} for record in results["start"][name]], "s")]
            for name in COMMANDS
        ]
        by_name["start"] = {"header": ["", "s"], "rows": rows}
    return by_name


def with_scores(record: dict[str, float], score: float) -> dict[str, float]:
    """The computed ratio of a round, with some seconds of scores beside the study's own."""
    study, loops = record["computed_runs_an_hour"], record["computed_bare_runs_an_hour"]
    hours = FULL_RUNS / study + score / 3600
    return {"ratio": FULL_RUNS / loops / hours}


def cell(rounds: list[dict[str, Any]], name: str, scale: float = 1.0) -> str:
    """Median of a value over the rounds, with lowest and highest."""
    values = [scale * record[name] for record in rounds]
    places = 2 if median(values) < 2 else 1
    return f"{median(values):.{places}f} ({min(values):.{places}f} – {max(values):.{places}f})"


if __name__ == "__main__":
    main()
