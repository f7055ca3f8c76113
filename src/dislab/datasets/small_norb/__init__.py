"""Small NORB: photographs of toys."""

from dislab.datasets.small_norb.small_norb import SmallNORB

__all__ = ["SmallNORB"]
