"""Published values beside those of a run of the same method, data and score."""

from pathlib import Path
from typing import Any

import pytest

from dislab.report.literature import literature

SCORED = {
    "scores": {"factor_vae_score": 0.6, "mig": 0.2},
    "checkpoint": {"steps": 300},
    "data": {"provenance": {"source": "rendered"}},
}
NO_REPRODUCTION = (
    "Close values reproduce the paper only if images, settings and length of training are the same."
)


def settings(method: str, dataset: str, **data: Any) -> dict[str, Any]:
    """A configuration; `source` is a setting of the data set, others of the data module."""
    source = {"source": data.pop("source")} if "source" in data else {}
    images = {"class_path": f"dislab.datasets.{dataset}", "init_args": source}
    return {
        "method": method,
        "model": {"class_path": "dislab.objectives.VAE"},
        "data": {"init_args": {"dataset": images, "include": None, **data}},
    }


@pytest.mark.parametrize(
    ("method", "dataset", "source", "value", "conditions"),
    [
        ("β-VAE", "DSprites", "auto", "0.814", "dSprites: best model, β = 4"),
        ("FactorVAE", "DSprites", "auto", "0.889", "dSprites: best model, γ = 35"),
        ("β-VAE", "Shapes3D", "official", "1", "3D Shapes: best model, β = 32"),
        ("FactorVAE", "Shapes3D", "official", "1", "3D Shapes: best model, γ = 7"),
    ],
)
def test_a_value_of_the_same_method_data_and_score(
    method: str, dataset: str, source: str, value: str, conditions: str, tmp_path: Path
) -> None:
    run = settings(method, dataset, source=source)
    (entry,) = literature(tmp_path, run, SCORED)
    assert entry[:3] == ("FactorVAE score", "0.600", value)
    assert entry.about == (
        f"Obtained after 300 steps on {dataset} (rendered); published in Kim & Mnih 2018, after "
        f"an unknown number of steps on published {conditions}. {NO_REPRODUCTION}"
    )
    assert entry.sentences == (f"FactorVAE score: 0.600 obtained, {value} published. {entry.about}")
    assert literature(tmp_path, run, {"scores": {"mig": 0.2}}) == []
    (unknown,) = literature(tmp_path, run, {"scores": SCORED["scores"]})
    assert f"after an unknown number of steps on {dataset}; published" in unknown.about


@pytest.mark.parametrize(
    "run",
    [
        settings("VAE", "DSprites"),
        settings("β-VAE", "ColorDSprites"),
        settings("β-VAE", "Shapes3D", source="rendered"),
        settings("β-VAE", "DSprites", resize=32),
        settings("β-VAE", "DSprites", include={"shape": ["square"]}),
        settings("β-VAE", "DSprites", hold_out={"shape": ["square"]}),
        settings("β-VAE", "DSprites", correlation={"factors": ["posX", "posY"], "strength": 0.2}),
        {"method": "β-VAE", "data": None},
    ],
)
def test_no_value_of_another_method_or_other_data(run: dict[str, Any], tmp_path: Path) -> None:
    assert literature(tmp_path, run, SCORED) == []


def test_the_last_logged_bound_of_info_gan(tmp_path: Path) -> None:
    run = settings("InfoGAN", "MNIST")
    run["model"] = {"class_path": "InfoGAN", "init_args": {"categorical": [10]}}
    assert literature(tmp_path, run, {}) == []
    log = "step,train/information/categorical\n1,0.5\n2,2.25\n3,\n"
    (tmp_path / "metrics.csv").write_text(log)
    about = (
        "Obtained after 3 steps on MNIST; published in Chen et al. 2016, after 5,000 steps on "
        f"MNIST: in nats. {NO_REPRODUCTION}"
    )
    assert literature(tmp_path, run, {}) == [("Information categorical", "2.250", "2.3", about)]
    run["model"]["init_args"]["categorical"] = [5]
    assert literature(tmp_path, run, {}) == []
