import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab_control import returns
from dislab_control.agents import fit_agent
from dislab_control.batch_env import BatchEnv
from dislab_control.observations import observer
from dislab_control.returns import episode_returns, ratio_interval
from dislab_control.seek_avoid import SeekAvoid


def agent(out: Path, **more: Any) -> Path:
    settings = {"n_steps": 8}
    world = {"length": 10}
    return fit_agent(
        out, agent="A2C", steps=16, copies=2, settings=settings, env_settings=world, **more
    )


def chase(seen: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Walks to the nearest ball in view, and turns left where none is."""
    visible, cosine, sine = seen[:, 0] > 0, seen[:, 1], seen[:, 2]
    ahead = visible & (cosine > np.cos(np.radians(20)))
    return np.where(ahead, 0, np.where(visible & (sine < 0), 2, 1))


def test_returns_of_a_scripted_agent_are_those_of_single_episodes() -> None:
    world = SeekAvoid(length=15)
    env = BatchEnv(world, observer(world, "factors"), 3)
    totals = episode_returns(env, chase, 5, seed=7)
    expected = np.zeros((2, 3))
    for copy in range(3):
        draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence(7 + copy)))
        for episode in range(2):
            state = world.start(draws)
            for _ in range(world.length):
                state, rewards, _ = world.step(state, chase(world.seen(state)), [draws])
                expected[episode, copy] += rewards[0]
    assert totals.tolist() == expected.reshape(-1)[:5].tolist()
    assert totals.sum() > 0


def test_the_interval_of_a_ratio_is_that_of_all_resamples() -> None:
    # target (2, 4) against a constant 4: resampled means 2, 3, 3, 4, so ratios 0.5, 0.75, 1
    ratio, (low, high) = ratio_interval([np.array([2.0, 4.0])], [np.array([4.0, 4.0])])
    assert (ratio, low, high) == (0.75, 0.5, 1.0)
    # the ends of the interval are the quantiles 0.025 and 0.975 of (a + b) / 2 over source 1
    draws = np.random.default_rng(0)
    many = draws.normal(1.0, 0.5, 400)
    ratio, (low, high) = ratio_interval([many], [np.full(400, 2.0)])
    half = 1.96 * many.std() / 400**0.5 / 2
    assert ratio == many.mean() / 2
    assert (low, high) == pytest.approx((ratio - half, ratio + half), abs=0.004)


def test_a_test_writes_every_episode_and_the_means(tmp_path: Path) -> None:
    folder = agent(tmp_path, observations="factors")
    before = (folder / "agent.zip").read_bytes()
    domains = returns.agent_returns(folder, ["target"], episodes=7, seed=3)
    assert list(domains) == ["source", "target"]
    rows = list(csv.DictReader((folder / "episodes.csv").read_text().splitlines()))
    assert len(rows) == 14
    record = json.loads((folder / "returns.json").read_text())
    for domain in ("source", "target"):
        values = np.array([float(row["return"]) for row in rows if row["domain"] == domain])
        summary = record["domains"][domain]
        assert summary["mean"] == pytest.approx(values.mean())
        assert summary["error"] == pytest.approx(values.std(ddof=1) / 7**0.5)
    assert record["source"] == "source"
    assert record["domains"]["source"]["ratio"] is None
    assert (folder / "agent.zip").read_bytes() == before
    again = returns.agent_returns(folder, ["target"], episodes=7, seed=3)
    assert all(np.array_equal(domains[name].returns, again[name].returns) for name in domains)


def test_the_ratio_of_several_agents_is_that_of_their_mean_returns() -> None:
    # means 1 and 3 over 2 and 6; episodes are constant, so every resample is the same
    targets, sources = [np.full(3, 1.0), np.full(3, 3.0)], [np.full(3, 2.0), np.full(3, 6.0)]
    assert ratio_interval(targets, sources) == (0.5, (0.5, 0.5))


@pytest.mark.slow
def test_agents_that_differ_in_the_seed_alone_are_taken_together(tmp_path: Path) -> None:
    folders = [agent(tmp_path, observations="factors", seed=seed) for seed in (0, 1)]
    folders.append(agent(tmp_path / "other", observations="pixels"))
    for index, folder in enumerate(folders):
        returns.agent_returns(folder, ["target"], episodes=2)
        lines = ["domain,episode,return", f"source,0,{2 + index}", f"source,1,{2 + index}"]
        lines += [f"target,0,{1 + index}", f"target,1,{1 + index}"]
        (folder / "episodes.csv").write_text("\n".join(lines))
    pooled = returns.pooled_returns(folders)
    assert list(pooled) == [str(tmp_path / "A2C-factors")]
    target = pooled[str(tmp_path / "A2C-factors")]["target"]
    assert (target["mean"], target["error"], target["agents"]) == (1.5, 0.5, 2)
    assert target["ratio"] == pytest.approx(0.6)
    assert pooled[str(tmp_path / "A2C-factors")]["source"]["ratio"] is None


@pytest.mark.parametrize(
    ("source", "ratio"), [([2.0, 2.5, 3.0, 2.5], 0.4), ([0.1, -0.2, 0.1, 0.0], None)]
)
def test_a_ratio_needs_a_return_above_zero_in_the_source(
    source: list[float], ratio: float | None
) -> None:
    summary = returns._summary(np.array([1.0, 1.0, 1.0, 1.0]), np.array(source), np.zeros(4), False)
    assert summary.ratio == (None if ratio is None else pytest.approx(ratio))
    assert (summary.interval is None) == (ratio is None)


def test_wrong_tests_are_refused(tmp_path: Path, runs: Any) -> None:
    folder = agent(tmp_path / "agents", observations="codes", encoder=runs())
    with pytest.raises(InputError, match=r"domain is 'targe' \(did you mean target\?\)"):
        returns.agent_returns(folder, ["targe"])
    with pytest.raises(InputError, match="episodes is 1; it must be a whole number of at least 2"):
        returns.agent_returns(folder, episodes=1)
    checkpoint = tmp_path / "encoder" / "checkpoints" / "last.ckpt"
    content = checkpoint.read_bytes()
    torch.save({**torch.load(checkpoint, weights_only=True), "comment": "changed"}, checkpoint)
    with pytest.raises(InputError, match="has changed since the agent A2C-codes-0 began"):
        returns.agent_returns(folder, episodes=2)
    checkpoint.write_bytes(content)
    (folder / "agent.zip").write_bytes(b"no agent")
    with pytest.raises(InputError, match=r"agent\.zip is damaged"):
        returns.agent_returns(folder, episodes=2)
    (folder / "agent.zip").unlink()
    with pytest.raises(InputError, match="is not fully trained; resume it: dislab act fit --res"):
        returns.agent_returns(folder)
    with pytest.raises(InputError, match=r"cannot be read: .*; write it: dislab act"):
        returns.read_returns(folder)
