import math

import numpy as np
import pytest
import torch
from sklearn.metrics import mutual_info_score
from torch import Tensor

from dislab.codes.information import (
    bin_numbers,
    information_gaps,
    informed_latents,
    joint_counts,
    mutual_information,
)
from dislab.codes.latent_order import (
    least_information,
    order_by_kl,
    order_by_spread,
    own_latents,
)
from dislab.metrics.dcimig import exclusive_gaps
from dislab.metrics.info_mec import concentration_ratio
from dislab.metrics.jemmig import bin_entropies, joint_entropy_excess
from dislab.metrics.mig_sup import gaps_per_latent
from dislab.metrics.modularity import modularity_per_latent

SIZES = (3, 6, 40, 32, 32)

INFORMATION = torch.tensor(
    [[2.0, 0.0, 0.0], [1.0, 0.5, 0.5], [0.0, 0.0, 0.0], [0.3, 0.3, 0.3]], dtype=torch.float64
)
ENTROPY = torch.tensor([2.0, 1.0, 0.5], dtype=torch.float64)


def grid_codes(images: int, latents: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    factors = torch.stack(
        [torch.randint(size, (images,), generator=generator) for size in SIZES], dim=1
    )
    noise = torch.randn(images, latents, generator=generator, dtype=torch.float64)
    return factors.double() @ torch.randn(5, latents, dtype=torch.float64) + noise, factors


@pytest.mark.parametrize(
    ("column", "bins", "expected"),
    [
        ([0.0, 1.0, 2.0, 3.0, 4.0], 4, [0, 1, 2, 3, 3]),
        ([-1.0, -0.5, 0.0, 0.5, 1.0], 2, [0, 0, 1, 1, 1]),
        ([7.0, 7.0, 7.0], 20, [10, 10, 10]),
        ([5.0, -5.0], 3, [2, 0]),
    ],
)
def test_bins_by_hand(column: list[float], bins: int, expected: list[int]) -> None:
    codes = torch.tensor(column, dtype=torch.float64)[:, None]
    assert bin_numbers(codes, bins)[:, 0].tolist() == expected


@pytest.mark.parametrize("bins", [2, 7, 20, 33])
def test_bins_are_those_of_numpys_histogram(bins: int) -> None:
    codes, _ = grid_codes(2000, 6, seed=bins)
    codes[:, 1] = codes[:, 1].round()
    codes[:, 2] = codes[:, 2].clamp(min=0)
    numbers = bin_numbers(codes, bins)
    for column, own in zip(codes.T.numpy(), numbers.T.numpy(), strict=True):
        edges = np.histogram(column, bins)[1]
        assert (own == np.digitize(column, edges[:-1]) - 1).all()
        assert (np.bincount(own, minlength=bins) == np.histogram(column, bins)[0]).all()


def test_counts_by_hand() -> None:
    binned = torch.tensor([[0, 1], [1, 1], [1, 0]])
    (first, second) = joint_counts(binned, torch.tensor([[0, 2], [0, 0], [1, 2]]))
    assert first.tolist() == [[[1, 0], [1, 1]], [[0, 1], [2, 0]]]
    assert second.tolist() == [[[0, 0, 1], [1, 0, 1]], [[0, 0, 1], [1, 0, 1]]]


def test_information_by_hand() -> None:
    counts = torch.tensor([[[2, 0], [0, 2]], [[1, 1], [1, 1]], [[2, 1], [0, 1]]])
    information, entropy = mutual_information(counts)
    partial = 0.5 * math.log(4 / 3) + 0.25 * math.log(2 / 3) + 0.25 * math.log(2)
    expected = torch.tensor([math.log(2), 0.0, partial], dtype=torch.float64)
    torch.testing.assert_close(information, expected, rtol=0, atol=1e-15)
    assert entropy.item() == pytest.approx(math.log(2), abs=1e-15)


@pytest.mark.parametrize("images", [1000, 5000])
def test_a_latent_that_stands_still_has_no_information_at_all(images: int) -> None:
    _, factors = grid_codes(images, 1, seed=0)
    gaps = information_gaps(torch.full((images, 2), 0.3).double(), factors, bins=20)
    assert (gaps.mutual_information == 0).all()


def test_a_latent_that_is_exactly_independent_has_no_information_at_all() -> None:
    for width in range(2, 12):
        own, values = torch.cartesian_prod(torch.arange(7), torch.arange(width)).repeat(3, 1).T
        gaps = information_gaps(own[:, None].double(), values[:, None], bins=7)
        assert gaps.mutual_information.item() == 0.0, width


def test_information_equals_scikit_learns() -> None:
    codes, factors = grid_codes(3000, 10, seed=0)
    gaps = information_gaps(codes, factors, bins=20)
    binned = bin_numbers(codes, 20).numpy()
    reference = np.array(
        [[mutual_info_score(value, own) for value in factors.T.numpy()] for own in binned.T]
    )
    entropy = np.array([mutual_info_score(value, value) for value in factors.T.numpy()])
    ordered = np.sort(reference, axis=0)
    assert np.abs(gaps.mutual_information.numpy() - reference).max() <= 1e-12
    assert np.abs(gaps.entropy.numpy() - entropy).max() <= 1e-12
    assert np.abs(gaps.gap.numpy() - (ordered[-1] - ordered[-2]) / entropy).max() <= 1e-12


def test_information_is_not_negative_and_at_most_the_entropy() -> None:
    codes, factors = grid_codes(500, 4, seed=3)
    gaps = information_gaps(codes[torch.randperm(500)], factors, bins=20)
    assert (gaps.mutual_information >= 0).all()
    assert (gaps.mutual_information <= gaps.entropy + 1e-12).all()


def test_a_constant_factor_has_no_gap() -> None:
    gaps = information_gaps(torch.arange(4.0).double()[:, None], torch.zeros(4, 1).long(), bins=2)
    assert gaps.entropy.tolist() == [0.0]
    assert gaps.gap.isnan().all()


def test_modularity() -> None:
    # 1 - (0.25 + 0.25) / (1 · 2) for the second latent
    expected = [1.0, 0.75, 0.0, 0.0]
    assert modularity_per_latent(INFORMATION).tolist() == pytest.approx(expected)


def test_informed_latents() -> None:
    assert informed_latents(INFORMATION, ENTROPY, 0.7).tolist() == [True, True, False, False]
    assert informed_latents(INFORMATION, ENTROPY, 0.0).tolist() == [True, True, False, True]


def test_gaps_per_latent() -> None:
    # shares: (1, 0, 0), (.5, .5, 1), zeros, (.15, .3, .6)
    expected = [1.0, 0.5, 0.0, 0.3]
    assert gaps_per_latent(INFORMATION, ENTROPY).tolist() == pytest.approx(expected)


def test_joint_entropy_excess() -> None:
    own = torch.tensor([2.5, 1.5, 0.0, 1.0], dtype=torch.float64)
    # (H(z) + H(v) - I) - I + I of the second: 2.5+2-2-2+1, 1.5+1-.5-.5+.3, 1.5+.5-.5-.5+.3
    expected = [1.5, 1.8, 1.3]
    assert joint_entropy_excess(INFORMATION, ENTROPY, own).tolist() == pytest.approx(expected)


def test_a_single_latent_has_no_second() -> None:
    excess = joint_entropy_excess(
        torch.tensor([[1.0, 0.5]], dtype=torch.float64),
        torch.tensor([1.0, 2.0], dtype=torch.float64),
        torch.tensor([1.5], dtype=torch.float64),
    )
    assert excess.tolist() == pytest.approx([0.5, 2.5])


def test_exclusive_gaps() -> None:
    # latents 0 and 1 belong to factor 0 with gaps 2 and 0.5; latent 3 ties, gap 0
    assert exclusive_gaps(INFORMATION).tolist() == pytest.approx([2.0, 0.0, 0.0])
    swapped = torch.tensor([[0.0, 1.0], [0.2, 0.9]], dtype=torch.float64)
    assert exclusive_gaps(swapped).tolist() == pytest.approx([0.0, 1.0])


def test_concentration() -> None:
    # (0.5 - 1/3) / (2/3) for the second row
    expected = [1.0, 0.25, 0.0, 0.0]
    assert concentration_ratio(INFORMATION).tolist() == pytest.approx(expected)
    single = torch.tensor([[0.4], [0.0]], dtype=torch.float64)
    assert concentration_ratio(single).tolist() == [1.0, 0.0]


def test_entropies_of_bins() -> None:
    binned = torch.tensor([[0, 3], [1, 3], [0, 3], [1, 3]])
    assert bin_entropies(binned, 4).tolist() == pytest.approx([math.log(2), 0.0])


def test_a_single_bin_has_no_entropy_at_all() -> None:
    traces = {n: bin_entropies(torch.zeros(n, 1).long(), 4).item() for n in range(1, 300)}
    assert set(traces.values()) == {0.0}


@pytest.mark.parametrize(
    ("information", "own"),
    [
        ([[1.0, 0.0], [0.9, 0.0], [0.0, 0.5]], [0, 2]),  # more than half of the information
        ([[1.0, 0.0], [0.9, 0.0], [0.2, 0.5]], [None, 2]),  # less than half
        ([[0.1, 0.0], [0.0, 0.5]], [None, 1]),  # no more than chance may be
        ([[1.0, 1.0], [0.0, 0.0]], [None, None]),  # one latent for two factors
        ([[1.8, 0.3], [0.3, 0.2], [0.0, 0.2]], [0, None]),  # the second is spread, most of it there
    ],
)
def test_own_latents_by_hand(information: list[list[float]], own: list[int | None]) -> None:
    least = least_information(torch.zeros(2), torch.zeros(2))
    assert own_latents(torch.tensor(information), least) == own


def test_a_latent_carries_a_factor_if_it_knows_a_tenth_of_its_entropy() -> None:
    entropy = torch.tensor([15.0, 2.0]).log()
    none = torch.zeros(2)
    assert least_information(entropy, none).tolist() == pytest.approx([0.1 * math.log(15), 0.1])
    assert least_information(entropy, none + 0.2).tolist() == pytest.approx(
        [0.1 * math.log(15), 0.2]
    )
    shared = torch.tensor([[0.2, 0.6], [0.0, 0.0]])
    assert own_latents(shared, least_information(entropy, none)) == [None, 0]
    assert own_latents(shared, least_information(none, none)) == [None, None]


def test_latents_that_are_not_in_use_take_nothing_from_the_own_latent_of_a_factor() -> None:
    positions = torch.randint(4, (2000, 2), generator=torch.Generator().manual_seed(0))
    twice = positions[:, [0, 0, 1]].double()  # two latents know the first factor
    used = order_by_kl(twice, torch.tensor([2.0, 2.0, 1.0]), positions).carried
    assert [one and one.is_own for one in used] == [False, False, True]
    idle = order_by_kl(twice, torch.tensor([2.0, 0.1, 1.0]), positions).carried
    assert [one and one.is_own for one in idle] == [True, None, True]


def test_a_latent_is_named_after_the_factor_whose_own_it_is() -> None:
    """All latents know the first factor, z0 also half of the second."""
    positions = torch.randint(4, (2000, 2), generator=torch.Generator().manual_seed(0))
    copies = positions[:, [0, 0, 0]].double()
    codes = copies + positions[:, 1:] // 2 * torch.tensor([0.5, 0.0, 0.0])
    carried = order_by_kl(codes, torch.full((3,), 2.0), positions).carried
    assert [(one.factor, one.is_own) for one in carried if one] == [
        (1, True),
        (0, False),
        (0, False),
    ]


def test_chance_is_no_information_of_ordered_latents() -> None:
    """Noise shares three quarters of a nat with a factor of 40 values in 500 images."""
    generator = torch.Generator().manual_seed(0)
    positions = torch.randint(40, (500, 1), generator=generator)
    codes = torch.cat([torch.randn(500, 1, generator=generator), positions], dim=1).double()
    assert information_gaps(codes, positions, 20).mutual_information[0, 0] > 0.5
    for order in (
        order_by_kl(codes, torch.tensor([2.0, 1.0]), positions),
        order_by_spread(codes, positions),
    ):
        noise, copy = order.carried
        assert noise is None or noise.nats < 0.15
        assert copy is not None
        assert copy.is_own
        assert copy.nats > 1
    assert order_by_kl(codes, torch.tensor([2.0, 1.0]), positions).latents == [0, 1]
    assert order_by_kl(codes, torch.tensor([1.0, 2.0]), positions).latents == [1, 0]


def test_a_latent_without_a_factor_of_its_own_names_that_of_which_it_has_the_largest_share() -> (
    None
):
    """z0 knows more nats of the second factor, whose other latents know more, than of the first."""
    positions = torch.randint(16, (4000, 2), generator=torch.Generator().manual_seed(0))
    positions[:, 0] %= 2
    first, second = positions.double().T
    generator = torch.Generator().manual_seed(1)
    noise = torch.rand(4000, generator=generator).double()
    hidden = torch.where(noise < 0.5, first, torch.rand(4000, generator=generator).double().round())
    codes = torch.stack([hidden + 2 * (second // 4), second, second, hidden], dim=1)
    order = order_by_kl(codes, torch.full((4,), 2.0), positions)
    carried = order.carried[0]
    assert carried is not None
    assert int(order.information[0].argmax()) == 1
    assert (carried.factor, carried.is_own) == (0, False)


def test_a_latent_with_neither_a_quarter_nor_most_of_the_information_names_no_factor() -> None:
    """Of three or five latents that know the same factor, each holds a third or a fifth.

    The first of equal ones counts as the one that holds most.
    """
    positions = torch.randint(4, (2000, 1), generator=torch.Generator().manual_seed(0))
    for count, named in ((3, [True] * 3), (5, [True, *[False] * 4])):
        codes = positions.repeat(1, count).double()
        for order in (
            order_by_kl(codes, torch.full((count,), 2.0), positions),
            order_by_spread(codes, positions),
        ):
            assert order.information.amin() > 1
            assert [part is not None for part in order.carried] == named
