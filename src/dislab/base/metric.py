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
from dislab.naming.settings import Part

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
        varied: Number of factors, excluding nuisance factors, that take more than one value.
    """

    images: int
    latents: int
    varied: int


class Metric(torchmetrics.Metric, Part, ABC):
    """A score of codes against the factors of the images.

    It keeps references to the arguments of `update`; `compute` checks them all once and passes them
    to `score`, which a concrete class implements. Scores that are computed together share one
    checked bank of codes. Processes are not synchronised: codes are gathered once, before they
    reach any score.

    The first scalar that `score` returns is the primary one: `plot` draws it, and
    `higher_is_better`, `plot_lower_bound` and `plot_upper_bound`, which a class sets if they are
    known, describe it.

    Args:
        space: The factors behind the images.
    """

    filled_in = 1
    is_differentiable = False
    full_state_update = False
    least: ClassVar[int] = 2
    """Smallest number of images that the score needs."""
    bootstraps: bool = True
    """Whether the score can be computed on hundreds of resamples of the images. Scores that fit a
    model are too slow, and a train-test split makes no sense on resamples."""
    compares: ClassVar[bool] = True
    """Whether the score compares codes with factors; otherwise it has no chance level."""
    engines: tuple[str, ...] = ()
    """Distributions, besides torch and its own, whose versions affect the values."""
    codes: list[Tensor] | Tensor
    factors: list[Tensor] | Tensor

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
            factors: Positions: value numbers, one column per factor of the space.

        Raises:
            InputError: They are no tensors.
        """
        for name, rows in (("codes", codes), ("factors", factors)):
            if not isinstance(rows, Tensor):
                raise InputError(
                    f"{name} are an object of {type(rows).__name__}; a score takes tensors, which "
                    "torch.as_tensor makes, and dislab.evaluate takes arrays"
                )
        cast("list[Tensor]", self.codes).append(codes)
        cast("list[Tensor]", self.factors).append(factors)

    @abstractmethod
    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score's values by name: scalars, and vectors and matrices of its per-factor parts.

        Args:
            bank: Checked codes and factors.
        """

    def chance(self, shuffled: CodeBank) -> dict[str, Tensor]:
        """The scalars of uninformative codes, by default codes of other images.

        A class with slow fits may return the score of a constant prediction instead.

        Args:
            shuffled: The codes that were scored, each with the factors of another image.
        """
        return self.score(shuffled)

    def inapplicable(self, sample: Sample) -> str | None:
        """One-line reason why the score cannot be computed; None if none is known before training.

        It is called before training. A class with requirements besides `least` images overrides it.

        Args:
            sample: Numbers of images, latents and factors.
        """
        return None

    def compute(self) -> dict[str, Tensor]:
        """The result of `score` on all codes and factors that `update` received.

        Raises:
            InputError: The codes or factors cannot be scored; the message says why.
        """
        # torchmetrics concatenates a list into one tensor when it synchronises processes
        codes, factors = (
            [state] if isinstance(state, Tensor) else state for state in (self.codes, self.factors)
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
            ax: Axes to draw on; a new figure unless given.
        """
        from torchmetrics.utilities.plot import plot_single_or_multi_val

        from dislab.notebook_figure import NotebookFigure

        computed = self.compute() if val is None else val
        results = [computed] if isinstance(computed, Tensor | Mapping) else list(computed)
        scalars = [
            result if isinstance(result, Tensor) else result[primary(result)] for result in results
        ]
        name = next((primary(result) for result in results if isinstance(result, Mapping)), None)
        axes = NotebookFigure().subplots() if ax is None else ax
        plot_single_or_multi_val(
            scalars[0] if isinstance(computed, Tensor | Mapping) else scalars,
            ax=axes,
            higher_is_better=self.higher_is_better,
            lower_bound=self.plot_lower_bound,
            upper_bound=self.plot_upper_bound,
            name=name or type(self).__name__,
        )
        return cast("Figure", axes.get_figure(root=True)), axes


def reason_against(metric: Metric, sample: Sample) -> str | None:
    """Reason why a score cannot be computed: its own, or one that holds for every score; or None.

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
        raise InputError("the result is empty; a score must return at least one scalar")
    names = ", ".join(result)
    raise InputError(f"none of the results is a scalar: {names}; a score must return at least one")


MetricBuilder = Callable[[FactorSpace], Metric]
"""Makes a score from the factors of the images."""
