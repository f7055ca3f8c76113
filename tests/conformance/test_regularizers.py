"""Every built-in regulariser conforms, alone and in a VAE."""

from functools import partial
from typing import Any

import pytest
import torch

from dislab.base import ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE
from dislab.plugins import available
from dislab.regularizers import DIP, KL, CapacityKL, DecomposedKL, TotalCorrelation
from dislab.testing import check_objective, check_regularizer

REGULARIZERS: dict[str, Any] = {
    "CapacityKL": [CapacityKL],
    "DIP": [partial(DIP, kind="I"), partial(DIP, kind="II")],
    "DecomposedKL": [partial(DecomposedKL, form=form) for form in ("sampled", "analytic")],
    "KL": [KL, partial(KL, warmup_steps=10)],
    "TotalCorrelation": [
        partial(TotalCorrelation, width=8, depth=1, batches=batches) for batches in ("one", "two")
    ],
}


def test_every_declared_regularizer_is_checked_here() -> None:
    own = {plugin.name for plugin in available("regularizers") if plugin.distribution == "dislab"}
    assert own == set(REGULARIZERS)


CASES = [build for builds in REGULARIZERS.values() for build in builds]


@pytest.mark.parametrize("build", CASES)
def test_regularizers(build: Any) -> None:
    check_regularizer(build)


@pytest.mark.parametrize("build", CASES)
def test_regularizers_in_a_vae(build: Any) -> None:
    encoder, decoder = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
    parts = {"kl": KL, "other": build}
    image = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    batch = ImageBatch(image, torch.zeros(6, 2, dtype=torch.int64))
    check_objective(partial(VAE, (1, 8, 8), 100, 3, encoder, decoder, parts), batch)
