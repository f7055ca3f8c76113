"""The scores read off mutual information, against scikit-learn's counts."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import DCIMIG, DMIG, JEMMIG, MIG, InfoMEC, MeanPairwiseMI, MIGSup, Modularity


def compute(metric: Any, graded: Any) -> Any:
    metric.update(graded.codes, graded.factors)
    return metric.compute()


def test_modularity(graded: Any, information: Any) -> None:
    squared = information[:4, :3] ** 2
    best = squared.max(1)
    expected = 1 - (squared.sum(1) - best) / (2 * best)
    result = compute(Modularity(graded.space), graded)
    assert result["modularity_per_latent"].tolist() == pytest.approx(expected.tolist(), abs=1e-9)
    assert result["modularity"].item() == pytest.approx(expected.mean(), abs=1e-9)
    share = (information[:4, :3] / information[4, :3]).max(1)
    threshold = float(np.sort(share)[1])
    informed = compute(Modularity(graded.space, active_only=True, active_share=threshold), graded)
    assert informed["modularity_num_active"].item() == 3
    mean = expected[share >= threshold].mean()
    assert informed["modularity_active"].item() == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize(
    ("alive", "expected"),
    [((0, 1, 2), 0.75), ((0,), 0.25), ((), 0.0)],
    ids=["three", "one", "none"],
)
def test_latents_that_stand_still_count_nothing(
    alive: tuple[int, ...], expected: float, graded: Any
) -> None:
    generator = torch.Generator().manual_seed(0)
    # so many images that rounding leaves 2e-15 nats
    columns = [torch.randint(size, (5000,), generator=generator) for size in (3, 4, 6)]
    factors = torch.stack(columns, dim=1)
    codes = torch.full((5000, 4), 0.1, dtype=torch.float64)
    codes[:, list(alive)] = factors[:, list(alive)].double()
    metric = Modularity(graded.space)
    metric.update(codes, factors)
    result = metric.compute()
    # chance information makes the latents that move a little less than perfect
    assert result["modularity"].item() == pytest.approx(expected, abs=1e-4)
    still = [latent for latent in range(4) if latent not in alive]
    assert (result["modularity_per_latent"][still] == 0).all()


def test_modularity_needs_two_factors(graded: Any) -> None:
    factors = graded.factors.clone()
    factors[:, 1:] = 0
    metric = Modularity(graded.space)
    metric.update(graded.codes, factors)
    with (
        pytest.warns(UserWarning, match="b, c took"),
        pytest.raises(InputError, match=r"1 factor$"),
    ):
        metric.compute()
    with pytest.raises(InputError, match="active_share is 2"):
        Modularity(graded.space, active_share=2.0)


def test_mig_sup(graded: Any, information: Any) -> None:
    share = np.sort(information[:4, :3] / information[4, :3], axis=1)
    expected = share[:, -1] - share[:, -2]
    result = compute(MIGSup(graded.space), graded)
    assert result["mig_sup_per_latent"].tolist() == pytest.approx(expected.tolist(), abs=1e-9)
    assert result["mig_sup"].item() == pytest.approx(expected.mean(), abs=1e-9)
    informed = share[:, -1] >= 0.05
    assert result["mig_sup_active"].item() == pytest.approx(expected[informed].mean(), abs=1e-9)


def test_jemmig(graded: Any, information: Any) -> None:
    table, own, entropy = information[:4, :3], information[:4, 3], information[4, :3]
    order = np.argsort(table, axis=0)
    best, second = order[-1], order[-2]
    columns = np.arange(3)
    joint = own[best] + entropy - table[best, columns]
    nats = joint - table[best, columns] + table[second, columns]
    share = 1 - nats / (entropy + np.log(20))
    result = compute(JEMMIG(graded.space), graded)
    assert result["jemmig_per_factor"].tolist() == pytest.approx(share.tolist(), abs=1e-9)
    assert result["jemmig"].item() == pytest.approx(share.mean(), abs=1e-9)
    assert result["jemmig_nats"].item() == pytest.approx(nats.mean(), abs=1e-9)


def test_dcimig(graded: Any, information: Any) -> None:
    best = np.zeros(3)
    for row in information[:4, :3]:
        ordered = np.sort(row)
        best[row.argmax()] = max(best[row.argmax()], ordered[-1] - ordered[-2])
    result = compute(DCIMIG(graded.space), graded)
    assert result["dcimig_per_factor"].tolist() == pytest.approx(best.tolist(), abs=1e-9)
    expected = best.sum() / information[4, :3].sum()
    assert result["dcimig"].item() == pytest.approx(expected, abs=1e-9)


def test_mean_pairwise_mi(graded: Any) -> None:
    from sklearn.metrics import mutual_info_score

    columns = graded.codes.numpy().T
    binned = [np.digitize(one, np.histogram(one, 20)[1][:-1]) for one in columns]
    table = np.array([[mutual_info_score(a, b) for a in binned] for b in binned])
    result = compute(MeanPairwiseMI(graded.space), graded)
    np.testing.assert_allclose(result["pairwise_mutual_information"].numpy(), table, atol=1e-9)
    expected = (table.sum() - np.trace(table)) / 12
    assert result["mean_pairwise_mi"].item() == pytest.approx(expected, abs=1e-9)
    single = MeanPairwiseMI(graded.space)
    single.update(graded.codes[:, :1], graded.factors)
    assert single.compute()["mean_pairwise_mi"].item() == 0.0


def test_info_mec(graded: Any, information: Any) -> None:
    codes = graded.codes.clone()
    span = codes.amax(0) - codes.amin(0)
    codes[:, 3] *= 0.049 * span[:3].max() / span[3]  # its range is below a twentieth of the largest
    metric = InfoMEC(graded.space, estimator="bins")
    metric.update(codes, graded.factors)
    result = metric.compute()
    shares = information[:3, :3] / information[4, :3]
    infom = (shares.max(1) / shares.sum(1) - 1 / 3) * 1.5
    infoc = (shares.max(0) / shares.sum(0) - 1 / 3) * 1.5
    assert result["infomec_num_active"].item() == 3
    assert result["infom_bins"].item() == pytest.approx(infom.mean(), abs=1e-6)
    assert result["infoc_bins"].item() == pytest.approx(infoc.mean(), abs=1e-6)
    codes[:, 3] *= 51 / 49
    wider = InfoMEC(graded.space, estimator="bins")
    wider.update(codes, graded.factors)
    assert wider.compute()["infomec_num_active"].item() == 4


def test_what_a_linear_classifier_extracts(graded: Any) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    codes = graded.codes.numpy()
    scaled = (codes - codes.mean(0)) / codes.std(0)
    expected = []
    for labels in graded.factors.numpy().T:
        model = LogisticRegression(C=1e9, max_iter=1000).fit(scaled, labels)
        share = np.bincount(labels) / len(labels)
        loss = log_loss(labels, model.predict_proba(scaled))
        expected.append(1 + loss / (share * np.log(share)).sum())
    result = compute(InfoMEC(graded.space), graded)
    assert result["infoe_per_factor"].tolist() == pytest.approx(expected, abs=1e-3)
    assert result["infoe"].item() == pytest.approx(np.mean(expected), abs=1e-3)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_jemmig_takes_the_smallest_joint_entropy_of_equally_informative_latents(
    order: list[int],
) -> None:
    """Latents are the factor, the factor with a coin, and the factor with a die.

    The factor has one bit and all three hold it, so that the gap is 0; the joint entropy is one bit
    with the first latent, two with the second.
    """
    factor, coin, die = torch.cartesian_prod(*map(torch.arange, (2, 2, 6))).T
    codes = torch.stack([factor, 10 * factor + coin, 10 * factor + die], 1).double()[:, order]
    space = FactorSpace((Factor("a", (0.0, 1.0)),))
    metric = JEMMIG(space)
    metric.update(codes, factor[:, None])
    assert metric.compute()["jemmig_nats"].item() == pytest.approx(math.log(2))
    metric.reset()
    metric.update(codes[:, [column for column in range(3) if order[column]]], factor[:, None])
    assert metric.compute()["jemmig_nats"].item() == pytest.approx(2 * math.log(2))


def of_codes(kind: Any, name: str, codes: torch.Tensor, factors: torch.Tensor) -> float:
    sizes = [int(size) + 1 for size in factors.amax(0)]
    names = "abc"[: len(sizes)]
    space = FactorSpace(
        tuple(
            Factor(own, tuple(map(float, range(size))))
            for own, size in zip(names, sizes, strict=True)
        )
    )
    metric = kind(space)
    metric.update(codes, factors)
    return float(metric.compute()[name])


def test_dcimig_sees_mixed_latents_and_not_spread_factors() -> None:
    factors = torch.cartesian_prod(*map(torch.arange, (3, 4, 6))).repeat(10, 1)
    spread = factors.double().repeat(1, 3)
    assert of_codes(DCIMIG, "dcimig", spread, factors) == pytest.approx(1.0)
    mixed = torch.stack([factors[:, 0] + factors[:, 1], factors[:, 2]], 1).double()
    assert of_codes(DCIMIG, "dcimig", mixed, factors) < 0.7


def test_jemmig_rewards_collapse() -> None:
    """Constant codes get 1 − H / (H + log bins), more than useful ones with noise."""
    factors = torch.cartesian_prod(torch.arange(4), torch.arange(4)).repeat(200, 1)
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(factors.shape, generator=generator, dtype=torch.float64)
    noisy = of_codes(JEMMIG, "jemmig", factors + 0.4 * noise, factors)
    constant = of_codes(JEMMIG, "jemmig", torch.ones_like(noise), factors)
    assert constant == pytest.approx(1 - math.log(4) / (math.log(4) + math.log(20)))
    assert constant > noisy


def test_no_neighbours_are_refused(graded: Any) -> None:
    with pytest.raises(InputError, match="neighbours is 0"):
        InfoMEC(graded.space, neighbours=0)


def test_neighbours_and_bins_agree_on_clear_codes(graded: Any) -> None:
    results = {}
    for estimator in ("knn", "bins"):
        metric = InfoMEC(graded.space, estimator=estimator)
        noise = torch.randn(450, 3, generator=torch.Generator().manual_seed(0))
        metric.update(graded.factors + 0.01 * noise, graded.factors)
        results[estimator] = metric.compute()
    knn, bins = (results[one][f"infomec_{one}_information"] for one in ("knn", "bins"))
    torch.testing.assert_close(knn, bins, atol=0.08, rtol=0.0)


def test_dmig_of_perfect_codes_of_dependent_factors_is_1() -> None:
    """By hand: the gap is H(v) - I(v, w), and so is the entropy that the other factor leaves."""
    from sklearn.metrics import mutual_info_score

    grid = torch.cartesian_prod(torch.arange(4), torch.arange(4)).repeat(25, 1)
    factors = grid[(grid[:, 0] - grid[:, 1]).abs() < 2]
    codes = factors.double()
    entropy, shared = (mutual_info_score(factors[:, 0], factors[:, f]) for f in (0, 1))
    assert of_codes(MIG, "mig", codes, factors) == pytest.approx(1 - shared / entropy)
    assert of_codes(DMIG, "dmig", codes, factors) == pytest.approx(1.0)
    for latents in ([0], [0, 1, 0, 1]):  # a missing factor, copied latents
        gap = of_codes(MIG, "mig", codes[:, latents], factors)
        assert of_codes(DMIG, "dmig", codes[:, latents], factors) == pytest.approx(gap)


def test_dmig_leaves_out_factors_that_another_one_determines() -> None:
    factors = torch.cartesian_prod(torch.arange(4), torch.arange(3)).repeat(25, 1)[:, [0, 1, 0]]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        codes = factors[:, order].double()
        assert of_codes(DMIG, "dmig", codes, factors) == pytest.approx(1.0)
    with pytest.raises(InputError, match="DMIG has no factor to score, as each is determined by"):
        of_codes(DMIG, "dmig", factors.double(), factors[:, [0, 2]])
