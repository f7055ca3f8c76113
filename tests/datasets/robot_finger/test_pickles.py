import collections
import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from dislab.datasets.robot_finger.robot_finger_files import _load_plain

CONTENT = {
    "names": ["cube"],
    "values": np.linspace(0, 1, 5),
    "count": np.int64(7),
    "more": collections.OrderedDict(a=(1, 2.5), b={"x": None}),
    "objects": np.array([[1.0], "two"], dtype=object),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_content_is_read_whatever_the_protocol(protocol: int) -> None:
    content = _load_plain(io.BytesIO(pickle.dumps(CONTENT, protocol)))
    assert list(content) == list(CONTENT)
    assert np.array_equal(content["values"], np.linspace(0, 1, 5))
    assert content["count"] == 7
    assert content["more"] == CONTENT["more"]
    assert content["objects"].tolist() == [[1.0], "two"]


def test_old_addresses_of_numpy_are_known() -> None:
    dumped = pickle.dumps(np.arange(3), 2).replace(b"numpy._core.", b"numpy.core.")
    assert b"numpy.core.multiarray" in dumped
    assert _load_plain(io.BytesIO(dumped)).tolist() == [0, 1, 2]


class Harmful:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_calls_are_refused_and_not_made(tmp_path: Path) -> None:
    dumped = pickle.dumps({"a": [Harmful(tmp_path / "made")]})
    with pytest.raises(pickle.UnpicklingError, match=r"it names \w+\.mkdir, which is refused"):
        _load_plain(io.BytesIO(dumped))
    assert not (tmp_path / "made").exists()
    pickle.loads(dumped)
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize("content", [eval, io.StringIO, np.save, Path("x")])
def test_everything_else_is_refused_by_name(content: object) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"it names .*, which is refused"):
        _load_plain(io.BytesIO(pickle.dumps(content)))


@pytest.mark.parametrize("content", [b"", b"\x80\x04\x95", b"cos\nsystem\n", b"nonsense"])
def test_a_broken_pickle_is_an_unpickling_error(content: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError):
        _load_plain(io.BytesIO(content))
