"""Disentanglement, completeness and informativeness with boosted trees."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import Lasso
from torch import Tensor

from dislab.codes.bank import ConstantFactorWarning
from dislab.codes.importance import importance_scores
from dislab.codes.learners import HistogramBoosting
from dislab.codes.splits import UnseenValueWarning
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import DCI
from dislab.metrics.dci import Learner

SIZES = (2, 3, 4)
SPACE = FactorSpace(
    tuple(
        Factor(name, tuple(map(float, range(size))))
        for name, size in zip("abc", SIZES, strict=True)
    )
)
NAMES = {
    "disentanglement",
    "completeness",
    "completeness_unweighted",
    "informativeness",
    "informativeness_train",
    "informativeness_nrmse",
    "importance",
    "disentanglement_per_latent",
    "completeness_per_factor",
    "informativeness_per_factor",
    "informativeness_nrmse_per_factor",
}


def draw_factors(images: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    columns = [torch.randint(size, (images,), generator=generator) for size in SIZES]
    return torch.stack(columns, dim=1)


def noise(images: int, latents: int, seed: int = 0) -> Tensor:
    return torch.randn(images, latents, generator=torch.Generator().manual_seed(seed + 100))


def score(codes: Tensor, factors: Tensor, learner: Learner = "hgbt") -> dict[str, Tensor]:
    metric = DCI(SPACE, learner)
    metric.update(codes, factors)
    result = metric.compute()
    assert set(result) == {f"dci_{learner}_{name}" for name in NAMES}
    return {name.removeprefix(f"dci_{learner}_"): value for name, value in result.items()}


def test_perfect_codes_score_one() -> None:
    factors = draw_factors(600)
    result = score(torch.cat([noise(600, 2), factors], dim=1), factors)
    for name in ("disentanglement", "completeness", "informativeness", "informativeness_train"):
        assert result[name].item() == pytest.approx(1.0, abs=0.005), name
    assert result["importance"].shape == (5, 3)
    torch.testing.assert_close(
        result["importance"][2:], torch.eye(3).double(), rtol=0.0, atol=0.005
    )
    assert result["informativeness_per_factor"].tolist() == [1.0, 1.0, 1.0]


Values = tuple[float, ...]
RARE: list[tuple[int, Values, int]] = [
    (2000, (0.995, 0.005), 2),
    (2000, (0.99, 0.01), 2),
    (2000, (0.95, 0.05), 4),
    (2000, (0.5, 0.5), 10),
    (2000, (0.985, 0.005, 0.005, 0.005), 3),
    (2000, (0.499, 0.002, 0.499), 2),
    (15000, (0.999, 0.001), 2),
    (15000, (0.5, 0.5), 4),
]
"""Images, frequencies of the values, and number of factors."""


def clean_codes(
    images: int, shares: Values, factors: int, seed: int = 0
) -> tuple[FactorSpace, Tensor, Tensor]:
    """Codes in narrow groups, one latent a factor, and two latents of noise."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.multinomial(torch.tensor(shares), images * factors, True, generator=generator)
    values = drawn.view(images, factors)
    values[: len(shares)] = torch.arange(len(shares))[:, None]  # every value is learnt from
    codes = torch.cat([values + 0.05 * noise(images, factors, seed), noise(images, 2, 50)], dim=1)
    levels = tuple(map(float, range(len(shares))))
    space = FactorSpace(tuple(Factor("abcdefghij"[name], levels) for name in range(factors)))
    return space, codes, values


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("images", "shares", "factors"), RARE)
def test_clean_codes_of_skewed_factors_score_one(
    images: int, shares: Values, factors: int, seed: int
) -> None:
    """As with exact boosting; a quantile between two groups of codes would mix their images."""
    space, codes, values = clean_codes(images, shares, factors, seed)
    metric = DCI(space)
    metric.update(codes, values)
    result = metric.compute()
    for name in ("disentanglement", "completeness", "informativeness"):
        assert result[f"dci_hgbt_{name}"].item() >= 0.99, name


def test_a_single_image_of_a_value_is_told_from_the_others() -> None:
    """Its latent alone gets importance, as the root split takes the image out."""
    codes, labels = noise(1333, 3), torch.zeros(1333, dtype=torch.int64)
    codes[0, 1], labels[0] = 9.0, 1
    model = HistogramBoosting(rounds=2).fit(codes, labels)
    assert model.importances().tolist() == pytest.approx([0, 1, 0], abs=1e-6)
    assert model.predict(codes).equal(labels)


@pytest.mark.slow
def test_rotated_codes_are_informative_but_entangled() -> None:
    factors = draw_factors(900)
    rotation = torch.linalg.qr(noise(3, 3))[0]
    codes = (factors - factors.double().mean(0)) / factors.double().std(0) @ rotation.double()
    result = score(codes, factors)
    assert result["informativeness"].item() > 0.9
    assert result["disentanglement"].item() < 0.5
    assert result["completeness"].item() < 0.5


@pytest.mark.slow
def test_noise_tells_nothing() -> None:
    factors = draw_factors(900)
    result = score(noise(900, 4), factors)
    assert result["disentanglement"].item() < 0.05
    assert result["completeness"].item() < 0.05
    assert result["informativeness"].item() == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3, abs=0.08)
    assert result["informativeness_train"].item() > result["informativeness"].item()


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.3, 0.6])
def test_scores_are_close_to_those_of_exact_boosting(spread: float) -> None:
    factors = draw_factors(3000)
    codes = torch.cat([factors, torch.zeros(3000, 2)], dim=1) + spread * noise(3000, 5)
    own = score(codes, factors)
    columns = [
        GradientBoostingClassifier(random_state=0)
        .fit(codes[:2000].numpy(), column[:2000].numpy())
        .feature_importances_
        for column in factors.T
    ]
    exact = importance_scores(torch.from_numpy(np.stack(columns, axis=1)))
    assert own["disentanglement"].item() == pytest.approx(exact.disentanglement.item(), abs=0.04)
    assert own["completeness"].item() == pytest.approx(exact.completeness.item(), abs=0.04)


def test_codes_that_never_change_score_zero() -> None:
    result = score(torch.ones(300, 3), draw_factors(300))
    assert result["disentanglement"].item() == 0.0
    assert result["completeness"].item() == 0.0
    assert result["disentanglement_per_latent"].tolist() == [0.0, 0.0, 0.0]
    assert result["importance"].abs().sum().item() == 0.0


@pytest.mark.slow
def test_order_and_units_of_latents_do_not_matter() -> None:
    factors = draw_factors(450)
    codes = torch.cat([factors + 0.6 * noise(450, 3), noise(450, 1, seed=1)], dim=1).double()
    plain = score(codes, factors)
    order = torch.tensor([2, 0, 3, 1])
    changed = score(codes[:, order] * torch.tensor([2, 0.5, 4, 1]).double(), factors)
    torch.testing.assert_close(
        changed["importance"], plain["importance"][order], rtol=0.0, atol=0.02
    )
    for name in ("disentanglement", "completeness"):
        assert changed[name].item() == pytest.approx(plain[name].item(), abs=0.02)


@pytest.mark.slow
def test_the_first_images_train_and_the_last_are_tested_on() -> None:
    factors = draw_factors(300)
    codes = factors.double()
    codes[200:] = codes[200:].flip(1)
    result = score(codes, factors)
    assert result["informativeness_train"].item() == 1.0
    assert result["informativeness"].item() < 0.7


@pytest.mark.slow
def test_factors_that_never_vary_are_left_out() -> None:
    factors = draw_factors(300)
    factors[:, 1] = 2
    with pytest.warns(ConstantFactorWarning, match="b took one value only"):
        result = score(factors.float(), factors)
    assert result["disentanglement"].item() == pytest.approx(1.0, abs=0.005)
    assert result["importance"][:, 1].tolist() == [0.0, 0.0, 0.0]
    assert result["completeness_per_factor"].isnan().tolist() == [False, True, False]
    assert result["informativeness_per_factor"].isnan().tolist() == [False, True, False]


@pytest.mark.slow
def test_a_value_that_is_only_tested_on_is_named() -> None:
    factors = draw_factors(300)
    factors[:200, 2] = factors[:200, 2].clamp(max=2)
    factors[200:220, 2] = 3
    factors[220:, 2] = factors[220:, 2].clamp(max=2)
    with pytest.warns(UnseenValueWarning, match="factor c has values in the images to test on"):
        result = score(factors.float(), factors)
    expected = pytest.approx([1.0, 1.0, 0.8])
    assert result["informativeness_per_factor"].tolist() == expected


@pytest.mark.parametrize(
    ("codes", "factors", "message"),
    [
        (noise(300, 1), draw_factors(300), "got 1 latent and 3 factors"),
        (noise(2, 3), torch.tensor([[0, 1, 2], [1, 0, 3]]), "got 2 images and needs at least 3"),
        (
            noise(6, 3),
            torch.tensor([[0, 0, 0]] * 4 + [[1, 1, 1]] * 2),
            "factor a takes one value only in the 4 images to learn from.*random order",
        ),
        (noise(300, 3) / 0, draw_factors(300), "300 of 300 codes hold NaN or infinity"),
    ],
)
def test_bad_input_is_named(codes: Tensor, factors: Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(codes, factors)


def test_a_single_factor_is_not_enough() -> None:
    factors = draw_factors(60)
    factors[:, 1:] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantFactorWarning)
        with pytest.raises(InputError, match=r"got 4 latents and 1 factor$"):
            score(noise(60, 4), factors)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, float("nan")])
def test_bad_fractions_are_named(fraction: float) -> None:
    with pytest.raises(InputError, match="test_fraction is"):
        DCI(SPACE, test_fraction=fraction)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "build"),
    [
        ("gbt", partial(GradientBoostingClassifier, random_state=0)),
        ("rf", partial(RandomForestClassifier, min_samples_leaf=5, random_state=0)),
    ],
)
def test_trees_are_scikit_learns(learner: Learner, build: Callable[[], Any]) -> None:
    """A hundred of them; the forest's have at least five images in a leaf."""
    factors = draw_factors(90)
    codes = factors + 0.4 * noise(90, 3)
    result = score(codes, factors, learner)
    columns, accuracies, errors = [], [], []
    for column in factors.numpy().T:
        model = build().fit(codes[:60].double(), column[:60])
        columns.append(model.feature_importances_)
        accuracies.append(model.score(codes[60:].double(), column[60:]))
        apart = model.predict(codes[60:].double()) - column[60:]
        errors.append(np.sqrt(np.mean(apart**2)) / column[60:].std())
    np.testing.assert_allclose(result["importance"].numpy(), np.stack(columns, 1), atol=1e-12)
    assert result["informativeness_per_factor"].tolist() == pytest.approx(accuracies)
    assert result["informativeness_nrmse_per_factor"].tolist() == pytest.approx(errors)


@pytest.mark.parametrize("learner", ["lasso", "lassocv"])
def test_lassos_are_scikit_learns(learner: Learner) -> None:
    factors = draw_factors(300)
    codes = (factors + 0.4 * noise(300, 3)).double() * torch.tensor([1.0, 5.0, 0.3]).double() + 2
    result = score(codes, factors, learner)
    array = codes[:200].numpy()
    units = array.std(0) if learner == "lasso" else 1.0
    columns, errors = [], []
    for column in factors.numpy().T:
        middle, width = column[:200].mean(), column[:200].std()
        model = Lasso(alpha=0.02, max_iter=10_000, tol=1e-14)
        model.fit((array - array.mean(0)) / units, (column[:200] - middle) / width)
        columns.append(np.abs(model.coef_))
        predicted = model.predict((codes[200:].numpy() - array.mean(0)) / units)
        apart = predicted * width + middle - column[200:]
        errors.append(np.sqrt(np.mean(apart**2)) / column[200:].std())
    importance = torch.from_numpy(np.stack(columns, axis=1))
    torch.testing.assert_close(result["importance"], importance, atol=1e-6, rtol=0.0)
    scores = importance_scores(importance)
    expected = pytest.approx(scores.disentanglement.item(), abs=1e-5)
    assert result["disentanglement"].item() == expected
    unweighted = pytest.approx(scores.per_factor.mean().item(), abs=1e-5)
    assert result["completeness_unweighted"].item() == unweighted
    assert result["informativeness_nrmse_per_factor"].tolist() == pytest.approx(errors, abs=1e-6)


def test_the_error_of_a_factor_that_the_test_images_do_not_vary_is_unknown() -> None:
    factors = draw_factors(300)
    factors[200:, 0] = 1
    result = score((factors + noise(300, 3)).double(), factors, "lasso")
    errors = result["informativeness_nrmse_per_factor"]
    assert errors.isnan().tolist() == [True, False, False]
    torch.testing.assert_close(result["informativeness_nrmse"], errors[1:].mean())


@pytest.mark.filterwarnings("error")
def test_the_weights_of_lassocv_do_not_depend_on_the_order_of_updates() -> None:
    factors = draw_factors(3000)
    mixed = factors.double() @ noise(3, 3).double()
    codes = torch.cat([mixed, 1e-3 * noise(3000, 7)], dim=1)  # weights of very unlike sizes
    weights = []
    for seed in (0, 1):
        metric = DCI(SPACE, "lassocv", seed=seed)
        metric.update(codes, factors)
        weights.append(metric.compute()["dci_lassocv_importance"])
    torch.testing.assert_close(weights[0], weights[1], atol=1e-6, rtol=0.0)


def test_the_tolerance_is_a_setting() -> None:
    assert DCI(SPACE, "lassocv").tolerance == 1e-10
    factors = draw_factors(300)
    metric = DCI(SPACE, "lasso", tolerance=0.5)
    metric.update((factors @ torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1]])).double(), factors)
    rough = metric.compute()["dci_lasso_importance"]
    metric = DCI(SPACE, "lasso")
    metric.update((factors @ torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1]])).double(), factors)
    assert (rough - metric.compute()["dci_lasso_importance"]).abs().max() > 1e-3
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="tolerance is"):
            DCI(SPACE, tolerance=bad)


def test_weights_matter_to_completeness() -> None:
    factors = draw_factors(300)
    codes = torch.cat([factors[:, :1] + factors[:, 1:2], factors[:, 1:2], noise(300, 1)], dim=1)
    result = score(codes.double(), factors, "lasso")
    weights = result["importance"].sum(0)
    expected = (weights * result["completeness_per_factor"]).sum() / weights.sum()
    torch.testing.assert_close(result["completeness"], expected)
    mean = result["completeness_per_factor"].mean()
    torch.testing.assert_close(result["completeness_unweighted"], mean)
    assert (result["completeness"] - mean).abs().item() > 1e-3


@pytest.mark.parametrize("learner", ["gbt", "rf", "lasso", "lassocv"])
def test_idle_codes_score_zero_with_every_learner(learner: Learner) -> None:
    result = score(torch.full((60, 3), 0.1), draw_factors(60), learner)
    assert result["importance"].abs().sum().item() == 0.0
    for name in ("disentanglement", "completeness", "completeness_unweighted"):
        assert result[name].item() == 0.0


@pytest.mark.parametrize("learner", ["gbt", "rf", "lassocv"])
def test_any_whole_number_is_a_seed(learner: Learner) -> None:
    factors = draw_factors(60)
    metric = DCI(SPACE, learner, seed=-1)
    metric.update((factors + noise(60, 3)).double(), factors)
    assert metric.compute()[f"dci_{learner}_importance"].sum() > 0


def test_the_penalty_is_a_setting() -> None:
    factors = draw_factors(300)
    codes = (factors + noise(300, 3)).double()
    weights = []
    for alpha in (0.02, 0.5, None):
        metric = DCI(SPACE, "lasso", alpha=alpha)
        metric.update(codes, factors)
        weights.append(metric.compute()["dci_lasso_importance"].sum().item())
    assert weights[1] < 0.9 * min(weights[0], weights[2])
    assert weights[2] != weights[0]
    for bad in (0.0, -1.0, float("inf")):
        with pytest.raises(InputError, match="alpha is"):
            DCI(SPACE, "lasso", alpha=bad)
