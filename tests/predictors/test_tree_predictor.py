from typing import Any

import numpy as np
import pytest
import torch

from dislab.predictors._tree_predictor import fitted_columns, predicted_columns


class Sums:
    """Predicts the sum of a code and of all targets, and records its calls."""

    def __init__(self, kind: bool) -> None:
        self.kind = kind
        self.learnt: Any = None

    def fit(self, codes: np.ndarray[Any, Any], targets: np.ndarray[Any, Any]) -> "Sums":
        self.learnt = (codes.sum(), targets)
        return self

    def predict(self, codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(codes.sum(1) + self.learnt[1].sum())


@pytest.mark.parametrize("threads", [1, 3])
def test_each_model_sees_its_run_and_factor(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    codes = torch.arange(12.0).view(2, 3, 2)
    targets = torch.tensor([[0.0, 0.5, 7.0], [1.0, 0.25, 7.0], [3.0, 0.0, 7.0]])
    models = fitted_columns(codes, targets, (4, 0, 0), Sums)
    assert [len(own) for own in models] == [3, 3]
    for run, own in enumerate(models):
        kind, number, constant = own
        assert isinstance(kind, Sums)
        assert isinstance(number, Sums)
        assert (kind.kind, number.kind) == (True, False)
        assert kind.learnt[1].dtype == np.int64
        assert kind.learnt[0] == codes[run].sum()
        assert constant.predict(np.zeros((2, 2))).tolist() == [7.0, 7.0]
    found = predicted_columns(models, codes)
    assert found.dtype == torch.float32
    sums = codes.sum(2, keepdim=True)
    expected = torch.cat([sums + 4, sums + 0.75, torch.full_like(sums, 7.0)], 2)
    assert found.tolist() == expected.tolist()


def test_half_precision_and_graphs_are_no_hindrance() -> None:
    codes = torch.arange(12.0, dtype=torch.bfloat16).view(2, 3, 2).requires_grad_()
    models = fitted_columns(codes, torch.tensor([[0.0], [1.0], [0.0]]), (0,), Sums)
    found = predicted_columns(models, codes)
    assert found.dtype == torch.bfloat16
    assert found[0, :, 0].tolist() == [2.0, 6.0, 10.0]
