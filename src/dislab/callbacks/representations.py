"""Writes the codes of a data set."""

from typing import Any, final

import lightning.pytorch as pl
import numpy as np
import torch
import torch.distributed as dist
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from dislab.callbacks._trainer import data_of, is_rehearsal, run_folder
from dislab.errors import InputError
from dislab.functional.runtime import world
from dislab.runs.codes import write_codes

Share = tuple[list[Tensor], list[Tensor]]


@final
class Representations(pl.Callback):
    """Writes the codes of a prediction run into `representations.npz` of the run folder.

    Its keys are `codes` (float32, one row per image), `factors` (int64 value numbers, one row per
    image), `names` of the factors and `states`, the numbers of the images in the data set; for a
    continuous factor also `values_NAME` (float64), its values in order; for images of your own also
    their names as `files`, or their numbers as `rows`. Load it with `numpy.load(path)`. Rows of
    several processes are ordered by rank.
    """

    def __init__(self) -> None:
        self._codes: list[Tensor] = []
        self._factors: list[Tensor] = []

    def on_predict_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Discards the codes of an earlier run."""
        self._codes, self._factors = [], []

    def on_predict_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keeps the codes and factors of a batch.

        Raises:
            InputError: The method does not return codes and factors.
        """
        if not isinstance(outputs, dict) or not {"codes", "factors"} <= set(outputs):
            raise InputError(
                f"{type(pl_module).__name__}.predict_step must return a dictionary with codes and "
                f"factors, not {type(outputs).__name__}"
            )
        self._codes.append(outputs["codes"].to("cpu", torch.float32))
        self._factors.append(outputs["factors"].to("cpu", torch.int64))

    def on_predict_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Writes the file."""
        folder = run_folder(trainer)
        shares = _shares((self._codes, self._factors))
        self._codes, self._factors = [], []
        codes = [rows.numpy() for share in shares for rows in share[0]]
        if is_rehearsal(trainer) or not trainer.is_global_zero or not codes:
            return
        path = folder / "representations.npz"
        data = data_of(trainer, "Representations")
        factors = np.concatenate([rows.numpy() for share in shares for rows in share[1]])
        write_codes(
            path,
            data,
            data.factors.index(factors),
            np.concatenate(codes),
            trainer.ckpt_path,
        )
        rank_zero_info(f"Representations: {path}")


def _shares(local: Share) -> list[Share]:
    """Rows of all processes, in the order of their ranks."""
    size = world()[1]
    if size == 1:
        return [local]
    gathered: list[Share | None] = [None] * size
    dist.all_gather_object(gathered, local)
    return [share for share in gathered if share is not None]
