"""Data of shape (features, 1, 1): floats of any range, without pictures."""

from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from jaxtyping import Float, Int
from tests.report.cases import write_run
from torch import Tensor

from dislab.base import Dataset, ImageShape, is_vector
from dislab.callbacks import Reconstructions
from dislab.datamodules import SingleData
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.objectives import VAE
from dislab.plots.dataset_sheets import sample_sheet
from dislab.regularizers import KL
from dislab.report.explorer import explorer_of, scatter_figures
from dislab.report.page import ReportedRun, page_of
from dislab.testing import check_dataset

ROWS = torch.from_numpy(np.random.default_rng(0).normal(3.0, 50.0, (200, 5)).astype(np.float32))


class Measurements(Dataset):
    """Two hundred rows of five numbers, of which the first row may be replaced."""

    def __init__(self, first: str = "0") -> None:
        self.first = first

    @property
    def factors(self) -> FactorSpace:
        return FactorSpace((Factor("row", tuple(float(row) for row in range(200))),))

    @property
    def image_shape(self) -> ImageShape:
        return (5, 1, 1)

    def prepare(self) -> None: ...

    def tables(self) -> dict[str, Tensor]:
        rows = ROWS.clone()
        rows[:, 0] += float(self.first)
        return {"rows": rows}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch feature 1 1"]:
        return tables["rows"][index][:, :, None, None]

    def provenance(self) -> dict[str, str]:
        return {"source": "drawn"}


def model(data: SingleData, likelihood: Any = "gaussian") -> VAE:
    return VAE(
        data.image_shape,
        data.train_size,
        2,
        partial(MLPEncoder, hidden=(8,)),
        partial(MLPDecoder, hidden=(8,)),
        {"kl": KL},
        likelihood=likelihood,
    )


def fit(folder: Path, dataset: Dataset, likelihood: Any = "gaussian", workers: int = 0) -> VAE:
    data = SingleData(dataset, 16, num_workers=workers, residency="host")
    trained = model(data, likelihood)
    trainer = pl.Trainer(
        max_steps=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        callbacks=[Reconstructions()],
    )
    trainer.fit(trained, data)
    return trained


def test_only_one_by_one_is_a_vector() -> None:
    assert is_vector((5, 1, 1))
    assert not is_vector((1, 2, 1))
    assert not is_vector((1, 1, 8))


def test_a_data_set_of_vectors_conforms() -> None:
    check_dataset(Measurements())


@pytest.mark.filterwarnings("ignore:The .* does not have many workers")
def test_vectors_keep_their_numbers_and_train_without_pictures(tmp_path: Path) -> None:
    trained: Any = fit(tmp_path, Measurements())
    data = SingleData(Measurements(), 16)
    image = data.images(torch.arange(4))
    assert torch.equal(image.flatten(1), ROWS[:4])
    assert trained.codes(image).shape == (4, 2)
    assert torch.equal(trained.codes(image.numpy()), trained.codes(image))
    assert not list(tmp_path.rglob("*.png"))
    with pytest.raises(InputError, match="vectors, of which there are no pictures"):
        explorer_of(trained.eval(), data)
    with pytest.raises(InputError, match="vectors, of which there are no pictures"):
        sample_sheet(Measurements(), 4)


def test_loaders_return_vectors_too() -> None:
    data = SingleData(Measurements(), 16, residency="host")
    numbers = next(iter(data.test_dataloader()))
    assert numbers.image is not None
    batch = data.on_after_batch_transfer(numbers, 0)
    assert torch.equal(batch.image.flatten(1), ROWS[numbers.states])


def test_gaussian_means_of_vectors_are_not_bounded() -> None:
    trained = model(SingleData(Measurements(), 16))
    with torch.no_grad():
        list(trained.decoder.parameters())[-1].fill_(90)  # the bias of the means
    z = torch.zeros(1, 2)
    decoded = trained.decode(z)
    assert torch.equal(decoded, trained.decoder(z))
    assert (decoded > 1).all()


@pytest.mark.filterwarnings("ignore:The .* does not have many workers")
@pytest.mark.parametrize(
    ("dataset", "likelihood", "message"),
    [
        (Measurements(), "bernoulli", "likelihood bernoulli describes pixels.*to gaussian"),
        (Measurements(), "discretized", "likelihood discretized describes pixels"),
        (Measurements("nan"), "gaussian", "NaN or infinite in places"),
        (Measurements("inf"), "gaussian", "NaN or infinite in places"),
    ],
)
def test_unfit_vectors_are_refused(
    tmp_path: Path, dataset: Dataset, likelihood: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        fit(tmp_path, dataset, likelihood)


@pytest.mark.parametrize("settings", [{"resize": 4}, {"colour": "rgb"}])
def test_transforms_of_images_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="vectors, not images; leave out resize and colour"):
        SingleData(Measurements(), 16, **settings)


def test_codes_of_nan_are_refused() -> None:
    trained: Any = model(SingleData(Measurements(), 16))
    with pytest.raises(InputError, match="NaN or infinite"):
        trained.codes(np.full((2, 5, 1, 1), np.nan, dtype=np.float32))


def test_a_page_has_each_factor_beside_the_latent_that_follows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = SingleData(Measurements(), 16, residency="host")
    data.prepare_data()
    data.setup("test")
    trained = model(data).eval()

    def codes(images: Tensor) -> Tensor:
        """A latent that never changes, and one that falls with the number of the row."""
        rows = images[:, :, 0, 0].cpu()
        states = torch.cdist(rows.double(), ROWS.double()).argmin(1).float()
        return torch.stack([torch.ones_like(states), -states], dim=1)

    monkeypatch.setattr(trained, "codes", codes)
    ((name, figure),) = scatter_figures(trained, data)
    assert name == "row"
    (axes,) = figure.axes
    values, latent = np.asarray(axes.collections[0].get_offsets()).T
    np.testing.assert_array_equal(latent, -values)
    assert sorted(values) == sorted(data.indices("test"))
    assert axes.get_xlabel() == "row: |ρ| 1.00 with z1"
    assert not axes.lines  # no value repeats


@pytest.mark.slow
@pytest.mark.parametrize("shares", [{}, {"validation": 0.0, "test": 0.0}])
def test_a_page_shows_the_factors_of_vectors_in_place_of_an_explorer(
    shares: dict[str, Any], tmp_path: Path
) -> None:
    data = SingleData(Measurements(), 16, residency="host", **shares)
    data.prepare_data()
    data.setup("test")
    page = page_of([ReportedRun(write_run(tmp_path / "run"), model(data).eval(), data)])
    assert page.count('alt="row"') == 1
    assert "No explorer: the data are vectors" in page
