"""The laws of all scores, in one table: what each makes of codes whose quality is known.

A new score adds a row. `dislab.testing.check_metric` has the laws that hold for every score.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from dislab import plugins
from dislab.errors import InputError
from dislab.metrics import evaluate_fully

Codes = npt.NDArray[np.float64]

SIZES = (3, 4, 5)
IMAGES = 900


class Laws(NamedTuple):
    """What holds of a score's primary scalar.

    Attributes:
        name: Class name; laws of a class that is not installed are left out.
        settings: Settings of the class, small enough for a quick test.
        perfect: The number that perfect codes and two idle latents get, within 0.02 unless said.
        noise: The range that codes get which know nothing of the factors.
        rescaled: By how much it may change when each latent gets a unit and an offset of its own;
            None where the definition depends on the units.
        permuted: By how much it may change when latents change places.
        mirrored: By how much it may change when latents change their signs.
        stilled: By how much it may change when two latents that stand still join; None where they
            count.
        within: How close perfect codes come to their number.
    """

    name: str
    settings: dict[str, Any]
    perfect: float
    noise: tuple[float, float]
    rescaled: float | None = 1e-9
    permuted: float = 1e-9
    mirrored: float | None = 1e-9
    stilled: float | None = 1e-9
    within: float = 0.02


TABLE = [
    Laws("MIG", {"bins": 5}, 1.0, (0.0, 0.02), mirrored=0.05),
    Laws("DCI", {}, 1.0, (0.0, 0.1), rescaled=0.02, permuted=0.05, mirrored=0.05, stilled=0.02),
    Laws(
        "FactorVAEScore",
        {"votes_train": 600, "votes_test": 300, "threshold": 0.0},
        1.0,
        (0.2, 0.5),
        permuted=0.0,
    ),
]


def installed() -> list[Any]:
    names = {plugin.name for plugin in plugins.available("metrics")}
    rows = [laws for laws in TABLE if laws.name in names]
    labels = [" ".join([laws.name, *map(str, laws.settings.values())]) for laws in rows]
    return [pytest.param(laws, id=label) for laws, label in zip(rows, labels, strict=True)]


every_score = pytest.mark.parametrize("laws", installed())


def draw(seed: int = 0) -> tuple[Codes, npt.NDArray[np.int64], np.random.Generator]:
    """Perfect codes with two idle latents, and the factors behind them."""
    generator = np.random.default_rng(seed)
    factors = np.stack([generator.integers(size, size=IMAGES) for size in SIZES], axis=1)
    standard = (factors - factors.mean(0)) / factors.std(0)
    idle = generator.normal(size=(IMAGES, 2))
    return np.concatenate([standard, idle], axis=1), factors, generator


def score(laws: Laws, codes: Codes, factors: npt.NDArray[np.int64], seed: int = 0) -> float:
    build = functools.partial(plugins.load("metrics", laws.name), **laws.settings)
    found = evaluate_fully(codes, factors, {"it": build}, seed=seed, shuffle=False)
    return found.values[found.metrics["it"]["primary"]]


def blurred() -> tuple[Codes, npt.NDArray[np.int64], np.random.Generator]:
    """Codes that know something of the factors, and mix them."""
    codes, factors, generator = draw()
    mixing = np.eye(5) + 0.3 * generator.normal(size=(5, 5))
    return codes @ mixing + 0.2 * generator.normal(size=codes.shape), factors, generator


def test_every_score_of_the_package_has_its_laws() -> None:
    own = {
        plugin.name for plugin in plugins.available("metrics") if plugin.distribution == "dislab"
    }
    assert own <= {laws.name for laws in TABLE}


@every_score
def test_perfect_codes_get_their_ceiling(laws: Laws) -> None:
    codes, factors, _ = draw()
    assert score(laws, codes, factors) == pytest.approx(laws.perfect, abs=laws.within)


@every_score
def test_noise_gets_next_to_nothing(laws: Laws) -> None:
    _, factors, generator = draw()
    low, high = laws.noise
    assert low <= score(laws, generator.normal(size=(IMAGES, 5)), factors) <= high


@every_score
def test_latents_may_change_places(laws: Laws) -> None:
    codes, factors, generator = blurred()
    changed = score(laws, codes[:, generator.permutation(5)], factors)
    assert changed == pytest.approx(score(laws, codes, factors), abs=laws.permuted)


@every_score
def test_latents_have_no_unit_unless_the_definition_says_so(laws: Laws) -> None:
    codes, factors, _ = blurred()
    # powers of two, so that a score without units changes by rounding alone
    changed = score(laws, codes * [0.25, 4.0, 1.0, 64.0, 0.5] + [0, 8, -4, 0, 2], factors)
    if laws.rescaled is None:
        assert changed != score(laws, codes, factors)
    else:
        assert changed == pytest.approx(score(laws, codes, factors), abs=laws.rescaled)


@every_score
def test_latents_may_change_their_signs(laws: Laws) -> None:
    codes, factors, _ = blurred()
    changed = score(laws, codes * [-1, 1, -1, -1, 1], factors)
    assert changed == pytest.approx(score(laws, codes, factors), abs=laws.mirrored)


@every_score
def test_latents_that_stand_still_do_not_count(laws: Laws) -> None:
    codes, factors, _ = blurred()
    still = np.concatenate([np.full((IMAGES, 1), 3.0), codes, np.zeros((IMAGES, 1))], axis=1)
    plain, changed = score(laws, codes, factors), score(laws, still, factors)
    if laws.stilled is None:
        assert changed != plain
    else:
        assert changed == pytest.approx(plain, abs=laws.stilled)


@every_score
def test_the_seed_decides_the_draws(laws: Laws) -> None:
    codes, factors, _ = blurred()
    assert score(laws, codes, factors, seed=3) == score(laws, codes, factors, seed=3)


@every_score
def test_a_value_that_no_image_has_changes_nothing(laws: Laws) -> None:
    codes, factors, _ = blurred()
    gap = factors + (factors >= 2)
    assert score(laws, codes, gap) == pytest.approx(score(laws, codes, factors), abs=1e-9)


@every_score
def test_one_image_is_refused(laws: Laws) -> None:
    codes, factors, _ = draw()
    with pytest.raises(InputError):
        score(laws, codes[:1], factors[:1])


@every_score
def test_images_that_lack_combinations_are_scored(laws: Laws) -> None:
    codes, factors, _ = draw()
    kept = ~((factors[:, 0] == 0) & (factors[:, 1] >= 2)) & (factors[:, 2] != factors[:, 1] + 1)
    assert np.isfinite(score(laws, codes[kept], factors[kept]))
