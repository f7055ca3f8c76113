"""Codes of the robot finger: of trained models, and synthetic ones."""

import json
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import small_networks  # noqa: F401  # checkpoints name its classes, and only what is imported loads
import torch
from torch import Tensor

from dislab.base import Dataset, Posterior
from dislab.datamodules import SingleData
from dislab.datasets import RobotFinger, RobotFingerPseudoReal
from dislab.factors import FactorSpace
from dislab.functional.gaussians import kl_per_latent
from dislab.functional.likelihoods import negative_log_likelihood
from dislab.runs import load_run
from dislab.storage import atomic

Side = Literal[64, 128]
Numbers = npt.NDArray[np.float64]

HELD_OUT = 5000
"""Images with hues that no encoder saw."""

MEASURED = 2000
"""Images of the training set whose loss is measured, without noise."""


class Bank(NamedTuple):
    """Images that are encoded.

    Attributes:
        data: What gives them at the networks' size.
        states: Which of them.
    """

    data: SingleData
    states: Tensor

    def positions(self) -> npt.NDArray[np.int64]:
        """Value numbers of the factors behind the images."""
        return np.asarray(self.data.dataset.factors.positions(self.states.numpy()), np.int64)


def domains(side: Side, resize: int, states: int, encoded: int) -> dict[str, Bank]:
    """The training set, the held-out hues and the second domain."""
    seen = RobotFinger(side=side, states=states, partners=1)
    order = torch.from_numpy(np.random.default_rng(0).permutation(states)[:encoded])
    found: dict[str, tuple[Dataset, Tensor]] = {
        "seen": (seen, order),
        "hues": (RobotFinger(side=side, states=HELD_OUT, hues="heldout"), torch.arange(HELD_OUT)),
        "look": (RobotFingerPseudoReal(side=side), torch.arange(1800)),
    }
    return {
        name: Bank(SingleData(dataset, resize=resize), index)
        for name, (dataset, index) in found.items()
    }


def space() -> FactorSpace:
    """The seven factors, without a table of states."""
    return RobotFinger(states=2).factors


def encode(run: Path, domain: dict[str, Bank], path: Path) -> dict[str, Numbers]:
    """Codes of each domain's images by its name, and the `losses`, from a file once it exists."""
    if not path.is_file():
        device = "cuda" if torch.cuda.is_available() else "cpu"
        module = load_run(run).to(device)
        found = {}
        with torch.inference_mode():
            for name, (data, states) in domain.items():
                data.prepare_data()
                parts = [module.codes(data.images(part).to(device)) for part in states.split(500)]
                found[name] = torch.cat(parts).float().cpu().numpy()
            data, states = domain["seen"]
            image = data.images(states[:MEASURED]).to(device)
            posterior: Posterior = module.encode(image)
            logits = module.decode(posterior.mean).logit()
        nats = [negative_log_likelihood(logits, image, "bernoulli")]
        nats.append(kl_per_latent(*posterior).sum(1).mean())
        found["losses"] = torch.stack(nats).float().cpu().numpy()
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **found)
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name].astype(np.float64) for name in file.files}


def mixed(positions: npt.NDArray[np.int64], share: float, seed: int) -> Numbers:
    """Ten synthetic codes a state: entangled factors, mixed with a share of the true ones.

    The entangled part is a rotation of the standardised factors, squashed and rotated again, so
    that each code depends on all factors and no linear map undoes it. Three latents are noise.
    """
    generator = np.random.default_rng(seed)
    factors = [
        np.asarray(factor.numbers)[positions[:, column]]
        for column, factor in enumerate(space().factors)
    ]
    true = standard(np.stack(factors, axis=1))
    first, second = (np.linalg.qr(generator.normal(size=(7, 7)))[0] for _ in range(2))
    entangled = standard(np.tanh(true @ first) @ second)
    codes = (1 - share) * entangled + share * true
    codes += 0.03 * generator.normal(size=codes.shape)
    return np.concatenate([codes, generator.normal(size=(len(codes), 3))], axis=1)


def standard(columns: Numbers) -> Numbers:
    """Columns with mean 0 and standard deviation 1."""
    return np.asarray((columns - columns.mean(0)) / columns.std(0))


def read(path: Path) -> dict[str, object]:
    """What a JSON file holds; nothing where there is none."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
