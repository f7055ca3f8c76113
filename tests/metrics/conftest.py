"""Codes and factors that several scores are tested on, and plain computations to compare with."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch
from sklearn.metrics import mutual_info_score
from torch import Tensor

from dislab.factors import Factor, FactorSpace


class Sample(NamedTuple):
    """A space, factors, and codes that know of them in part."""

    space: FactorSpace
    factors: Tensor
    codes: Tensor


def space_of(sizes: tuple[int, ...]) -> FactorSpace:
    names = "abcdefg"[: len(sizes)]
    return FactorSpace(
        tuple(
            Factor(name, tuple(map(float, range(size))))
            for name, size in zip(names, sizes, strict=True)
        )
    )


def draw_factors(images: int, sizes: tuple[int, ...]) -> Tensor:
    generator = torch.Generator().manual_seed(len(sizes))
    columns = [torch.randint(size, (images,), generator=generator) for size in sizes]
    return torch.stack(columns, dim=1)


@pytest.fixture
def graded() -> Sample:
    """Four latents: of one factor, of two, of a little, of none."""
    factors = draw_factors(450, (3, 4, 6))
    mixing = torch.tensor([[1.0, 0.5, 0.0, 0.0], [0, 1.0, 0.0, 0.0], [0, 0, 0.4, 0]]).double()
    noise = torch.randn(450, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    return Sample(space_of((3, 4, 6)), factors, factors.double() @ mixing + 0.3 * noise)


@pytest.fixture(scope="session")
def dsprites_like() -> Sample:
    """Perfect codes of 15,000 images with as many values as dSprites' factors."""
    sizes = (3, 6, 40, 32, 32)
    factors = draw_factors(15_000, sizes)
    codes = (factors - factors.double().mean(0)) / factors.double().std(0)
    return Sample(space_of(sizes), factors, codes)


@pytest.fixture
def information(graded: Sample) -> npt.NDArray[np.float64]:
    """Mutual information of the graded codes in 20 bins, nats, (latent, factor), and entropies."""
    edges = [np.histogram(column, 20)[1][:-1] for column in graded.codes.numpy().T]
    binned = [
        np.digitize(column, edge)
        for column, edge in zip(graded.codes.numpy().T, edges, strict=True)
    ]
    table = [[mutual_info_score(v, z) for v in graded.factors.numpy().T] for z in binned]
    own = [mutual_info_score(v, v) for v in graded.factors.numpy().T]
    alone = [mutual_info_score(z, z) for z in binned]
    return np.column_stack([np.array([*table, own]), [*alone, 0.0]])
