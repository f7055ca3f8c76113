"""Formats of files that are given instead of NumPy's, for messages."""

import zipfile
from pathlib import Path
from typing import Final

_HEADS: Final = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"MATLAB", "a MATLAB file"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x80", "a pickle or an old file of torch.save"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"II*\0", "an image"),
    (b"MM\0*", "an image"),
)
"""First bytes of formats."""
_READ: Final = 1024


def foreign_format(path: Path) -> str:
    """Format of a file that holds no arrays of NumPy, such as `an HDF5 file`.

    Empty for a file of NumPy, and if the format is unknown.

    Args:
        path: The file.
    """
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
            if any(name.endswith(".npy") for name in names):
                return ""
            torch = any(name.endswith("/data.pkl") for name in names)
            return "a file of torch.save" if torch else "a zip archive without arrays"
        with path.open("rb") as stream:
            head = stream.read(_READ)
    except (OSError, zipfile.BadZipFile):
        return ""
    for start, name in _HEADS:
        if head.startswith(start):
            return name
    return "a text file" if min(head, default=0) >= ord("\t") else ""
