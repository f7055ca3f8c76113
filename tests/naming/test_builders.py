"""Builders by name, class or partial, their seeds, and the record of their settings."""

import functools
from pathlib import Path
from typing import Any

import pytest
from torch import nn

import dislab
from dislab.errors import InputError
from dislab.naming.builders import builder, chosen, name_of, origins, seeded, settings, version_of
from dislab.predictors import MLP, Ridge

Builder: Any = Ridge


def test_names_classes_and_partials_are_builders() -> None:
    wide = functools.partial(MLP, width=3)
    assert builder("predictors", "MLP", "predictor", "Ridge.penalty=0.1") is MLP
    assert builder("predictors", wide, "predictor", "Ridge.penalty=0.1") is wide
    names = [name_of(one, "part") for one in ("MLP", MLP, wide, functools.partial(wide))]
    assert names == ["MLP"] * 4
    assert name_of(object(), "part") == "part"
    with pytest.raises(InputError, match="3 is no part; give a class name such as 'Ridge', a cl"):
        builder("predictors", 3, "part", "Ridge.penalty=0.1")
    with pytest.raises(InputError, match="an object of Linear is no part; give a class name"):
        builder("predictors", nn.Linear(1, 1), "part", "Ridge.penalty=0.1")
    with pytest.raises(
        InputError, match=r"of the predictors is named 'Rigde' \(did you mean Ridge"
    ):
        builder("predictors", "Rigde", "predictor", "Ridge.penalty=0.1")


@pytest.mark.parametrize(
    ("choices", "names"),
    [
        ("Ridge", ["Ridge"]),
        (Ridge, ["Ridge"]),
        (("MLP", Ridge), ["MLP", "Ridge"]),
        (["MLP", Ridge, functools.partial(MLP, width=3), MLP], ["MLP", "Ridge", "MLP_2", "MLP_3"]),
        ({"narrow": functools.partial(MLP, width=3), "wide": MLP}, ["narrow", "wide"]),
    ],
)
def test_chosen_parts_have_the_names_of_their_classes_or_the_users(
    choices: Any, names: list[str]
) -> None:
    made = chosen("predictors", choices, 7, "predictor", "Ridge.penalty=0.1")
    assert list(made) == names
    for build in made.values():
        part = build(2, (0,))
        assert isinstance(part, Ridge) or part.seed == 7


@pytest.mark.parametrize(
    ("choices", "penalties"),
    [
        ("Ridge.penalty=0.5", {"Ridge": 0.5}),
        (["Ridge", "Ridge.penalty=0.5"], {"Ridge": 0.5}),
        (
            ["Ridge.penalty=0.5", Ridge, "Ridge.penalty=2.0"],
            {"Ridge": 0.5, "Ridge_2": 1.0, "Ridge_3": 2.0},
        ),
        ({"weak": "Ridge.penalty=0.5", "usual": "Ridge"}, {"weak": 0.5, "usual": 1}),
        (["FILE", "Ridge.penalty=2.0"], {"weak": 0.5, "usual": 1, "Ridge": 2}),
        ("FILE", {"weak": 0.5, "usual": 1}),
    ],
)
def test_words_give_settings_too(choices: Any, penalties: Any, tmp_path: Path) -> None:
    path = tmp_path / "parts.yaml"
    path.write_text("weak: {class_path: Ridge, init_args: {penalty: 0.5}}\nusual: Ridge\n")
    if choices == "FILE":
        choices = str(path)
    elif "FILE" in choices:
        choices = [str(path), *choices[1:]]
    made = chosen("predictors", choices, 7, "predictor", "Ridge.penalty=0.1")
    assert {name: build(2, (0,)).penalty for name, build in made.items()} == penalties


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (["Ridge.penalty"], r"'Ridge.penalty' is no predictor; .* such as Ridge.penalty=0.1, or a"),
        (["Ridge=3"], "'Ridge=3' is no predictor; give class names such as Ridge, settings"),
        (["Ridge.penalti=3"], r"Ridge has no setting 'penalti' \(did you mean penalty"),
        (["Ridge.latents=3"], "Ridge has no setting 'latents'"),
        ({"weak": "Ridge.penalti=3"}, "Ridge has no setting 'penalti'"),
        ({"weak": "parts.yaml"}, "'parts.yaml' is a file, which names each predictor in it"),
        (["nothing.yaml"], r"nothing\.yaml"),
    ],
)
def test_words_that_make_no_sense(choices: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen("predictors", choices, 7, "predictor", "Ridge.penalty=0.1")


@pytest.mark.parametrize("nothing", [[], {}])
def test_no_choice_at_all_is_refused(nothing: Any) -> None:
    with pytest.raises(InputError, match=r"no predictor was chosen; .*`dislab plugins predictors`"):
        chosen("predictors", nothing, 7, "predictor", "Ridge.penalty=0.1")


def test_seeds_go_where_one_is_taken_and_none_was_given() -> None:
    assert seeded(MLP, 7)(2, (0,)).seed == 7
    assert seeded(functools.partial(MLP, width=3), 7)(2, (0,)).seed == 7
    given = functools.partial(MLP, seed=1)
    assert seeded(given, 7) is given
    assert seeded(Ridge, 7) is Ridge
    function = lambda latents, classes, seed=0: Ridge(latents, classes)  # noqa: E731
    assert seeded(function, 7) is function


def test_the_record_has_given_and_default_settings() -> None:
    build = functools.partial(Ridge, penalty=2.0)
    assert settings(build, build(3, (0,)), filled_in=2) == {
        "class_path": "dislab.predictors.ridge.Ridge",
        "init_args": {"penalty": 2.0},
    }
    # a setting that JSON does not know is written as Python shows it, an argument of the owner not
    odd = functools.partial(Builder, latent_dim=3, penalty=print)
    assert settings(odd, Ridge(3, (0,)), filled_in=2)["init_args"] == {"penalty": repr(print)}


def test_versions_are_those_of_the_declaring_distribution_and_the_engines() -> None:
    found = origins("predictors", Ridge(3, (0,)), ("numpy", "no-such-engine"))
    assert found.keys() == {"dislab", "numpy", "no-such-engine"}
    assert found["dislab"] == dislab.__version__
    assert found["no-such-engine"] == version_of("no-such-engine") == "unknown"
    assert origins("predictors", object(), ()) == {}
