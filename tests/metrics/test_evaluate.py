"""Scores of two plain arrays."""

import functools
import math
import re
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import entropy

from dislab import plugins
from dislab.base import Metric, Sample
from dislab.base.metric import reason_against
from dislab.codes.bank import CodeBank, ConstantFactorWarning
from dislab.codes.splits import UnseenValueWarning
from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset, GaussianBlob
from dislab.errors import InputError
from dislab.factors import ContinuousFactorWarning, Factor, FactorSpace, FactorWarning
from dislab.metrics import DCI, MIG, FactorVAEScore, evaluate, evaluate_fully
from dislab.metrics._arrays import tensor
from dislab.metrics.array_scores import DEFAULT, DoubtfulScoresWarning, SkippedScoreWarning
from dislab.metrics.score_table import score_table
from dislab.objectives import VAE
from dislab.plugins import available
from dislab.runs import OpenRun
from dislab.runs.codes import Encoded

SIZES = (3, 6, 8)
QUICK = functools.partial(FactorVAEScore, votes_train=200, votes_test=100)


def draw(images: int = 400, seed: int = 0, noise: float = 0.3) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    factors = np.stack([generator.integers(size, size=images) for size in SIZES], axis=1)
    idle = generator.normal(size=(images, 2))
    codes = factors + noise * generator.normal(size=factors.shape)
    return np.concatenate([codes, idle], axis=1), factors


class Widest(Metric):
    """Has a setting that no other score has, and a name of its own."""

    def __init__(self, space: FactorSpace, power: float = 1.0) -> None:
        super().__init__(space)
        self.power = power

    def score(self, bank: CodeBank) -> dict[str, torch.Tensor]:
        return {"widest": bank.std.max() ** self.power, "std": bank.std}


def test_arrays_tensors_and_lists_give_what_the_classes_give() -> None:
    codes, factors = draw()
    named = zip("abc", SIZES, strict=True)
    space = FactorSpace(tuple(Factor(n, tuple(map(float, range(size)))) for n, size in named))
    metric = MIG(space)
    metric.update(torch.from_numpy(codes), torch.from_numpy(factors))
    expected = {"mig": metric.compute()["mig"].item()}
    for one, other in (
        (codes, factors),
        (torch.from_numpy(codes), torch.from_numpy(factors)),
        (codes.tolist(), factors.tolist()),
        (np.asfortranarray(codes)[:, ::1], factors.astype(np.uint8)),
        (codes, factors.astype(np.uint64)),
        (torch.from_numpy(codes).requires_grad_(), factors.astype(">i4")),
    ):
        assert evaluate(one, other, ["MIG"]) == expected
    codes.flags.writeable = False
    assert evaluate(codes, factors, "MIG", space=space) == expected


@pytest.mark.parametrize("metrics", [MIG, "MIG", ["MIG"], (MIG,), {"any": functools.partial(MIG)}])
def test_a_score_can_be_named_in_many_ways(metrics: Any) -> None:
    codes, factors = draw()
    assert set(evaluate(codes, factors, metrics)) == {"mig"}


def test_names_that_clash_are_told_apart() -> None:
    codes, factors = draw()
    fine = functools.partial(MIG, bins=40)
    assert set(evaluate(codes, factors, {"coarse": MIG, "fine": fine})) == {
        "coarse/mig",
        "fine/mig",
    }
    full = evaluate_fully(codes, factors, [MIG, fine, "MIG"])
    assert list(full.values) == ["MIG/mig", "MIG_2/mig", "MIG_3/mig"]
    assert full.values["MIG/mig"] == full.values["MIG_3/mig"] != full.values["MIG_2/mig"]
    assert full.metrics["MIG_2"]["init_args"] == {"bins": 40, "factor_bins": 20}


@pytest.mark.every(3)
@pytest.mark.parametrize("form", ["array", "objects", "lists", "pandas", "category", "arrow"])
def test_texts_name_the_classes_of_a_factor(form: str) -> None:
    codes, factors = draw()
    words = np.array(["cup", "ball", "can", "dish", "egg"])[factors[:, 0]]
    mixed = pd.DataFrame({"what": words, "size": factors[:, 1], "hue": factors[:, 2] / 4})
    table: Any = {
        "array": lambda: mixed.to_numpy().astype(str),
        "objects": mixed.to_numpy,
        "lists": mixed.to_numpy().tolist,
        "pandas": lambda: mixed,
        "category": lambda: mixed.astype({"what": "category"}),
        "arrow": lambda: mixed.astype({"what": "string"}),
    }[form]()
    full = evaluate_fully(codes, table, ["MIG", "DCI.learner=lasso"], names=["what", "size", "hue"])
    values, numbers = np.unique(words, return_inverse=True)
    plain = np.column_stack([numbers, factors[:, 1], factors[:, 2] / 4])
    kinds: Any = {"what": "categorical"}
    names = ["what", "size", "hue"]
    expected = evaluate_fully(codes, plain, ["MIG", "DCI.learner=lasso"], names=names, kinds=kinds)
    assert full.values == expected.values
    assert full.provenance["factors"]["what"] == len(values)


@pytest.mark.parametrize(
    ("words", "bins"),
    [
        ("MIG.bins=30", [30]),
        (["MIG.bins=30", "MIG.factor_bins=5", "SAP"], [30]),
        ({"coarse": "MIG.bins=5", "fine": "MIG.bins=40"}, [5, 40]),
    ],
)
def test_scores_take_the_words_of_the_command(words: Any, bins: list[int]) -> None:
    codes, factors = draw()
    full = evaluate_fully(codes, factors, words)
    settings = [score["init_args"] for score in full.metrics.values()]
    assert [setting["bins"] for setting in settings if "bins" in setting] == bins
    with pytest.raises(InputError, match=r"MIG has no setting 'bims' \(did you mean bins"):
        evaluate(codes, factors, "MIG.bims=3")


@pytest.mark.slow
def test_the_default_set_is_what_is_installed_of_the_list() -> None:
    codes, factors = draw(200)
    full = evaluate_fully(codes, factors, names=list("abc"))
    installed = {plugin.name for plugin in plugins.available("metrics")}
    expected = [name for name, (cls, _) in DEFAULT.items() if cls in installed]
    assert list(full.metrics) == expected
    assert {"mig", "dci_hgbt", "factor_vae_score"} <= set(expected)
    assert all(math.isfinite(value) for value in full.values.values())


@pytest.mark.slow
def test_parts_and_provenance_tell_how_the_numbers_came_about() -> None:
    codes, factors = draw()
    full = evaluate_fully(codes, factors, ["DCI", Widest], names=list("abc"), seed=7)
    assert full.provenance == {
        "images": 400,
        "latents": 5,
        "factors": {"a": 3, "b": 6, "c": 8},
        "entropy": pytest.approx(
            {
                name: entropy(np.unique(column, return_counts=True)[1])
                for name, column in zip("abc", factors.T, strict=True)
            }
        ),
        "seed": 7,
        "shuffled": True,
        "bootstrap": None,
        "versions": full.provenance["versions"],
    }
    assert full.provenance["versions"]["dislab"] == version("dislab")
    assert {"torch", "scikit-learn", "numpy", "python"} <= set(full.provenance["versions"])
    assert full.metrics["DCI"] == {
        "class_path": "dislab.metrics.dci.DCI",
        "init_args": {
            "learner": "hgbt",
            "test_fraction": 1 / 3,
            "seed": 7,
            "alpha": 0.02,
            "tolerance": 1e-10,
        },
        "primary": "dci_hgbt_disentanglement",
        "higher_is_better": True,
        "bounds": [0.0, 1.0],
        "versions": {"dislab": version("dislab"), "numpy": version("numpy")},
    }
    assert full.metrics["Widest"]["init_args"] == {"power": 1.0}
    assert np.array(full.parts["dci_hgbt_importance"]).shape == (5, 3)
    assert "widest" in full.values
    assert len(full.parts["std"]) == 5


def test_the_seed_reaches_every_score_that_draws_unless_it_has_its_own() -> None:
    codes, factors = draw(noise=1.5)
    one, two, other = (evaluate(codes, factors, QUICK, seed=seed) for seed in (1, 1, 2))
    assert one == two != other
    own = functools.partial(QUICK, seed=5)
    one, two = (evaluate(codes, factors, own, seed=seed, shuffle=False) for seed in (1, 2))
    assert one == two


@pytest.mark.slow
def test_images_in_the_order_of_a_grid_are_shuffled() -> None:
    grid = np.stack(np.meshgrid(*map(np.arange, (3, 2, 8)), indexing="ij"), axis=-1).reshape(-1, 3)
    factors = np.repeat(grid, 10, axis=0)
    codes = factors + 0.01 * np.random.default_rng(0).normal(size=factors.shape)
    assert evaluate(codes, factors, DCI)["dci_hgbt_informativeness"] > 0.95
    with pytest.warns(UnseenValueWarning):
        found = evaluate(codes, factors, DCI, shuffle=False)
    assert found["dci_hgbt_informativeness"] < 0.9


@pytest.mark.slow
def test_intervals_hold_the_score_and_scores_that_fit_models_have_none() -> None:
    codes, factors = draw(noise=0.8)
    full = evaluate_fully(codes, factors, ["MIG", DCI, QUICK, Widest], bootstrap=40, confidence=0.9)
    assert set(full.intervals) == {
        "mig",
        "widest",
        "factor_vae_score",
        "factor_vae_score_train",
        "num_active",
    }
    for name, (low, high) in full.intervals.items():
        assert low <= full.values[name] <= high
    assert full.intervals["mig"][0] < full.intervals["mig"][1]
    assert full.provenance["bootstrap"] == {"resamples": 40, "confidence": 0.9, "seed": 0}
    wide = evaluate_fully(codes, factors, ["MIG"], bootstrap=40, confidence=0.99).intervals["mig"]
    assert wide[0] < full.intervals["mig"][0] < full.intervals["mig"][1] < wide[1]
    flat = evaluate(codes, factors, ["MIG"], bootstrap=40, confidence=0.99)
    assert (flat["mig_low"], flat["mig_high"]) == wide


@pytest.mark.slow
def test_intervals_are_as_wide_as_scores_of_other_images_are_spread() -> None:
    migs = [evaluate(*draw(600, seed, 0.8), ["MIG"])["mig"] for seed in range(1, 61)]
    spread = 2 * 1.96 * np.std(migs)
    widths = []
    for seed in range(1, 6):
        found = evaluate(*draw(600, seed, 0.8), ["MIG"], bootstrap=200)
        widths.append(found["mig_high"] - found["mig_low"])
    assert np.mean(widths) == pytest.approx(spread, rel=0.3)


def test_an_interval_does_not_leave_the_bounds_of_the_score() -> None:
    factors = draw(60)[1]
    noise = np.random.default_rng(3).normal(size=(60, 3))
    found = evaluate(noise, factors, ["MIG"], bootstrap=50)
    assert 0 <= found["mig_low"] <= found["mig"] <= found["mig_high"]


def test_a_score_that_most_resamples_break_has_no_interval() -> None:
    class Fragile(Metric):
        def score(self, bank: CodeBank) -> dict[str, torch.Tensor]:
            if len(torch.unique(bank.codes, dim=0)) < len(bank):
                raise InputError("an image was drawn twice")
            return {"fragile": torch.tensor(0.5)}

    full = evaluate_fully(*draw(40), {"f": Fragile, "m": MIG}, bootstrap=30)
    assert full.values["fragile"] == 0.5
    assert all(map(math.isnan, full.intervals["fragile"]))
    assert all(map(math.isfinite, full.intervals["mig"]))


def test_large_spaces_need_no_grid() -> None:
    factors = np.random.default_rng(0).integers(10, size=(50, 30))
    assert evaluate(factors.astype(float), factors, ["MIG"])["mig"] > 0.1


def test_a_constant_factor_warns_once_for_all_scores() -> None:
    codes, factors = draw()
    factors[:, 1] = 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate(codes, factors, ["MIG", QUICK], names=["shape", "size", "x"], bootstrap=3)
    assert [one.category for one in caught] == [ConstantFactorWarning]
    assert str(caught[0].message).startswith("size took one value only")


def test_of_many_constant_factors_eight_are_named() -> None:
    codes, factors = draw()
    wide = np.concatenate([factors, np.zeros((len(factors), 12), int)], 1)
    with pytest.warns(ConstantFactorWarning, match=r"factor_10 and 4 more took one value only"):
        evaluate(codes, wide, ["MIG"])


def test_levels_are_numbered_whatever_their_numbers() -> None:
    codes, factors = draw()
    plain = evaluate(codes, factors, "MIG")
    assert evaluate(codes, factors * 1.0, "MIG") == plain
    assert evaluate(codes, factors * [1, -0.25, 1] + [0, 0, 0.5], "MIG") == pytest.approx(plain)


def with_nan(codes: Any) -> Any:
    codes[[3, 7], 1] = np.nan
    return codes


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ({"x": [0, 1]}, "codes are a dictionary; pandas.DataFrame makes a table of columns"),
        (None, "codes are None; give one row for each image"),
        (
            SimpleNamespace(codes=0, factors=0),
            "codes are SimpleNamespace, which holds two tables; give its codes and its factors",
        ),
    ],
)
def test_what_is_no_table_is_named(array: object, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        tensor("codes", array)


def test_positions_of_equal_images_are_scored_without_the_instance() -> None:
    labels = np.random.default_rng(0).integers(0, 3, (200, 2))
    dataset = ArrayDataset(np.random.default_rng(1).random((200, 8, 8)), labels)
    space, positions = dataset.factors, dataset.factors.positions(np.arange(200))
    codes, columns = positions.astype(float), list(space.essential)
    assert space.names == ("factor_0", "factor_1", "instance")
    right = evaluate(codes, positions[:, columns], ["MIG"])
    assert evaluate(codes, positions, ["MIG"], space=space) == right
    assert evaluate(codes, positions[:, columns], ["MIG"], space=space.without_nuisance()) == right
    remedy = "space=dataset.factors instead of names; the last column may be instance, which"
    with pytest.raises(InputError, match=f"2 names for 3 factors: x, y; .*{remedy}"):
        evaluate(codes, positions, ["MIG"], names=["x", "y"])
    with pytest.raises(InputError, match=r"of factor_0, .*, the space is space.without_nuisance"):
        evaluate(codes, positions[:, columns], ["MIG"], space=space)


@pytest.mark.parametrize("function", [evaluate, evaluate_fully])
def test_an_instance_among_the_names_is_warned_of(function: Callable[..., object]) -> None:
    codes, factors = draw()
    with pytest.warns(FactorWarning, match=r"instance is scored .*space=dataset\.factors in place"):
        function(codes, factors, ["MIG"], names=["x", "y", "instance"])


@pytest.mark.parametrize("function", [evaluate, evaluate_fully])
def test_a_run_in_place_of_codes_is_refused_in_words(
    function: Callable[..., object], tmp_path: Path
) -> None:
    data = SingleData(GaussianBlob(places=4), batch_size=8, validation=0.0, test=0.0)
    run = object.__new__(OpenRun)
    allowed = "it must be an array or a Tensor or a list"
    remedy = r"run.encode\(\) gives the codes and factors of a run: evaluate\(run.encode\(\)\)$"
    with pytest.raises(InputError, match=f"^codes is an object of OpenRun; {allowed}; {remedy}"):
        function(run)
    with pytest.raises(InputError, match=f"^factors is .* OpenRun; {allowed} or null; {remedy}"):
        function(draw()[0], run)
    with pytest.raises(InputError, match=f"^codes is an object of SingleData; {allowed}$"):
        function(data)
    remedy = r"model.codes\(images\) gives codes, and open_run\(RUN\).encode\(\) those of a run$"
    with pytest.raises(InputError, match=f"^codes is an object of VAE; {allowed}; {remedy}"):
        function(object.__new__(VAE), draw()[1])
    with pytest.raises(InputError, match=r"in evaluate\(open_run\(RUN\)\.encode\(\)\), and a"):
        function("runs/a")
    with pytest.raises(InputError, match=r"evaluate\(open_run\('/.*'\)\.encode\(\)\)"):
        function(str(tmp_path))


def test_codes_of_a_run_have_their_factors_and_names() -> None:
    codes, factors = draw()
    encoded = Encoded(codes, factors, factors, ("x", "y", "z"), np.arange(len(codes)))
    assert evaluate(encoded, metrics=["MIG"]) == evaluate(codes, factors, ["MIG"])
    assert evaluate(codes, factors, ["mig"]) == evaluate(codes, factors, ["MIG"])
    assert evaluate(encoded, metrics=["MIG"], kinds={"z": "ordinal"})  # by a name of its own
    with pytest.raises(
        InputError, match=r"leave out factors, .*metrics=\['MIG'\]; .*labels\[encoded.rows\]"
    ):
        evaluate(encoded, ["MIG"])
    with pytest.raises(InputError, match="factors are missing; give one row for each image"):
        evaluate(codes)


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"metrics": ["MGI"]},
            r"the metrics is named 'MGI' \(did you mean MIG\?\); available: BetaVAEScore, BlockMCC",
        ),
        ({"metrics": []}, "no score was chosen"),
        (
            {"metrics": {"x": lambda space: torch.nn.Identity()}},
            "Identity is no dislab.base.Metric; give",
        ),
        ({"names": ["a", "b"]}, "2 names for 3 factors: a, b"),
        ({"names": ["a", "a", "b"]}, "two factors are named 'a'; give each"),
        ({"bootstrap": -1}, "bootstrap is -1"),
        ({"confidence": 1.0}, "confidence is 1.0; it must lie between"),
        ({"codes": with_nan(draw()[0])}, "2 of 400 codes hold NaN or infinity, in latent 1;"),
        ({"codes": draw()[0][:9]}, "there are 9 codes, but the factors of 400 images"),
        ({"codes": draw()[0].T}, r"give codes\.T$"),
        ({"factors": draw()[1].T}, r"give factors\.T$"),
        ({"codes": draw()[0].astype(object)}, r"must be numbers, .*; codes\.astype\(float\) makes"),
        ({"codes": draw()[0].astype(str).astype(object)}, "numbers the names of a column$"),
        ({"codes": draw()[0].T, "factors": draw()[1].T}, r"give codes\.T and factors\.T$"),
        (
            {"codes": draw()[0][:, 0]},
            r"codes have shape \(images, latents\).*got \(400,\); codes\[:, None\] ",
        ),
        ({"codes": [[1.0, 2.0], [3.0]]}, "codes are no table: .*rows of equal length"),
        ({"codes": np.array([["a"]])}, "codes must be numbers, not of type <U1"),
        (
            {"factors": pd.DataFrame({"x": [0, 1], "kind": ["cup", None]})},
            "factor kind holds texts, and (nan|None), which is no text; give the text",
        ),
        (
            {"factors": [["cup", 0], [1.0, 1]]},
            "factor factor_0 holds texts, and 1.0, which is no text",
        ),
        ({"factors": ["cup", "plate"]}, r"factors have shape \(images, factors\).*got \(2,\)"),
        (
            {"factors": pd.DataFrame({"t": pd.to_datetime(["2020-01-01", "2021-01-01"])})},
            "factors must be numbers, not of type datetime64",
        ),
        (
            {"factors": [[f"{row}.png"] for row in range(400)]},
            r"factor factor_0 has 400 different texts in 400 images, such as '99.png'; leave it out"
            r", or, if each is a class, say kinds=\{'factor_0': 'categorical'\}",
        ),
        (
            {"factors": [["cup"], ["can"]] * 200, "kinds": {"factor_0": "ordinal"}},
            "factor factor_0 has names for values, but is ordinal",
        ),
        (
            {"codes": "codes.npz"},
            r"codes are 'codes.npz'; a run is read by open_run, .*, and a file by numpy.load",
        ),
        (
            {"factors": draw()[1][:, 0]},
            r"factors have shape \(images.*got \(400,\); factors\[:, None\] makes",
        ),
        ({"factors": draw()[1][:0]}, "factors has no rows"),
        ({"factors": draw()[1] - 1}, "factor factor_0 holds -1, but integers must be value"),
        ({"factors": draw()[1] * 10**6}, "factor factor_0 holds 2000000, .*numpy.unique"),
        ({"factors": draw()[1] * 1j}, "factors are complex numbers; give real ones"),
        ({"codes": draw()[0] * 1j}, "codes are complex numbers; give real ones"),
        ({"metrics": 5}, "metrics is 5; it must be text or a class or a mapping of names to text"),
        ({"seed": "a"}, "seed is 'a'; it must be a whole number"),
        ({"confidence": "a"}, "confidence is 'a'; it must be a finite number"),
        ({"bootstrap": None}, "bootstrap is None; it must be a whole number"),
        ({"shuffle": "no"}, "shuffle is 'no'; it must be true or false"),
        ({"names": "abc"}, "names is 'abc'; it must be null or a list, each text"),
        ({"groups": "01"}, "groups is '01'; it must be null or a list, each"),
        (
            {"kinds": ["ordinal"]},
            r"kinds is \['ordinal'\]; it must be a mapping of names to one of ordinal, categ",
        ),
        ({"space": (3, 3)}, r"space is \(3, 3\); it must be a FactorSpace"),
        ({"factors": draw()[1] * 0}, "none of factor_0, factor_1, factor_2 takes more than one"),
        ({"codes": draw()[0][:1], "factors": draw()[1][:1]}, "none of factor_0"),
        ({"names": list("abc"), "space": FactorSpace((Factor("a", (1.0,)),))}, "not both"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    codes, factors = draw()
    given = {"codes": codes, "factors": factors, "metrics": ["MIG"]} | change
    with pytest.raises(InputError, match=message):
        evaluate(**given)


def test_truth_values_are_factors_of_two_values() -> None:
    codes, factors = draw()
    numbered = evaluate(codes, (factors > 0).astype(int), ["MIG"])
    assert evaluate(codes, factors > 0, ["MIG"]) == numbered


KNOWN_FROM_FACTORS_ONLY = (
    "no two images share a value",
    "each is determined by another one",
    "no two images differ in factor",
)


@pytest.mark.every(4)
@pytest.mark.filterwarnings("ignore::dislab.metrics.DoubtfulScoresWarning")
@pytest.mark.parametrize("name", [plugin.name for plugin in available("metrics")])
@pytest.mark.parametrize(
    ("images", "sizes", "latents"), [(300, (3,), 4), (300, (3, 4), 1), (2, (3, 4), 3), (1, (3,), 1)]
)
def test_a_score_knows_before_it_is_taken_whether_it_can_be(
    name: str, images: int, sizes: tuple[int, ...], latents: int
) -> None:
    generator = np.random.default_rng(0)
    factors = np.stack([np.arange(images) % size for size in sizes], 1)
    codes = generator.normal(size=(images, latents))
    values = [tuple(map(float, range(size))) for size in sizes]
    space = FactorSpace(tuple(Factor(f"f{n}", one) for n, one in enumerate(values)))
    metric = plugins.load("metrics", name)(space)
    varied = len(sizes) if images > 1 else 0
    reason = reason_against(metric, Sample(images, latents, varied))
    refused = ""
    try:
        evaluate(codes, factors, metrics=[name], space=space)
    except InputError as error:
        refused = str(error)
    if not any(text in refused for text in KNOWN_FROM_FACTORS_ONLY):
        assert bool(refused) == bool(reason), refused


def test_a_default_score_that_cannot_be_taken_is_skipped_with_a_warning() -> None:
    codes, factors = draw()
    with pytest.warns(SkippedScoreWarning) as caught:
        found = evaluate_fully(codes, factors[:, :1])
    skipped = {str(one.message).partition(" was not taken: ")[0] for one in caught}
    names = {"dci_hgbt", "modularity", "factor_vae_score", "beta_vae_score"}
    assert skipped == set(found.skipped) == names
    assert "2 factors" not in found.skipped["modularity"]
    assert "mig" in found.values
    with pytest.raises(InputError, match="needs at least two of each that vary"):
        evaluate(codes, factors[:, :1], metrics=["MIG", "DCI"])


@pytest.mark.filterwarnings("ignore::dislab.metrics.DoubtfulScoresWarning")
def test_too_few_images_for_one_score_are_refused() -> None:
    with pytest.raises(InputError, match="got 2 images and needs at least 3"):
        evaluate([[0.0, 1.0], [1.0, 0.0]], [[0, 1], [1, 0]], ["MIG", "DCI"])


def test_the_table_has_a_column_for_what_is_known() -> None:
    values = {"mig": 0.5, "active_units": 3.0}
    assert (
        score_table(values, {}, {}).splitlines()[1] == "MIG                                0.5000"
    )
    lines = score_table(values, {"mig": (0.4, 0.61)}, {"mig": {"mean": 0.1, "std": 0.02}})
    assert [re.split(r"  +", line) for line in lines.splitlines()] == [
        ["score", "value", "interval", "untrained"],
        ["MIG", "0.5000", "[0.4000, 0.6100]", "0.1000 ± 0.0200"],
        ["Active units (KL above 0.01 nats)", "3"],
    ]


def test_a_table_has_words_and_no_repetition() -> None:
    values = {"dci_hgbt_completeness": 0.5, "dci_hgbt_completeness_unweighted": 0.5}
    values |= {"num_active": 3.0, "sampled/mig": 0.25, "score_train": 0.1}  # alone, so no detail
    lines = score_table(values, {}, {}).splitlines()
    assert [re.split(r"  +", line) for line in lines] == [
        ["score", "value"],
        ["DCI completeness", "0.5000"],
        ["Sampled MIG", "0.2500"],
        ["Score (on training images)", "0.1000"],
    ]


@pytest.mark.slow
def test_a_nuisance_is_in_no_score_and_no_part() -> None:
    generator = np.random.default_rng(0)
    factors = np.stack([generator.integers(size, size=600) for size in (3, 5, 4)], axis=1)
    codes = factors + 0.1 * generator.standard_normal((600, 3))
    values = [tuple(map(float, range(size))) for size in (3, 5, 4)]
    nuisance = Factor("instance", values[1], "categorical", nuisance=True)
    space = FactorSpace((Factor("a", values[0]), nuisance, Factor("b", values[2])))
    kept = FactorSpace((space["a"], space["b"]))
    chosen = ["MIG", "DCI", "SAP", "BetaVAEScore"]
    full = evaluate_fully(codes, factors, chosen, space=space)
    expected = evaluate_fully(codes, factors[:, [0, 2]], chosen, space=kept)
    assert full.values == expected.values
    assert full.parts == expected.parts
    assert len(full.parts["mig_per_factor"]) == 2
    assert full.provenance["factors"] == {"a": 3, "b": 4}


def test_factors_are_called_by_the_columns_of_a_table() -> None:
    factors = pd.DataFrame({"shape": [0, 1, 0, 1] * 10, "x": [0, 0, 1, 1] * 10})
    codes = factors.to_numpy().astype(float)
    for names, expected in ((None, ["shape", "x"]), (["a", "b"], ["a", "b"])):
        found = evaluate_fully(codes, factors, metrics=["MIG"], names=names)
        assert list(found.provenance["factors"]) == expected


def test_untrained_models_without_a_latent_that_varies_have_no_factor_vae_score() -> None:
    values = {"factor_vae_score": 0.7, "num_active": 3.0, "mig": 0.2}
    spread = {"mean": 0.0, "std": 0.0}
    untrained = dict.fromkeys(values, spread)
    lines = score_table(values, {}, untrained).splitlines()
    assert re.split(r"  +", lines[1]) == ["FactorVAE score", "0.7000", "no latent varies enough"]
    untrained["num_active"] = {"mean": 1.0, "std": 0.0}
    lines = score_table(values, {}, untrained).splitlines()
    assert re.split(r"  +", lines[1]) == ["FactorVAE score", "0.7000", "0.0000 ± 0.0000"]


def small_codes() -> tuple[torch.Tensor, torch.Tensor]:
    factors = torch.cartesian_prod(torch.arange(3), torch.arange(4)).repeat(25, 1)
    return 0.01 * factors, factors


@pytest.mark.parametrize(
    ("metrics", "score"),
    [
        (["FactorVAEScore", "MIG"], "factor_vae_score"),
        (
            {"a": FactorVAEScore, "b": partial(FactorVAEScore, threshold=0.001)},
            "a/factor_vae_score",
        ),
    ],
)
def test_codes_of_small_scale_get_a_factor_vae_score_with_a_reason(
    metrics: Any, score: str
) -> None:
    message = rf"{score} is 0 because .* is 0\.011, below the threshold of 0\.0.*rescale the codes"
    with pytest.warns(DoubtfulScoresWarning, match=message):
        found = evaluate_fully(*small_codes(), metrics)
    assert found.values[score] == 0
    assert "0.0000 (no latent varies enough)" in score_table(found.values, {}, {})


def test_rescaled_codes_and_a_smaller_threshold_need_no_warning() -> None:
    codes, factors = small_codes()
    assert evaluate(codes / codes.std(), factors, ["FactorVAEScore"])["factor_vae_score"] == 1
    settings = ["FactorVAEScore.threshold=0.001"]
    assert evaluate(codes, factors, settings)["factor_vae_score"] == 1


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (torch.zeros(40, 2), "all latents are constant in 40 images, so that the scores are those"),
        (torch.arange(6.0).reshape(3, 2), "3 images are too few to tell good codes from bad ones"),
    ],
)
def test_scores_that_say_little_come_with_a_warning(codes: torch.Tensor, message: str) -> None:
    factors = torch.arange(len(codes))[:, None] % 3
    with pytest.warns(DoubtfulScoresWarning, match=message):
        evaluate(codes, factors, ["MIG"])


class Constant(Metric):
    """A score of one value, whatever the codes."""

    plot_lower_bound, plot_upper_bound = 0.0, 1.0

    def __init__(self, space: FactorSpace, value: float = 1.0) -> None:
        super().__init__(space)
        self.value = value

    def score(self, bank: CodeBank) -> dict[str, torch.Tensor]:
        return {"constant": torch.tensor(math.nan if self.value == 9 else self.value)}


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (9.0, r"is NaN; check its formula"),
        (3.0, r"is 3, outside of its bounds 0\.0 and 1\.0; check its formula"),
        (-0.1, r"is -0\.1, outside of its bounds"),
        (1.00001, None),
    ],
)
def test_impossible_scores_of_other_packages_are_told(
    value: float, fault: str | None, recwarn: pytest.WarningsRecorder
) -> None:
    codes, factors = draw()
    result = evaluate(codes, factors, [functools.partial(Constant, value=value)])["constant"]
    assert result == pytest.approx(math.nan if value == 9 else value, nan_ok=True)
    messages = [str(warning.message) for warning in recwarn if "formula" in str(warning.message)]
    assert [bool(re.search(fault or "", message)) for message in messages] == [True] * bool(fault)


@pytest.mark.filterwarnings("ignore")
def test_transposed_codes_and_factors_are_suspected() -> None:
    codes, factors = (array[:, :3].T for array in draw(images=40))
    with pytest.warns(DoubtfulScoresWarning, match=r"; if their columns are images, give codes\.T"):
        evaluate(codes, factors, ["MIG"])


def blobs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    factors = torch.randint(4, (200, 2), generator=generator)
    return factors + 0.1 * torch.randn(200, 2, generator=generator), factors


def test_codes_and_factors_in_the_wrong_order_are_noticed() -> None:
    codes, factors = blobs()
    with (
        pytest.warns(DoubtfulScoresWarning, match="as if the two were swapped; codes come first"),
        pytest.warns(ContinuousFactorWarning),
    ):
        evaluate(factors, codes, ["MIG"])


@pytest.mark.parametrize("kinds", [None, {"factor_0": "continuous", "factor_1": "continuous"}])
def test_true_factors_may_stand_for_codes(kinds: Any) -> None:
    codes, factors = blobs()
    if kinds is None:
        evaluate(codes, factors, ["MIG"])
        evaluate(factors, factors, ["MIG"])
    else:
        evaluate(factors, codes, ["MIG"], kinds=kinds)


@pytest.mark.filterwarnings("ignore::dislab.factors.ContinuousFactorWarning")
def test_measured_codes_and_a_table_with_one_factor_of_few_values_are_in_order() -> None:
    codes, factors = blobs()
    evaluate(codes, torch.cat([codes, factors], 1), ["MIG"])
    evaluate(torch.cat([codes, factors], 1), codes, ["MIG"])
    evaluate(torch.arange(200)[:, None] + factors, codes, ["MIG"])
