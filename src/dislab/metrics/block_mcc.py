"""Multiple correlation of blocks of latents with blocks of factors."""

from typing import ClassVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric, Sample
from dislab.codes.bank import CodeBank
from dislab.codes.learners import Regression, predicted_block
from dislab.codes.splits import (
    TEST_FRACTION,
    check_fraction,
    check_labels,
    explained_share,
    spread_columns,
    standardized,
    train_count,
)
from dislab.codes.statistics import assignment, check_groups
from dislab.errors import InputError, suggestion
from dislab.factors import FactorSpace
from dislab.functional.checks import check_count


@final
class BlockMCC(Metric):
    """Multiple correlation of each block of factors with a block of latents.

    A regression predicts a block of factors from a block of latents. It is trained on the first
    images and tested on the last ones, so that images must be in random order. `linear` tests
    identification of the factors up to a linear map, `kernel` up to any smooth map. The score is
    the square root of R², the explained share of a factor's variance (0 if negative), averaged over
    the factors of a block, then over blocks. The names of all results contain the regression.

    Without `latent_blocks`, all latents together predict every block, as in von Kügelgen et al.
    (2021), https://arxiv.org/abs/2106.04619, whose R² of content and style are those of two blocks
    of factors. With one linear regression per factor it is R of Lachapelle et al. (2022),
    https://arxiv.org/abs/2107.10098, who compute it on the training images. Several blocks of
    latents are matched one to one with blocks of factors such that the sum of the scores is
    largest, as `MCC` does with single latents; an unmatched block of factors counts 0.

    Codes and factors are standardised. Factors enter as value numbers, continuous ones as their
    values; constant factors are left out.

    Args:
        space: The factors of the images.
        regression: `linear`, or `kernel` for kernel ridge regression.
        latent_blocks: Numbers of the latents in each block; null makes one block of all latents.
        factor_blocks: Names of the factors in each block; null makes one block of each factor.
        test_fraction: Share of the images, the last ones, used for testing.
        most: Largest number of training images of `kernel`; its time grows with the third power of
            this number.

    Raises:
        InputError: The regression is unknown, a block is empty or names a missing factor or a
            member of another block, the fraction is not between 0 and 1, or `most` is below 6.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import BlockMCC, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [BlockMCC]) for codes in (factors, turned)]
        >>> [round(score["block_mcc_linear"], 2) for score in scores]
        [1.0, 1.0]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    bootstraps = False  # repeated images would leak into the test part
    engines = ("scikit-learn", "scipy")
    least: ClassVar[int] = 9  # six training images, two in each of three folds

    def __init__(
        self,
        space: FactorSpace,
        regression: Regression = "linear",
        latent_blocks: list[list[int]] | None = None,
        factor_blocks: list[list[str]] | None = None,
        test_fraction: float = TEST_FRACTION,
        most: int = 1000,
    ) -> None:
        super().__init__(space)
        check_fraction(test_fraction)
        check_count("most", most, 6)
        self.regression: Regression = regression
        self.latent_blocks = latent_blocks
        self.factor_blocks = factor_blocks
        self.test_fraction = test_fraction
        self.most = most
        self._factor_columns = _columns(space, factor_blocks)

    def inapplicable(self, sample: Sample) -> str | None:
        """Reason against codes that lack latents named in blocks."""
        try:
            self._latent_columns(sample.latents)
        except InputError as error:
            return str(error)
        return None

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """`block_mcc_<regression>`, `block_r2_<regression>`, and parts.

        `block_r2_…` is the mean of R² itself. Parts are both scores with the suffix `_per_factor`,
        NaN for constant factors.

        Raises:
            InputError: Blocks name missing latents or only constant factors, or a factor varies
                only in the test images.
        """
        latents = self._latent_columns(bank.codes.shape[1])
        varied = set(bank.varied.nonzero().flatten().tolist())
        factors = [
            varying
            for block in self._factor_columns
            if (varying := [f for f in block if f in varied])
        ]
        if not factors:
            raise InputError("no factor in factor_blocks varies; name factors that do")
        shares = [
            [self._explained(bank, latent_block, factor_block) for factor_block in factors]
            for latent_block in latents
        ]
        correlations = torch.stack(
            [torch.stack([share.sqrt().mean() for share in row]) for row in shares]
        )
        # a single block of latents serves all factors
        rows = assignment(correlations) if len(shares) > 1 else [0] * len(factors)
        matched = [
            shares[row][index] if row >= 0 else torch.zeros(len(block), dtype=torch.float64)
            for index, (block, row) in enumerate(zip(factors, rows, strict=True))
        ]
        columns, count = [column for block in factors for column in block], len(self.space.factors)
        results, parts = {}, {}
        for name, values in {
            "mcc": [row_shares.sqrt() for row_shares in matched],
            "r2": matched,
        }.items():
            name = f"block_{name}_{self.regression}"
            results[name] = torch.stack([row_shares.mean() for row_shares in values]).mean()
            parts[f"{name}_per_factor"] = spread_columns(
                torch.cat(values), columns, count, torch.nan
            )
        return results | parts

    def _latent_columns(self, latents: int) -> list[list[int]]:
        """The latents of each block."""
        if self.latent_blocks is None:
            return [list(range(latents))]
        check_groups(self.latent_blocks, latents, "latent_blocks")
        return [list(block) for block in self.latent_blocks]

    def _explained(
        self, bank: CodeBank, latents: list[int], factors: list[int]
    ) -> Float[Tensor, " factor"]:
        """R² of each factor of a block on the test images."""
        cut = train_count(len(bank), self.test_fraction)
        numbers = bank.numbers[:, factors].cpu()
        for column, values in zip(factors, numbers.T, strict=True):
            check_labels(values, cut, "BlockMCC", self.space.names[column], unseen=False)
        inputs, targets = (
            standardized(bank.codes[:, latents].cpu(), cut),
            standardized(numbers, cut),
        )
        train = min(cut, self.most) if self.regression == "kernel" else cut
        predicted = predicted_block(inputs[:train], targets[:train], inputs[cut:], self.regression)
        shares = [explained_share(*pair) for pair in zip(predicted.T, targets[cut:].T, strict=True)]
        return torch.stack(shares)


def _columns(space: FactorSpace, blocks: list[list[str]] | None) -> list[list[int]]:
    """The columns of each block of factors; refuses missing factors and factors in two blocks."""
    if blocks is None:
        return [[column] for column in range(len(space.factors))]
    for name in (name for block in blocks for name in block):
        if name not in space.names:
            raise InputError(
                f"factor_blocks names {name!r}{suggestion(name, space.names)}, which is no factor; "
                f"they are {', '.join(space.names)}"
            )
    names = [name for block in blocks for name in block]
    if not blocks or not all(blocks) or len(set(names)) < len(names):
        raise InputError(
            f"factor_blocks are {blocks}; give each at least one factor, and no factor to two"
        )
    return [[space.names.index(name) for name in block] for block in blocks]
