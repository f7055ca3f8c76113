"""Scores of vector-valued latents."""

import numpy as np
import pytest

from dislab.errors import InputError
from dislab.metrics import evaluate, evaluate_fully


def drawn() -> tuple[np.ndarray, np.ndarray]:
    """Two factors, each along a line in two of four columns."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(3, size=500), rng.integers(5, size=500)], axis=1)
    lines = np.array([[1.0, 2.0, 0, 0], [0, 0, -1.0, 0.5]])
    return factors @ lines + 0.01 * rng.normal(size=(500, 4)), factors


@pytest.mark.slow
def test_columns_in_groups_and_vectors_are_scored_alike() -> None:
    codes, factors = drawn()
    full = evaluate_fully(codes, factors, ["MIG", "DCI"], groups=[[0, 1], [2, 3]])
    assert full.provenance["latents"] == 2
    assert full.provenance["groups"] == [[0, 1], [2, 3]]
    assert full.values["mig"] > 0.98
    assert full.values["dci_hgbt_completeness"] > 0.98
    assert evaluate(codes.reshape(500, 2, 2), factors, ["MIG", "DCI"]) == full.values
    assert evaluate(codes, factors, "MIG")["mig"] < 0.1  # two columns know of each factor


def test_groups_of_vectors_and_broken_codes_are_refused() -> None:
    codes, factors = drawn()
    with pytest.raises(InputError, match=r"shape \(500, 2, 2\) hold one vector per latent"):
        evaluate(codes.reshape(500, 2, 2), factors, "MIG", groups=[[0]])
    codes[3, 1] = np.nan
    with pytest.raises(InputError, match="1 of 500 codes hold NaN or infinity, in latent 1"):
        evaluate(codes, factors, "MIG", groups=[[0, 1], [2, 3]])
