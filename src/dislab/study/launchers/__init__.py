"""Launchers of a study: their only task is to start workers.

A launcher is an entry point of the group `dislab.launchers` whose key is its name on the command
line.
"""

from dislab.study.launchers.base import Launcher, Workers, load_launcher
from dislab.study.launchers.processes import Processes
from dislab.study.launchers.ray import Ray
from dislab.study.launchers.slurm import Slurm

__all__ = ["Launcher", "Processes", "Ray", "Slurm", "Workers", "load_launcher"]
