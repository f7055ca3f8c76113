"""Contract of the scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from jaxtyping import Float, Int
from torch import Tensor

from dislab.codes.bank import CodeBank, checked
from dislab.codes.checks import check_images
from dislab.errors import InputError, explained
from dislab.factors import FactorSpace
from dislab.functional.settings import checks_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

try:
    import torchmetrics
except RuntimeError as error:
    raise explained(error) from error


class Sample(NamedTuple):
    """Facts about the codes that are known before encoding.

    Attributes:
        images: Number of images.
        latents: Number of latents.
        varied: Number of factors, without nuisances, that take more than one value.
    """

    images: int
    latents: int
    varied: int


class Metric(torchmetrics.Metric, ABC):
    """A score of codes against the factors that made the images.

    It keeps references to what `update` receives; `compute` checks all of it once and hands it to
    `score`, which a concrete class implements. Scores that are computed together share one checked
    bank of codes. Processes are not synchronised: codes are gathered once, before any score sees
    them.

    The first scalar that `score` returns is the primary one: `higher_is_better`,
    `plot_lower_bound` and `plot_upper_bound`, which a class sets where they are known, speak of
    it, and `plot` draws it.

    Args:
        space: The factors behind the images.
    """

    is_differentiable = False
    full_state_update = False
    least: ClassVar[int] = 2
    """The fewest images that the score can do with."""
    bootstraps: bool = True
    """Whether the score is cheap enough, and makes sense, on hundreds of resamples of the images.
    One that fits a model, or tests on images other than those it learns from, does not."""
    compares: ClassVar[bool] = True
    """Whether the score compares codes with factors; one that does not has no level of chance."""
    engines: tuple[str, ...] = ()
    """Distributions, besides torch and its own, whose version its numbers depend on."""
    codes: list[Tensor] | Tensor
    factors: list[Tensor] | Tensor

    def __init_subclass__(cls) -> None:
        """Lets every constructor refuse settings of the wrong kind."""
        super().__init_subclass__()
        checks_settings(cls)

    def __init__(self, space: FactorSpace) -> None:
        super().__init__(sync_on_compute=False)
        self.space = space
        self.add_state("codes", default=[], dist_reduce_fx="cat")
        self.add_state("factors", default=[], dist_reduce_fx="cat")

    def update(
        self, codes: Float[Tensor, "batch latent"], factors: Int[Tensor, "batch factor"]
    ) -> None:
        """Adds a batch.

        Args:
            codes: Codes, for most scores the posterior means.
            factors: Positions: value numbers, one column a factor of the space.
        """
        cast("list[Tensor]", self.codes).append(codes)
        cast("list[Tensor]", self.factors).append(factors)

    @abstractmethod
    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """Scalars are the score's values, vectors and matrices its per-factor parts, by name.

        Args:
            bank: Checked codes and factors.
        """

    def chance(self, shuffled: CodeBank) -> dict[str, Tensor]:
        """The scalars that codes get which know nothing: by default those of other images' codes.

        A class with slow fits may return the score of a constant prediction instead.

        Args:
            shuffled: The codes that were scored, each with the factors of another image.
        """
        return self.score(shuffled)

    def inapplicable(self, sample: Sample) -> str | None:
        """Why the score cannot be taken, in one line; None where it can, as far as is known.

        It is called before training. A class that needs more than `least` images overrides it.

        Args:
            sample: Numbers of images, latents and factors.
        """
        return None

    def compute(self) -> dict[str, Tensor]:
        """The result of `score` on all codes and factors that `update` received.

        Raises:
            InputError: The codes or factors cannot be scored; the message says why.
        """
        # torchmetrics puts a list in one tensor when it synchronises processes
        codes, factors = (
            [one] if isinstance(one, Tensor) else one for one in (self.codes, self.factors)
        )
        return self.score(checked(codes, factors, self.space, least=self.least))

    def plot(
        self,
        val: Tensor | Mapping[str, Tensor] | Sequence[Tensor | Mapping[str, Tensor]] | None = None,
        ax: "Axes | None" = None,
    ) -> "tuple[Figure, Axes]":
        """The primary scalar with its bounds, as a point, or as a line over several results.

        Args:
            val: A result of `compute`, its primary scalar, or several of either in their order;
                the result of `compute` unless given.
            ax: Where to draw; a figure of its own unless given.
        """
        from matplotlib.figure import Figure
        from torchmetrics.utilities.plot import plot_single_or_multi_val

        given = self.compute() if val is None else val
        results = [given] if isinstance(given, Tensor | Mapping) else list(given)
        scalars = [one if isinstance(one, Tensor) else one[primary(one)] for one in results]
        named = next((primary(one) for one in results if isinstance(one, Mapping)), None)
        axes = Figure().subplots() if ax is None else ax
        plot_single_or_multi_val(
            scalars[0] if isinstance(given, Tensor | Mapping) else scalars,
            ax=axes,
            higher_is_better=self.higher_is_better,
            lower_bound=self.plot_lower_bound,
            upper_bound=self.plot_upper_bound,
            name=named or type(self).__name__,
        )
        return cast("Figure", axes.get_figure(root=True)), axes


def reason_against(metric: Metric, sample: Sample) -> str | None:
    """Why a score cannot be taken: its own reason, or one that holds for every score.

    Args:
        metric: The score.
        sample: Numbers of images, latents and factors.
    """
    try:
        check_images(sample.images, metric.least)
    except InputError as error:
        return str(error)
    if not sample.varied:
        return "no factor takes more than one value; score images whose factors vary"
    return metric.inapplicable(sample)


def primary(result: Mapping[str, Tensor]) -> str:
    """Name of the first scalar of a result.

    Args:
        result: Result of `Metric.score` or `Metric.compute`.

    Raises:
        InputError: The result has no scalar.
    """
    for name, value in result.items():
        if value.ndim == 0:
            return name
    if not result:
        raise InputError("the result is empty; a score returns at least one scalar")
    raise InputError(f"none of the results is a scalar: {', '.join(result)}; return at least one")


MetricBuilder = Callable[[FactorSpace], Metric]
"""Makes a score from the factors behind the images."""
