"""The smallest module that a trainer trains."""

from typing import Any

import lightning.pytorch as pl
import torch


class Line(pl.LightningModule):
    """One weight, one batch after another."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        loss: torch.Tensor = (self.weight * batch).square().sum()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)
