"""`dislab encode` as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image
from tests.small_runs import RUN, small_config

from dislab.cli import main
from dislab.errors import InputError
from dislab.metrics import evaluate
from dislab.objectives import VAE
from dislab.report.run_record import read_run
from dislab.runs import load_run, open_run
from dislab.runs.codes import read_codes

SmallRun = Callable[..., Path]

SMALL = small_config("blob", "{trainer: {max_steps: 2}, then_test: false}")
WITHOUT_CODES = """
  class_path: GroundTruthDecoder
  init_args: {decoder: {class_path: MLPDecoder, init_args: {hidden: [8]}}}
"""


@pytest.mark.slow
def test_codes_of_a_run(small_run: SmallRun, capsys: pytest.CaptureFixture[str]) -> None:
    run = small_run(SMALL)
    capsys.readouterr()
    assert main(["encode", str(run), "--images=90", "--batch_size=40"]) == 0
    end = ": 90 of 1,024 images of all splits, 3 latents\n"
    assert capsys.readouterr().out == f"{run}/codes.npz{end}"
    stored = read_codes(run / "codes.npz")
    model = load_run(run)
    assert len(set(stored.states)) == 90
    with np.load(run / "codes.npz") as data:
        assert data["factors"].shape == (90, len(data["names"]))

    from dislab.runs.opened import run_config, run_data

    images = run_data(run, run_config(run)).images(torch.from_numpy(stored.states))
    with torch.no_grad():
        mean, log_var = model.encode(images)
    np.testing.assert_allclose(stored.codes, mean, atol=1e-5)
    kl = 0.5 * (mean**2 + log_var.exp() - log_var - 1).mean(0)
    np.testing.assert_allclose(stored.kl, kl, rtol=1e-4)

    # a file that any command scores; the same images with another batch size, others by --seed
    assert main(["score", str(run / "codes.npz"), "--metrics=MIG", "--json=out.json"]) == 0
    assert "mig" in json.loads(Path("out.json").read_text())["scores"]
    for seed, same in ((0, True), (1, False)):
        out = f"{seed}.npz"
        assert main(["encode", str(run), "--images=90", f"--seed={seed}", f"--out={out}"]) == 0
        assert np.array_equal(read_codes(Path(out)).states, stored.states) is same


@pytest.mark.slow
def test_codes_that_are_no_means_are_stored_as_the_method_gives_them(
    small_run: SmallRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(SMALL)
    monkeypatch.setattr(VAE, "codes", lambda model, image: 2 * model.encode(image).mean)
    assert main(["encode", str(run), "--images=90", "--batch_size=40"]) == 0
    stored = read_codes(run / "codes.npz")
    images = open_run(run).data.images(torch.from_numpy(stored.states))
    with torch.no_grad():
        means = load_run(run).encode(images).mean
    np.testing.assert_allclose(stored.codes, 2 * means, atol=1e-5)


@pytest.mark.slow
def test_codes_of_own_images_name_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("images").mkdir()
    for index in range(40):
        Image.new("L", (8, 8), 6 * index).save(f"images/{index}.png")
    Path("small.yaml").write_text(SMALL)
    options = ["--data.dataset=FolderDataset", "--data.dataset.folder=images"]
    options += ["--data.dataset.table=null", "--evaluate.metrics={}"]
    assert main(["fit", "--config=small.yaml", *options]) == 0
    run = RUN
    for _ in range(2):  # also over the first file
        assert main(["encode", str(run), f"--out={run}/codes.npz"]) == 0
    assert main(["predict", "--run", str(run)]) == 0
    model = load_run(run)
    for file, count in (("codes.npz", 40), ("representations.npz", 4)):
        with np.load(run / file, allow_pickle=False) as stored:
            assert len(stored["files"]) == len(stored["states"]) == count
            numbers = [int(name.removesuffix(".png")) for name in stored["files"]]
            images = torch.tensor(numbers).view(-1, 1, 1, 1).expand(-1, 1, 8, 8) * 6 / 255
            with torch.no_grad():
                np.testing.assert_allclose(stored["codes"], model.codes(images), atol=1e-6)


@pytest.mark.slow
def test_images_with_gaps_are_counted_and_may_be_encoded(
    small_run: SmallRun,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    images = np.random.default_rng(0).integers(256, size=(90, 1, 16, 16), dtype=np.uint8)
    side = np.repeat([0.0, 1.0, np.nan], 30)
    np.savez(tmp_path / "own.npz", images=images, side=side)
    settings = yaml.safe_load(small_config("blob"))
    own = {"file": f"{tmp_path}/own.npz", "factors": "side", "gaps": "keep"}
    settings["data"]["init_args"]["dataset"] = {"class_path": "NumpyDataset", "init_args": own}
    run = small_run(yaml.safe_dump(settings))
    scored = (
        "60 of 90 images, training included (30 without a value of some factor are left out), so "
        "few that scores are rough"
    )
    capsys.readouterr()
    assert f"Scoring {scored}, by" in caplog.text
    page = read_run(run, draw=False)
    assert page.reading[0] == f"Scored on {scored}."
    assert page.bounds is not None
    counts = [int(head.split("(")[1].split()[0]) for head in page.bounds.heads[1:]]
    record = json.loads((run / "scores.json").read_text())["test"]
    assert counts == list(record["bound_images"].values())
    assert sum(counts) == 60
    assert main(["encode", str(run), "--out=codes.npz"]) == 0
    said = (
        "codes.npz: 60 of 90 images of all splits (30 without a value of some factor are left out"
    )
    assert capsys.readouterr().out.startswith(said)
    assert main(["encode", str(run), "--with_gaps", "--out=codes.npz"]) == 0
    assert "90 of 90 images of all splits, 3 latents" in capsys.readouterr().out
    with np.load("codes.npz") as file:
        stored = dict(file)
    assert sorted(stored["rows"]) == list(range(90))
    assert "factors" not in stored
    codes = open_run(run).encode(states=stored["states"]).codes
    np.testing.assert_allclose(stored["codes"], codes, atol=1e-5)
    assert main(["score", "codes.npz"]) == 2
    assert "codes.npz has no factors" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("factors", ["[side]", "null"])
def test_codes_have_the_factors_that_the_scores_of_the_run_look_at(
    factors: str, small_run: SmallRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of an image, by which equal labels differ, is not among them."""
    images = np.random.default_rng(0).integers(256, size=(90, 1, 16, 16), dtype=np.uint8)
    np.savez(tmp_path / "own.npz", images=images, side=np.repeat([0, 1, 2], 30))
    settings = yaml.safe_load(small_config("blob"))
    own = {"file": f"{tmp_path}/own.npz", "factors": yaml.safe_load(factors)}
    settings["data"]["init_args"]["dataset"] = {"class_path": "NumpyDataset", "init_args": own}
    if factors == "null":
        settings["evaluate"]["metrics"] = {}
    run = small_run(yaml.safe_dump(settings))
    for _ in range(2):  # the second time over the first
        assert main(["encode", str(run), "--images=90", "--out=codes.npz"]) == 0
    assert main(["predict", "--run", str(run)]) == 0
    encoding = open_run(run).encode()
    if factors == "null":
        assert encoding.names == ()
        assert main(["score", "codes.npz", "--metrics=MIG"]) == 2
        assert "has no factors" in capsys.readouterr().err
        return
    mig = json.loads((run / "scores.json").read_text())["test"]["scores"]["mig"]
    assert main(["score", "codes.npz", "--metrics=MIG", "--json=out.json"]) == 0
    assert json.loads(Path("out.json").read_text())["scores"]["mig"] == pytest.approx(mig)
    scores = evaluate(encoding.codes, encoding.factors, ["MIG"], encoding.names)
    assert scores["mig"] == pytest.approx(mig)
    for file in ("codes.npz", run / "representations.npz"):
        with np.load(file, allow_pickle=False) as stored:
            assert stored["names"].tolist() == ["side"]


@pytest.mark.slow
def test_a_method_without_codes_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = yaml.safe_load(SMALL) | {"model": yaml.safe_load(WITHOUT_CODES)}
    Path("small.yaml").write_text(yaml.safe_dump(settings))
    assert main(["fit", "--config=small.yaml"]) == 0
    run = RUN
    capsys.readouterr()
    assert main(["encode", str(run)]) == 0
    assert capsys.readouterr().out == "nothing to encode, as GroundTruthDecoder has no codes\n"
    assert not (run / "codes.npz").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "nowhere is no run: it does not exist; runs are in runs/"),
        ([".", "--images=0"], "images is 0"),
        (["nowhere", "--seed=-1"], "--seed is -1"),
        (["nowhere", "--split=half"], "--split is 'half'; choose one of train, validation, "),
    ],
)
def test_mistakes(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["encode", *args])
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert message in capsys.readouterr().err


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "codes.npz"
    path.write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(InputError, match=r"cannot be read .*; write it again: dislab encode"):
        read_codes(path)
