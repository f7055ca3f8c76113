"""Total correlation, estimated by a discriminator."""

from typing import Any, Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.errors import InputError
from dislab.functional.checks import check_at_least, check_betas, check_count
from dislab.functional.distributed import gather_rows, world
from dislab.functional.streams import Stream
from dislab.functional.total_correlation import SLOPE, judge, permute_latents


@final
class TotalCorrelation(Regularizer):
    """Total correlation estimated by a discriminator's density ratio (FactorVAE).

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, eq. 2 and 3, algorithm 2. Use it together
    with `KL`. Logit 0 stands for codes from the aggregate posterior, logit 1 for codes from the
    product of its marginals. The discriminator is updated in the same step as the model, with its
    own optimiser settings; its loss gives no gradient to the codes, and the penalty gives no
    gradient to the discriminator.

    Departures from the paper: both updates of a step are simultaneous, and the permuted codes
    come from the same batch, as Locatello et al. (2019), https://arxiv.org/abs/1811.12359, do;
    `batches` set to `two` takes them from the other half of a double batch.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set; not used.
        gamma: Weight of the total correlation; 35 is the paper's best for dSprites.
        width: Units of each hidden layer of the discriminator.
        depth: Number of its hidden layers.
        lr: Its learning rate at the start of a schedule.
        betas: Its Adam coefficients; the optimiser must be a variant of Adam.
        batches: `one` permutes the batch itself; `two` takes the even rows of a batch as codes and
            permutes the odd ones, so that the two are independent; an unpaired last row is ignored.
        slope: Negative slope of its leaky ReLUs.

    Raises:
        InputError: A setting is out of range, or there is a single latent.
    """

    def __init__(
        self,
        latent_dim: int,
        train_size: int,
        gamma: float = 35.0,
        width: int = 1000,
        depth: int = 6,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.5, 0.9),
        batches: Literal["one", "two"] = "one",
        slope: float = SLOPE,
    ) -> None:
        super().__init__()
        check_at_least("gamma", gamma, 0)
        check_count("width", width, 1)
        check_count("depth", depth, 1, most=1000)
        check_at_least("lr", lr, 0)
        check_betas(betas)
        check_at_least("slope", slope, 0)
        if latent_dim < 2:
            raise InputError("one latent has no total correlation; latent_dim must be at least 2")
        self.latent_dim = latent_dim
        self.gamma = gamma
        self.lr = lr
        self.betas = betas
        self.batches = batches
        self.slope = slope
        layers: list[nn.Module] = []
        features = latent_dim
        for _ in range(depth):
            layers += [nn.Linear(features, width), nn.LeakyReLU(slope)]
            features = width
        self.discriminator = nn.Sequential(*layers, nn.Linear(features, 2))

    @property
    def smallest_batch(self) -> int:  # type: ignore[override]
        """Two images to permute; with two batches, also two images in each process."""
        return 2 if self.batches == "one" else max(4, 2 * world()[1])

    def draw(self, count: int, stream: Stream) -> Draws:
        """For each latent, a permutation of the images whose codes are permuted."""
        size = world()[1]
        rows = count if self.batches == "one" or count < 2 else count // size // 2 * size
        return {"permutation": stream.permutations("permutation", rows, self.latent_dim)}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """The discriminator's parameters with their learning rate and Adam coefficients."""
        return [{"params": list(self.parameters()), "lr": self.lr, "betas": self.betas}]

    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """Gamma · E[logit 0 − logit 1], and the discriminator's cross-entropy as auxiliary loss.

        Terms: `tc` in nats, `discriminator_loss` in nats, `discriminator_accuracy` in [0, 1].
        """
        # the last batch of a split may have an odd number of rows, or a single one
        even = len(z) // 2 * 2
        codes, others = (z, z) if self.batches == "one" or not even else (z[:even:2], z[1:even:2])
        permuted = permute_latents(gather_rows(others.detach()), draws["permutation"])
        parameters = list(self.discriminator.parameters())
        tc, auxiliary, log_ratio = judge(codes, permuted, parameters, self.slope)
        right = torch.cat([log_ratio[: len(codes)] >= 0, log_ratio[len(codes) :] < 0])
        accuracy = right.to(tc.dtype).mean()
        terms = {"tc": tc, "discriminator_loss": auxiliary, "discriminator_accuracy": accuracy}
        return Penalty(self.gamma * tc, auxiliary, terms)
