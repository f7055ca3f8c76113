"""Operators that combine two concepts into a new one."""

from typing import ClassVar, Literal, cast, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor

from dislab.base import Draws, ImageShape, Objective, Posterior, SymbolBatch, Terms
from dislab.errors import InputError
from dislab.functional.checks import check_choice
from dislab.functional.losses import kl_between, sample
from dislab.functional.runtime import gather_rows
from dislab.functional.streams import Stream
from dislab.functional.symbols import (
    OPERATORS,
    RecombinationDraws,
    draw_recombination,
    factor_of_each,
    recombination,
)
from dislab.objectives._frozen import Frozen
from dislab.objectives._inputs import check_as_many, check_named, check_numbers, checked_noise
from dislab.objectives._symbols import OperatorNetwork
from dislab.objectives._variational import checked_rows
from dislab.objectives.scan import SCAN

Operator = Literal["and", "in_common", "ignore"]


@final
class Recombinator(Objective):
    """Recombination of the concepts of a frozen SCAN by AND, IN COMMON and IGNORE.

    The result of AND has the attributes of either concept, that of IN COMMON the attributes that
    both have, and that of IGNORE the attributes of the first concept without those of the second. A
    factor on which the two concepts of IN COMMON disagree is open in the result. Each operator has
    a small network, which combines two Gaussians into one, latent by latent. It is trained towards
    the posteriors of images of the result: for each image and a random operator, two concepts are
    generated whose combination is the description of the image. The run stores a copy of SCAN and
    its vision model.

    Higgins et al. (2018), https://arxiv.org/abs/1707.03389, "Learning recombination operators".
    Departures: the networks map log variances instead of standard deviations; attributes added to
    the generated concepts are drawn from those named in the batch; the two concepts of IN COMMON
    disagree on about a quarter of the factors that the image's description leaves open.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        symbol_names: Names of the attributes, `factor=attribute` each; the command line takes them
            from the data.
        scan: Folder of a SCAN run, such as runs/scan/version_0; in a checkpoint, the settings of
            that model are here instead.
        hidden: Units of each operator's hidden layer.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: The run is missing, or has another image shape, another method than SCAN or
            other symbols, or there is no hidden unit.
    """

    batch_types: ClassVar[tuple[type, ...]] = (SymbolBatch,)
    factor: Tensor

    def __init__(
        self,
        image_shape: ImageShape,
        symbol_names: tuple[str, ...],
        scan: str | dict[str, str],
        hidden: int = 30,
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        self.scan = Frozen(scan, "scan", image_shape)
        _check(self.scan.model, symbol_names)
        self.hparams["scan"] = self.scan.stored
        self.network = OperatorNetwork(hidden)
        factor = factor_of_each(symbol_names)
        self.factors = max(factor) + 1
        self.register_buffer("factor", torch.tensor(factor), persistent=False)

    @property
    def concepts(self) -> SCAN:
        """The frozen SCAN."""
        return cast("SCAN", self.scan.model)

    @property
    def latent_dim(self) -> int:
        """Number of latents of the frozen SCAN."""
        return self.concepts.latent_dim

    def on_fit_start(self) -> None:
        """Refuses a SCAN without weights."""
        self.scan.check()

    def draw(self, count: int, stream: Stream) -> Draws:
        """An operator for each image, random numbers for two concepts, and noise for `sym2img`."""
        recombined = draw_recombination(count, self.factors, len(self.factor), stream)
        return {**recombined._asdict(), **self.concepts.draw(count, stream.of("concepts"))}

    def losses(self, batch: SymbolBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """KL(q(z|image) ‖ q(z|result)) of concepts whose result describes the image."""
        present = gather_rows(batch.symbol).amax(0)
        lots = RecombinationDraws(*(draws[name] for name in RecombinationDraws._fields))
        recombined = recombination(batch.symbol, present, self.factor, lots)
        encode = self.concepts.encode_symbol
        result = self.network(
            encode(recombined.first), encode(recombined.second), recombined.operator
        )
        apart = kl_between(*self.encode(batch.image), *result).sum(1)
        log = {}
        for index, name in enumerate(OPERATORS):
            rows = recombined.operator == index
            log[name] = torch.where(rows, apart, 0.0).sum() / rows.sum().clamp(min=1)
        return Terms(apart.mean(), log)

    def recombine(
        self,
        first: Float[Tensor, "batch symbol"],
        second: Float[Tensor, "batch symbol"],
        operator: Int[Tensor, " batch"],
    ) -> Posterior:
        """The posteriors of recombined concepts.

        Args:
            first: The first concepts: 1 for attributes that they name, else 0.
            second: The second concepts.
            operator: Numbers of the operators: 0 is AND, 1 IN COMMON, 2 IGNORE.

        Raises:
            InputError: The number of columns is not the number of attributes, the numbers of rows
                differ, an entry of a concept is neither 0 nor 1, or an operator does not exist.
        """
        encode = self.concepts.encode_symbol
        check_as_many({"first": first, "second": second, "operator": operator})
        posteriors = encode(first), encode(second)
        check_named("first", first)
        check_named("second", second)
        return self.apply_operator(*posteriors, operator)

    def apply_operator(
        self, first: Posterior, second: Posterior, operator: Int[Tensor, " batch"]
    ) -> Posterior:
        """Recombine concepts given by their posteriors, such as results of another operator.

        Args:
            first: The first concepts.
            second: The second concepts.
            operator: Numbers of the operators.

        Raises:
            InputError: The concepts have another number of latents than SCAN, the numbers of rows
                differ, or an operator does not exist.
        """
        check_as_many({"first": first.mean, "second": second.mean, "operator": operator})
        for name, posterior in (("first", first), ("second", second)):
            checked_rows(self, name, posterior.mean, self.latent_dim, "latent")
        check_numbers("operator", operator, OPERATORS)
        outputs: Posterior = self.network(first, second, operator)
        return outputs

    def recombined_images(
        self,
        first: Float[Tensor, "batch symbol"],
        second: Float[Tensor, "batch symbol"],
        operator: Operator,
        draws: Draws,
    ) -> Float[Tensor, "batch channel height width"]:
        """Images of recombined concepts, pixels in [0, 1].

        Args:
            first: The first concepts: 1 for attributes that they name, else 0.
            second: The second concepts.
            operator: Name of the operator.
            draws: Result of `draw` for as many rows.

        Raises:
            InputError: The concepts do not fit `recombine`, the operator does not exist, or the
                draws are for another number of rows.
        """
        check_choice("operator", operator, OPERATORS)
        operators = torch.full((len(first),), OPERATORS.index(operator), device=first.device)
        result = self.recombine(first, second, operators)
        return self.decode(sample(*result, checked_noise(self, draws, result.mean)))

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x) of the vision model."""
        return self.concepts.encode(image)

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the vision model's posteriors."""
        return self.encode(image).mean

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of the vision model, pixels in [0, 1]."""
        return self.concepts.decode(z)


def _check(model: Objective, names: tuple[str, ...]) -> None:
    if not isinstance(model, SCAN):
        raise InputError(
            f"the scan run is of {type(model).__name__}; Recombinator recombines the concepts of a "
            "run of SCAN"
        )
    if model.symbol_names != tuple(names):
        raise InputError(
            f"the scan run knows the symbols {', '.join(model.symbol_names)}, and the data have "
            f"{', '.join(names) or 'none'}; use the same data module settings for both"
        )
