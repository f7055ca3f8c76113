"""Tests of real timm backbones, in an environment of their own: `make timm`.

Where timm is not installed nothing is collected.
"""

import importlib.util
import subprocess
import sys
from typing import Any

import torch

collect_ignore_glob = [] if importlib.util.find_spec("timm") else ["test_*.py"]


def _fits() -> bool:
    """Whether torchvision was built for this torch, found out without spoiling this process."""
    command = [sys.executable, "-c", "import torchvision"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


if not collect_ignore_glob and not _fits():
    # operators of torchvision's library for CUDA, which no backbone calls
    _library: Any = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    _library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
