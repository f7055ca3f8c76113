"""Made-up codes of known quality, which the scripts beside this one score."""

import os
import platform

import numpy as np
import sklearn
import torch

import dislab
from dislab.factors import Factor, FactorSpace


def space_of(sizes: tuple[int, ...]) -> FactorSpace:
    names = [f"factor{index}" for index in range(len(sizes))]
    values = [tuple(map(float, range(size))) for size in sizes]
    return FactorSpace(tuple(map(Factor, names, values)))


def draw_factors(sizes: tuple[int, ...], images: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return np.stack([generator.integers(size, size=images) for size in sizes], axis=1)


def standard_codes(factors: np.ndarray, latents: int, seed: int) -> dict[str, torch.Tensor]:
    """Seven kinds of codes of the same images.

    perfect: a standardised factor in each of the first latents, standard normal noise in the rest;
    rotated: a random rotation of all latents of `perfect`;
    noisy:   `perfect` with noise of 0.3 standard deviations;
    split:   each factor in two latents, with noise of 0.1 standard deviations each;
    merged:  the sums of the first two and of the last two factors, the others as they are;
    dead:    the factors, and constants in the rest of the latents;
    noise:   nothing but noise.
    """
    generator = np.random.default_rng(seed)
    images, count = factors.shape
    standard = (factors - factors.mean(0)) / factors.std(0)
    idle = generator.normal(size=(images, latents - count))
    perfect = np.concatenate([standard, idle], axis=1)
    rotation = np.linalg.qr(generator.normal(size=(latents, latents)))[0]
    doubled = np.repeat(standard, 2, axis=1)[:, :latents]
    sums = [standard[:, :2].sum(1), *standard[:, 2:-2].T, standard[:, -2:].sum(1)]
    merged = np.stack(sums, axis=1)
    padding = generator.normal(size=(images, latents - merged.shape[1]))
    kinds = {
        "perfect": perfect,
        "rotated": perfect @ rotation,
        "noisy": perfect + 0.3 * generator.normal(size=perfect.shape),
        "split": doubled + 0.1 * generator.normal(size=doubled.shape),
        "merged": np.concatenate([merged, padding], axis=1),
        "dead": np.concatenate([standard, np.zeros_like(idle)], axis=1),
        "noise": generator.normal(size=perfect.shape),
    }
    return {name: torch.from_numpy(codes) for name, codes in kinds.items()}


def provenance() -> dict[str, object]:
    return {
        "versions": {
            "dislab": dislab.__version__,
            "torch": torch.__version__,
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "hardware": {
            "processor": f"{os.cpu_count()} CPU cores",
            "threads": os.environ.get("OMP_NUM_THREADS", ""),
        },
    }
