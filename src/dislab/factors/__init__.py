"""Factors of variation: their names, values, units and kinds, and predicates over them.

It needs only NumPy and the standard library. An *index* is the number of an image in a data set; a
*position* is the row of value numbers of an image, one column per factor.
"""

from dislab.factors.factor import (
    TOLERANCE,
    ContinuousFactorWarning,
    Factor,
    FactorWarning,
    GapWarning,
    Kind,
    PlainKind,
    are_measured,
    check_factor_names,
    column_names,
    counted,
    may_be_angle,
    warn_of_measured,
)
from dislab.factors.factor_space import (
    MISSING,
    UNLABELLED,
    Correlation,
    Correlations,
    FactorSpace,
    Indices,
    Selection,
)

__all__ = [
    "MISSING",
    "TOLERANCE",
    "UNLABELLED",
    "ContinuousFactorWarning",
    "Correlation",
    "Correlations",
    "Factor",
    "FactorSpace",
    "FactorWarning",
    "GapWarning",
    "Indices",
    "Kind",
    "PlainKind",
    "Selection",
    "are_measured",
    "check_factor_names",
    "column_names",
    "counted",
    "may_be_angle",
    "warn_of_measured",
]
