"""Linear prediction with a quadratic penalty."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Predictor
from dislab.codes.inputs import Standard, check_codes, check_training_data, standard
from dislab.functional.checks import check_at_least


@final
class Ridge(Predictor):
    """Linear regression of each factor on standardised codes, with a quadratic penalty.

    The weights w minimise |y − Xw − b|² + penalty · |w|² in closed form, in float64. A constant
    latent gets no weight. For classification, class indicators are regressed and the class with the
    largest prediction wins.

    Hoerl and Kennard (1970), https://doi.org/10.1080/00401706.1970.10488634.

    Args:
        latent_dim: Number of latents.
        classes: Number of classes of each factor; 0 for regression of a number in [0, 1].
        penalty: Weight of the quadratic penalty; 0 is ordinary least squares.

    Raises:
        InputError: The penalty is negative.
    """

    def __init__(self, latent_dim: int, classes: tuple[int, ...], penalty: float = 1.0) -> None:
        check_at_least("penalty", penalty, 0)
        self.latent_dim = latent_dim
        self.classes = tuple(classes)
        self.penalty = penalty
        self._standard = Standard(torch.empty(0), torch.empty(0))
        self._weights = self._offset = torch.empty(0)

    def fit(
        self,
        codes: Float[Tensor, "run image latent"],
        targets: Float[Tensor, "image factor"],
    ) -> None:
        """Learn from scratch."""
        check_training_data(codes, targets, self.latent_dim, self.classes)
        self._standard = standard(codes.detach())
        inputs = self._standard.of(codes.detach())
        columns = self._columns(targets.to(codes.device))
        self._offset = columns.mean(0)
        gram = inputs.mT @ inputs
        gram.diagonal(dim1=1, dim2=2).add_(self.penalty)
        # the minimum-norm solution if it is not unique: a dead latent gives a row of zeros
        inverse = torch.linalg.pinv(gram, hermitian=True)
        self._weights = inverse @ (inputs.mT @ (columns - self._offset))

    def predict(
        self, codes: Float[Tensor, "run image latent"]
    ) -> Float[Tensor, "run image factor"]:
        """Values, which may lie outside of [0, 1], or class numbers."""
        check_codes(codes, self.latent_dim, len(self._weights))
        predicted = self._standard.of(codes.detach()) @ self._weights + self._offset
        parts = torch.split(predicted, [max(1, count) for count in self.classes], dim=2)
        columns = [
            part.argmax(2) if count else part[..., 0]
            for part, count in zip(parts, self.classes, strict=True)
        ]
        return torch.stack([column.to(codes) for column in columns], 2)

    def _columns(self, targets: Float[Tensor, "image factor"]) -> Float[Tensor, "image column"]:
        return torch.cat(
            [
                torch.nn.functional.one_hot(column.long(), count).double()
                if count
                else column[:, None].double()
                for column, count in zip(targets.unbind(1), self.classes, strict=True)
            ],
            1,
        )
