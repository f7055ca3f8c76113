"""LabelFit beside every method with regularisers: it learns, or refuses with one message."""

from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import cases

from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.regularizers import KL, LabelFit

METHODS = [
    case
    for case in cases.objectives(likelihoods=False)
    if "regularizers" in signature(case.values[0].func).parameters
]


@pytest.mark.parametrize(("build", "batch"), METHODS)
def test_every_method_learns_from_labels(build: Any, batch: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    make = cases.ready(build, tmp_path)
    model = make(regularizers={"kl": KL, "labels": partial(LabelFit, gamma=2.0)})
    draws = model.draw(len(batch[0]), Stream(0))
    with pytest.raises(InputError, match=r"LabelFit, compares .* the batches have none; set data"):
        model.losses(batch, draws, torch.tensor(3))
    image = cases.LABELLED.image.clone().requires_grad_()
    labelled = batch._replace(labelled=cases.LABELLED._replace(image=image))
    loss, log = model.losses(labelled, draws, torch.tensor(3))
    without = make(regularizers={"kl": KL})
    without.load_state_dict(model.state_dict())
    unsupervised = without.losses(batch, draws, torch.tensor(3)).loss
    assert (loss - unsupervised).item() == pytest.approx(2 * log["labels/loss"].item(), rel=1e-4)
    loss.backward()
    assert image.grad is not None
    assert image.grad.any()


def test_methods_with_a_posterior_of_images_take_regularizers() -> None:
    methods = {case.values[0].func.__name__ for case in METHODS}
    assert methods == {"AdaGVAE", "AdaMLVAE", "BetaVAEDAE", "CompositionVAE", "DCIGN", "VAE"}
