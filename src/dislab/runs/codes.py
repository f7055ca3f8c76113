"""Codes of images, and the file that stores those of a run."""

import zipfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from lightning.pytorch.plugins import Precision
from torch import Tensor

from dislab.base import DataModule, Objective
from dislab.base.inference import lacks, over_images
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.losses import kl_per_latent
from dislab.storage import atomic

CODES: Final = "codes.npz"
"""Name of the file in a run folder."""


class StoredCodes(NamedTuple):
    """Codes of images of one run.

    Attributes:
        codes: In float32, shape (image, latent).
        kl: KL of each latent's posterior from the prior in nats, averaged over the images, shape
            (latent,); NaN for a method without posteriors.
        states: State numbers of the images, shape (image,).
    """

    codes: Float[np.ndarray, "image latent"]
    kl: Float[np.ndarray, " latent"]
    states: Indices


def codes_of(
    data: DataModule,
    module: Objective,
    states: Indices,
    batch_size: int,
    precision: Precision,
    with_kl: bool = True,
) -> tuple[Float[Tensor, "image latent"], Float[Tensor, " latent"] | None]:
    """Codes of states on the CPU, and the KL of each latent in nats, averaged over the states.

    The device is that of the objective. Every image is encoded once: if the codes of the first
    batch equal its posterior means, later batches take their codes from the posteriors. The KL is
    None for a method without posteriors, or if `with_kl` is false.
    """
    sums: list[Tensor] = []
    kl_needed = with_kl and not lacks(module, "encode")
    same: bool | None = None

    def encode(image: Tensor) -> Float[Tensor, "batch latent"]:
        nonlocal same
        if not kl_needed:
            return module.codes(image).float()
        posterior = module.encode(image)
        sums.append(kl_per_latent(*posterior).cpu().double().sum(0))
        means = posterior.mean.float()
        if same:
            return means
        codes = module.codes(image).float()
        same = torch.equal(codes, means) if same is None else same
        return codes

    codes = over_images(data, module, states, batch_size, encode, precision)
    return codes, torch.stack(sums).sum(0) / len(states) if sums else None


def write_codes(
    path: Path,
    data: DataModule,
    states: Indices,
    codes: Tensor,
    kl: Tensor | None,
    checkpoint: Path,
) -> None:
    """Writes codes as an `npz` file, atomically.

    Its arrays are those of `StoredCodes`, and `factors` (int64, shape (image, factor)) with
    `names`, as `dislab score` reads them; for a continuous factor also `values_NAME`, and
    `files` or `rows` if the images are the user's own (see `Dataset.image_ids`). The KL of each
    latent is in nats, and None for a method without posteriors. `checkpoint` is the name of the
    file that the model came from.
    """
    with atomic(path) as temporary, temporary.open("wb") as stream:
        np.savez(
            stream,
            codes=codes.numpy(),
            kl=np.full(codes.shape[1], np.nan) if kl is None else kl.numpy(),
            names=np.array(data.factors.names),
            checkpoint=np.array(checkpoint.name),
            **described(data, states),
        )


def is_codes(path: Path) -> bool:
    """Whether a file has the arrays that `write_codes` writes, and no others."""
    with zipfile.ZipFile(path) as file:
        names = {name.removesuffix(".npy") for name in file.namelist()}
    needed = {*StoredCodes._fields, "factors", "names"}
    others = names - needed - {"files", "rows", "checkpoint"}
    return needed <= names and all(array.startswith("values_") for array in others)


def described(data: DataModule, states: Indices) -> dict[str, Any]:
    """Arrays that describe images: `states`, `factors`, `files` or `rows`, and `values_NAME`.

    The last are the values of each continuous factor, in order.
    """
    values = {
        f"values_{factor.name}": factor.numbers
        for factor in data.factors.factors
        if factor.kind == "continuous"
    }
    ids = data.dataset.image_ids(states)
    return {"states": states, "factors": data.factors.positions(states), **values, **ids}


def read_codes(path: Path) -> StoredCodes:
    """Reads codes written by `write_codes`; raises `InputError` for a missing or damaged file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return StoredCodes(stored["codes"], stored["kl"], stored["states"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} cannot be read ({error}); write it again: dislab encode {path.parent}; if the "
            f"run is part of a study, remove {path.parent}/stages/codes/done.json instead, and run "
            "the study again"
        ) from error
