"""`dislab act`: trains agents on representations, and measures their returns in every domain."""

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from dislab.cli.arguments import Parser
from dislab.errors import InputError
from dislab.yaml_files import parse_yaml

_DESCRIPTION: Final = "Train agents on the codes of a model, and test them in other domains."

_FIT: Final = """\
Train agents in a world: on codes of a run's frozen model, on pixels, or on true factors.

Each agent has a folder OUT/<agent>-<observations>-<seed>. With several values of --agent,
--observations or --seed, all combinations are trained, one after another. Ctrl-C stops the training
and saves its state in the folder; the same command resumes it, and skips finished agents."""

_TEST: Final = """\
Test agents in the domains of their world, without learning.

FOLDER is the folder of an agent, or a folder that contains several of them. A table is printed;
all results are written to returns.json and episodes.csv of each agent. A ratio is the mean return
in a domain divided by the mean return in the training domain, with its 95 % bootstrap interval.
Agents that differ only in the seed are also summarised together, with the standard error over
agents instead of over episodes."""

_EVERY: Final = 30.0
"""Seconds between two lines of progress if there is no terminal."""


def run(args: list[str]) -> int:
    """Trains agents on representations, and tests them in other domains."""
    options = _parser().parse_args(args)
    _check_libraries()
    return _fit(options) if options.verb == "fit" else _test(options)


def _check_libraries() -> None:
    try:
        import stable_baselines3  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(
            f"agents need {error.name}, which is not installed; install it: pip install "
            "stable-baselines3"
        ) from error


def _parser() -> Parser:
    parser = Parser(
        "dislab act", description=_DESCRIPTION, example="dislab act fit --observations pixels"
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="fit|test")
    fit = verbs.add_parser(
        "fit",
        help="train agents",
        description=_FIT,
        example="dislab act fit --encoder runs/darla/version_0 --agent PPO A2C",
    )
    fit.add_argument("--encoder", metavar="RUN", help="run folder of the model that encodes")
    fit.add_argument("--env", default="dislab/SeekAvoid-v0", help="the environment (%(default)s)")
    fit.add_argument(
        "--env_settings",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="settings of the environment, such as objects=2",
    )
    fit.add_argument(
        "--agent", nargs="+", default=["PPO"], metavar="NAME", help="PPO, A2C or DQN (PPO)"
    )
    fit.add_argument(
        "--observations",
        nargs="+",
        default=["codes"],
        metavar="NAME",
        help="codes of the encoder, untrained for codes of an encoder with initial weights, "
        "pixels, or factors for the true factors of visible objects (codes)",
    )
    fit.add_argument(
        "--steps", type=int, default=80_000, metavar="N", help="training steps (%(default)s)"
    )
    fit.add_argument("--seed", nargs="+", type=int, default=[0], metavar="N", help="seeds (0)")
    fit.add_argument("--copies", type=int, metavar="N", help="environments to act in at once")
    fit.add_argument(
        "--settings",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="arguments of the algorithm in stable-baselines3, such as learning_rate=3e-4",
    )
    fit.add_argument("--out", default="agents", help="folder of the agents (%(default)s)")
    fit.add_argument(
        "--resume",
        metavar="FOLDER",
        help="resume this agent; its folder has all settings, so no other option is needed",
    )
    _add_device(fit)
    test = verbs.add_parser(
        "test",
        help="test agents",
        description=_TEST,
        example="dislab act test agents --episodes 100",
    )
    test.add_argument("folders", nargs="+", metavar="FOLDER", help="agents, or folders of agents")
    test.add_argument(
        "--domains", nargs="+", metavar="NAME", help="domains of the environment; all unless given"
    )
    test.add_argument(
        "--episodes", type=int, default=200, metavar="N", help="episodes per domain (%(default)s)"
    )
    test.add_argument("--seed", type=int, default=1_000_000, help="seed of episodes and actions")
    test.add_argument(
        "--greedy", action="store_true", help="take the most likely action instead of drawing one"
    )
    _add_device(test)
    return parser


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", default="cpu", help="device of the networks, such as cuda (%(default)s)"
    )


def _fit(options: argparse.Namespace) -> int:
    from dislab_control.agents import fit_agent, resume_agent

    _check_device(options.device)
    if options.resume:
        name = Path(options.resume).resolve().name
        with _ProgressBar(name, None) as progress:
            print(resume_agent(options.resume, options.device, progress))
        return 0
    chosen = list(itertools.product(options.agent, options.observations, options.seed))
    for agent, observations, seed in chosen:
        with _ProgressBar(f"{agent}-{observations}-{seed}", options.steps) as progress:
            folder = fit_agent(
                options.out,
                options.env,
                agent,
                observations,
                options.steps,
                seed,
                options.encoder,
                _settings("--env_settings", options.env_settings),
                options.copies,
                _settings("--settings", options.settings),
                options.device,
                progress,
            )
        print(folder)
    return 0


def _test(options: argparse.Namespace) -> int:
    from dislab_control import returns

    _check_device(options.device)
    folders = agent_folders(options.folders)
    for folder in folders:
        returns.agent_returns(
            folder,
            options.domains,
            options.episodes,
            options.seed,
            options.greedy,
            options.device,
        )
        print(f"{folder}\n{returns.returns_table(returns.read_returns(folder))}")
    for kind, domains in returns.pooled_returns(folders).items():
        agents = next(iter(domains.values()))["agents"]
        print(f"{kind}, mean ± standard error of {agents} agents\n{returns.returns_table(domains)}")
    return 0


def agent_folders(paths: Sequence[str | Path]) -> list[Path]:
    """Folders of agents: the given ones, or their subfolders.

    Args:
        paths: Folders of agents, or folders that contain them.

    Raises:
        InputError: A folder contains no agent.
    """
    folders = []
    for folder in map(Path, paths):
        if (folder / "agent.json").is_file():
            folders.append(folder)
        elif inside := sorted(path.parent for path in folder.glob("*/agent.json")):
            folders += inside
        else:
            raise InputError(
                f"{folder} holds no agent, and no folders with agents; `dislab act fit --out "
                f"{folder}` makes them"
            )
    return folders


def _check_device(name: str) -> None:
    import torch

    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"--device is {name!r}, which torch cannot use; choose cpu") from error


def _settings(option: str, words: Sequence[str]) -> dict[str, Any]:
    """Settings by name, with values parsed as YAML."""
    settings: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise InputError(f"{option} has {word!r}; write NAME=VALUE")
        settings[name] = parse_yaml(value, f"{option} {name}")
    return settings


class _ProgressBar:
    """Shows progress: a bar on a terminal, otherwise a line every half minute."""

    def __init__(self, name: str, steps: int | None) -> None:
        self._name = name
        self._steps = steps
        self._spoke = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> "_ProgressBar":
        if sys.stderr.isatty():
            self._bar = tqdm(total=self._steps, desc=self._name, unit=" steps", leave=False)
        return self

    def __exit__(self, *ended: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, steps: int, mean: float | None) -> None:
        result = "no episode yet" if mean is None else f"return {mean:.2f}"
        if self._bar is not None:
            self._bar.update(steps - self._bar.n)
            self._bar.set_postfix_str(result)
        elif time.monotonic() - self._spoke > _EVERY:
            self._spoke = time.monotonic()
            of = f" of {self._steps:,}" if self._steps else ""
            print(f"dislab: {self._name}: {steps:,}{of} steps, {result}", file=sys.stderr)
