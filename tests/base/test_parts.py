"""Parts that cannot be used are refused where they are made."""

from typing import Any

import pytest
from torch import Tensor, nn

from dislab.base import Decoder, Encoder, make_decoder, make_encoder
from dislab.errors import InputError


class Lazy(Encoder, Decoder):
    def __init__(self, *shapes: Any) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.LazyLinear(4))

    def forward(self, image: Tensor) -> Tensor:
        found: Tensor = self.layers(image)
        return found


def test_lazy_layers_are_refused_with_their_name() -> None:
    with pytest.raises(InputError, match=r"Lazy\.layers\.1 is a LazyLinear, whose size"):
        make_encoder(Lazy, (1, 8, 8), 4)
    with pytest.raises(InputError, match="LazyLinear"):
        make_decoder(Lazy, 4, (1, 8, 8))
