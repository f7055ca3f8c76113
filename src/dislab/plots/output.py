"""Figures as files and as arrays."""

from io import BytesIO
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from matplotlib.figure import Figure

from dislab.storage import atomic


def pixels(figure: Figure) -> UInt8[np.ndarray, "height width 3"]:
    """A figure drawn at its own resolution.

    Args:
        figure: What to draw.
    """
    buffer = BytesIO()
    figure.savefig(buffer, format="rgba", dpi=figure.dpi)
    width, height = figure.canvas.get_width_height()
    flat = np.frombuffer(buffer.getvalue(), dtype=np.uint8)
    return flat.reshape(height, width, 4)[..., :3].copy()


def save(figure: Figure, path: Path) -> None:
    """Writes a figure as PNG at its own resolution; the file is never seen half-written.

    Args:
        figure: What to draw.
        path: Where to; missing folders are made.

    Raises:
        InputError: The file cannot be written.
    """
    with atomic(path) as temporary:
        figure.savefig(temporary, format="png", dpi=figure.dpi)
