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

SAPPredictor = Literal["r2", "svc"]
"""Predictability of a factor from a latent: squared correlation, or accuracy of a linear SVM."""


@final
class SAP(Metric):
    """Gap in predictability between a factor's best and second-best latent.

    With `r2`, the predictability is the squared correlation of the latent and the factor's value
    number over all images; with `svc` it is the test accuracy of a linear support vector machine on
    this latent alone. The names of all results contain the predictor. A linear classifier on one
    latent can separate only the smallest and the largest value, so that `sap_svc` of perfect codes
    of dSprites is about 0.25.

    Kumar et al. (2018), https://arxiv.org/abs/1711.00848; `svc` with the settings of
    Locatello et al. (2019), https://arxiv.org/abs/1811.12359: C = 0.01, balanced class weights,
    codes not standardised. Here scikit-learn solves the SVMs to their optimum. A continuous factor
    is scored by squared correlation with either predictor, as in Kumar et al. Constant factors are
    left out, and a missing second latent has predictability 0.

    Args:
        space: The factors of the images.
        predictor: `r2` or `svc`.
        standardize: Whether codes are standardised for `svc`; otherwise its result depends on their
            unit and their origin. `r2` does not depend on them.
        test_fraction: Share of the images, the last ones, on which `svc` is tested.

    Raises:
        InputError: The predictor is unknown, or the fraction is not between 0 and 1.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import SAP, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [SAP]) for codes in (factors, turned)]
        >>> [round(score["sap_r2"], 2) for score in scores]
        [1.0, 0.0]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    least: ClassVar[int] = 3

    def __init__(
        self,
        space: FactorSpace,
        predictor: SAPPredictor = "r2",
        standardize: bool = False,
        test_fraction: float = TEST_FRACTION,
    ) -> None:
        super().__init__(space)
        check_fraction(test_fraction)
        self.predictor: SAPPredictor = predictor
        self.standardize = standardize
        self.test_fraction = test_fraction
        self.engines = ("scikit-learn",) if predictor == "svc" else self.engines
        self.bootstraps = predictor == "r2"  # repeated images would leak into the test part

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `sap_r2` or `sap_svc`, and its parts.

        Parts have the score's name as a prefix: `per_factor`, NaN for constant factors, and
        `predictability` (latent, factor), 0 for constant factors.

        Raises:
            InputError: A factor varies only in the test images.
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
