"""The robot finger: rendered, rendered in the style of photographs, and as published files."""

from dislab.datasets.robot_finger.robot_finger import RobotFinger
from dislab.datasets.robot_finger.robot_finger_files import RobotFingerFiles
from dislab.datasets.robot_finger.robot_finger_pseudo_real import RobotFingerPseudoReal

__all__ = ["RobotFinger", "RobotFingerFiles", "RobotFingerPseudoReal"]
