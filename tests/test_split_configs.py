"""Every split file holds out exactly the states that its paper says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from dislab.cli import main
from dislab.datamodules import CompositionData, SingleData
from dislab.datasets import DSprites
from dislab.factors import Factor, FactorSpace

CONFIGS = Path(__file__).parents[1] / "configs"
SPLITS = sorted(path.stem for path in (CONFIGS / "splits").glob("*.yaml"))

HUES = tuple(hue / 10 for hue in range(10))
SHAPES3D = FactorSpace(
    (
        Factor("floor_hue", HUES, "circular", period=1.0),
        Factor("wall_hue", HUES, "circular", period=1.0),
        Factor("object_hue", HUES, "circular", period=1.0),
        Factor("scale", tuple(np.linspace(0.75, 1.25, 8).tolist())),
        Factor("shape", ("cube", "cylinder", "sphere", "capsule"), "categorical"),
        Factor("orientation", tuple(np.linspace(-30, 30, 15).tolist()), unit="deg"),
    )
)
MPI3D = FactorSpace(
    (
        Factor("object_color", ("white", "green", "red", "blue", "brown", "olive"), "categorical"),
        Factor(
            "object_shape",
            ("cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere"),
            "categorical",
        ),
        Factor("object_size", (0.0, 1.0)),
        Factor("camera_height", (0.0, 1.0, 2.0)),
        Factor("background_color", ("purple", "sea green", "salmon"), "categorical"),
        Factor("horizontal_axis", tuple(map(float, range(40)))),
        Factor("vertical_axis", tuple(map(float, range(40)))),
    )
)
# the hues of the robot finger's cube; its other factors are in no condition
FINGER = FactorSpace(
    (
        Factor("color", tuple(30.0 * hue for hue in range(12)), "circular", "deg", 360.0),
        Factor("x", (0.0, 1.0, 2.0)),
    )
)
SPACES = {"dsprites": DSprites().factors, "shapes3d": SHAPES3D, "mpi3d": MPI3D, "finger": FINGER}

# states that are held out, worked out from the numbers of values that each condition admits
HELD = {
    "dsprites_r2e_text": 14 * 13 * 13,
    "dsprites_r2e_figure": 13 * 16 * 16,
    "dsprites_r2e_code": 4 * 12 * 11 * 11,
    "dsprites_r2r": 6 * 40 * 16 * 32,
    "dsprites_r2r_scale": 5 * 40 * 32 * 32,
    "dsprites_r2r_orientation": 6 * 30 * 32 * 32,
    "dsprites_extrapolation_016": 3 * 6 * 40 * 27 * 32,
    "dsprites_extrapolation_025": 3 * 6 * 40 * 24 * 32,
    "dsprites_extrapolation_050": 3 * 6 * 40 * 16 * 32,
    "dsprites_extrapolation_075": 3 * 6 * 40 * 8 * 32,
    "shapes3d_r2e": 2 * 2 * 2 * 3 * 3,
    "shapes3d_r2e_text": 4 * 4 * 4 * 2,
    "shapes3d_r2r": 10 * 10 * 5 * 8 * 15,
    "shapes3d_r2r_floor": 5 * 10 * 10 * 8 * 15,
    "shapes3d_r2r_hues": 2 * 3 * 10 * 8 * 4 * 15,
    "shapes3d_extrapolation": 5 * 10 * 10 * 8 * 4 * 15,
    "mpi3d_extrapolation_axis": 6 * 6 * 2 * 3 * 3 * 19 * 40,
    "mpi3d_extrapolation_colour": 2 * 6 * 2 * 3 * 3 * 40 * 40,
    "mpi3d_r2r_shape": 6 * 2 * 3 * 3 * 20 * 40,
    "mpi3d_r2r_colour": 6 * 2 * 3 * 3 * 20 * 40,
    "mpi3d_r2e": 4 * 4,
    "finger_ood1_a": 7 * 3,
    "finger_ood1_b": 4 * 3,
    "finger_ood1_c": 4 * 3,
    "finger_ood2_a": 4 * 3,
}
# states that train where not all others do
INCLUDED = {
    "mpi3d_extrapolation_axis": 6 * 6 * 2 * 3 * 3 * 39 * 40,
    "finger_ood1_a": 8 * 3,
    "finger_ood1_b": 8 * 3,
    "finger_ood1_c": 8 * 3,
}


def text(name: str) -> str:
    return (CONFIGS / "splits" / f"{name}.yaml").read_text()


def settings(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text(name))["data"]["init_args"]
    return found


def test_every_split_is_counted() -> None:
    assert set(SPLITS) == set(HELD)


@pytest.mark.parametrize("name", SPLITS)
def test_number_of_states(name: str) -> None:
    space = SPACES[name.split("_")[0]]
    given = settings(name)
    included = space.where(given.get("include") or {})
    member = np.zeros(len(space), dtype=np.bool_)
    member[included] = True
    assert member[space.where(given["hold_out"])].sum() == HELD[name]
    assert len(included) == INCLUDED.get(name, len(space))
    if "states are held out" in text(name):
        assert f"{HELD[name]:,} states are held out" in text(name)
    assert f"--config splits/{name}" in text(name)


@pytest.mark.parametrize("name", [name for name in SPLITS if name.startswith("dsprites")])
def test_no_duplicate_of_a_held_out_image_is_trained_on(name: str) -> None:
    data = SingleData(DSprites(), **settings(name))
    train, test = (data.dataset.canonical(data.indices(one)) for one in ("train", "test"))
    assert len(data.indices("test")) == HELD[name]
    assert not np.isin(train, test).any()


@pytest.mark.parametrize(
    "name", ["dsprites_r2e_figure", "dsprites_r2r", "dsprites_extrapolation_050"]
)
def test_compositions_show_held_out_states_in_testing_only(name: str) -> None:
    include = {"orientation": {"max": 0.4}}  # three turns, in radians
    data = CompositionData(DSprites(), include=include, **settings(name))
    held = DSprites().factors.where(settings(name)["hold_out"])
    for split in ("train", "validation", "test"):
        states = data.plan(split).draw(np.random.default_rng(0), 5000, 0).states
        shown = np.isin(states, held)
        assert shown.all() if split == "test" else not shown.any()


def test_strict_and_inclusive_bounds_of_the_orientation() -> None:
    """120 and 240 degrees are orientations 13 and 26 exactly."""
    ranges = {}
    for name in ("text", "figure", "code"):
        positions = DSprites().factors.positions(
            DSprites().factors.where(settings(f"dsprites_r2e_{name}")["hold_out"])
        )
        ranges[name] = (int(positions[:, 2].min()), int(positions[:, 2].max()))
    assert ranges == {"text": (13, 26), "figure": (0, 12), "code": (14, 25)}


def test_hues_of_the_finger() -> None:
    assert [
        settings(f"finger_{name}")["hold_out"]["color"] for name in ("ood1_b", "ood1_c", "ood2_a")
    ] == [[0, 120, 150, 180], [120, 180, 270, 330], [30, 60, 90, 240]]


def test_a_split_lies_on_top_of_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("data: {init_args: {dataset: {init_args: {source: auto}}}}")
    files = [CONFIGS / "betavae.yaml", CONFIGS / "splits/dsprites_r2e_text.yaml", overlay]
    args = [f"--config={file}" for file in files]
    with pytest.raises(SystemExit):
        main(["fit", *args, "--print_config"])
    data = yaml.safe_load(capsys.readouterr().out)["data"]["init_args"]
    assert data["batch_size"] == 64
    assert data["dataset"]["init_args"]["source"] == "auto"
    assert data["hold_out"] == settings("dsprites_r2e_text")["hold_out"]
