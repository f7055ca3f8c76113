"""Scores read off matrices of mutual information, worked by hand."""

import math

import pytest
import torch

from dislab.functional.information_scores import (
    bin_entropies,
    concentration_ratio,
    exclusive_gaps,
    gaps_per_latent,
    informed_latents,
    joint_entropy_excess,
    modularity_per_latent,
)

INFORMATION = torch.tensor(
    [[2.0, 0.0, 0.0], [1.0, 0.5, 0.5], [0.0, 0.0, 0.0], [0.3, 0.3, 0.3]], dtype=torch.float64
)
ENTROPY = torch.tensor([2.0, 1.0, 0.5], dtype=torch.float64)


def test_modularity() -> None:
    # 1 - (0.25 + 0.25) / (1 · 2) for the second latent
    expected = [1.0, 0.75, 0.0, 0.0]
    assert modularity_per_latent(INFORMATION).tolist() == pytest.approx(expected)


def test_informed_latents() -> None:
    assert informed_latents(INFORMATION, ENTROPY, 0.7).tolist() == [True, True, False, False]
    assert informed_latents(INFORMATION, ENTROPY, 0.0).tolist() == [True, True, False, True]


def test_gaps_per_latent() -> None:
    # shares: (1, 0, 0), (.5, .5, 1), zeros, (.15, .3, .6)
    expected = [1.0, 0.5, 0.0, 0.3]
    assert gaps_per_latent(INFORMATION, ENTROPY).tolist() == pytest.approx(expected)


def test_joint_entropy_excess() -> None:
    own = torch.tensor([2.5, 1.5, 0.0, 1.0], dtype=torch.float64)
    # (H(z) + H(v) - I) - I + I of the second: 2.5+2-2-2+1, 1.5+1-.5-.5+.3, 1.5+.5-.5-.5+.3
    expected = [1.5, 1.8, 1.3]
    assert joint_entropy_excess(INFORMATION, ENTROPY, own).tolist() == pytest.approx(expected)


def test_a_single_latent_has_no_second() -> None:
    excess = joint_entropy_excess(
        torch.tensor([[1.0, 0.5]], dtype=torch.float64),
        torch.tensor([1.0, 2.0], dtype=torch.float64),
        torch.tensor([1.5], dtype=torch.float64),
    )
    assert excess.tolist() == pytest.approx([0.5, 2.5])


def test_exclusive_gaps() -> None:
    # latents 0 and 1 belong to factor 0 with gaps 2 and 0.5; latent 3 ties, gap 0
    assert exclusive_gaps(INFORMATION).tolist() == pytest.approx([2.0, 0.0, 0.0])
    swapped = torch.tensor([[0.0, 1.0], [0.2, 0.9]], dtype=torch.float64)
    assert exclusive_gaps(swapped).tolist() == pytest.approx([0.0, 1.0])


def test_concentration() -> None:
    # (0.5 - 1/3) / (2/3) for the second row
    expected = [1.0, 0.25, 0.0, 0.0]
    assert concentration_ratio(INFORMATION).tolist() == pytest.approx(expected)
    single = torch.tensor([[0.4], [0.0]], dtype=torch.float64)
    assert concentration_ratio(single).tolist() == [1.0, 0.0]


def test_entropies_of_bins() -> None:
    binned = torch.tensor([[0, 3], [1, 3], [0, 3], [1, 3]])
    assert bin_entropies(binned, 4).tolist() == pytest.approx([math.log(2), 0.0])


def test_a_single_bin_has_no_entropy_at_all() -> None:
    traces = {n: bin_entropies(torch.zeros(n, 1).long(), 4).item() for n in range(1, 300)}
    assert set(traces.values()) == {0.0}
