"""Pictures for the docs, small on disk."""

import io
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from dislab.storage import atomic


def save(figure: Figure, path: Path, colours: int, dpi: int | str = "figure") -> None:
    """Writes a figure as a PNG of a few colours."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    with Image.open(buffer) as picture, atomic(path) as temporary:
        small = picture.convert("RGB").quantize(colours)
        small.save(temporary, format="png", optimize=True)
