"""Images that lie in a bank as they are, one byte a pixel and channel."""

import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import ImageShape
from dislab.datasets._bank import Plan, bank_record


def images_of(
    rows: UInt8[Tensor, "row byte"], index: Int[Tensor, " batch"], shape: ImageShape
) -> UInt8[Tensor, "batch channel height width"]:
    """Images by number, on the device of rows and index.

    Args:
        rows: One image a row: channels, then lines, then pixels.
        index: Row numbers.
        shape: Channels, height and width.
    """
    if index.device.type == "cpu":
        # numpy gathers from a mapped file without torch's check of every page
        return torch.from_numpy(rows.numpy()[index.numpy()]).view(len(index), *shape)
    return rows[index].view(len(index), *shape)


def record_of(plan: Plan) -> dict[str, str]:
    """Where the images come from, and the checksum of their file.

    Args:
        plan: What the bank must be.

    Raises:
        InputError: The bank is missing or damaged.
    """
    record = bank_record(plan)
    record.pop("white_pixels", None)  # set bits are no pixels here
    return record
