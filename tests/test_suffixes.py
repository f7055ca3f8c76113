"""Suffixes in capitals: files are read like those with suffixes in lower case."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dislab import plugins
from dislab.cli.arguments import is_study
from dislab.cli.transfer import _choices
from dislab.cli.yaml_input import check_configurations
from dislab.datasets import FolderDataset, NumpyDataset
from dislab.errors import InputError
from dislab.naming.words import builders_of
from dislab.study.tables import format_of
from dislab.transfer import load_scenario

IMAGES = np.random.default_rng(0).integers(256, size=(6, 4, 4), dtype=np.uint8)
FACTORS = {"x": [0, 1, 2, 0, 1, 2], "y": [0, 0, 0, 1, 1, 1]}


@pytest.mark.parametrize("suffix", ["png", "PNG", "Bmp"])
@pytest.mark.parametrize("table", ["table.csv", "TABLE.CSV", "table.parquet", "TABLE.PARQUET"])
def test_folders(suffix: str, table: str, tmp_path: Path) -> None:
    names = [f"{index}.{suffix}" for index in range(6)]
    for name, image in zip(names, IMAGES, strict=True):
        Image.fromarray(image).save(tmp_path / name)
    content = pd.DataFrame({"file": names, **FACTORS})
    if "csv" in table.lower():
        content.to_csv(tmp_path / table, index=False)
    else:
        content.to_parquet(tmp_path / table)
    dataset = FolderDataset(str(tmp_path), table, gaps="drop")
    assert dataset.factors.sizes == (3, 2)
    assert dataset.image_shape == (1, 4, 4)


@pytest.mark.parametrize("name", ["images.npz", "IMAGES.NPZ", "images"])
def test_archives(name: str, tmp_path: Path) -> None:
    with (tmp_path / name).open("wb") as stream:
        np.savez(stream, allow_pickle=False, images=IMAGES, x=np.array(FACTORS["x"]))
    assert NumpyDataset(str(tmp_path / name), factors="x").factors.names == ("x", "instance")


@pytest.mark.parametrize("name", ["a.yaml", "A.YAML", "a.Yml"])
def test_yaml(name: str, tmp_path: Path) -> None:
    plugins.load_all(plugins.PARTS)  # as the command does before it reads predictors
    path = tmp_path / name
    path.write_text("train: {color: 0}\ntest: {color: 1}\n")
    assert load_scenario(str(path)).train == {"color": 0}
    assert is_study(path)
    path.write_text("coarse: {class_path: MIG, init_args: {bins: 5}}\n")
    assert list(builders_of("metrics", [str(path)], "score", "MIG.bins=30")) == ["coarse"]
    path.write_text("trees: {class_path: MLP}\n")
    choices = _choices([str(path)])
    assert isinstance(choices, dict)
    assert list(choices) == ["trees"]
    path.write_text("a: 1\na: 2\n")
    with pytest.raises(InputError, match="a"):
        check_configurations([f"--optimizer.unknown={path}"])


@pytest.mark.parametrize("suffix", ["csv", "CSV", "Parquet", "MD"])
def test_tables_of_studies(suffix: str) -> None:
    assert format_of(Path(f"runs.{suffix}")) == format_of(Path(f"runs.{suffix.lower()}"))
