"""Writes figures to files and arrays."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from jaxtyping import UInt8
from matplotlib.figure import Figure
from PIL import Image

from dislab.errors import InputError
from dislab.plots._arguments import takes_tables
from dislab.storage import atomic

SUFFIXES: Final = (".png", ".pdf", ".svg")
"""File suffixes of picture formats, in the order shown in messages."""

_COMPRESSION: Final = 2
"""PNG compression level: three times as fast as the default 6, and smaller for noisy images."""

_NO_DATE: Final[Mapping[str, dict[str, None]]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None},
}
_CREATOR: Final = {"png": "Software", "svg": "Creator", "pdf": "Creator"}
"""Metadata that name the program which made a picture."""
_OF_COMMAND: Final = "dislab "
_BEGINNINGS: Final = (b"\x89PNG", b"%PDF", b"<?xml", b"GIF8")


@takes_tables
def pixels(figure: Figure) -> UInt8[np.ndarray, "height width 3"]:
    """Renders a figure at its own resolution."""
    buffer = BytesIO()
    figure.savefig(buffer, format="rgba", dpi=figure.dpi)
    width, height = figure.canvas.get_width_height()
    flat = np.frombuffer(buffer.getvalue(), dtype=np.uint8)
    return flat.reshape(height, width, 4)[..., :3].copy()


def check_picture(option: str, path: str | Path, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Rejects the name of a picture with an unsupported suffix.

    Args:
        option: Option that names the picture, for messages.
        path: The picture.
        suffixes: The supported suffixes.

    Raises:
        InputError: The suffix is not supported.
    """
    if Path(path).suffix.lower() not in suffixes:
        raise InputError(
            f"{option} is {path}; the name of a picture ends in one of {', '.join(suffixes)}"
        )


def is_picture(path: str | Path, command: str) -> bool:
    """Whether a file is a picture that `save` wrote for a command."""
    content = Path(path).read_bytes()
    return content.startswith(_BEGINNINGS) and f"{_OF_COMMAND}{command}".encode() in content


@takes_tables
def save(figure: Figure, path: str | Path, command: str | None = None) -> None:
    """Writes a figure at its own resolution; the file is replaced atomically.

    Equal figures give equal files.

    Args:
        figure: The figure.
        path: The file, as PNG, PDF or SVG by its suffix; missing folders are created.
        command: The command that writes the picture, which is kept in its metadata; see
            `is_picture`.

    Raises:
        InputError: The suffix is not supported, or the file cannot be written.
    """
    check_picture("the picture", path)
    with atomic(Path(path)) as temporary:
        form = Path(path).suffix[1:].lower()
        mark = {} if command is None else {_CREATOR[form]: f"{_OF_COMMAND}{command}"}
        write_figure(figure, temporary, form, metadata=mark)


def write_figure(
    figure: Figure,
    target: Path | BytesIO,
    form: str,
    is_transparent: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Plots a figure at its own resolution, as `png`, `pdf` or `svg`.

    Equal figures give equal bytes.
    """
    # derives identifiers inside an SVG file from its content instead of at random; publishers
    # refuse the default fonts of PDF files, which are of type 3
    with mpl.rc_context({"svg.hashsalt": "dislab", "svg.fonttype": "path", "pdf.fonttype": 42}):
        figure.savefig(
            target,
            format=form,
            dpi=figure.dpi,
            transparent=is_transparent,
            metadata={**_NO_DATE.get(form, {}), **(metadata or {})},
            **({"pil_kwargs": {"compress_level": _COMPRESSION}} if form == "png" else {}),
        )


@takes_tables
def save_animation(
    frames: UInt8[np.ndarray, "frame height width 3"],
    path: str | Path,
    seconds: float = 0.1,
    command: str | None = None,
) -> None:
    """Writes frames as a looping GIF; the file is replaced atomically.

    Args:
        frames: Pixels from 0 to 255.
        path: The file, with the suffix `.gif`.
        seconds: Duration of each frame in seconds.
        command: The command that writes the animation, which is kept as its comment; see
            `is_picture`.

    Raises:
        InputError: The suffix is not `.gif`, there are no frames, they are not bytes, or the file
            cannot be written.
    """
    if Path(path).suffix.lower() != ".gif":
        raise InputError(f"the animation is {path}; its name must end in .gif")
    if frames.dtype != np.uint8 or not len(frames):
        raise InputError(
            f"frames are {len(frames)} of {frames.dtype}; give at least one, of bytes (uint8)"
        )
    first, *others = [Image.fromarray(frame) for frame in frames]
    with atomic(Path(path)) as temporary:
        first.save(
            temporary,
            format="GIF",
            save_all=True,
            append_images=others,
            duration=round(1000 * seconds),
            loop=0,
            comment="" if command is None else f"{_OF_COMMAND}{command}",
        )
