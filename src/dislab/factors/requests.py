"""Settings about factors: selections of states, and correlations."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

Selection = Mapping[
    str, int | float | str | Sequence[int | float | str] | Mapping[str, int | float]
]
"""A predicate over factors: for each named factor one value, a list of values, or a range
`{min: …, max: …}` in the factor's unit, ends included. All named factors must agree; the empty
selection matches every state."""


class Correlation(TypedDict):
    """Factors that are drawn with a correlation instead of independently.

    Attributes:
        factors: Names of two or more factors; the first is correlated with each of the others.
        strength: Standard deviation of the band around the diagonal of each pair, as a fraction of
            a factor's range; a smaller value is a stronger correlation.
    """

    factors: list[str]
    strength: float


Correlations = Correlation | Sequence[Correlation]
"""One correlation, or several that hold at once."""
