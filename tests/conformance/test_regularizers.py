"""Every built-in regulariser conforms, alone and in a VAE."""

import inspect
from functools import partial
from typing import Any

import pytest
import torch
from tests import cases
from torch import Tensor

from dislab.base import ImageBatch, Penalty, Posterior
from dislab.functional.streams import Stream
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


@pytest.mark.parametrize("build", cases.cases("regularizers"))
def test_two_processes_penalise_what_one_does(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean over both, each with half of the batch, is the penalty of the whole batch."""
    generator = torch.Generator().manual_seed(3)
    mean, log_var, z = torch.randn(3, 8, 4, generator=generator)
    regularizer = build(4, 100)
    module = inspect.getmodule(type(regularizer))
    draws = regularizer.draw(8, Stream(1))
    if regularizer.needs_labels:
        draws["labels"] = torch.rand(8, 3, generator=generator)

    def penalty(rank: int, processes: int) -> Penalty:
        def own(rows: Tensor) -> Tensor:
            share = len(rows) // processes
            return rows[rank * share : (rank + 1) * share]

        posterior = Posterior(own(mean), own(log_var))
        parts = {name: own(rows) for name, rows in draws.items()}
        result: Penalty = regularizer(posterior, own(z), parts, torch.tensor(3))
        return result

    gathered: list[Tensor] = []
    """Rows of all processes, in the order in which they are exchanged."""

    def record(rows: Tensor) -> Tensor:
        gathered.append(rows)
        return rows

    monkeypatch.setattr(module, "gather_rows", record, raising=False)
    whole, halves = penalty(0, 1), []
    for rank in (0, 1):
        exchanged = iter(gathered)
        every = partial(next, exchanged)
        monkeypatch.setattr(module, "gather_rows", lambda rows, get=every: get(), raising=False)
        monkeypatch.setattr(module, "world", partial(tuple, (rank, 2)), raising=False)
        halves.append(penalty(rank, 2))
        assert next(exchanged, None) is None
    mean_penalty = (halves[0].penalty + halves[1].penalty) / 2
    torch.testing.assert_close(mean_penalty, whole.penalty)
    if whole.auxiliary is not None:
        assert halves[0].auxiliary is not None
        assert halves[1].auxiliary is not None
        mean_auxiliary = (halves[0].auxiliary + halves[1].auxiliary) / 2
        torch.testing.assert_close(mean_auxiliary, whole.auxiliary)
