"""Data sets conform whose images need no file, and the texts about all of them are true."""

import tomllib
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from lightning.pytorch import Trainer
from tests import cases

from dislab.base import Dataset, ImageShape
from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.objectives import VAE
from dislab.plugins import available, load_all
from dislab.regularizers import KL
from dislab.testing import check_dataset
from dislab.testing.datasets import check_listing


@pytest.mark.parametrize("build", cases.cases("datasets"))
def test_datasets(build: Any) -> None:
    check_dataset(build())


def test_datasets_of_the_users_own() -> None:
    images = torch.arange(48, dtype=torch.uint8).view(3, 1, 4, 4).numpy()
    check_dataset(ArrayDataset(images, [[0, 1], [1, 1], [1, 0]]))


class Mine(Dataset):
    """A right data set, whose parts the tests replace."""

    shape: Any = (1, 16, 16)
    rows: Any = torch.zeros(4, 1, 16, 16, dtype=torch.uint8)
    source: ClassVar[Any] = {"source": "drawn"}
    arrays: ClassVar[Any] = {"images": torch.zeros(4)}
    space: Any = FactorSpace(tuple(Factor(name, (0.0, 1.0), "ordinal") for name in "xy"))

    @property
    def factors(self) -> FactorSpace:
        space: FactorSpace = self.space
        return space

    @property
    def image_shape(self) -> ImageShape:
        shape: ImageShape = self.shape
        return shape

    def prepare(self) -> None:
        pass

    def tables(self) -> dict[str, torch.Tensor]:
        arrays: dict[str, torch.Tensor] = self.arrays
        return arrays

    def gather(self, tables: dict[str, torch.Tensor], index: torch.Tensor) -> torch.Tensor:
        rows: torch.Tensor = self.rows[index]
        return rows

    def provenance(self) -> dict[str, str]:
        source: dict[str, str] = self.source
        return source


class Misspelt(Mine):
    """A data set whose gather is misspelt."""

    gather = Dataset.gather

    def gathr(self, tables: dict[str, torch.Tensor], index: torch.Tensor) -> torch.Tensor:
        rows: torch.Tensor = self.rows[index]
        return rows


def with_parts(**parts: Any) -> Any:
    check_dataset(Mine())
    return type("Mine", (Mine,), parts)


BYTES = torch.zeros(4, 16, 16, dtype=torch.uint8)
FLOATS = r"gather of Mine returned images as torch\.float32; they must be torch\.uint8.*: convert "
OF_GATHER = [
    ({"rows": torch.rand(4, 1, 16, 16)}, FLOATS + r"fractions in \[0, 1\] by \(images \* 255\)"),
    ({"rows": BYTES[:, None].bool()}, r"as torch\.bool; .* images\.to\(torch\.uint8\) \* 255"),
    ({"rows": BYTES[:, None].long()}, r"as torch\.int64; .* convert images\.to\(torch\.uint8\)$"),
    (
        {"rows": BYTES},
        r"gather of Mine returned the shape \(\d, 16, 16\); it must be \(batch, 1, 16",
    ),
    ({"rows": BYTES[..., None]}, r"as image_shape says: put the channels first by images\.permute"),
    ({"rows": np.zeros((4, 1, 16, 16), np.uint8)}, r"returned ndarray; .*: torch\.from_numpy"),
    (
        {"shape": (16, 16)},
        r"image_shape of Mine is \(16, 16\); give the tuple \(channels, height, ",
    ),
    ({"shape": [1, 16, 16]}, r"image_shape of Mine is \[1, 16, 16\]; give the tuple"),
    ({"shape": (1.0, 16, 16)}, r"image_shape of Mine is \(1\.0, 16, 16\); give the tuple"),
]
"""Parts of a data set that training refuses, too."""


@pytest.mark.parametrize(("parts", "message"), OF_GATHER)
def test_images_of_another_type_or_shape_name_the_data_set(
    parts: dict[str, Any], message: str
) -> None:
    dataset = with_parts(**parts)
    with pytest.raises(AssertionError, match=message):
        check_dataset(dataset)
    with pytest.raises(InputError, match=message):
        SingleData(dataset(), 2, validation=0.25, test=0.25).images(torch.tensor([0, 1]))
    with pytest.raises(InputError, match=message):
        _ = dataset().as_torch()[0]


@pytest.mark.parametrize("residency", ["host", "device"])
def test_floats_of_a_data_set_are_not_blamed_on_its_data_module(residency: Any) -> None:
    dataset = with_parts(rows=torch.rand(4, 1, 16, 16))
    data = SingleData(dataset(), 2, validation=0.25, test=0.25, residency=residency)
    trainer = Trainer(
        max_steps=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = VAE(
        (1, 16, 16),
        latent_dim=2,
        train_size=2,
        regularizers={"kl": KL},
        encoder=MLPEncoder,
        decoder=MLPDecoder,
    )
    with pytest.raises(InputError, match=FLOATS):
        trainer.fit(model, data)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"shape": (16, 16, 1), "rows": BYTES[..., None]},
            r"not the channels last: write \(1, 16, 16\) for \(16, 16, 1\)",
        ),
        ({"source": {"version": "1"}}, r"provenance says where .*; it is \{'version': '1'\}"),
        ({"source": None}, r"provenance says where images come from.*; it is None"),
        ({"source": {"source": "a", "seed": 3}}, r"texts by name; write \{'seed': 3\} as texts"),
        ({"space": ["x"]}, r"factors returns a FactorSpace, not a list"),
        ({"arrays": [1]}, r"tables returns tensors by name, such as"),
    ],
)
def test_what_a_data_set_says_of_itself_has_the_form_of_the_contract(
    parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check_dataset(with_parts(**parts))


@pytest.mark.parametrize("build", [Misspelt, lambda: Misspelt()])
def test_a_misspelt_method_is_a_clear_message(build: Any) -> None:
    with pytest.raises(AssertionError, match=r"gather.*; define it as Dataset does"):
        check_dataset(build)
    with pytest.raises(AssertionError, match=r"and has gathr \(did you mean gather\?\)"):
        check_dataset(Misspelt)


KNOWN_BEFOREHAND = sorted(
    {*cases.own("datasets")}
    - {"ArrayDataset", "CelebA", "FolderDataset", "NumpyDataset", "RobotFingerFiles"}
    - {"HuggingFaceDataset", "TorchDataset"}
)
"""Data sets whose states are known without their files."""


@pytest.mark.parametrize("name", KNOWN_BEFOREHAND)
def test_what_data_list_says_of_a_data_set_is_true(name: str) -> None:
    """The texts are read from the source, where nothing else compares them with the class."""
    [plugin] = [plugin for plugin in available("datasets") if plugin.name == name]
    dataset = load_all(("datasets",))["datasets"][name]()
    channels, height, width = dataset.image_shape
    factors = ", ".join(f"{factor.name} {len(factor)}" for factor in dataset.factors.factors)
    contents = f"{len(dataset.factors):,} images {height}×{width}×{channels}: {factors}"
    assert plugin.constants["contents"] == contents
    assert plugin.constants["licence"]


def test_every_data_set_has_a_line_in_data_list() -> None:
    for plugin in available("datasets"):
        check_listing(plugin.name, plugin.constants)


@pytest.mark.parametrize("missing", ["contents", "licence"])
def test_a_data_set_without_a_line_is_a_clear_message(missing: str) -> None:
    constants = {"contents": "2 images", "licence": "CC0"}
    check_listing("Mine", constants)
    del constants[missing]
    with pytest.raises(AssertionError, match=rf"class Mine states `{missing}: ClassVar\[str\]"):
        check_listing("Mine", constants)


def test_every_folder_of_data_sets_has_its_place_in_the_import_contract() -> None:
    """Single modules need none, so that a data set of one file costs no line."""
    root = Path(__file__).parents[2]
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]
    [layers] = [
        one["layers"]
        for one in contracts["contracts"]
        if one.get("containers") == ["dislab.datasets"]
    ]
    named = {name for layer in layers for name in layer.split(" | ")}
    folders = {path.parent.name for path in root.glob("src/dislab/datasets/*/__init__.py")}
    assert folders <= named, "add the folder to the contract of dislab.datasets in pyproject.toml"
