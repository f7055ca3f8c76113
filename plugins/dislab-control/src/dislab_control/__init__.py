"""Worlds for agents, drawn from exact factors; importing it registers them in gymnasium."""

from dislab_control.env import WorldEnv
from dislab_control.grid_objects import GridObjects
from dislab_control.registration import register
from dislab_control.seek_avoid import SeekAvoid
from dislab_control.vector import WorldVectorEnv
from dislab_control.world_frames import WorldFrames
from dislab_control.worlds import world_of

__all__ = ["GridObjects", "SeekAvoid", "WorldEnv", "WorldFrames", "WorldVectorEnv", "world_of"]

register()
