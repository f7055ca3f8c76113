import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.decomposition import PCA, FastICA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.runs import open_run
from dislab_identify import ContrastiveInversion, Representation
from dislab_identify.consistency import agreement, agreements, chance

GENERATOR = np.random.default_rng(0)
CODES = GENERATOR.laplace(size=(2000, 3))
TURN, _ = np.linalg.qr(GENERATOR.normal(size=(3, 3)))
CONFIG = Path(__file__).parents[1] / "src/dislab_identify/configs/vectors.yaml"
VECTORS = {
    "data.dataset": "VectorDataset",
    "model.encoder": "MLPEncoder",
    "model.decoder": "MLPDecoder",
    "model.likelihood": "gaussian",
    "trainer.val_check_interval": 3,
}
"""What a configuration for images needs for a table."""


@pytest.mark.parametrize(
    ("other", "permutation", "linear", "affine"),
    [
        (CODES[:, [2, 0, 1]] * [-1.0, 5.0, 0.1], 1.0, 1.0, 1.0),
        (CODES[:, [2, 0, 1]] + 100.0, 1.0, None, 1.0),
        (CODES @ TURN, None, 1.0, 1.0),
        (CODES[:, :2], 2 / 3, 2 / 3, 2 / 3),
        (np.zeros((2000, 3)), 0.0, 0.0, 0.0),
    ],
)
def test_known_agreements(
    other: Any, permutation: float | None, linear: float | None, affine: float
) -> None:
    for up_to, expected in (("permutation", permutation), ("linear", linear), ("affine", affine)):
        both: Any = up_to
        value = agreement(CODES, other, both)
        assert value == pytest.approx(agreement(other, CODES, both))
        if expected is None:
            assert value < 0.97
        else:
            assert value == pytest.approx(expected, abs=0.05)


def test_unrelated_codes_agree_by_chance() -> None:
    assert chance(CODES, CODES) < 0.1
    assert chance(CODES, CODES, "affine") < 0.05


def test_fastica_agrees_over_seeds_where_pca_of_a_rotation_does_not() -> None:
    mixed = CODES @ TURN
    ica = [
        FastICA(3, random_state=seed, whiten="unit-variance").fit_transform(mixed)
        for seed in range(3)
    ]
    table = agreements(ica)
    assert table.shape == (3, 3)
    assert table.min() > 0.99
    assert agreement(ica[0], CODES) > 0.98
    assert agreement(PCA(3).fit_transform(mixed), CODES) < 0.98


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (CODES, CODES[:9], "first has 2000 rows and second 9"),
        (CODES[:, 0], CODES, "give real codes"),
        (np.where(CODES > 3, np.nan, CODES), CODES, "NaN or infinite"),
        (CODES[:5], CODES[:5], "at least 8 rows, not 5"),
    ],
)
def test_bad_codes_are_explained(first: Any, second: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        agreement(first, second, "linear")


def test_a_single_encoder_is_refused() -> None:
    with pytest.raises(InputError, match="at least two encoders, not 1"):
        agreements([CODES])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("representation")
    table = folder / "table.npy"
    np.save(table, CODES @ np.random.default_rng(1).normal(size=(3, 6)) * 1000 + 50)
    return fitted(table), table


def fitted(table: Path, config: Path | str = CONFIG, **before: Any) -> Path:
    """Folder of a run of three steps on a table; settings before those of the table."""
    folder = table.parent
    settings = before | {"data.dataset.path": table, "runs": folder, "trainer.max_steps": 3}
    settings |= {"then_test": "false", "trainer.accelerator": "cpu"}
    arguments = [f"--{name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "dislab", "fit", f"--config={config}", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / Path(config).stem / "version_0"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "config", "settings"),
    [("table.csv", CONFIG, {}), ("table.npy", "betavae", VECTORS)],
)
def test_a_table_of_50_columns_trains_with_one_command(
    tmp_path: Path, name: str, config: Path | str, settings: dict[str, Any]
) -> None:
    rows = CODES[:400] @ np.random.default_rng(2).normal(size=(3, 50)) * 1000
    if name.endswith(".npy"):
        np.save(tmp_path / name, rows)
    else:
        np.savetxt(tmp_path / name, rows, delimiter=",", fmt="%.9g")
    opened = open_run(fitted(tmp_path / name, config, **settings))
    assert opened.data.image_shape == (50, 1, 1)
    assert np.asarray(opened.encode("test").codes).shape[1] == 10


def test_a_run_is_a_transformer(run: tuple[Path, Path]) -> None:
    folder, table = run
    rows = np.load(table)
    transformer = Representation(str(folder), batch_size=300)
    codes = transformer.fit_transform(rows)
    expected = open_run(folder).encode("test")
    states = open_run(folder).data.indices("test")
    assert np.allclose(codes[states], np.asarray(expected.codes), atol=1e-5)
    assert clone(transformer).get_params() == {"run": str(folder), "batch_size": 300}
    pipeline = make_pipeline(transformer, StandardScaler(), PCA(2)).fit(rows)
    assert pipeline.transform(rows[:7]).shape == (7, 2)
    copy = pickle.loads(pickle.dumps(transformer))
    assert np.array_equal(copy.transform(rows[:9]), transformer.transform(rows[:9]))


class OfAnyWidth(Representation):
    """A run for each number of features, as the checks give tables of several widths."""

    def _open(self, features: int) -> Any:
        torch.manual_seed(features)
        shape = (features, 1, 1)
        model = ContrastiveInversion(shape, 1, partial(MLPEncoder, hidden=(4,)))
        return SimpleNamespace(model=model, data=SimpleNamespace(image_shape=shape, dataset=None))


def failures_of(transformer: Representation) -> dict[str, str]:
    """Messages of the checks that fail, except those that give settings of another type.

    The type checks of these tests refuse such settings, and nothing does outside of tests.
    """
    results = check_estimator(transformer, on_fail=None, on_skip=None)
    failed = {
        each["check_name"]: _causes(each["exception"])
        for each in results
        if each["status"] == "failed"
    }
    assert sum(each["status"] == "skipped" for each in results) <= 1  # one needs a variable
    assert len(results) > 40
    return {name: text for name, text in failed.items() if "parameter annotations" not in text}


def test_scikit_learns_checks_hold_where_a_run_fits_the_table() -> None:
    assert failures_of(OfAnyWidth("a run")) == {}


@pytest.mark.slow
def test_scikit_learns_checks_fail_by_the_number_of_columns_alone(run: tuple[Path, Path]) -> None:
    """A run has one number of columns, and most checks give another."""
    failures = failures_of(Representation(str(run[0])))
    assert failures
    for text in failures.values():
        assert "run was trained on 6" in text


def _causes(error: BaseException | None) -> str:
    """The messages of an error and of those behind it."""
    messages = []
    while error is not None:
        messages.append(str(error))
        error = error.__cause__ or error.__context__
    return " / ".join(messages).lower()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones((4, 5)), "X has 5 features, and the run was trained on 6"),
        (np.full((4, 6), np.nan), "NaN"),
        (np.ones(6), "Expected 2D array"),
        (np.ones((0, 6)), "0 sample"),
    ],
)
def test_rows_that_do_not_fit_are_refused(run: tuple[Path, Path], rows: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Representation(str(run[0])).fit(rows)


def test_a_missing_run_is_refused() -> None:
    with pytest.raises(InputError, match="run is empty"):
        Representation().fit(np.ones((3, 3)))
    with pytest.raises(InputError, match="nowhere"):
        Representation("nowhere").fit(np.ones((3, 3)))
