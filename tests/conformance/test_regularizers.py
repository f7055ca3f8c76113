"""Every built-in regulariser conforms, alone and in a VAE."""

from functools import partial
from typing import Any

import pytest
from tests import cases

from dislab.base import ImageBatch
from dislab.testing import check_objective, check_regularizer


@pytest.mark.parametrize("build", cases.cases("regularizers"))
def test_regularizers(build: Any) -> None:
    check_regularizer(build)


@pytest.mark.parametrize("build", cases.cases("regularizers"))
def test_regularizers_in_a_vae(build: Any) -> None:
    [vae, *_] = cases.builds("objectives", "VAE")
    regularizers = {"kl": cases.FILLED["regularizers"]["kl"], "other": build}
    labelled = cases.BATCHES[ImageBatch]._replace(labelled=cases.LABELLED)
    check_objective(partial(vae, regularizers=regularizers), labelled)
