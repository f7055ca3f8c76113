from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from lightning.pytorch.plugins import Precision
from PIL import Image
from tests import cases
from tests.small_runs import small_config

from dislab.cli import main
from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset, FolderDataset, GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.runs import OpenRun, load_run, open_run, write_scores

CONFIG = small_config("blob", "{then_test: false, trainer: {max_steps: 2}}")


@pytest.mark.slow
def test_a_run_is_opened_with_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(CONFIG)
    assert main(["fit", "--config=small.yaml"]) == 0
    folder = Path("runs/small/version_0")
    run = open_run(folder)
    codes, tested = run.encode(), run.encode("test", batch_size=7)
    assert len(codes.codes) == 1024
    assert codes.names == ("posX", "posY")
    assert np.array_equal(codes.states, np.arange(1024))
    assert np.array_equal(tested.states, run.data.indices("test"))
    np.testing.assert_allclose(tested.codes, codes.codes[tested.states], atol=1e-6)
    assert np.array_equal(tested.factors, run.data.factors.positions(tested.states))
    assert tested.values.max() <= 1
    images = run.data.images(torch.from_numpy(tested.states))
    with torch.no_grad():
        np.testing.assert_allclose(tested.codes, run.model.codes(images), atol=1e-6)

    assert main(["encode", str(folder), "--images=50"]) == 0  # the same images as the command
    sampled = run.encode(images=50)
    assert sampled.kl is not None
    with np.load(folder / "codes.npz") as stored:
        for name in ("states", "factors", "codes", "kl"):
            assert np.array_equal(getattr(sampled, name), stored[name])

    assert run.model.codes(images).numpy().shape == tested.codes.shape
    named = run.encode(states=np.array([7, 3, 7]))
    np.testing.assert_allclose(named.codes, codes.codes[[7, 3, 7]], atol=1e-6)
    assert named.factors.tolist() == codes.factors[[7, 3, 7]].tolist()
    for states in ([7, 3, 7], (7, 3, 7), torch.tensor([7, 3, 7])):
        assert np.array_equal(run.encode(states=states).codes, named.codes)
    assert np.array_equal(run.encode(states=range(3)).states, np.arange(3))
    wrong: Any
    for wrong in ([0.5], "test", [[1, 2]]):
        with pytest.raises(InputError, match="it is a list or an array of whole numbers"):
            run.encode(states=wrong)
    with pytest.raises(InputError, match="they run from 0 to 1023"):
        run.encode(states=np.array([1024]))
    with pytest.raises(InputError, match=r"of your own: run.model.codes\(images\)$"):
        run.encode(images)  # type: ignore[arg-type]

    for path in (folder, folder / "checkpoints/last.ckpt"):
        again = open_run(path, SingleData(GaussianBlob(), batch_size=8)).encode()
        assert repr(again).startswith(f"Encoded: {len(again.codes):,} images, ")
        np.testing.assert_allclose(again.codes, codes.codes, atol=1e-6)

    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace("batch_size: 8", "batch_size: many"))
    with pytest.raises(InputError, match=r"config.yaml: .*batch_size.* many"):
        open_run(folder)
    (folder / "config.yaml").unlink()
    with pytest.raises(InputError, match=r"is no run: .*open_run\(run, data=…\)"):
        open_run(folder)


def test_a_checkpoint_outside_of_a_run_asks_for_its_data_alone(tmp_path: Path) -> None:
    cases.save(VAE((1, 8, 8), 100, 2, MLPEncoder, MLPDecoder, {"kl": KL}), tmp_path)
    path = (tmp_path / "last.ckpt").rename(tmp_path / "m.ckpt")
    with pytest.raises(
        InputError, match=r"m\.ckpt is a checkpoint outside of a run, .*data=…"
    ) as e:
        open_run(path)
    assert "is no run" not in str(e.value)
    assert len(open_run(path, data=SingleData(GaussianBlob(), resize=8)).encode().codes)


@pytest.mark.slow
def test_an_opened_model_is_not_trained_on_and_a_loaded_one_is(tmp_path: Path) -> None:
    cases.save(VAE((1, 8, 8), 100, 2, MLPEncoder, MLPDecoder, {"kl": KL}), tmp_path)
    run = open_run(tmp_path, SingleData(GaussianBlob(), batch_size=8, resize=8))
    trainer = partial(
        pl.Trainer,
        max_steps=1,
        limit_val_batches=0,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    with pytest.raises(InputError, match=r"no weight of VAE takes gradients.* load_run\(FOLDER\)"):
        trainer().fit(run.model, run.data)
    loaded = load_run(tmp_path).train()
    before = loaded.decode(torch.zeros(1, 2)).detach()
    trainer().fit(loaded, run.data)
    assert not torch.equal(loaded.decode(torch.zeros(1, 2)), before)


def test_data_of_another_shape_than_the_model_takes_are_refused(tmp_path: Path) -> None:
    model = VAE((1, 8, 8), 100, 2, MLPEncoder, MLPDecoder, {"kl": KL})
    cases.save(model, tmp_path)
    fitting = SingleData(GaussianBlob(), batch_size=8, resize=8)
    assert open_run(tmp_path, fitting).encode(images=3).codes.shape == (3, 2)
    message = (
        "VAE takes images of 1×8×8, and those of SingleData are 1×16×16; give data of that shape, "
        "whose side resize sets"
    )
    with pytest.raises(InputError, match=f"{message}$"):
        open_run(tmp_path, SingleData(GaussianBlob(), batch_size=8, resize=16))


def test_its_text_names_method_data_checkpoint_and_scores(tmp_path: Path) -> None:
    data = SingleData(GaussianBlob(), batch_size=8, resize=8)
    model = VAE((1, 8, 8), 100, 2, MLPEncoder, MLPDecoder, {"kl": KL})
    checkpoint = tmp_path / "checkpoints/last.ckpt"
    config = {"name": "mine", "method": "FactorVAE"}
    run = OpenRun(model, data, Precision(), checkpoint, config)
    states = len(data.indices("train"))
    first = f"OpenRun of FactorVAE on GaussianBlob, {states} training images of 1×8×8"
    assert repr(run).splitlines() == [first, f"checkpoint: {checkpoint}"]
    assert repr(replace(run, config={})).startswith("OpenRun of VAE on GaussianBlob, ")
    names = ["mig", "sap_r2", "dci_d", "dci_c", "dci_i", "irs", "mcc"]
    write_scores(tmp_path, "test", {"scores": dict.fromkeys(names, 0.5)})
    last = "scores of test: mig, sap_r2, dci_d, dci_c, dci_i and 2 more"
    assert repr(run).splitlines()[2:] == [last]


def test_it_has_the_folder_and_the_scores_of_the_run(tmp_path: Path) -> None:
    data = SingleData(GaussianBlob(), batch_size=8, resize=8)
    model = VAE((1, 8, 8), 100, 2, MLPEncoder, MLPDecoder, {"kl": KL})
    run = OpenRun(model, data, Precision(), tmp_path / "checkpoints/last.ckpt", {})
    assert run.folder == tmp_path
    assert replace(run, checkpoint=tmp_path / "copy.ckpt").folder == tmp_path
    with pytest.raises(
        InputError,
        match=r"last\.ckpt is of a run from Python, .* no scores\.json; score it by "
        r"dislab\.evaluate\(run\.encode\(\)\)$",
    ):
        _ = run.scores
    (tmp_path / "config.yaml").touch()
    with pytest.raises(
        InputError, match=r"has no scores\.json; `dislab validate` or `test` writes"
    ):
        _ = run.scores
    write_scores(tmp_path, "validate", {"scores": {"mig": 0.1}})
    with pytest.raises(InputError, match=r"has no scores of test; `dislab test` makes them"):
        _ = run.scores
    write_scores(tmp_path, "test", {"scores": {"mig": 0.5, "irs": None}})
    assert run.scores == {"mig": 0.5, "irs": None}
    with pytest.raises(KeyError, match=r"no score is named 'mgi' \(did you mean mig\?\)"):
        _ = run.scores["mgi"]
    assert list(run.records) == ["validate", "test"]


@pytest.mark.slow
def test_codes_name_the_images_of_the_users_own_data(tmp_path: Path) -> None:
    cases.save(VAE((1, 8, 8), 100, 2, MLPEncoder, MLPDecoder, {"kl": KL}), tmp_path)
    rng = np.random.default_rng(0)
    labels = rng.permuted(np.indices((6, 5)).reshape(2, 30).T, axis=0)
    images = rng.integers(0, 256, (30, 1, 8, 8), dtype=np.uint8)
    own = SingleData(ArrayDataset(images, labels), batch_size=8, validation=0.0, test=0.3)
    run = open_run(tmp_path, own)
    for encoded in (run.encode(), run.encode("test"), run.encode(states=[7, 3, 7])):
        assert encoded.rows is not None
        assert np.array_equal(labels[encoded.rows], encoded.factors)
        codes = run.model.codes(torch.from_numpy(images[encoded.rows] / 255).float()).numpy()
        np.testing.assert_allclose(encoded.codes, codes, atol=1e-6)
        assert encoded.files is None

    (tmp_path / "own").mkdir()
    for name, image in zip("ba", images[:, 0], strict=False):
        Image.fromarray(image).save(tmp_path / f"own/{name}.png")
    pngs = FolderDataset(str(tmp_path / "own"), table=None)
    folder = SingleData(pngs, batch_size=1, validation=0.0, test=0.0)
    named = open_run(tmp_path, folder).encode()
    assert named.files is not None
    assert named.files.tolist() == ["a.png", "b.png"]
    assert named.rows is None
    drawn = open_run(tmp_path, SingleData(GaussianBlob(), batch_size=8, resize=8)).encode(images=2)
    assert (drawn.rows, drawn.files) == (None, None)
