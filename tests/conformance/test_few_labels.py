"""LabelFit beside every method with regularisers: it learns, or refuses with one message."""

from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import cases

from dislab.base import LabelledBatch
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.regularizers import KL, LabelFit

METHODS = [
    case
    for case in cases.objectives(likelihoods=False)
    if "regularizers" in signature(case.values[0].func).parameters
]


@pytest.mark.parametrize(("build", "batch"), METHODS)
def test_every_method_learns_from_labels_or_refuses(build: Any, batch: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    make = cases.ready(build, tmp_path)
    model = make(regularizers={"kl": KL, "labels": partial(LabelFit, gamma=2.0)})
    draws = model.draw(len(batch[0]), Stream(0))
    if not isinstance(batch, LabelledBatch):
        with pytest.raises(InputError, match=r"LabelFit, compares .* the batches have none; train"):
            model.losses(batch, draws, torch.tensor(3))
        return
    batch = batch._replace(labelled=batch.labelled.clone().requires_grad_())
    loss, log = model.losses(batch, draws, torch.tensor(3))
    without = make(regularizers={"kl": KL})
    without.load_state_dict(model.state_dict())
    unsupervised = without.losses(batch, draws, torch.tensor(3)).loss
    assert (loss - unsupervised).item() == pytest.approx(2 * log["labels/loss"].item(), rel=1e-4)
    loss.backward()
    assert batch.labelled.grad.any()


def test_some_methods_learn_from_labels() -> None:
    kinds = [isinstance(case.values[1], LabelledBatch) for case in METHODS]
    assert any(kinds)
    assert not all(kinds)
