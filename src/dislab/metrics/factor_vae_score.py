"""The score of the FactorVAE paper."""

from typing import final

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.factor_vae_votes import count_votes, draw_ballot, vote_accuracy
from dislab.factors import FactorSpace
from dislab.functional.checks import check_at_least, check_count
from dislab.functional.random import host_generator


@final
class FactorVAEScore(Metric):
    """Accuracy with which the latent that varies least tells which factor is held.

    A vote holds one factor, takes images that share its value, and goes to the latent with the
    smallest variance in units of its variance over all images. Training votes decide which
    factor each latent stands for, test votes are judged. Chance is one over the number of
    factors; when no latent survives the threshold, the score is 0.

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, section 4. Images are drawn among those
    already encoded, with replacement, so that incomplete and correlated sets of images work
    too; the paper renders new ones for each vote. Factors that never vary are left out.

    Args:
        space: The factors behind the images.
        votes_train: Number of training votes.
        votes_test: Number of test votes.
        samples: Images a vote.
        threshold: Latents whose standard deviation over all images is below it get no votes; in
            the unit of the codes.
        seed: Seed of the draws.
        factor_bins: Number of equal-width bins that a continuous factor is cut into.

    Raises:
        InputError: A number of votes is below 1, of samples below 2, or the threshold negative.
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
        check_count("factor_bins", factor_bins, 2)
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
        """The shares of right votes; the number of active latents has nothing to do with factors.

        Args:
            shuffled: The codes that were scored, each with the factors of another image.
        """
        return {name: one for name, one in self.score(shuffled).items() if name != "num_active"}

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The accuracies, the number of surviving latents and the training votes.

        Scores are `factor_vae_score` (test votes), `factor_vae_score_train` and `num_active`, the
        number of latents that may get votes. The part is `factor_vae_votes` (latent, factor).

        Args:
            bank: Checked codes and factors.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        active = (bank.std >= self.threshold) & (bank.std > 0)
        if not active.any():
            nothing = torch.zeros((), dtype=torch.float64)
            votes = torch.zeros(len(active), len(self.space.factors), dtype=torch.int64)
            return _named(nothing, nothing, active, votes)
        train, test = (
            self._votes(bank, active, part, votes)
            for part, votes in enumerate((self.votes_train, self.votes_test))
        )
        return _named(vote_accuracy(train, test), vote_accuracy(train, train), active, train)

    def _votes(
        self, bank: CodeBank, active: Bool[Tensor, " latent"], part: int, votes: int
    ) -> Int[Tensor, "latent factor"]:
        generator, names = host_generator(self.seed, part), self.space.names
        ballot = draw_ballot(
            bank.factors, bank.varied, votes, self.samples, generator, names, bank.value_rows
        )
        return count_votes(bank.codes, active, ballot, len(names))


def _named(test: Tensor, train: Tensor, active: Tensor, votes: Tensor) -> dict[str, Tensor]:
    return {
        "factor_vae_score": test,
        "factor_vae_score_train": train,
        "num_active": active.sum(),
        "factor_vae_votes": votes,
    }
