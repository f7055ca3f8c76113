"""The hardware and software that a benchmark ran on."""

import platform
from pathlib import Path


def processor() -> str:
    """The processor's name and how many there are, where the system says so."""
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    return f"{names[0]} × {len(names)}" if names else platform.processor()
