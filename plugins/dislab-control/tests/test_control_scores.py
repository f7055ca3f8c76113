import json
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from torch import Tensor

from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab_control import (
    ActionData,
    ControlScores,
    IndependentlyControllableFactors,
    WorldStates,
    control_scores,
    control_table,
    measured_control,
)
from dislab_control.control_callback import mean_steps
from dislab_control.control_scores import ControlTable, matched, shuffled


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))


def factor_changes(blocked: bool = False) -> Tensor:
    """Effects of two actions on each of two factors; in the first state one of them is blocked."""
    changed = torch.zeros(50, 4, 2, dtype=torch.bool)
    changed[:, :2, 0] = True
    changed[:, 2:, 1] = True
    if blocked:
        changed[0, 0] = False
    return changed


def test_perfect_features_and_policies_score_one_in_any_order_and_scale() -> None:
    changed = factor_changes(blocked=True)
    sign = torch.tensor([1.0, -1.0, 1.0, -1.0])
    change = 3 * sign[:, None] * changed.flip(2)  # latent 1 is factor 0
    probability = torch.tensor([[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0]]).expand(50, 2, 4)
    table = control_table(change, probability, torch.eye(2).expand(50, 2, 2), changed)
    expected = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    for part in table:
        torch.testing.assert_close(part, expected, atol=1e-6, rtol=0)
    assert control_scores(table) == pytest.approx(
        {
            "policy_selectivity": 1,
            "feature_selectivity": 1,
            "single_factor": 1,
            "controlled_factors": 1,
        }
    )


def test_a_share_that_is_the_threshold_counts() -> None:
    moves = torch.tensor([[0.8, 0.2], [0.3, 0.7]], dtype=torch.float64)
    scores = control_scores(ControlTable(torch.eye(2).double(), torch.eye(2).double(), moves), 0.8)
    assert (scores["single_factor"], scores["controlled_factors"]) == (0.5, 0.5)


def test_two_policies_of_one_factor_lose_the_other() -> None:
    changed = factor_changes()
    change = changed.float()
    probability = torch.tensor([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]).expand(50, 2, 4)
    scores = control_scores(
        control_table(change, probability, torch.eye(2).expand(50, 2, 2), changed)
    )
    assert scores["single_factor"] == 1
    assert scores["controlled_factors"] == 0.5
    # policy 1 moves factor 0, in which its own latent does not change
    assert scores["policy_selectivity"] == pytest.approx(0.5)


def test_codes_of_an_angle_of_45_degrees_are_half_selective() -> None:
    changed = factor_changes()
    change = changed.float() @ torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    probability = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]).expand(50, 2, 4)
    scores = control_scores(
        control_table(change, probability, torch.eye(2).expand(50, 2, 2), changed)
    )
    assert scores["policy_selectivity"] == pytest.approx(0.5)
    assert scores["feature_selectivity"] == pytest.approx(0.5)


def test_random_codes_and_even_policies_score_as_shuffled_moves() -> None:
    generator = torch.Generator().manual_seed(0)
    count, latents = 4000, 4
    changed = torch.zeros(count, 8, 4, dtype=torch.bool)
    changed[:, torch.arange(8), torch.arange(8) // 2] = True
    changed[:100, 3] = False
    change = torch.randn(count, 8, latents, generator=generator) * changed.any(2, keepdim=True)
    probability = torch.full((count, 4, 8), 1 / 8)
    direction = torch.eye(latents).expand(count, latents, latents)
    scores = control_scores(control_table(change, probability, direction, changed))
    # a quarter of the moves, of which each latent takes a quarter
    assert scores["policy_selectivity"] == pytest.approx(1 / 16, abs=0.005)
    assert scores["feature_selectivity"] == pytest.approx(1 / 4, abs=0.02)
    permuted = shuffled(changed, 0)
    chance = control_scores(control_table(change, probability, direction, permuted))
    assert chance["policy_selectivity"] == pytest.approx(scores["policy_selectivity"], abs=0.005)
    assert torch.equal(permuted.any(2), changed.any(2))
    assert torch.equal(permuted.sum((1,)), changed.sum((1,)))
    assert not torch.equal(permuted, changed)


def test_rows_are_matched_for_the_largest_sum() -> None:
    match = matched(torch.tensor([[0.9, 0.8], [0.8, 0.1], [0.0, 0.0]]))
    assert match.row == [1, 0]
    assert match.score == pytest.approx(0.8)
    few = matched(torch.tensor([[0.2, 0.6, 0.0]]))
    assert few.row == [-1, 0, -1]
    assert few.score == pytest.approx(0.2)


def small(**settings: Any) -> tuple[IndependentlyControllableFactors, ActionData]:
    data = ActionData(WorldStates(settings={"cells": 5}), batch_size=16, test=0.2)
    data.prepare_data()
    model = IndependentlyControllableFactors(
        data.image_shape,
        data.action_names,
        4,
        partial(MLPEncoder, hidden=(16,)),
        partial(MLPDecoder, hidden=(16,)),
        **settings,
    )
    return model, data


@pytest.mark.parametrize("directions", ["latents", "generated"])
def test_arrows_are_the_mean_moves(directions: str) -> None:
    model, data = small(directions=directions)
    steps = mean_steps(model, data)
    assert steps is not None
    assert steps.shape == (4, 2, 4, 4, 2)
    # in the upper left corner a square moves down or to the right only
    assert (steps[:, :, 0, 0] >= 0).all()
    assert (steps[:, :, 3, 3] <= 0).all()
    assert np.abs(steps).max() <= 1
    control = measured_control(model, data)
    assert control.names == ("x0", "y0", "x1", "y1")
    assert measured_control(model, data).scores == control.scores


@pytest.mark.slow
def test_the_callback_writes_scores_and_pictures_and_a_resumed_run_is_the_same(
    tmp_path: Path,
) -> None:
    def trained(folder: Path, steps: int, resume: Path | None = None) -> dict[str, Tensor]:
        pl.seed_everything(3)
        model, data = small(expectation="reinforce")
        trainer = pl.Trainer(
            max_steps=steps,
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
            default_root_dir=folder,
            callbacks=[ControlScores(states=40)],
        )
        trainer.fit(model, data, ckpt_path=None if resume is None else str(resume))
        trainer.save_checkpoint(folder / "end.ckpt")
        return model.state_dict()

    uninterrupted = trained(tmp_path / "whole", 12)
    trained(tmp_path / "half", 7)
    resumed = trained(tmp_path / "rest", 12, tmp_path / "half/end.ckpt")
    assert all(torch.equal(uninterrupted[name], resumed[name]) for name in uninterrupted)
    record = json.loads((tmp_path / "whole/control.json").read_text())
    assert set(record["scores"]) == set(record["chance"])
    assert np.array(record["policies"]).shape == (4, 4)
    assert record["factors"] == ["x0", "y0", "x1", "y1"]
    for name in ("control", "policies"):
        assert (tmp_path / f"whole/images/{name}.png").stat().st_size > 1000
    again = json.loads((tmp_path / "rest/control.json").read_text())
    assert again["scores"] == record["scores"]
    trained(tmp_path / "end", 12, tmp_path / "whole/end.ckpt")  # which has no step left
    assert json.loads((tmp_path / "end/control.json").read_text())["scores"] == record["scores"]


def test_a_wrong_number_of_states_is_refused() -> None:
    with pytest.raises(InputError, match="states is 0"):
        ControlScores(states=0)
