"""Computes the figures of docs/metrics.md again and compares its sentences with them.

python benchmarks/metrics_page.py          prints each sentence; status 1 where the page differs
python benchmarks/metrics_page.py sap      only sentences whose name contains `sap`
"""

import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from dislab.metrics import (
    DCI,
    DCIES,
    JEMMIG,
    SAP,
    Explicitness,
    Modularity,
    evaluate,
    evaluate_fully,
)
from standard_codes import draw_factors, standard_codes

DSPRITES = (3, 6, 40, 32, 32)
MIXED = (3, 6, 10, 8, 8)
SENTENCES: dict[str, Callable[[], str]] = {}


def sentence(compute: Callable[[], str]) -> Callable[[], str]:
    SENTENCES[compute.__name__] = compute
    return compute


def score(codes: object, factors: object, metrics: object, **settings: object) -> dict[str, float]:
    return evaluate(codes, factors, metrics, **settings)  # type: ignore[arg-type]


def noisy(factors: np.ndarray, seed: int) -> np.ndarray:
    standard = (factors - factors.mean(0)) / factors.std(0)
    return standard + 0.3 * np.random.default_rng(seed).normal(size=factors.shape)


@sentence
def continuous_as_classes() -> str:
    points = np.random.default_rng(0).random((1500, 2))
    kinds = {"factor_0": "ordinal", "factor_1": "ordinal"}
    mig = score(points, points, ["MIG"], kinds=kinds)["mig"]
    return f"perfect codes of 1,500 random points would get a MIG of {mig:.3f}."


@sentence
def chance_levels() -> str:
    factors = draw_factors(DSPRITES, 15_000, 0)
    codes = standard_codes(factors, 10, 0)["rotated"]
    scores = evaluate_fully(codes, factors)
    chance = scores.chance
    permuted = np.random.default_rng(1).permutation(len(factors))
    shuffled = score(codes, factors[permuted], ["DCI"])
    return (
        "For 15,000 images with dSprites' factors and codes mixed at random, chance was "
        f"{chance['mig']:.4f} for MIG, {chance['modularity']:.2f} for modularity, "
        f"{chance['factor_vae_score']:.2f} for the FactorVAE and "
        f"{chance['beta_vae_score']:.2f} for the β-VAE "
        f"score, {chance['explicitness']:.2f} for explicitness and "
        f"{chance['dci_hgbt_informativeness']:.2f} for DCI's "
        "informativeness. DCI on shuffled codes gave a "
        f"disentanglement of {shuffled['dci_hgbt_disentanglement']:.3f}."
    )


@sentence
def interval_without_shift() -> str:
    factors = draw_factors((40, 40), 1000, 0)
    codes = noisy(factors, 0)
    generator = np.random.default_rng(0)
    resamples = [generator.integers(1000, size=1000) for _ in range(200)]
    migs = [score(codes[rows], factors[rows], ["MIG"])["mig"] for rows in resamples]
    low, high = np.quantile(migs, [0.025, 0.975])
    return (
        "For codes of 1,000 images with 40 values to a factor, whose MIG was "
        f"{score(codes, factors, ['MIG'])['mig']:.3f}, the interval "
        f"without the shift was {low:.3f} "
        f"to {high:.3f}."
    )


@sentence
def mig_ceiling() -> str:
    factors = draw_factors(DSPRITES, 10_000, 0)
    mig = score(factors.astype(float), factors, ["MIG"])["mig"]
    return f"get {mig:.3f} with 20 bins and 10,000 images, not 1."


@sentence
def dci_of_forests() -> str:
    forest = {"rf": partial(DCI, learner="rf")}
    values = []
    for sizes, images in ((MIXED, 3000), ((2, 2), 1000)):
        factors = draw_factors(sizes, images, 0)
        scores = score(factors.astype(float), factors, forest)
        values += [scores["dci_rf_disentanglement"], scores["dci_rf_completeness"]]
    return (
        "Perfect codes of 3,000 images of factors of 3, 6, 10, 8 and "
        "8 values get a disentanglement of "
        "{:.2f} and a completeness of {:.2f} with it, of 1,000 "
        "images of two factors of two values {:.2f} "
        "and {:.2f}.".format(*values)
    )


@sentence
def dcies_ceiling() -> str:
    factors = draw_factors(MIXED, 3000, 0)
    scores = score(factors.astype(float), factors, {"es": DCIES})
    return (
        "perfect codes of factors of 3 to 10 values get an explicitness of "
        f"{scores['dcies_rf_explicitness']:.3f}"
    )


@sentence
def sap_of_dsprites() -> str:
    factors = draw_factors(DSPRITES, 15_000, 0)
    sap = score(factors.astype(float), factors, {"svc": partial(SAP, predictor="svc")})["sap_svc"]
    return f"`sap_svc`: {sap:.2f} on perfect codes of dSprites"


@sentence
def sap_of_moved_codes() -> str:
    factors = draw_factors(MIXED, 3000, 0)
    codes = (factors - factors.mean(0)) / factors.std(0)
    values = [
        score(moved, factors, {"svc": partial(SAP, predictor="svc", standardize=standardize)})[
            "sap_svc"
        ]
        for standardize in (False, True)
        for moved in (codes, codes + 100)
    ]
    assert round(values[2], 3) == round(values[3], 3)
    return (
        "perfect codes of 3,000 images of factors of 3, 6, 10, 8 and "
        f"8 values get {values[0]:.3f}, and "
        f"{values[1]:.3f} if 100 is added to all codes. With "
        f"`standardize` both are {values[2]:.3f}."
    )


@sentence
def modularity_of_idle_latents() -> str:
    factors = draw_factors((6,), 3000, 0)
    factors = np.concatenate([factors, draw_factors((4,), 3000, 1)], axis=1)
    codes = np.zeros((3000, 10))
    codes[:, 0] = factors[:, 0]
    both = {"all": "Modularity", "active": partial(Modularity, active_only=True)}
    scores = score(codes, factors, both)
    return (
        "With one perfect latent of ten and nine constant ones: `modularity` "
        f"{scores['modularity']:.1f}, `modularity_active` {scores['modularity_active']:.0f}."
    )


@sentence
def explicitness_of_dsprites() -> str:
    factors = draw_factors(DSPRITES, 15_000, 0)
    codes = factors.astype(float)
    area = score(codes, factors, ["Explicitness"])["explicitness"]
    name = "explicitness_multinomial"
    probabilities = score(codes, factors, {"m": partial(Explicitness, classifier="multinomial")})[
        name
    ]
    return (
        f"`explicitness`: {area:.2f} on perfect codes of dSprites, "
        "because no line separates a value in the "
        "middle from those on both sides; 1 only where each value has a direction of its own. "
        f"`explicitness_multinomial`: {probabilities:.2f} on the same codes"
    )


@sentence
def irs_ceiling() -> str:
    factors = draw_factors(DSPRITES, 15_000, 0)
    idle = standard_codes(factors, 10, 0)
    perfect = score(factors.astype(float), factors, ["IRS"])["irs"]
    return (
        f"({perfect:.3f} on perfect codes of dSprites), and so do noisy idle latents "
        f"({score(idle['perfect'], factors, ['IRS'])['irs']:.2f} on `perfect`"
    )


@sentence
def jemmig_of_collapse() -> str:
    factors = draw_factors(DSPRITES, 15_000, 0)
    codes = standard_codes(factors, 5, 0)
    kinds = [np.zeros(factors.shape), noisy(factors, 0), codes["rotated"], codes["perfect"]]
    values = [score(kind, factors, [JEMMIG])["jemmig"] for kind in kinds]
    return (
        "constant codes get 1 − H / (H + log bins), {:.2f} with "
        "dSprites' factors, more than perfect codes "
        "with noise of 0.3 standard deviations, which get {:.2f}, or "
        "a rotation, {:.2f} (15,000 images, "
        "perfect codes {:.2f}).".format(*values)
    )


@sentence
def dcimig_of_spread_and_mixed_codes() -> str:
    factors = draw_factors((3, 4, 6), 3000, 0).astype(float)
    spread = np.repeat(factors, 3, axis=1)
    mixed = np.stack(
        [factors[:, 0] + factors[:, 1], factors[:, 0] + factors[:, 1], factors[:, 2]], axis=1
    )
    values = [score(codes, factors.astype(int), ["DCIMIG"])["dcimig"] for codes in (spread, mixed)]
    return (
        "codes of factors of 3, 4 and 6 values with three latents "
        "for each get {:.3f}, two latents with the "
        "sum of two factors and with the third one {:.3f} (3,000 images).".format(*values)
    )


@sentence
def total_correlation_of_a_copy() -> str:
    factors = draw_factors((3, 4), 3000, 0)
    latents = np.random.default_rng(0).normal(size=(3000, 2))
    codes = np.concatenate([latents, latents.sum(1, keepdims=True)], axis=1)
    nats = score(codes, factors, ["GaussianTotalCorrelation"])["gaussian_total_correlation"]
    return f"a latent that is a linear function of others counts about {nats:.0f} nats"


def main(names: list[str]) -> int:
    page = Path(__file__).parents[1] / "docs" / "metrics.md"
    text = re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
    status = 0
    for name, compute in SENTENCES.items():
        if any(part in name for part in names or [""]):
            computed = compute()
            stated = computed in text
            status |= not stated
            print("as stated:" if stated else "NOT ON THE PAGE:", name, "|", computed, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
