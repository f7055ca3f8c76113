"""Situations of `dislab.testing.stress`: their codes are as said, and a score is tried in each."""

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.metrics.laws import SCORES

from dislab.errors import InputError
from dislab.metrics import MCC, MIG, OMES, DownstreamAccuracy
from dislab.testing import Situation, stress
from dislab.testing.constructions import ENCODERS, WORLDS, cut, gaussian_factors, standardised
from dislab.testing.situations import FEW, MAP, MISSING, PERFECT, SITUATIONS

ROOT = Path(__file__).parents[2]


def script() -> Any:
    """The module `benchmarks/stress.py`."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return import_module("stress")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


SCRIPT = script()
REPORT: dict[str, Any] = json.loads((ROOT / "benchmarks/results/stress.json").read_text())
CHECKED = (
    Situation("copied"),
    Situation(encoder="halves"),
    Situation(encoder="overcomplete", images=1000),
    Situation(encoder="noise", images=50),
)
"""Situations that are measured again; those of 50 images are quick for every score."""


@pytest.mark.every(8)
@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, marks=pytest.mark.slow) if SCORES[key].slow else key
        for key in REPORT["results"]
    ],
)
def test_the_page_has_the_values_of_the_scores(key: str) -> None:
    record = REPORT["results"][key]
    costly = record["draws"] == 1
    situations = CHECKED[-1:] if costly else CHECKED
    if str(CHECKED[-1]) in record["refused"]:
        situations = CHECKED[:1]
    tried = stress(SCORES[key].build, situations, record["draws"], SCRIPT.VALUES.get(key))
    for result, stored in record["cells"].items():
        for situation, cell in tried.cells[result].items():
            value, _, chance = stored[str(situation)]
            # processors round a singular covariance, whose logarithm is large, in their own way
            stored_value = pytest.approx(value, abs=0.02, rel=0.02)
            assert cell.value == stored_value, (result, situation)
            assert cell.chance == (chance and pytest.approx(chance, abs=0.02)), (result, situation)


def test_tables_follow_from_the_values() -> None:
    assert SCRIPT.tables(REPORT) == REPORT["tables"]


def test_every_score_has_every_situation() -> None:
    """Every score of the laws, but those that are left out, with a value or a reason."""
    results = REPORT["results"]
    missing = [
        key
        for key in set(SCORES) - SCRIPT.LEFT_OUT
        if key not in results or not SCRIPT.complete(results[key], key)
    ]
    assert not missing, f"run benchmarks/stress.py, which measures {', '.join(sorted(missing))}"
    less = {**results["mig"], "cells": {"mig": {str(PERFECT): [1.0, 0.0, 0.0]}}}
    assert not SCRIPT.complete(less, "mig")


def test_the_whole_takes_at_most_half_an_hour_of_two_cores() -> None:
    assert REPORT["seconds"] == round(
        sum(record["seconds"] for record in REPORT["results"].values())
    )
    assert 0 < REPORT["seconds"] <= 3600


def test_factors_depend_as_their_world_says() -> None:
    correlations = {
        world: torch.corrcoef(gaussian_factors(world, 20_000, seed=1).T) for world in WORLDS
    }
    torch.testing.assert_close(
        correlations["independent"], torch.eye(5).double(), atol=0.03, rtol=0
    )
    others = correlations["correlated"][~torch.eye(5, dtype=torch.bool)]
    torch.testing.assert_close(others, torch.full((20,), 0.8).double(), atol=0.03, rtol=0)
    assert correlations["copied"][0, 4].item() == pytest.approx(1.0)
    torch.testing.assert_close(
        correlations["summed"][:4, 4], torch.full((4,), 0.5).double(), atol=0.03, rtol=0
    )
    for world in WORLDS:
        deviations = gaussian_factors(world, 20_000, seed=1).std(0)
        torch.testing.assert_close(deviations, torch.ones(5).double(), atol=0.03, rtol=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"world": "dependent"}, r"world is 'dependent'; the worlds are independent, "),
        (
            {"world": "copied", "factors": 1},
            "factors is 1; it must be a whole number of at least 2",
        ),
        ({"world": "correlated", "correlation": 1.0}, "correlation is 1.0; it must be from 0"),
    ],
)
def test_impossible_factors_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gaussian_factors(images=10, **settings)


def test_codes_are_as_their_encoder_says() -> None:
    factors = gaussian_factors("independent", 2000)
    codes = {name: encoder.encode(factors, 0) for name, encoder in ENCODERS.items()}
    widths = {name: encoded.shape[1] for name, encoded in codes.items()}
    doubled = ("copies", "halves", "overcomplete", "angles")
    assert widths == {
        name: 3 if name == "dropped" else 5 * (1 + (name in doubled)) for name in codes
    }
    for name in ("linear", "curved", "overcomplete", "halves", "angles"):  # nothing is lost
        assert torch.linalg.matrix_rank(codes[name]).item() >= 5, name
    positive, negative = codes["halves"].chunk(2, dim=1)
    torch.testing.assert_close(positive - negative, factors)
    sine, cosine = codes["angles"].chunk(2, dim=1)
    torch.testing.assert_close(sine.square() + cosine.square(), torch.ones_like(factors))
    joint = torch.corrcoef(torch.cat([codes["noise"], factors], dim=1).T)[:5, 5:]
    assert joint.abs().max().item() < 0.1


def test_situations_differ_in_their_names() -> None:
    assert len({str(situation) for situation in SITUATIONS}) == len(set(SITUATIONS))
    assert len(MAP) == len(WORLDS) * len(ENCODERS)
    assert str(FEW[0]) == "independent, scaled, 50 images"
    assert str(MISSING[-1]) == "independent, dropped, 10 factors, 1 latents"


def test_cut_factors_have_equally_frequent_values() -> None:
    factors = gaussian_factors("independent", 6000)
    positions = cut(factors, 3)
    shares = [(positions == value).double().mean(0) for value in range(3)]
    for share in shares:
        torch.testing.assert_close(share, torch.full((5,), 1 / 3).double(), atol=0.02, rtol=0)
    assert (positions[factors > 3] == 2).all()
    order = factors[:, 0].argsort()
    assert (positions[order, 0].diff() >= 0).all()
    numbers = standardised(positions, (3,) * 5)
    torch.testing.assert_close(numbers.mean(0), torch.zeros(5).double(), atol=0.05, rtol=0)
    torch.testing.assert_close(numbers.std(0), torch.ones(5).double(), atol=0.02, rtol=0)


def test_a_score_of_equal_values_gets_cut_factors() -> None:
    tried = stress(OMES, [PERFECT, Situation("copied"), *MISSING[5:6]], values=3)
    cells = tried.cells["omes"]
    assert cells[PERFECT].value == pytest.approx(1.0)
    assert cells[MISSING[5]].value == pytest.approx(0.5)
    assert "no two images differ" in tried.refused[Situation("copied")]
    with pytest.raises(InputError, match="values is 1"):
        stress(OMES, values=1)


@pytest.mark.slow
def test_known_answers() -> None:
    """Perfect codes, missing factors, which count 0, and noise."""
    tried = stress(MCC, [Situation(), *MISSING, Situation(encoder="noise")], draws=2)
    cells = tried.cells["mcc_pearson"]
    assert cells[Situation()].value == pytest.approx(1.0)
    assert [cells[situation].value for situation in MISSING] == pytest.approx(
        [latents / 10 for latents in range(10, 0, -1)]
    )
    noise = cells[Situation(encoder="noise")]
    assert noise.chance is not None
    assert noise.value == pytest.approx(noise.chance, abs=0.03)
    assert 0 < noise.spread < 0.02
    assert tried.bounded
    assert tried.refused == {}


SIGN = """
from dislab.base import Metric
from dislab.codes.bank import CodeBank
from torch import Tensor


class Sign(Metric):
    '''How often signs of the last latent and the first factor agree; 0 is half of the images.'''

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    least = 100

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        deviations = bank.numbers - bank.numbers.mean(0)
        agree = (bank.codes[:, -1] > 0) == (deviations[:, 0] > 0)
        return {"sign": (2 * agree.double().mean() - 1).abs()}
"""


@pytest.fixture
def sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The class of a score in a package of others, which is installed in a folder."""
    (tmp_path / "fake_sign.py").write_text(SIGN)
    info = tmp_path / "fake_sign-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-sign\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dislab.metrics]\nSign = fake_sign:Sign\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield import_module("fake_sign").Sign
    del sys.modules["fake_sign"]


@pytest.mark.slow
def test_one_call_puts_a_score_of_others_through_all_situations(sign: Any) -> None:
    text = str(stress(sign))
    assert text.startswith("sign ")
    (row,) = re.findall(r"^scaled +(.*)$", text, re.MULTILINE)
    for cell in row.strip().split("  "):
        if cell:
            ((value, chance),) = re.findall(r"^ ?(\d\.\d\d) \((\d\.\d\d)\)$", cell)
            assert float(value) > 0.95 > 0.2 > float(chance) > 0
    for encoder in ENCODERS:
        assert f"\n{encoder} " in text
    assert "\nindependent, noise, 50 images: refused, " in text
    assert " - " not in text.partition("\n-")[0]


@pytest.mark.slow
def test_a_score_of_ones_own_gets_findings(sign: Any) -> None:
    tried = stress(sign)
    assert set(tried.refused) == {one for one in FEW if one.images == 50}
    findings = tried.findings("sign")
    assert any(clause.endswith(" with a copy of each latent") for clause in findings)
    assert all(f"- {clause}" in str(tried) for clause in findings)


@pytest.mark.slow
def test_the_script_prints_the_row_of_an_installed_score(
    sign: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["stress.py", "--plugin", "Sign"])
    SCRIPT.main()
    assert capsys.readouterr().out == f"{stress(sign)}\n"


def test_situations_that_were_not_tried_are_dashes() -> None:
    text = str(stress(MIG, [Situation()]))
    assert "\ncopies " in text
    assert text.count(" -\n") == len(ENCODERS) - 1


def test_an_unbounded_score_gets_no_findings() -> None:
    from dislab.metrics import GaussianTotalCorrelation

    tried = stress(GaussianTotalCorrelation, [Situation(), Situation(encoder="copies")])
    assert tried.findings("gaussian_total_correlation") == []
    assert {cell.chance for cell in tried.cells["gaussian_total_correlation"].values()} == {None}


def test_a_score_that_refuses_everything_says_why() -> None:
    with pytest.raises(InputError, match="the score refuses every situation: "):
        stress(DownstreamAccuracy, [Situation(images=50)])
    with pytest.raises(InputError, match="draws is 0"):
        stress(MIG, draws=0)


@pytest.mark.parametrize(
    ("situation", "message"),
    [
        (Situation("dependent"), "world is 'dependent'; the worlds are independent, "),
        (Situation(encoder="rotated"), "encoder is 'rotated'; it is one of scaled, "),
        (Situation(images=1), "images is 1"),
        (Situation(factors=1), "factors is 1"),
        (Situation(encoder="noise", latents=2), "latents is for the encoder dropped, not for noi"),
        (Situation(encoder="dropped", latents=6), "latents is 6"),
        (Situation(encoder="dropped", latents=0), "latents is 0"),
        (Situation("correlated", correlation=1.0), "correlation is 1.0; it must be from 0 up to 1"),
    ],
)
def test_impossible_situations_are_refused(situation: Situation, message: str) -> None:
    with pytest.raises(InputError, match=message):
        stress(MIG, [Situation(), situation])
