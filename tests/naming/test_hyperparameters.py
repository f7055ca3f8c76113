from enum import IntEnum, StrEnum
from functools import partial
from typing import Any

import numpy as np
import pytest

from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.naming.hyperparameters import describe
from dislab.regularizers import KL

PATH = "dislab.regularizers.kl.KL"


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (3, 3),
        ((1, 64, 64), (1, 64, 64)),
        ({"a": [1.5, "b"]}, {"a": [1.5, "b"]}),
        (np.float64(2.5), 2.5),
        (np.int64(4), 4),
        (np.bool_(True), True),
        (Colour.RED, "red"),
        (Size.LARGE, 3),
        (KL, {"class_path": PATH}),
        (partial(KL, beta=2.0), {"class_path": PATH, "init_args": {"beta": 2.0}}),
        (partial(KL, beta=np.float64(2.0)), {"class_path": PATH, "init_args": {"beta": 2.0}}),
    ],
)
def test_values_become_plain_data(value: Any, plain: Any) -> None:
    described = describe(value)
    assert described == plain
    assert type(described) is type(plain)


def wrapped(cls: type[MLPEncoder], outputs: int) -> MLPEncoder:
    return cls((1, 8, 8), outputs)


@pytest.mark.parametrize("value", [wrapped, partial(wrapped, MLPEncoder), partial(KL, 3), object()])
def test_what_cannot_be_rebuilt_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"^encoder: .* cannot be stored in a checkpoint"):
        describe({"encoder": value})
