"""Codes of images, and the file that stores those of a run."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from lightning.pytorch.plugins import Precision
from torch import Tensor

from dislab.base import DataModule, Objective
from dislab.base.inference import lacks, over_images
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.losses import kl_per_latent, sample
from dislab.functional.streams import Stream
from dislab.storage import atomic

CODES: Final = "codes.npz"
"""Name of the file in a run folder."""


class Encoded(NamedTuple):
    """Codes of images, with the images' factors, as NumPy arrays.

    Rows are in the order of `states`, not in that of your own array or table: labels of your own
    for the same images are `labels[encoded.rows]`.

    Attributes:
        codes: In float32, shape (image, latent).
        factors: Value numbers of the factors in int64, shape (image, factor).
        values: Values of the factors in their units in float64, shape (image, factor); for factors
            with named values their numbers.
        names: Names of the factors.
        states: Numbers of the images in the data set, shape (image,).
        kl: KL of each latent's posterior from the prior in nats, averaged over the images, shape
            (latent,), in float64; None for a method without posteriors, or if it was not computed.
        rows: Numbers of the images in your own array, file or data set, from 0, shape (image,);
            None for images of a folder, and for data sets that are not your own.
        files: Names of the images, relative to their folder, shape (image,); None for others.
    """

    codes: Float[np.ndarray, "image latent"]
    factors: Int[np.ndarray, "image factor"]
    values: Float[np.ndarray, "image factor"]
    names: tuple[str, ...]
    states: Indices
    kl: Float[np.ndarray, " latent"] | None = None
    rows: Indices | None = None
    files: Shaped[np.ndarray, " image"] | None = None

    def __repr__(self) -> str:
        """Numbers of images and latents, and the names of the factors."""
        images, latents = self.codes.shape
        return f"Encoded: {images:,} images, {latents} latents, factors {', '.join(self.names)}"


class StoredCodes(NamedTuple):
    """Codes of images of one run.

    Attributes:
        codes: In float32, shape (image, latent).
        kl: KL of each latent's posterior from the prior in nats, averaged over the images, shape
            (latent,); NaN for a method without posteriors.
        states: State numbers of the images, shape (image,).
        factors: Value numbers of the factors, shape (image, factor); None if they are not stored.
    """

    codes: Float[np.ndarray, "image latent"]
    kl: Float[np.ndarray, " latent"]
    states: Indices
    factors: Indices | None = None


def encoded(
    data: DataModule,
    model: Objective,
    states: Indices,
    batch_size: int,
    precision: Precision,
    with_kl: bool = True,
    sample_seed: int | None = None,
) -> Encoded:
    """Codes and factors of states: the only way from a model and its data to codes.

    The device is that of the model. Every image is encoded once: if the codes of the first batch
    equal its posterior means, later batches take their codes from the posteriors. A `sample_seed`
    gives samples of the posteriors instead, which do not depend on the batch size.
    """
    sums: list[Tensor] = []
    kl_needed = with_kl and not lacks(model, "encode")
    noise = None if sample_seed is None else standard_noise(len(states), sample_seed)
    same: bool | None = None

    def encode(image: Tensor) -> Float[Tensor, "batch latent"]:
        nonlocal same
        if not kl_needed:
            return model.codes(image).float()
        posterior = model.encode(image)
        sums.append(kl_per_latent(*posterior).cpu().double().sum(0))
        if noise is not None:
            return sample(*posterior, noise(posterior.mean)).float()
        means = posterior.mean.float()
        if same:
            return means
        codes = model.codes(image).float()
        same = torch.equal(codes, means) if same is None else same
        return codes

    codes = over_images(data, model, states, batch_size, encode, precision).numpy()
    kl = (torch.stack(sums).sum(0) / len(states)).numpy() if sums else None
    space, values = data.factors, data.dataset.values(states)
    ids = data.dataset.image_ids(states)
    rows, files = ids.get("rows"), ids.get("files")
    return Encoded(codes, space.positions(states), values, space.names, states, kl, rows, files)


def standard_noise(count: int, seed: int) -> Callable[[Tensor], Tensor]:
    """Standard normal noise for `count` rows in order, independent of the batch size."""
    numbers: Tensor | None = None
    start = 0

    def following(like: Tensor) -> Tensor:
        nonlocal numbers, start
        if numbers is None:
            numbers = Stream(seed).normal("sampled codes", count, like.shape[1])
        rows = numbers[start : start + len(like)]
        start += len(like)
        return rows.to(like)

    return following


def write_codes(
    path: Path,
    data: DataModule,
    states: Indices,
    codes: Float[np.ndarray, "image latent"],
    checkpoint: str | Path | None,
    **arrays: Any,
) -> None:
    """Writes codes as an `npz` file, atomically, as `dislab score` reads them.

    Beside `codes` and `arrays` it has `states`, the `names` of the factors without nuisance
    factors, `factors` (int64, shape (image, factor); left out if there are none or an image has no
    value of one), `values_NAME` with the values of each continuous factor in order, `files` or
    `rows` if the images are the user's own (see `Dataset.image_ids`), and as `checkpoint` the name
    of the file that the model came from.
    """
    space, columns = data.factors, list(data.factors.essential)
    arrays |= {
        "checkpoint": np.array(Path(checkpoint or "").name),
        "states": states,
        "names": np.array(space.essential_names, dtype=str),
    }
    if columns and len(space.complete(states)) == len(states):
        arrays["factors"] = space.positions(states)[:, columns]
    for factor in (space.factors[column] for column in columns):
        if factor.kind == "continuous":
            arrays[f"values_{factor.name}"] = factor.numbers
    arrays |= data.dataset.image_ids(states)
    with atomic(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, codes=codes, **arrays)


def is_codes(path: Path) -> bool:
    """Whether a file has the arrays that `dislab encode` writes, and no others."""
    with zipfile.ZipFile(path) as file:
        names = {name.removesuffix(".npy") for name in file.namelist()}
    needed = {*StoredCodes._fields, "names"} - {"factors"}
    others = names - needed - {"factors", "files", "rows", "checkpoint"}
    return needed <= names and all(array.startswith("values_") for array in others)


def read_codes(path: Path) -> StoredCodes:
    """Reads codes that `dislab encode` wrote; raises `InputError` for a missing or damaged file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            factors = stored.get("factors")
            return StoredCodes(stored["codes"], stored["kl"], stored["states"], factors)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} cannot be read ({error}); write it again: dislab encode {path.parent}; if the "
            f"run is part of a study, remove {path.parent}/stages/codes/done.json instead, and run "
            "the study again"
        ) from error
