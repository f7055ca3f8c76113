"""Worlds for agents, rendered from exact factors; registered in gymnasium at import."""

try:
    import gymnasium  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "dislab-control needs gymnasium, which is not installed; install it: pip install gymnasium",
        name="gymnasium",
    ) from error

from dislab_control.action_data import ActionBatch, ActionData
from dislab_control.control_callback import Control, ControlScores, measured_control
from dislab_control.control_scores import ControlTable, control_scores, control_table
from dislab_control.env import WorldEnv
from dislab_control.finger_reach import FingerReach
from dislab_control.grid_objects import GridObjects
from dislab_control.independently_controllable_factors import (
    Behaviour,
    IndependentlyControllableFactors,
)
from dislab_control.registration import register
from dislab_control.seek_avoid import SeekAvoid
from dislab_control.shapes_room import ShapesRoom
from dislab_control.vector import WorldVectorEnv
from dislab_control.world_frames import WorldFrames
from dislab_control.world_states import WorldStates
from dislab_control.worlds import world_of

__all__ = [
    "ActionBatch",
    "ActionData",
    "Behaviour",
    "Control",
    "ControlScores",
    "ControlTable",
    "FingerReach",
    "GridObjects",
    "IndependentlyControllableFactors",
    "SeekAvoid",
    "ShapesRoom",
    "WorldEnv",
    "WorldFrames",
    "WorldStates",
    "WorldVectorEnv",
    "control_scores",
    "control_table",
    "measured_control",
    "world_of",
]

register()
