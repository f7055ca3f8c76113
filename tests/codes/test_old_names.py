"""Old names of the modules that moved to `codes` or were merged in `functional`."""

import pickle
import subprocess
import sys

import pytest

from dislab.codes.importance import ImportanceScores


@pytest.mark.parametrize(
    "line",
    [
        "from dislab.functional.draws import mix",
        "from dislab.functional.counter_hash import hashed",
        "from dislab.functional import code_bank; code_bank.CodeBank",
        "import dislab.learners; dislab.learners.RidgeRegression",
        "from dislab.learners.constant import Constant",
    ],
)
def test_a_fresh_process_imports_by_old_names(line: str) -> None:
    code = (
        f"{line}\nimport sys\nfrom dislab.moved import MOVED\n"
        "assert all(sys.modules[old] is sys.modules[MOVED[old]] "
        "for old in MOVED if old in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_pickle_that_names_an_old_module_loads() -> None:
    new = pickle.dumps(ImportanceScores, protocol=0)
    old = new.replace(b"dislab.codes.importance", b"dislab.functional.importance")
    assert old != new
    assert pickle.loads(old) is ImportanceScores
