"""KL divergence decomposed into three separately weighted terms."""

from typing import Literal, final

from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.errors import InputError
from dislab.functional.checks import check_at_least
from dislab.functional.distributed import gather_rows, world
from dislab.functional.gaussians import kl_per_latent
from dislab.functional.total_correlation import Estimator, decompose_kl


@final
class DecomposedKL(Regularizer):
    """Separately weighted mutual information, total correlation and dimension-wise KL (β-TCVAE).

    Chen et al. (2018), https://arxiv.org/abs/1802.04942, eq. 4. It replaces `KL`. The
    aggregate posterior is estimated from the global batch of all processes.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set.
        beta: Weight of the total correlation.
        alpha: Weight of the index-code mutual information; `sampled` form only.
        gamma: Weight of the dimension-wise KL; `sampled` form only.
        estimator: `mss` is the stratified estimate, `mws` the weighted one, which overstates the
            total correlation of a small batch by tens of nats, and `mws-unnormalised` leaves out
            its constants, as Locatello et al. (2019) do; the last two have equal gradients.
        form: `sampled` weights the three Monte-Carlo terms, as the paper does; `analytic` adds
            (beta − 1) times the total correlation to the closed-form KL, as Locatello et al.
            (2019), https://arxiv.org/abs/1811.12359, do.

    Raises:
        InputError: A weight is negative, or alpha or gamma is not 1 in the analytic form.
    """

    smallest_batch = 2

    def __init__(
        self,
        latent_dim: int,
        train_size: int,
        beta: float = 6.0,
        alpha: float = 1.0,
        gamma: float = 1.0,
        estimator: Estimator = "mss",
        form: Literal["sampled", "analytic"] = "sampled",
    ) -> None:
        super().__init__()
        for name, weight in (("beta", beta), ("alpha", alpha), ("gamma", gamma)):
            check_at_least(name, weight, 0)
        if form == "analytic" and (alpha, gamma) != (1, 1):
            raise InputError(
                f"alpha={alpha} and gamma={gamma} have no meaning in the analytic form, which "
                "weights the total correlation alone; leave them at 1 or set form to sampled"
            )
        self.train_size = train_size
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.estimator: Estimator = estimator
        self.form = form

    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """The weighted sum; terms: the three estimates and the closed-form `kl`, in nats.

        Raises:
            InputError: A training batch is larger than the training set.
        """
        mean, log_var = (gather_rows(rows) for rows in posterior)
        if self.training and len(mean) > self.train_size:
            raise InputError(
                f"a batch of {len(mean)} images is larger than the training set of "
                f"{self.train_size}; the estimate of q(z) needs distinct images"
            )
        parts = decompose_kl(
            z, mean, log_var, self.estimator, self.train_size, first_row=world()[0] * len(z)
        )
        kl = kl_per_latent(*posterior).sum(1).mean()
        if self.form == "analytic":
            penalty = kl + (self.beta - 1) * parts.total_correlation
        else:
            penalty = (
                self.alpha * parts.index_code_mi
                + self.beta * parts.total_correlation
                + self.gamma * parts.dimension_wise_kl
            )
        return Penalty(penalty, None, {**parts._asdict(), "kl": kl})
