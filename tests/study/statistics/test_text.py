"""Tables as Markdown and LaTeX."""

import math

import pandas as pd
import pytest

from dislab.errors import InputError
from dislab.study.statistics import latex, markdown, summary_table

TABLE = pd.DataFrame(
    {"a|b_c": ["x\ny", "50 % & more"], "p": [0.00004, math.nan], "n": [3, 4]}, index=["r1", "r2"]
)


def test_markdown_escapes_names_and_keeps_small_numbers() -> None:
    assert markdown(TABLE, 2).splitlines() == [
        "| index | a\\|b_c | p | n |",
        "| --- | --- | --- | --- |",
        "| r1 | x y | 4e-05 | 3 |",
        "| r2 | 50 % & more | – | 4 |",
    ]
    assert markdown(TABLE.reset_index(drop=True)).startswith("| a\\|b_c | p | n |")


def test_zero_has_no_sign() -> None:
    assert markdown(pd.DataFrame({"a": [-0.0]}), 2).splitlines()[-1] == "| 0.00 |"
    for noise in (5e-17, -5e-17):
        assert markdown(pd.DataFrame({"a": [noise]})).splitlines()[-1] == "| 0.000 |"


def test_scores_near_zero_have_the_digits_of_others() -> None:
    row = {"score": "sap", "mean": 0.0004, "sd": 2e-5, "low": -4e-4, "high": 0.0, "runs": 3}
    table = summary_table(pd.DataFrame([{**row, "chance": 4e-4}]))
    assert table["sap"].tolist() == ["0.000 ± 0.000 [0.000, 0.000]", "0.000"]


def test_columns_of_one_name_are_both_shown() -> None:
    table = pd.DataFrame([["vae", 0.5]], columns=["mig", "mig"])  # an axis and a score
    assert markdown(table).splitlines()[-1] == "| vae | 0.500 |"


def test_latex_escapes_names() -> None:
    text = latex(TABLE, 2)
    assert r"a|b\_c & p & n \\" in text
    assert r"r2 & 50 \% \& more & -- & 4 \\" in text


NOTES = r"{\footnotesize 100 \% of \textbackslash{}a\textasciicircum{}2.\par}"


def test_latex_has_numbers_at_the_right_with_minus_signs_and_notes_in_the_paper() -> None:
    table = pd.DataFrame(
        {"run": ["a-1", "b"], "elbo": [-2.5, math.nan], "mean": ["-1 [-2, 0]", ""]}
    )
    lines = latex(table, 1, notes=r"100 % of \a^2.").splitlines()
    assert lines[:2] == [r"% needs \usepackage{booktabs}", r"\begin{tabular}{lrr}"]
    assert lines[5] == r"a-1 & $-$2.5 & $-$1 [$-$2, 0] \\"
    assert lines[-2:] == [r"\par\smallskip", NOTES]


def test_large_means_have_fewer_digits() -> None:
    row = {"score": "score.elbo", "mean": -885.2143, "sd": 1.1554, "low": -886.43, "high": -884.0}
    (cell,) = summary_table(pd.DataFrame([{**row, "runs": 6}]))["score.elbo"]
    assert cell == "-885.2 ± 1.2 [-886.4, -884.0]"


def test_a_summary_gets_one_column_a_score_with_interval_and_runs() -> None:
    summary = pd.DataFrame(
        [
            [1, None, "score.mig", 0.5, 0.1, 0.4, 0.6, 5, 5, 0],
            [1, None, "score.dci", 0.25, 0.1, 0.2, 0.3, 4, 4, 1],
            [2, None, "score.mig", 0.75, math.nan, math.nan, math.nan, 1, 1, 0],
            [2, None, "score.dci", math.nan, math.nan, math.nan, math.nan, 0, 0, 1],
            [3, None, "score.mig", math.nan, math.nan, math.nan, math.nan, 0, 0, 3],
            [3, None, "score.dci", math.nan, math.nan, math.nan, math.nan, 0, 0, 3],
        ],
        columns=[
            "beta",
            "overlay",
            "score",
            "mean",
            "sd",
            "low",
            "high",
            "runs",
            "seeds",
            "missing",
        ],
    )
    found = summary_table(summary, 2)
    assert list(found.columns) == ["beta", "overlay", "score.mig", "score.dci", "runs"]
    assert found.loc[0, "score.mig"] == "0.50 ± 0.10 [0.40, 0.60]"
    assert found["score.dci"].tolist() == ["0.25 ± 0.10 [0.20, 0.30]", "–", "–"]
    assert found.loc[1, "score.mig"] == "0.75"
    assert found["runs"].tolist() == ["4–5", "0–1", "0 of 3"]
    assert r"0.50 $\pm$ 0.10 [0.40, 0.60]" in latex(found)
    assert "| 1 | – | 0.50 ± 0.10 [0.40, 0.60] |" in markdown(found)


def test_greek_letters_of_methods_are_commands_of_latex() -> None:
    assert r"$\beta$-VAE" in latex(pd.DataFrame({"method": ["β-VAE"]}))


def test_negative_digits_are_refused() -> None:
    with pytest.raises(InputError, match="digits is -1"):
        markdown(TABLE, -1)


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/a.png)",
    "[x](https://evil.example)",
    "[x][y]",
    "[x]: https://evil.example",
    "https://evil.example and www.evil.example",
    "a | b\n\n# c",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_becomes_html_or_a_link(name: str) -> None:
    reader = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    cells = markdown(pd.DataFrame({name: [name]}))
    assert len(cells.splitlines()) == 3
    assert "://" not in cells  # which GitHub makes a link
    assert "www." not in cells
    shown = reader.render(cells)
    assert "<img" not in shown
    assert "<a " not in shown
    assert "href" not in shown
    assert shown.count("<th>") == shown.count("<td>") == 1
