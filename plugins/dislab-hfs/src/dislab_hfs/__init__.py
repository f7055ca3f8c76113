"""Factorised support for dislab."""

from dislab_hfs.hfs import HFS

__all__ = ["HFS"]
