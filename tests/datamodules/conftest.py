import pytest
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.factors import Factor, FactorSpace, Indices

SPACE = FactorSpace(
    (
        Factor("shape", ("dot", "bar", "ring"), "categorical"),
        Factor("angle", (0.0, 1.0, 2.0, 3.0, 4.0), "circular", period=4.0),
        Factor("place", tuple(float(place) for place in range(20))),
    )
)


class Tiny(Dataset):
    """300 images of 8 by 8 pixels that show their own number; angles 0 and 4 look the same."""

    def __init__(self) -> None:
        self.prepared = 0
        self.asked: list[str] = []

    @property
    def factors(self) -> FactorSpace:
        return SPACE

    @property
    def image_shape(self) -> ImageShape:
        return (1, 8, 8)

    def prepare(self) -> None:
        self.prepared += 1

    def tables(self) -> dict[str, Tensor]:
        self.asked.append("tables")
        number = torch.arange(len(SPACE))
        return {"high": (number // 256).byte(), "low": (number % 256).byte()}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        image = torch.zeros(len(index), 1, 8, 8, dtype=torch.uint8, device=index.device)
        image[:, 0, 0, 0] = tables["high"][index]
        image[:, 0, 0, 1] = tables["low"][index]
        return image

    def provenance(self) -> dict[str, str]:
        return {"source": "tiny"}

    def canonical(self, index: Indices) -> Indices:
        positions = SPACE.positions(index)
        positions[..., 1] %= 4
        return SPACE.index(positions)


@pytest.fixture
def tiny() -> Tiny:
    return Tiny()
