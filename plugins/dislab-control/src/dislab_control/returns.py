"""Returns of trained agents in every domain, without learning."""

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import bootstrap

from dislab.errors import InputError, one_line
from dislab.functional.checks import check_choice, check_count
from dislab.storage import atomic, check_fields, json_text, read_json
from dislab_control.agent_config import AgentConfig, read_config
from dislab_control.agents import AGENT, batch, load_agent
from dislab_control.batch_env import BatchEnv

RETURNS: Final = "returns.json"
EPISODES: Final = "episodes.csv"

_TOGETHER: Final = 64
"""Maximum number of episodes that run at the same time."""
_RESAMPLES: Final = 2_000

Returns = npt.NDArray[np.float64]
"""Undiscounted sums of the rewards of episodes."""

Policy = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Actions for observations, one row per copy."""


class DomainReturns(NamedTuple):
    """Returns of one agent in one domain.

    Attributes:
        returns: Return of each episode.
        mean: Mean return.
        error: Standard error of the mean over episodes.
        random: Mean return of random actions in the same domain.
        ratio: Mean return divided by the mean return in the training domain; None for the training
            domain itself, or if the interval of its mean is not entirely above 0.
        interval: 95 % interval of the ratio by bootstrap over episodes.
    """

    returns: Returns
    mean: float
    error: float
    random: float
    ratio: float | None
    interval: tuple[float, float] | None


def agent_returns(
    folder: str | Path,
    domains: Sequence[str] | None = None,
    episodes: int = 200,
    seed: int = 1_000_000,
    greedy: bool = False,
    device: str = "cpu",
) -> dict[str, DomainReturns]:
    """Measures returns of a trained agent by domain, without learning; writes them to its folder.

    The files are `returns.json`, and `episodes.csv` with one row per episode. Episode k has the
    same seed for every agent and in every domain.

    Args:
        folder: The folder of the agent.
        domains: Names of domains; all domains of the world unless given. The training domain is
            always included.
        episodes: Number of episodes per domain.
        seed: Seed of episodes, actions and resampling.
        greedy: Whether PPO and A2C take the most likely action instead of drawing one; DQN always
            takes the best one.
        device: Device of encoder and agent.

    Raises:
        InputError: The folder contains no finished agent, a domain does not exist, a number is out
            of range, or the encoder has changed since the agent's training.
    """
    folder = Path(folder)
    config = read_config(folder)
    check_count("episodes", episodes, 2, 1_000_000)
    check_count("seed", seed, 0, 2**31)
    for domain in domains or ():
        check_choice("domain", domain, config.domains)
    chosen = dict.fromkeys((config.domain, *(domains or config.domains)))
    if not (folder / AGENT).is_file():
        raise InputError(
            f"{folder} is not fully trained; resume it: dislab act fit --resume {folder}"
        )
    results: dict[str, Returns] = {}
    chance: dict[str, Returns] = {}
    for domain in chosen:
        env = batch(config, domain, min(episodes, _TOGETHER), device)
        model = load_agent(folder, config, env, device)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)

            def act(seen: npt.NDArray[Any], model: Any = model) -> npt.NDArray[Any]:
                actions: npt.NDArray[Any] = model.predict(seen, deterministic=greedy)[0]
                return actions

            results[domain] = episode_returns(env, act, episodes, seed)
        chance[domain] = random_returns(config, domain, episodes, seed)
    result = {
        domain: _summary(returns, results[config.domain], chance[domain], domain == config.domain)
        for domain, returns in results.items()
    }
    _write(folder, config, result, episodes, seed, greedy)
    return result


def episode_returns(env: BatchEnv, policy: Policy, episodes: int, seed: int) -> Returns:
    """Returns of whole episodes, equally many per copy, so that short ones are not favoured.

    Args:
        env: Copies of a world.
        policy: Policy that chooses the actions.
        episodes: Number of episodes.
        seed: Seed of the episodes.
    """
    env.seed(seed)
    seen: Any = env.reset()
    done: list[list[float]] = [[] for _ in range(env.num_envs)]
    rounds = -(-episodes // env.num_envs)
    while min(map(len, done)) < rounds:
        seen, _, ended, information = env.step(policy(seen))
        for copy in np.flatnonzero(ended).tolist():
            done[copy].append(information[copy]["episode"]["r"])
    return np.array([totals[:rounds] for totals in done]).T.reshape(-1)[:episodes]


def random_returns(config: AgentConfig, domain: str, episodes: int, seed: int) -> Returns:
    """Returns of random actions; no images are rendered.

    Args:
        config: Configuration of an agent, for its world.
        domain: Name of the domain.
        episodes: Number of episodes.
        seed: Seed of episodes and actions.
    """
    blind = dataclasses.replace(config, observations="factors", encoder=None, checkpoint=None)
    env = batch(blind, domain, min(episodes, _TOGETHER), "cpu")
    env.action_space.seed(seed)

    def act(seen: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.stack([env.action_space.sample() for _ in seen])

    return episode_returns(env, act, episodes, seed)


def ratio_interval(
    target: Sequence[Returns], source: Sequence[Returns], seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """Ratio of the mean returns of agents in two domains, and its 95 % interval.

    The interval is a percentile bootstrap over the episodes of each agent in each domain, Efron &
    Tibshirani (1993), An Introduction to the Bootstrap, chapter 13, by `scipy.stats.bootstrap`.
    Agents are not resampled: the interval holds for these agents only.

    Args:
        target: Returns in the new domain, one array per agent.
        source: Returns in the training domain, one array per agent.
        seed: Seed of the resampling.
    """

    def ratio(*returns: Returns, axis: int = -1) -> Any:
        means = [sample.mean(axis=axis) for sample in returns]
        return sum(means[: len(target)]) / sum(means[len(target) :])

    draws = np.random.default_rng(seed)
    result = bootstrap(
        (*target, *source), ratio, n_resamples=_RESAMPLES, method="percentile", rng=draws
    )
    low, high = result.confidence_interval
    return float(ratio(*target, *source)), (float(low), float(high))


def _summary(returns: Returns, source: Returns, chance: Returns, is_source: bool) -> DomainReturns:
    mean, error = returns.mean(), returns.std(ddof=1) / len(returns) ** 0.5
    ratio, interval = None, None
    if not is_source and _is_above_zero(source):
        ratio, interval = ratio_interval([returns], [source])
    return DomainReturns(returns, float(mean), float(error), float(chance.mean()), ratio, interval)


def pooled_returns(folders: Sequence[Path]) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns of tested agents that differ only in the seed, by kind of agent and domain.

    Entries have the fields of `returns.json`, with the standard error over agents instead of over
    episodes, and the number of `agents`. A kind with a single agent is omitted.

    Args:
        folders: Folders of agents, tested with `agent_returns`.

    Raises:
        InputError: A file of results is missing or damaged.
    """
    kinds: dict[str, list[Path]] = {}
    for folder in folders:
        config = dataclasses.replace(read_config(folder), seed=0)
        kinds.setdefault(json.dumps(dataclasses.asdict(config), sort_keys=True), []).append(folder)
    return {
        str(same[0].parent / same[0].name.rpartition("-")[0]): pool(same)
        for same in kinds.values()
        if len(same) > 1
    }


def pool(folders: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """Returns of several tested agents together, by domain; fields as in `pooled_returns`.

    Args:
        folders: Folders of at least two agents of one world, tested with `agent_returns`.

    Raises:
        InputError: A file of results is missing or damaged.
    """
    home = read_config(folders[0]).domain
    episodes = [_read_episodes(folder) for folder in folders]
    tables = [read_returns(folder) for folder in folders]
    return {
        domain: _pooled(
            [returns[domain] for returns in episodes],
            [returns[home] for returns in episodes],
            float(np.mean([table[domain]["random"] for table in tables])),
            domain == home,
        )
        for domain in episodes[0]
        if all(domain in returns for returns in episodes)
    }


def _pooled(
    returns: list[Returns], source: list[Returns], chance: float, is_source: bool
) -> dict[str, Any]:
    means = np.array([sample.mean() for sample in returns])
    ratio, interval = None, None
    if not is_source and all(_is_above_zero(sample) for sample in source):
        ratio, interval = ratio_interval(returns, source)
    return {
        "mean": float(means.mean()),
        "error": float(means.std(ddof=1) / len(means) ** 0.5),
        "random": chance,
        "ratio": ratio,
        "interval": interval,
        "agents": len(means),
    }


def _is_above_zero(returns: Returns) -> bool:
    """Whether the 95 % interval of a mean is entirely above 0."""
    error = returns.std(ddof=1) / len(returns) ** 0.5
    return bool(returns.mean() > 1.96 * error)


def _read_episodes(folder: Path) -> dict[str, Returns]:
    path = folder / EPISODES
    returns: dict[str, list[float]] = {}
    try:
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
            returns.setdefault(row["domain"], []).append(float(row["return"]))
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path} cannot be read; write it: dislab act test {folder}") from error
    return {domain: np.array(values) for domain, values in returns.items()}


def _write(
    folder: Path,
    config: AgentConfig,
    domains: dict[str, DomainReturns],
    episodes: int,
    seed: int,
    greedy: bool,
) -> None:
    record = {
        "agent": config.name,
        "source": config.domain,
        "episodes": episodes,
        "seed": seed,
        "greedy": greedy,
        "domains": {
            domain: {name: value for name, value in returns._asdict().items() if name != "returns"}
            for domain, returns in domains.items()
        },
    }
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("domain", "episode", "return"))
    for domain, returns in domains.items():
        rows.writerows(
            (domain, episode, value) for episode, value in enumerate(returns.returns.tolist())
        )
    with atomic(folder / EPISODES) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8")
    with atomic(folder / RETURNS) as temporary:
        temporary.write_text(json_text(record), encoding="utf-8")


def read_returns(folder: Path) -> dict[str, dict[str, Any]]:
    """Reads `returns.json`: values by domain.

    Args:
        folder: The folder of an agent.

    Raises:
        InputError: There is no such file, or it is damaged.
    """
    path = folder / RETURNS
    remedy = f"write it: dislab act test {folder}"
    record = read_json(path, remedy)
    try:
        check_fields(record, {"domains": dict[str, dict[str, Any]]}, str(path))
        return cast("dict[str, dict[str, Any]]", record["domains"])
    except (InputError, KeyError) as error:
        raise InputError(f"{path} is damaged: {one_line(error)}; {remedy}") from error


def returns_table(domains: dict[str, dict[str, Any]]) -> str:
    """Formats returns as a text table.

    Args:
        domains: Result of `read_returns`, or values of `pooled_returns`.
    """
    lines = [f"{'domain':<20} {'return':>14} {'random':>8} {'ratio to source':>24}"]
    for domain, row in domains.items():
        ratio = "—"
        if row["ratio"] is not None:
            low, high = row["interval"]
            ratio = f"{row['ratio']:.2f} [{low:.2f}, {high:.2f}]"
        mean = f"{row['mean']:.2f} ± {row['error']:.2f}"
        lines.append(f"{domain:<20} {mean:>14} {row['random']:>8.2f} {ratio:>24}")
    return "\n".join(lines)
