from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.small_runs import RUN, small_config

from dislab.callbacks.scores import _scorer
from dislab.cli import main
from dislab.errors import InputError

SMALL = small_config("blob", "report: true")


@pytest.mark.slow
@pytest.mark.parametrize("error", [InputError, RuntimeError])
def test_a_run_whose_scoring_fails_has_a_page_that_says_so(
    error: type[Exception],
    small_run: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small_run(SMALL)
    page = RUN / "report.html"
    page.unlink()
    (RUN / "scores.json").unlink()

    def fails(*arguments: Any, **settings: Any) -> None:
        raise error("MIG lost /home/somebody/secret.npz")

    with monkeypatch.context() as patched:
        patched.setattr(_scorer, "score_bank", fails)
        try:
            assert main(["test", f"--run={RUN}"]) != 0
        except RuntimeError:  # a fault in a score, with a traceback and status 1
            assert error is RuntimeError
    assert f"without these scores: {RUN / 'report.html'}" in capsys.readouterr().err
    text = page.read_text(encoding="utf-8")
    assert "The last scoring failed: " in text
    assert "MIG lost …/secret.npz" in text
    assert "<code>dislab test --run RUN</code>" in text
    assert "has no scores yet" not in text
    assert "data-explorer" in text
    assert main(["test", f"--run={RUN}"]) == 0
    assert "scoring failed" not in page.read_text(encoding="utf-8")
