"""Separated attribute predictability."""

from typing import ClassVar, Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.learners import latent_machines
from dislab.codes.splits import (
    TEST_FRACTION,
    check_fraction,
    check_labels,
    spread_columns,
    standardized,
    train_count,
)
from dislab.factors import FactorSpace

Predictor = Literal["r2", "svc"]
"""How well a latent predicts a factor: squared correlation, or accuracy of a linear machine."""


@final
class SAP(Metric):
    """How far the latent that predicts a factor best is ahead of the second best.

    With `r2` a latent's prediction of a factor is worth their squared correlation over all
    images, the value numbers taken as they are; with `svc` the test accuracy of a linear support
    vector machine that sees this latent alone. The predictor is part of every result's name. A
    linear machine on one latent can single out the smallest and the largest value only, so that
    `sap_svc` of perfect codes of dSprites is about 0.25.

    Kumar et al. (2018), https://arxiv.org/abs/1711.00848; `svc` with the settings of
    Locatello et al. (2019), https://arxiv.org/abs/1811.12359: C = 0.01, balanced class weights,
    codes as they are. Scikit-learn solves the machines to
    their optimum here. A continuous factor is scored
    by squared correlation whatever the predictor, as by Kumar et al. Factors that never vary are
    left out, and a missing second latent counts as useless.

    Args:
        space: The factors behind the images.
        predictor: `r2` or `svc`.
        standardize: Whether `svc` sees codes in units of their standard deviation. Without, it
            depends on the scale of the codes. `r2` never does.
        test_fraction: Share of the images, the last ones, that `svc` is tested on.

    Raises:
        InputError: The predictor is unknown, or the fraction is not between 0 and 1.
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    least: ClassVar[int] = 3

    def __init__(
        self,
        space: FactorSpace,
        predictor: Predictor = "r2",
        standardize: bool = False,
        test_fraction: float = TEST_FRACTION,
    ) -> None:
        super().__init__(space)
        check_fraction(test_fraction)
        self.predictor: Predictor = predictor
        self.standardize = standardize
        self.test_fraction = test_fraction
        self.engines = ("scikit-learn",) if predictor == "svc" else self.engines
        self.bootstraps = predictor == "r2"  # repeated images would leak into the test part

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `sap_r2` or `sap_svc`, and its parts.

        Parts have the score's name in front: `per_factor`, which is NaN for factors that never
        vary, and `predictability` (latent, factor), 0 for them.

        Args:
            bank: Checked codes and factors.

        Raises:
            InputError: A factor varies in the images to test on only.
        """
        varied = bank.varied.nonzero().flatten().tolist()
        worth = (
            bank.squared_correlation[:, varied]
            if self.predictor == "r2"
            else self._accuracies(bank, varied)
        )
        best = torch.cat([worth, torch.zeros_like(worth[:1])]).topk(2, dim=0).values
        gap = best[0] - best[1]
        factors = len(self.space.factors)
        return {
            f"sap_{self.predictor}": gap.mean(),
            f"sap_{self.predictor}_per_factor": spread_columns(gap, varied, factors, torch.nan),
            f"sap_{self.predictor}_predictability": spread_columns(worth, varied, factors, 0.0),
        }

    def _accuracies(self, bank: CodeBank, varied: list[int]) -> Float[Tensor, "latent varied"]:
        cut = train_count(len(bank.codes), self.test_fraction)
        codes = standardized(bank.codes, cut) if self.standardize else bank.codes
        columns = []
        for column in varied:
            if column in bank.continuous:
                columns.append(bank.squared_correlation[:, column])
                continue
            labels = bank.factors[:, column]
            check_labels(labels, cut, "SAP", self.space.names[column])
            predicted = latent_machines(codes[:cut], labels[:cut], codes[cut:])
            right = predicted == labels[cut:, None]
            columns.append(right.double().mean(0))
        return torch.stack(columns, dim=1)
