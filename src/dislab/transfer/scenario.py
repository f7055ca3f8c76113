"""Scenarios: distribution shifts defined in files, shipped with dislab or written by users."""

import importlib.resources
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, final, get_args

from dislab.base import Dataset
from dislab.errors import InputError, suggestion
from dislab.factors import Selection
from dislab.naming.classes import find_class
from dislab.naming.settings import checks_arguments
from dislab.yaml_files import is_yaml, parse_yaml, read_text

EncoderImages = Literal["in", "out"]
"""Whether test images are in or out of the encoder's training distribution."""

ENCODERS: Final = get_args(EncoderImages)

KEYS: Final = (
    "about",
    "made_for",
    "train",
    "test",
    "encoder",
    "shifted",
    "also_without",
    "dataset",
)
"""Settings of a scenario file."""

_SHIPPED: Final = importlib.resources.files("dislab.transfer") / "scenarios"


@final
@dataclass(frozen=True, repr=False)
class Scenario:
    """Training and test distributions of predictors, and the factors that shift between them.

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, section 4: the test images are in the
    encoder's training distribution with `encoder` in (OOD1), and outside it with out (OOD2).

    Args:
        name: Name of the scenario in scores and messages.
        train: States to train predictors on, as conditions on factors; {} for all.
        test: States to test predictors on, as conditions on factors; {} for all.
        encoder: `in` if test images must be in the encoder's training distribution, `out` if they
            must not be.
        shifted: Factors that shift; the mean error leaves them out.
        also_without: Additional factors that a second mean leaves out.
        dataset: Class name of another data set to test on; empty for the one of training.
        settings: Settings of that data set.
        made_for: Class name of the data set that the scenario was made for; empty for any.
        about: One-sentence description.

    Raises:
        InputError: The name is empty, or `encoder` is neither in nor out.
    """

    name: str
    train: Selection
    test: Selection
    encoder: EncoderImages = "in"
    shifted: tuple[str, ...] = ()
    also_without: tuple[str, ...] = ()
    dataset: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    made_for: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        """Checks `name` and `encoder`."""
        if not self.name:
            raise InputError("a scenario needs a name; scores are called by it")
        if self.encoder not in ENCODERS:
            raise InputError(
                f"scenario {self.name}: encoder is {self.encoder!r}; it is in where the encoder "
                "was trained on images like those of the test, and out where it was not"
            )

    def __repr__(self) -> str:
        """Describes the conditions of training and test in words."""
        where = f" of {self.dataset}" if self.dataset else ""
        left_out = f", without {', '.join(self.shifted)}" if self.shifted else ""
        side = "in" if self.encoder == "in" else "out of"
        return (
            f"<Scenario {self.name}: train on {_words(self.train)}, test on "
            f"{_words(self.test)}{where}{left_out}, encoder {side} distribution>"
        )

    def record(self) -> dict[str, Any]:
        """All settings except the name and `made_for`, in JSON-ready form."""
        return {
            "about": self.about,
            "train": dict(self.train),
            "test": dict(self.test),
            "encoder": self.encoder,
            "shifted": list(self.shifted),
            "also_without": list(self.also_without),
            "dataset": self.dataset or None,
            "settings": dict(self.settings),
        }


def shipped() -> list[str]:
    """Names of the scenarios that come with dislab, in alphabetical order."""
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in _SHIPPED.iterdir()
        if entry.name.endswith(".yaml")
    )


def made_for(dataset: str) -> list[Scenario]:
    """The scenarios that come with dislab for one data set.

    Args:
        dataset: Class name of a data set.
    """
    return [scenario for scenario in map(load_scenario, shipped()) if scenario.made_for == dataset]


@checks_arguments
def load_scenarios(names: Sequence[str | Scenario]) -> list[Scenario]:
    """Loads several scenarios and checks that their names differ.

    Args:
        names: Names of shipped scenarios, paths of YAML files, or scenarios.

    Raises:
        InputError: One does not exist or is no scenario, two share a name, or the list is empty.
    """
    if not names:
        raise InputError(f"no scenario was chosen; {_listing()}")
    scenarios = [
        scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
        for scenario in names
    ]
    loaded_names = [scenario.name for scenario in scenarios]
    if twice := sorted({name for name in loaded_names if loaded_names.count(name) > 1}):
        raise InputError(f"two scenarios are called {', '.join(twice)}; rename one of the files")
    return scenarios


def load_scenario(name: str) -> Scenario:
    """Loads one scenario, named after its file.

    Args:
        name: Name of a shipped scenario, or the path of a YAML file.

    Raises:
        InputError: It does not exist, or is no scenario; the message lists allowed values.
    """
    path = Path(name)
    if is_yaml(path) or len(path.parts) > 1:
        return _parsed(path.stem, read_text(path), name)
    if name not in shipped():
        hint = suggestion(name, shipped())
        raise InputError(f"no scenario is named {name!r}{hint}; {_listing()}")
    return _parsed(name, (_SHIPPED / f"{name}.yaml").read_text(encoding="utf-8"), name)


def _parsed(name: str, text: str, origin: str) -> Scenario:
    content = parse_yaml(text, origin)
    if not isinstance(content, dict) or not {"train", "test"} <= content.keys():
        raise InputError(
            f"the scenario {origin} needs train and test, each with conditions on factors, such as "
            "train: {color: 0}; {} stands for all states"
        )
    for key in content:
        if key not in KEYS:
            hint = suggestion(str(key), KEYS)
            raise InputError(
                f"the scenario {origin} has no setting {key!r}{hint}; it has {', '.join(KEYS)}"
            )
    dataset, settings = _dataset(content.get("dataset"), origin)
    return Scenario(
        name,
        _selection(content, "train", origin),
        _selection(content, "test", origin),
        content.get("encoder", "in"),
        _names(content, "shifted", origin),
        _names(content, "also_without", origin),
        dataset,
        settings,
        str(content.get("made_for") or ""),
        str(content.get("about") or ""),
    )


def _selection(content: dict[str, Any], key: str, origin: str) -> dict[str, Any]:
    selection = content[key] or {}
    if not isinstance(selection, dict) or not all(isinstance(name, str) for name in selection):
        raise InputError(
            f"the scenario {origin}: {key} is {selection!r}; it holds conditions on factors, such "
            "as {color: [0, 120]} or {x: {min: 0.5}}"
        )
    return selection


def _names(content: dict[str, Any], key: str, origin: str) -> tuple[str, ...]:
    names = content.get(key) or []
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"the scenario {origin}: {key} is {names!r}; it lists names of factors")
    return tuple(names)


def _dataset(value: object, origin: str) -> tuple[str, dict[str, Any]]:
    if value is None:
        return "", {}
    if isinstance(value, str):
        value = {"class_path": value}
    if isinstance(value, dict) and isinstance(value.get("class_path"), str):
        settings = value.get("init_args") or {}
        if value.keys() <= {"class_path", "init_args"} and isinstance(settings, dict):
            if "." in value["class_path"]:
                find_class(value["class_path"], (Dataset,), f"the scenario {origin}: dataset")
            return value["class_path"], settings
    raise InputError(
        f"the scenario {origin}: dataset is {value!r}; it is a class name, or class_path with "
        "init_args"
    )


def _listing() -> str:
    return f"with dislab come {', '.join(shipped())}, and a path names a YAML file of your own"


def _words(selection: Selection) -> str:
    if not selection:
        return "all states"
    return " and ".join(f"{name} {_condition(condition)}" for name, condition in selection.items())


def _condition(condition: object) -> str:
    if isinstance(condition, Mapping):
        return " and ".join(f"{end} {value}" for end, value in condition.items())
    if isinstance(condition, str | int | float):
        return str(condition)
    return ", ".join(map(str, condition)) if isinstance(condition, list | tuple) else str(condition)
