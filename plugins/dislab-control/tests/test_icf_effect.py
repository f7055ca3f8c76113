from functools import partial
from pathlib import Path

import lightning.pytorch as pl
import pytest
import torch

from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab_control import (
    ActionData,
    IndependentlyControllableFactors,
    WorldStates,
    measured_control,
)


@pytest.mark.slow
def test_policies_take_a_factor_each_and_without_selectivity_they_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))
    scores = {}
    for weight in (30.0, 0.0):
        pl.seed_everything(0)
        data = ActionData(WorldStates())
        model = IndependentlyControllableFactors(
            data.image_shape,
            data.action_names,
            4,
            partial(MLPEncoder, hidden=(128,)),
            partial(MLPDecoder, hidden=(128, 128)),
            weight=weight,
            optimizer=partial(torch.optim.Adam, lr=1e-3),
        )
        trainer = pl.Trainer(
            max_steps=700,
            accelerator="cpu",
            logger=False,
            limit_val_batches=0,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(model, data)
        scores[weight] = measured_control(model, data).scores
    # 0.86 to 0.9 and 0.1 to 0.15 when this was written
    assert scores[30.0]["policy_selectivity"] > 0.75
    assert scores[30.0]["controlled_factors"] == 1
    assert scores[0.0]["policy_selectivity"] < 0.3
