"""Images and figures as data URLs, which contain the content itself."""

import base64
import math
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from dislab.plots.output import write_figure

QUALITY: Final = 85
"""JPEG quality of precomputed images and of large pictures."""
LARGEST: Final = 400_000
"""Bytes above which a picture of the run folder is stored as JPEG."""


def data_address(kind: str, content: bytes) -> str:
    """Content as a data URL, which a page shows without a request.

    Args:
        kind: Media type, such as `image/png`.
        content: The bytes.
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def png(image: Float[Tensor, "channel height width"]) -> str:
    """Data URL of one image.

    Args:
        image: Pixels in [0, 1]; one or three channels.
    """
    return _address(_picture(_pixels(image[None])[0]), "PNG")


def atlas(images: Float[Tensor, "image channel height width"]) -> dict[str, Any]:
    """Images as a grid in one picture: its data URL, and the number of `columns`.

    Args:
        images: Pixels in [0, 1]; one or three channels.
    """
    pixels = _pixels(images)
    columns = math.ceil(math.sqrt(len(pixels)))
    rows = math.ceil(len(pixels) / columns)
    height, width, channels = pixels.shape[1:]
    sheet = np.zeros((rows * columns, height, width, channels), dtype=np.uint8)
    sheet[: len(pixels)] = pixels
    sheet = sheet.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    picture = _picture(sheet.reshape(rows * height, columns * width, channels))
    return {"image": _address(picture, "JPEG"), "columns": columns}


def picture(path: Path) -> str:
    """Data URL of a PNG file; a large one is stored as JPEG.

    Args:
        path: The file.
    """
    content = path.read_bytes()
    if len(content) <= LARGEST:
        return data_address("image/png", content)
    with Image.open(BytesIO(content)) as image:
        return _address(image.convert("RGB"), "JPEG")


def drawing(figure: Figure) -> str:
    """Data URL of a figure as SVG without background; equal figures have equal data URLs.

    Args:
        figure: The figure.
    """
    buffer = BytesIO()
    write_figure(figure, buffer, "svg", is_transparent=True)
    return data_address("image/svg+xml", buffer.getvalue())


def _pixels(
    images: Float[Tensor, "image channel height width"],
) -> UInt8[np.ndarray, "image height width channel"]:
    levels = images.nan_to_num(0.0).clamp(0.0, 1.0).mul(255).round().byte()
    return levels.permute(0, 2, 3, 1).contiguous().numpy()


def _picture(pixels: UInt8[np.ndarray, "height width channel"]) -> Image.Image:
    return Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


def _address(image: Image.Image, kind: str) -> str:
    buffer = BytesIO()
    image.save(buffer, format=kind, quality=QUALITY, optimize=True)
    return data_address(f"image/{kind.lower()}", buffer.getvalue())
