"""One shift of the distribution, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final, get_args

from dislab.errors import InputError
from dislab.factors import Selection

Encoder = Literal["in", "out"]
"""Whether the encoder was trained on images like those of the test."""

ENCODERS: Final = get_args(Encoder)


@final
@dataclass(frozen=True, repr=False)
class Scenario:
    """Where predictors learn, where they are tested, and which factors shift in between.

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, section 4: with `encoder` in, the test
    images belong to what the encoder was trained on (OOD1), with out they do not (OOD2).

    Args:
        name: What the scores are called by.
        train: States that predictors learn from, as conditions on factors; all where empty.
        test: States they are tested on, likewise.
        encoder: `in` where the encoder was trained on images like those of the test, `out` where it
            must not have been.
        shifted: Factors that shift; the mean error leaves them out.
        also_without: Factors that a second mean leaves out, beside the first one.
        dataset: Class name of another data set to test on; empty for the one of training.
        settings: Settings of that data set.
        made_for: Class name of the data set that the scenario was made for; empty for any.
        about: One sentence on it.

    Raises:
        InputError: It has no name, or `encoder` is neither in nor out.
    """

    name: str
    train: Selection
    test: Selection
    encoder: Encoder = "in"
    shifted: tuple[str, ...] = ()
    also_without: tuple[str, ...] = ()
    dataset: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    made_for: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        """Checks what the types cannot."""
        if not self.name:
            raise InputError("a scenario needs a name; scores are called by it")
        if self.encoder not in ENCODERS:
            raise InputError(
                f"scenario {self.name}: encoder is {self.encoder!r}; it is in where the encoder "
                "was trained on images like those of the test, and out where it was not"
            )

    def __repr__(self) -> str:
        """What it trains and tests on, in words."""
        where = f" of {self.dataset}" if self.dataset else ""
        left_out = f", without {', '.join(self.shifted)}" if self.shifted else ""
        place = "in" if self.encoder == "in" else "out of"
        return (
            f"<Scenario {self.name}: train on {_words(self.train)}, test on "
            f"{_words(self.test)}{where}{left_out}, encoder {place} distribution>"
        )

    def record(self) -> dict[str, Any]:
        """All of it, for JSON."""
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


def _words(selection: Selection) -> str:
    if not selection:
        return "all states"
    return " and ".join(f"{name} {_condition(one)}" for name, one in selection.items())


def _condition(condition: object) -> str:
    if isinstance(condition, Mapping):
        return " and ".join(f"{end} {value}" for end, value in condition.items())
    if isinstance(condition, str | int | float):
        return str(condition)
    return ", ".join(map(str, condition)) if isinstance(condition, list | tuple) else str(condition)
