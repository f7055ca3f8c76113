"""The score of the FactorVAE paper."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.base import Metric, Sample
from dislab.codes.bank import FACTOR_BINS, CodeBank, ValueRows, rows_of
from dislab.codes.checks import check_bins, single_factor
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.checks import check_at_least, check_count
from dislab.functional.random import host_generator

VOTES_AT_ONCE: Final = 64
"""Number of votes whose codes are gathered together, to limit memory; changes no result."""


class Ballot(NamedTuple):
    """The images of each vote.

    Attributes:
        factor: The fixed factor, shape (vote,).
        rows: Rows of the bank of images that share its value, shape (vote, sample).
    """

    factor: Tensor
    rows: Tensor


def draw_ballot(
    factors: Int[Tensor, "image factor"],
    varied: Bool[Tensor, " factor"],
    votes: int,
    samples: int,
    generator: np.random.Generator,
    names: Sequence[str],
    tables: Callable[[int], ValueRows] | None = None,
) -> Ballot:
    """Draws images for each vote, with replacement, from the bank.

    A factor is drawn uniformly among those that vary, then its value by frequency in the bank, then
    images with this value. A value of a single image is never fixed, because a single image has no
    variance. `samples` is the number of images per vote; `tables` gives the rows of each value of a
    factor if they are already known.

    Raises:
        InputError: No two images share a value of one of the factors.
    """
    fixed = generator.choice(np.flatnonzero(varied.cpu().numpy()), votes)
    rows = np.empty((votes, samples), dtype=np.int64)
    for factor in np.unique(fixed):
        ballots = np.flatnonzero(fixed == factor)
        table = rows_of(factors[:, factor]) if tables is None else tables(int(factor))
        order, first, count = (part.cpu().numpy() for part in table)
        column = factors[:, factor].cpu().numpy()
        shared = np.flatnonzero(count[column] > 1)
        if not len(shared):
            raise InputError(
                f"no two images share a value of factor {names[factor]}, so that it cannot be "
                "held; score more images, or group its values"
            )
        value = column[shared[generator.integers(len(shared), size=len(ballots))]]
        position = generator.random((len(ballots), samples)) * count[value, None]
        rows[ballots] = order[first[value, None] + position.astype(np.int64)]
    return Ballot(
        torch.from_numpy(fixed.astype(np.int64)).to(factors.device),
        torch.from_numpy(rows).to(factors.device),
    )


def count_votes(
    codes: Float[Tensor, "image latent"],
    active: Bool[Tensor, " latent"],
    ballot: Ballot,
    factor_count: int,
) -> Int[Tensor, "latent factor"]:
    """Number of votes in which each latent varied least while each factor was fixed.

    A latent's variance over the images of a vote is divided by its variance over the whole bank,
    both unbiased. Ties go to the first latent. At least one latent must be active, and no active
    latent constant; `factor_count` includes constant factors.
    """
    chosen = active.nonzero().flatten()
    scaled = codes[:, chosen]
    scaled = (scaled - scaled.mean(0)) / scaled.std(0)
    winners = [
        _scatter(scaled, rows).argmin(dim=1) for rows in torch.split(ballot.rows, VOTES_AT_ONCE)
    ]
    cells = chosen[torch.cat(winners)] * factor_count + ballot.factor
    counts = torch.bincount(cells, minlength=codes.shape[1] * factor_count)
    return counts.view(codes.shape[1], factor_count)


def vote_accuracy(
    train: Int[Tensor, "latent factor"], votes: Int[Tensor, "latent factor"]
) -> Float[Tensor, ""]:
    """Share of votes whose factor equals the factor assigned to their latent.

    The factor assigned to a latent is the one with most training votes; ties go to the first. Kim &
    Mnih (2018), https://arxiv.org/abs/1802.05983, section 4.
    """
    right = votes.gather(1, train.argmax(dim=1, keepdim=True)).sum()
    return right / votes.sum().double()


def _scatter(
    codes: Float[Tensor, "image latent"], rows: Int[Tensor, "vote sample"]
) -> Float[Tensor, "vote latent"]:
    """Sum of squared deviations over the images of each vote; exactly 0 if all codes are equal."""
    samples = rows.shape[1]
    sampled = codes.index_select(0, rows.flatten()).view(*rows.shape, -1)
    # Relative to the first image, so that constant latents give exactly 0.
    shifted = sampled - sampled[:, :1]
    return shifted.square().sum(1) - shifted.sum(1).square() / samples


@final
class FactorVAEScore(Metric):
    """Accuracy of predicting the fixed factor from the latent that varies least.

    A vote fixes one factor, draws images that share its value, and goes to the latent with the
    smallest variance relative to its variance over all images. Training votes assign a factor to
    each latent, and test votes are compared with it. The chance level is the score of the codes of
    other images: with many images one over the number of factors, with few it is higher. If no
    latent passes the threshold, the score is 0, and there is no chance level.

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, section 4. Images are drawn with
    replacement from the encoded images, so that incomplete and correlated data sets work too; the
    paper renders new images for each vote. Constant factors are left out.

    Args:
        space: The factors of the images.
        votes_train: Number of training votes.
        votes_test: Number of test votes.
        samples: Number of images per vote.
        threshold: Latents with a smaller standard deviation over all images get no votes; in the
            unit of the codes.
        seed: Seed of the draws.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: A number of votes is below 1, `samples` is below 2, or the threshold is
            negative.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import FactorVAEScore, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [FactorVAEScore]) for codes in (factors, turned)]
        >>> [round(score["factor_vae_score"], 2) for score in scores]
        [1.0, 0.51]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self,
        space: FactorSpace,
        votes_train: int = 10_000,
        votes_test: int = 5_000,
        samples: int = 64,
        threshold: float = 0.05,
        seed: int = 0,
        factor_bins: int = FACTOR_BINS,
    ) -> None:
        super().__init__(space)
        check_bins("factor_bins", factor_bins)
        self.factor_bins = factor_bins
        check_count("votes_train", votes_train, 1, most=10_000_000)
        check_count("votes_test", votes_test, 1, most=10_000_000)
        check_count("samples", samples, 2, most=100_000)
        check_at_least("threshold", threshold, 0)
        self.votes_train = votes_train
        self.votes_test = votes_test
        self.samples = samples
        self.threshold = threshold
        self.seed = seed

    def chance(self, shuffled: CodeBank) -> dict[str, Tensor]:
        """The accuracies; none if no latent varies enough, which scores 0 by definition.

        The number of active latents does not depend on the factors.
        """
        scores = self.score(shuffled)
        return scores if scores.pop("num_active") else {}

    def inapplicable(self, sample: Sample) -> str | None:
        """Reason against a single factor, which every code tells from no other."""
        return single_factor(sample.varied)

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The accuracies, the number of active latents and the training votes.

        Scores are `factor_vae_score` (test votes), `factor_vae_score_train` and `num_active`, the
        number of latents that may get votes. The part is `factor_vae_votes` (latent, factor).
        """
        bank = bank.with_factor_bins(self.factor_bins)
        active = (bank.std >= self.threshold) & (bank.std > 0)
        if not active.any():
            nothing = torch.zeros((), dtype=torch.float64)
            votes = torch.zeros(len(active), len(self.space.factors), dtype=torch.int64)
            return _results(nothing, nothing, active, votes)
        train, test = (
            self._votes(bank, active, part, votes)
            for part, votes in enumerate((self.votes_train, self.votes_test))
        )
        return _results(vote_accuracy(train, test), vote_accuracy(train, train), active, train)

    def _votes(
        self, bank: CodeBank, active: Bool[Tensor, " latent"], part: int, votes: int
    ) -> Int[Tensor, "latent factor"]:
        generator, names = host_generator(self.seed, part), self.space.names
        ballot = draw_ballot(
            bank.factors, bank.varied, votes, self.samples, generator, names, bank.value_rows
        )
        return count_votes(bank.codes, active, ballot, len(names))


def _results(test: Tensor, train: Tensor, active: Tensor, votes: Tensor) -> dict[str, Tensor]:
    return {
        "factor_vae_score": test,
        "factor_vae_score_train": train,
        "num_active": active.sum(),
        "factor_vae_votes": votes,
    }
