"""Images with descriptions: symbols that name some of their attributes."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Final, final

from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Dataset, Split, SymbolBatch
from dislab.datamodules._symbol_plans import Attributes, ConceptPlan, DescriptionPlan, HeldOutPlan
from dislab.errors import InputError
from dislab.factors import Selection
from dislab.functional.checks import check_count, naming
from dislab.functional.random import host_generator
from dislab.plans import IndexPlan, PlannedData

_EXAMPLES: Final = 0x5CA


@final
class SymbolData(PlannedData):
    """Images, each with a k-hot description that names some of its attributes.

    The number of factors that a description names is drawn first, all numbers equally likely, which
    gives abstract to specific concepts. Then the factors are drawn. Validation and test draw as
    many images as they have states, the same every time; if combinations are held out, each test
    image shows one of them and is described by exactly this combination.

    Higgins et al. (2018), https://arxiv.org/abs/1707.03389, sections 3 and 4.

    Args:
        dataset: The images and their factors.
        attributes: For each factor to describe, conditions on its values by the names of its
            attributes, such as `{posX: {left: {max: 0.33}}}`; null divides it by `parts`. Unless
            given, every varying factor is divided by `parts`.
        parts: Number of attributes that an ordinal or circular factor is divided into; categorical
            factors have one per value.
        specified: Numbers of factors that a description may name; all unless given. An image
            with fewer attributes is described by those it has.
        held_out: Combinations of attributes, such as `[[shape=heart, posX=low]]`, that no
            description of training and validation names together.
        examples_per_concept: Number of training images per concept, which then form the whole
            training set; unless given, descriptions of all images are redrawn in every batch.
            Incompatible with correlation.
        **settings: Those of `PlannedData`: batches, splits, workers, transforms, correlation.

    Raises:
        InputError: A number is out of range, a split would be empty, or an attribute, factor or
            value does not exist.
    """

    offers: ClassVar[tuple[str, ...]] = (*PlannedData.offers, "symbol_names")
    batch_type: ClassVar[type] = SymbolBatch

    def __init__(
        self,
        dataset: Dataset,
        attributes: Mapping[str, Selection | None] | None = None,
        parts: int = 3,
        specified: list[int] | None = None,
        held_out: list[list[str]] | None = None,
        examples_per_concept: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(dataset, **settings)
        self.attributes = attributes
        self.parts = parts
        self.specified = specified
        self.held_out = held_out
        self.examples_per_concept = examples_per_concept
        self._levels = self._check_levels()
        with naming("held_out"):
            self._held_out = self._attributes.concepts(held_out or [])

    @property
    def symbol_names(self) -> tuple[str, ...]:
        """Names of the attributes, such as `shape=heart`."""
        return tuple(self._attributes.names)

    def plan(self, split: Split) -> IndexPlan:
        """The plan that draws the batches of a split.

        Raises:
            InputError: No state has an attribute, or a held-out combination has no test image.
        """
        states, weights = self.indices(split), self.weights(split)
        few = self.examples_per_concept if split == "train" else None
        if few is not None:
            # a fixed order, so that the same examples are used in every run
            states = host_generator(self.split_seed, _EXAMPLES).permutation(states)
        described = self._attributes.of(self.factors.positions(states))
        has_any = (described >= 0).any(axis=1)
        states, described = states[has_any], described[has_any]
        if not len(states):
            raise InputError(
                f"no state of the {split} split has one of the attributes "
                f"{', '.join(self.symbol_names)}; widen them, or include more states"
            )
        if split == "test" and len(self._held_out):
            return HeldOutPlan(states, described, self._attributes, self._held_out)
        if few is not None:
            return ConceptPlan(
                states, described, self._attributes, self._levels, self._held_out, few
            )
        weights = None if weights is None else weights[has_any]
        return DescriptionPlan(
            states, described, self._attributes, self._levels, self._held_out, weights
        )

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> SymbolBatch:
        """A batch as the objective receives it.

        Args:
            images: The images.
            positions: Value numbers behind the images.
            labels: Their `symbol`.
        """
        return SymbolBatch(images, labels["symbol"], positions)

    @cached_property
    def _attributes(self) -> Attributes:
        with naming("attributes"):
            return Attributes(self.factors, self.attributes, self.parts)

    def _check_levels(self) -> list[int]:
        """Numbers of factors that a description may name."""
        count = len(self._attributes.columns)
        levels = list(range(1, count + 1)) if self.specified is None else self.specified
        if not levels or min(levels) < 1 or max(levels) > count or len({*levels}) < len(levels):
            raise InputError(
                f"specified gives numbers of factors from 1 to {count}, each once, not {levels}"
            )
        few = self.examples_per_concept
        if few is not None:
            check_count("examples_per_concept", few, 1)
        if few is not None and self.correlation is not None:
            raise InputError(
                "correlation changes nothing where examples_per_concept chooses the images; "
                "leave one of them out"
            )
        return levels
