"""Launchers of a study: they start workers, and nothing else.

A launcher is an entry point of the group `dislab.launchers` whose key is the word on the command
line.
"""

from dislab.study.launchers.base import Launcher, Workers, load_launcher
from dislab.study.launchers.processes import Processes
from dislab.study.launchers.ray import Ray
from dislab.study.launchers.slurm import Slurm

__all__ = ["Launcher", "Processes", "Ray", "Slurm", "Workers", "load_launcher"]
