"""Every part is declared under its name, and the cases of the tests name such parts."""

from pathlib import Path

import pytest
from tests import cases
from tests.part import chosen

from dislab.errors import InputError
from dislab.plugins import GROUPS, available
from dislab.testing import check_configuration, check_declared


@pytest.mark.parametrize("group", GROUPS)
def test_every_part_is_declared_under_its_name(group: str) -> None:
    check_declared(group, [plugin.name for plugin in available(group)])


def test_a_configuration_that_is_read_passes_and_another_is_told(tmp_path: Path) -> None:
    check_configuration("betavae")
    (tmp_path / "mine.yaml").write_text("model: {class_path: VAE, init_args: {latent_dm: 3}}\n")
    with pytest.raises(AssertionError, match=r"mine.yaml is read; .*latent_dm"):
        check_configuration(str(tmp_path / "mine.yaml"))


@pytest.mark.parametrize("group", cases.SETTINGS)
def test_cases_are_of_declared_parts(group: str) -> None:
    assert cases.SETTINGS[group].keys() <= set(cases.own(group))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("TotalCorrelation", "regularizers/test_total_correlation.py"),
        ("dcimig", "metrics/test_information_scores.py"),
    ],
)
def test_the_tests_of_a_part_are_its_own_and_its_cases(name: str, file: str) -> None:
    own, shared, _, expression = chosen(name)
    assert own.endswith(file)
    assert shared.endswith(f"conformance/test_{file.partition('/')[0]}.py")
    assert expression.startswith(Path(file).stem)


def test_a_part_that_is_none_has_no_tests() -> None:
    with pytest.raises(InputError, match=r"'TotlCorrelation' \(did you mean TotalCorrelation\?\)"):
        chosen("TotlCorrelation")
