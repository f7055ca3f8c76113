"""Scenarios in files: the shipped ones select what their paper says, and mistakes are messages."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dislab.datasets import ColorDSprites, RobotFinger, Shapes3D
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.plugins import available
from dislab.transfer import Scenario, load_scenario, load_scenarios, made_for, shipped
from dislab.yaml_files import parse_yaml

FILES = FactorSpace(
    (
        # the colours of the published training set, red first and then by hue
        Factor(
            "color",
            (
                "#ff0000",
                "#00ff00",
                "#00ff80",
                "#00ffff",
                "#0080ff",
                "#8000ff",
                "#ff00ff",
                "#ff0080",
            ),
            "categorical",
        ),
        Factor("x", (0.0, 1.0)),
    )
)
# of the finger's states there is but a sample, and of coloured dSprites there are millions
FINGER = FactorSpace((RobotFinger(states=100).factors["color"], Factor("x", (0.0, 1.0))))
SPRITES = FactorSpace((ColorDSprites(hues=12).factors["hue"], Factor("x", (0.0, 1.0))))
SPACES = {
    "finger": (FINGER, "color", 12, 2),
    "finger_files": (FILES, "color", 8, 2),
    "colordsprites": (SPRITES, "hue", 12, 2),
    "shapes3d": (Shapes3D().factors, "object_hue", 10, 48_000),
}
"""Space, factor that shifts, its values, and states a value."""
HUES = {"ood1_a": (1, 7), "ood1_b": (4, 4), "ood1_c": (4, 4)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HUES)
@pytest.mark.parametrize("prefix", SPACES)
def test_numbers_of_states_of_the_first_kind(prefix: str, kind: str) -> None:
    space, factor, _, each = SPACES[prefix]
    scenario = load_scenario(f"{prefix}_{kind}")
    train, test = space.where(scenario.train), space.where(scenario.test)
    assert (len(train) // each, len(test) // each) == HUES[kind]
    assert len(np.intersect1d(train, test)) == 0
    assert scenario.shifted == (factor,)
    assert scenario.encoder == "in"
    # together they are the eight hues that an encoder is trained on
    everything = load_scenario(f"{prefix}_ood2_a").train
    assert np.array_equal(np.union1d(train, test), space.where(everything))


@pytest.mark.parametrize("prefix", SPACES)
def test_the_second_kind_tests_on_the_other_hues(prefix: str) -> None:
    space, _, values, each = SPACES[prefix]
    scenario = load_scenario(f"{prefix}_ood2_a")
    assert scenario.encoder == "out"
    train = space.where(scenario.train)
    assert len(train) == 8 * each
    if prefix != "finger_files":  # whose other hues are in another file
        test = space.where(scenario.test)
        assert len(test) == (values - 8) * each
        assert len(np.intersect1d(train, test)) == 0


@pytest.mark.parametrize("prefix", SPACES)
def test_extrapolation_and_interpolation_along_the_hue(prefix: str) -> None:
    space, factor, _, _ = SPACES[prefix]
    numbers = space[factor].numbers
    high, low = (
        numbers[space[factor].allowed(getattr(load_scenario(f"{prefix}_ood1_b"), part)[factor])]
        for part in ("train", "test")
    )
    if prefix != "finger_files":  # named there in the order of their hues
        assert low.max() < high.min()
    learnt = space[factor].allowed(load_scenario(f"{prefix}_ood1_c").train[factor])
    used = space[factor].allowed(load_scenario(f"{prefix}_ood2_a").train[factor])
    turns = learnt[used]
    assert all(first != second for first, second in pairwise(turns.tolist()))


def test_other_data_sets_exist_and_have_the_settings() -> None:
    names = {plugin.name for plugin in available("datasets")}
    scenarios = load_scenarios(shipped())
    assert len(scenarios) == 24
    assert {one.dataset for one in scenarios} - {""} <= names
    assert {one.made_for for one in scenarios} - {""} <= names  # any, of rooms
    assert all(one.about for one in scenarios)
    assert [one.name for one in made_for("RobotFinger")] == [
        f"finger_{kind}" for kind in ("ood1_a", "ood1_b", "ood1_c", "ood2_a", "ood2_b")
    ]
    assert made_for("MNIST") == []
    second = load_scenario("finger_ood2_b")
    assert (second.shifted, second.also_without) == ((), ("color",))


def test_the_second_look_of_the_rooms_has_the_states_of_their_training() -> None:
    scenario, space = load_scenario("rooms_ood2_b"), Shapes3D().factors
    assert (scenario.dataset, scenario.settings) == ("Shapes3D", {"look": "evening"})
    file = Path(__file__).parents[2] / "configs" / "rooms.yaml"
    include = parse_yaml(file.read_text(), "rooms.yaml")["data"]["init_args"]["include"]
    rooms = space.where(include)
    train = np.intersect1d(rooms, space.where(scenario.train))
    assert np.array_equal(space.where(scenario.test), train)
    assert len(train) == 21_600


def test_a_scenario_is_readable() -> None:
    assert repr(load_scenario("finger_ood2_a")) == (
        "<Scenario finger_ood2_a: train on color 0, 120, 150, 180, 210, 270, 300, 330, test on "
        "color 30, 60, 90, 240 of RobotFinger, without color, encoder out of distribution>"
    )
    ranges = Scenario("r", {"x": {"min": 0.5, "max": 1}, "shape": "cube"}, {})
    assert repr(ranges) == (
        "<Scenario r: train on x min 0.5 and max 1 and shape cube, test on all states, encoder in "
        "distribution>"
    )


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "train: {x: {max: 1}}\ntest: {x: {min: 2}}\nshifted: x\nencoder: out\n"
        "dataset: {class_path: RobotFinger, init_args: {hues: heldout}}\n"
    )
    assert load_scenario(str(path)) == Scenario(
        "mine",
        {"x": {"max": 1}},
        {"x": {"min": 2}},
        "out",
        ("x",),
        dataset="RobotFinger",
        settings={"hues": "heldout"},
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train: {x: 1}", "mine.yaml needs train and test, each with conditions on factors"),
        ("- 1", "mine.yaml needs train and test"),
        ("train: {x: 1}\ntest: [", "mine.yaml, line 3, column 1: not valid YAML: "),
        ("train: {x: 1}\ntest: {}\ntrain: {}", "mine.yaml, line 3: train was set in line 1 alr"),
        ("train: {x: {min: 1e-4}}\ntest: {}\nshift: x", "has no setting 'shift'"),
        ("train: {x: 1}\ntest: 5", "mine.yaml: test is 5; it holds conditions on factors"),
        ("train: {3: 1}\ntest: {}", "mine.yaml: train is {3: 1}; it holds conditions on factors"),
        ("train: {}\ntest: {}\nshift: [x]", "has no setting 'shift' (did you mean shifted?)"),
        ("train: {}\ntest: {}\nshifted: 3", "shifted is 3; it lists names of factors"),
        ("train: {}\ntest: {}\ndataset: 3", "dataset is 3; it is a class name, or class_path"),
        ("train: {}\ntest: {}\ndataset: {class_path: A, x: 1}", "it is a class name, or class"),
    ],
)
def test_a_file_that_is_no_scenario_is_a_message(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        load_scenario(str(path))
    assert message in str(error.value)


def test_names_that_lead_nowhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.yaml cannot be read: "):
        load_scenario(str(tmp_path / "nothing.yaml"))
    with pytest.raises(
        InputError, match=r"no scenario is named 'finger' .*with dislab come colordsprites_"
    ):
        load_scenario("finger")
    (tmp_path / "finger_ood1_a.yaml").write_text("train: {x: 0}\ntest: {x: 1}")
    with pytest.raises(InputError, match="two scenarios are called finger_ood1_a"):
        load_scenarios(["finger_ood1_a", str(tmp_path / "finger_ood1_a.yaml")])
    with pytest.raises(InputError, match="a scenario needs a name"):
        Scenario("", {}, {})
