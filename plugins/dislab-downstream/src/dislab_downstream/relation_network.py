"""The relation network that chooses an answer (WReN)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dislab_downstream.matrices import CONTEXT, SIDE


@final
class RelationNetwork(nn.Module):
    """Scores each answer by the sum of a network over all ordered pairs of the nine panels.

    A panel is its embedding with a one-hot code of its position. Pairs of context panels are the
    same for all answers and are computed once.

    Barrett et al. (2018), https://arxiv.org/abs/1807.04225, in the form of van Steenkiste et al.
    (2019), without dropout.

    Args:
        inputs: Number of features of an embedding.
        edge: Widths of the network of pairs.
        graph: Widths of the network of their sum.
    """

    def __init__(
        self, inputs: int, edge: Sequence[int] = (128, 128), graph: Sequence[int] = (128,)
    ) -> None:
        super().__init__()
        self.pair = nn.Linear(2 * (inputs + SIDE**2), edge[0])
        self.edge = _layers(edge)
        self.graph = nn.Sequential(*_layers((edge[-1], *graph)), nn.Linear(graph[-1], 1))
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
                nn.init.zeros_(layer.bias)

    def forward(self, panels: Float[Tensor, "matrix 14 embedding"]) -> Float[Tensor, "matrix 6"]:
        """Logits of the answers.

        Args:
            panels: Embeddings of the 8 context panels, then of the 6 answers.
        """
        first, second = self._halves(panels)
        a, b = first[:, :CONTEXT], second[:, :CONTEXT]  # context, as first and as second of a pair
        c, d = first[:, CONTEXT:], second[:, CONTEXT:]  # answers, likewise
        among = self._edges(a[:, :, None] + b[:, None]).sum((1, 2))
        mixed = torch.cat(
            [a[:, None] + d[:, :, None], c[:, :, None] + b[:, None], (c + d)[:, :, None]], 2
        )
        total = among[:, None] + self._edges(mixed).sum(2)
        return self.graph(total).squeeze(2)  # type: ignore[no-any-return]

    def _halves(self, panels: Tensor) -> tuple[Tensor, Tensor]:
        """The first layer's terms of a panel as the first and as the second of a pair."""
        position = torch.arange(panels.shape[1], device=panels.device).clamp(max=CONTEXT)
        places = torch.eye(SIDE**2, device=panels.device)[position].expand(len(panels), -1, -1)
        panels = torch.cat([panels, places], 2)
        first, second = self.pair.weight.chunk(2, 1)
        return panels @ first.T + self.pair.bias, panels @ second.T

    def _edges(self, sums: Tensor) -> Tensor:
        edges: Tensor = self.edge(sums.relu())
        return edges


def _layers(widths: Sequence[int]) -> nn.Sequential:
    return nn.Sequential(
        *(part for ends in pairwise(widths) for part in (nn.Linear(*ends), nn.ReLU()))
    )
