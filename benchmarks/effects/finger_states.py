"""Which joints of the robot finger are possible, as in Figures 9 and 10 of Dittadi et al. (2021).

python benchmarks/effects/finger_states.py

Draws docs/images/results/finger_states.png from 2,000,000 random states, in seconds: the share of
possible states for each value of the middle and the lower joint, with the upper joint straight and
over all of its values. Prints the share of possible states and the correlation of the two joints.
"""

import numpy as np
from matplotlib.figure import Figure
from methods import ROOT
from pictures import save

from dislab.datasets.robot_finger._states import FACTORS, Reals, feasible, values

STATES = 2_000_000
AT_A_TIME = 200_000
SIZES = tuple(len(factor) for factor in FACTORS)
UPPER, MIDDLE, LOWER = (
    [factor.name for factor in FACTORS].index(name) for name in ("joint0", "joint1", "joint2")
)


def shares(positions: np.ndarray, possible: np.ndarray) -> Reals:
    """Share of possible states for each value of the middle and of the lower joint."""
    cells = np.ravel_multi_index(
        (positions[:, MIDDLE], positions[:, LOWER]), (SIZES[MIDDLE], SIZES[LOWER])
    )
    count = SIZES[MIDDLE] * SIZES[LOWER]
    total = np.bincount(cells, minlength=count)
    found = np.bincount(cells[possible], minlength=count) / np.maximum(total, 1)
    return np.asarray(found.reshape(SIZES[MIDDLE], SIZES[LOWER]))


def main() -> None:
    generator = np.random.default_rng(0)
    positions = generator.integers(SIZES, size=(STATES, len(SIZES)), dtype=np.uint8)
    parts = np.split(positions, STATES // AT_A_TIME)
    possible = np.concatenate([feasible(values(part)) for part in parts])
    joints = positions[possible][:, [MIDDLE, LOWER]].astype(float)
    correlation = np.corrcoef(joints.T)[0, 1]
    print(f"{possible.mean():.3f} of the states are possible; correlation {correlation:.2f}")
    straight = np.isin(positions[:, UPPER], [SIZES[UPPER] // 2 - 1, SIZES[UPPER] // 2])
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    titles = ("upper joint straight", "all values of the upper joint")
    for axes, chosen, title in zip(
        figure.subplots(1, 2), (straight, np.ones(STATES, dtype=bool)), titles, strict=True
    ):
        ends = [
            factor.numbers[end] for factor in (FACTORS[MIDDLE], FACTORS[LOWER]) for end in (0, -1)
        ]
        image = axes.imshow(
            shares(positions[chosen], possible[chosen]).T,
            cmap="Blues",
            vmin=0,
            vmax=1,
            origin="lower",
            aspect="auto",
            extent=ends,
        )
        axes.set_title(title)
        axes.set_xlabel("middle joint (rad)")
        axes.set_ylabel("lower joint (rad)")
    figure.colorbar(image, ax=figure.axes, label="share of possible states")
    save(figure, ROOT / "docs" / "images" / "results" / "finger_states.png", 64, dpi=110)


if __name__ == "__main__":
    main()
