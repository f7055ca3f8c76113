"""Pairs of images that share some factors: weak supervision."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, final, get_args

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Dataset, PairBatch, Split
from dislab.datamodules._partners import (
    GridPartners,
    GroupPartners,
    LaplacePartners,
    Partners,
    present_values,
)
from dislab.datamodules._state_groups import canonical_positions
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.checks import check_above, check_choice, naming
from dislab.functional.random import host_generator
from dislab.plans import Drawn, PlannedData

Scheme = Literal["changed", "shared", "uniform", "reference", "laplace"]

_DENSE: Final = 0.25
_ROUNDS: Final = 20
_PROBES: Final = 200


@final
class PairedData(PlannedData):
    """Pairs of images that differ in some of their factors and share the others.

    The factors that change are drawn first, then a first image, then a second one among the images
    that differ from it in exactly these factors; if there is none, another first image is drawn.
    Both images of a pair belong to one split, and identical images count as having equal factors.
    Nuisance factors, which only distinguish images, are ignored.
    Validation and test draw as many pairs as they have states, the same every time.

    Locatello et al. (2020), https://arxiv.org/abs/2002.02886, section 5: with `reference`, their
    published code draws new values that may equal the old ones; here changed factors always differ.

    Klindt et al. (2021), https://arxiv.org/abs/2007.10930, and their code: with `laplace`, factors
    take truncated Laplace steps. Value b of a factor follows a with probability proportional to
    exp(−rate · |a − b| / log n), in positions among its n values, also of circular factors; if
    nothing changed, a random factor moves. Categorical factors stay unless `change` names them.

    Args:
        dataset: The images and their factors.
        scheme: Number of factors that change: `changed` k, `shared` all but k, `uniform` from 1 to
            all but one, equally likely (as in the paper), `reference` 1 or k, equally likely (as in
            the published code).
        k: Number of factors that the scheme counts; one unless given. Not for `uniform`.
        change: Names of the factors that may change; all that vary unless given.
        rate: Rate of the steps of `laplace`: the larger, the smaller they are.
        **settings: Those of `PlannedData`: batches, splits, workers, transforms, correlation.

    Raises:
        InputError: A number is out of range, a split would be empty, or no two states differ in
            one of the factors alone, where the scheme has such pairs.
    """

    batch_type: ClassVar[type] = PairBatch

    def __init__(
        self,
        dataset: Dataset,
        scheme: Scheme = "changed",
        k: int | None = None,
        change: list[str] | None = None,
        rate: float = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(dataset, **settings)
        check_above("rate", rate, 0)
        self.scheme = scheme
        self.rate = rate
        self.k = k
        self.change = change
        self._sizes = _changes(scheme, k, len(self._columns()))

    def plan(self, split: Split) -> "PairPlan":
        """The plan that draws the batches of a split.

        Raises:
            InputError: No two training states differ in one of the factors alone.
        """
        states, weights = self.indices(split), self.weights(split)
        look = canonical_positions(self.dataset, states)
        values = present_values(self.factors, states)
        columns = [column for column in self._columns() if len(values[column]) > 1]
        sizes = tuple(size for size in self._sizes if size <= len(columns))
        if not sizes:
            raise InputError(
                f"only {len(columns)} factors vary among the {len(states)} states of the {split} "
                f"split, too few for pairs ({self.scheme}, k {self.k}); enlarge the split"
            )
        density = len(states) / np.prod([float(len(present)) for present in values])
        partners: Partners
        if self.scheme == "laplace":
            partners = LaplacePartners(self.factors, states, look, columns, self.rate, weights)
        elif self.factors.table is None and weights is None and density >= _DENSE:
            everything = canonical_positions(self.dataset, np.arange(len(self.factors)))
            partners = GridPartners(self.factors, states, everything, columns, sizes)
        else:
            partners = GroupPartners(look, columns, sizes, weights)
        if split == "train" and 1 in sizes and self.scheme != "laplace":
            self._check_partners(look, partners, columns)
        names = ", ".join(self.factors.names[column] for column in columns)
        return PairPlan(states, look, partners, split, names)

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> PairBatch:
        """A batch as the objective receives it.

        Args:
            images: First and second images.
            positions: Value numbers behind the images.
            labels: Which factors `changed`.
        """
        return PairBatch(images[0], images[1], positions[0], positions[1], labels["changed"])

    def _columns(self) -> list[int]:
        """Columns of the factors that may change."""
        varying = [
            len(values) > 1 and not factor.nuisance
            for values, factor in zip(
                present_values(self.factors, self.indices("train")),
                self.factors.factors,
                strict=True,
            )
        ]
        names = [name for name, varies in zip(self.factors.names, varying, strict=True) if varies]
        default = names
        if self.scheme == "laplace":
            default = [name for name in names if self.factors[name].kind != "categorical"]
        for name in self.change or default:
            with naming("change"):
                column = self.factors.column(name)
            if not varying[column]:
                why = "is a nuisance" if self.factors[name].nuisance else "has one value"
                raise InputError(
                    f"factor {name} {why} among the training states and cannot change; "
                    f"those that vary are {', '.join(names)}"
                )
        if self.change is not None and (not self.change or len({*self.change}) < len(self.change)):
            raise InputError(f"change names factors, each once, not {self.change}")
        return sorted(self.factors.column(name) for name in self.change or default)

    def _check_partners(self, look: Indices, partners: Partners, columns: list[int]) -> None:
        """Rejects states in which a factor never changes alone; checks sampled, then all pairs."""
        first, second = partners.attempt(host_generator(self.split_seed), _PROBES)
        changed = (look[first] != look[second])[second >= 0]
        seen = changed[changed.sum(axis=1) == 1].any(axis=0)
        rare = [column for column in columns if not seen[column]]
        if not rare:
            return
        alone = [
            self.factors.names[chosen[0]] for chosen in GroupPartners(look, rare, (1,)).impossible
        ]
        if alone:
            sizes = {column: len(np.unique(look[:, column])) for column in columns}
            many = [column for column in columns if sizes[column] > len(look) / 2]
            many = many or [max(columns, key=sizes.__getitem__)]
            listed = " and ".join(f"{self.factors.names[each]} ({sizes[each]})" for each in many)
            raise InputError(
                f"among the {len(look)} training states no two differ in {' or '.join(alone)} "
                "alone; include more states, list the factors that may change in the setting "
                "change, or leave factors of many values out of the data set's factors: " + listed
            )


class PairPlan:
    """Draws pairs of states.

    Args:
        states: The states to draw from.
        look: One row per state, with equal rows for equal images.
        partners: Draws the rows of pairs.
        split: Name of the split, for messages.
        names: The factors that change, for messages.
    """

    def __init__(
        self, states: Indices, look: Indices, partners: Partners, split: str, names: str
    ) -> None:
        self.states = states
        self.look = look
        self.partners = partners
        self.split = split
        self.names = names

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches of `count` pairs; `step` is not used.

        Raises:
            InputError: Hardly any state has a partner.
        """
        accepted: list[Indices] = []
        missing = count * batches
        for _ in range(_ROUNDS):
            pairs = np.stack(self.partners.attempt(generator, missing))
            accepted.append(pairs[:, pairs[1] >= 0])
            missing -= accepted[-1].shape[1]
            if not missing:
                break
        else:
            raise InputError(
                f"the {len(self.states)} states of the {self.split} split hold hardly any pairs "
                f"that differ in {self.names} as asked for; enlarge the split (0 goes without), or "
                "change other factors"
            )
        rows = np.concatenate(accepted, axis=1)
        changed = self.look.take(rows[0], axis=0) != self.look.take(rows[1], axis=0)
        return Drawn(self.states[rows], {"changed": changed})


def _changes(scheme: Scheme, k: int | None, count: int) -> tuple[int, ...]:
    """Possible numbers of changing factors, all equally likely; the least one of `laplace`."""
    check_choice("scheme", scheme, get_args(Scheme))
    if scheme in ("uniform", "laplace"):
        if k is not None:
            raise InputError(f"scheme {scheme} draws how many factors change; leave k {k} out")
        if scheme == "laplace":
            return (1,)
        if count < 2:
            raise InputError("scheme uniform needs two factors that vary; there is one")
        return tuple(range(1, count))
    k = 1 if k is None else k
    most = count - 1 if scheme == "shared" else count
    if not 1 <= k <= most:
        raise InputError(
            f"k {k} does not fit scheme {scheme}: {count} factors may change, so k runs from 1 to "
            f"{most}"
        )
    return {"changed": (k,), "shared": (count - k,), "reference": (1, k)}[scheme]
