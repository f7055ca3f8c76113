"""Figures that notebooks show."""

from base64 import b64encode
from io import BytesIO
from typing import Any

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A matplotlib figure that a notebook shows as the last line of a cell, or by `display`.

    Jupyter shows figures of matplotlib only after `%matplotlib inline`, and even then none without
    axes, such as a grid of images.
    """

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The figure as PNG at its own resolution, in base64.

        https://ipython.readthedocs.io/en/stable/config/integrating.html
        """
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=self.dpi)
        return {"image/png": b64encode(buffer.getvalue()).decode()}
