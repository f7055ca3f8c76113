import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.report.cases import SCORED, SETTINGS, Own, blobs, vae, write_run

from dislab.errors import InputError
from dislab.report import ReportedRun, document, page_of, write_page
from dislab.report.explorer import explorer_of


class Tags(HTMLParser):
    """Tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def within(element: str, text: str) -> list[str]:
    """The content of elements of a kind, as a browser finds their ends."""
    return re.findall(rf"<{element}\b[^>]*>(.*?)</{element}", text, re.DOTALL)


@pytest.fixture
def small(tmp_path: Path) -> ReportedRun:
    module = vae(shape=(1, 16, 16))
    return ReportedRun(write_run(tmp_path / "version_0"), module, blobs(resize=16))


@pytest.mark.slow
def test_the_policy_lets_in_one_script_one_style_and_own_images(small: ReportedRun) -> None:
    text = page_of([small])
    tags = Tags(text).found
    policy = next(one["content"] for _, one in tags if one.get("http-equiv"))
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts, styles = within("script", text), within("style", text)
    assert (len(scripts), len(styles)) == (2, 1)
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'"
        for one in (scripts[1], *styles)
    ]
    assert rules == {
        "default-src": "'none'",
        "script-src": digests[0],
        "style-src": digests[1],
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    json.loads(scripts[0])
    for _, attributes in tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("src", "href"):
            assert (attributes.get(name) or "data:").startswith(("data:", "#"))


@pytest.mark.slow
def test_the_same_bytes_from_the_same_folder(small: ReportedRun, tmp_path: Path) -> None:
    first = page_of([small])
    moved = small.folder.rename(tmp_path / "elsewhere").rename(tmp_path / "x")
    moved = moved.rename(tmp_path.joinpath("version_0"))
    assert page_of([small._replace(folder=moved)]) == first
    assert str(tmp_path) not in first
    assert "secret" not in re.sub(r"base64,\S+", "", first).replace("…/secret", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["traversals", "reconstructions"])
def test_labels_of_images_are_light_on_a_dark_page(name: str, small: ReportedRun) -> None:
    images = small.folder / "images"
    (images / "reconstructions.png").write_bytes((images / "traversals.png").read_bytes())
    address = next(
        attributes["src"]
        for tag, attributes in Tags(page_of([small])).found
        if tag == "img" and str(attributes["alt"]).startswith(name)
    )
    assert address is not None
    drawn = base64.b64decode(address.partition(",")[2]).decode()
    assert "@media (prefers-color-scheme: dark) {svg {fill: #e6eaf0}}</style>" in drawn
    css = Path(document.__file__).with_name("assets") / "page.css"
    assert "--ink: #e6eaf0" in css.read_text()


@pytest.mark.slow
def test_the_caption_of_traversals_has_the_range_of_the_explorer(small: ReportedRun) -> None:
    sliders = explorers(small)[0]["sliders"]
    (low,), (high,) = ({slider[end] for slider in sliders} for end in ("low", "high"))
    caption = f"Each row moves one latent from {low:g} to {high:g}, left to right".replace("-", "−")
    caption += ", from test image 1"
    assert caption in page_of([small])


@pytest.mark.slow
def test_the_caption_of_traversals_of_several_ranges_says_so(
    small: ReportedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def widened(*given: Any, **settings: Any) -> dict[str, Any]:
        explorer = explorer_of(*given, **settings)
        explorer["sliders"][0]["high"] += 1
        explorer["sliders"][0]["carries"] = "x"
        return explorer

    monkeypatch.setattr("dislab.report.page.explorer_of", widened)
    caption = (
        "Each row moves one latent over the range of its slider, left to right, from test image 1; "
        "labels are those of the explorer"
    )
    assert caption in page_of([small])


@pytest.mark.slow
def test_the_elbo_of_mean_codes_is_defined_below_its_table(
    small: ReportedRun, tmp_path: Path
) -> None:
    scores = {"test": {"scores": {"elbo_mean_test": 1.0, "kl_test": 1.0}}}
    text = page_of([small._replace(folder=write_run(tmp_path / "b", SETTINGS, scores))])
    assert "ELBO of mean codes, no bound: minus the sum of the reconstruction and" in text
    assert "<li>KL: Kullback–Leibler divergence of the posterior from the prior; nats per" in text


@pytest.mark.slow
def test_several_runs_are_compared_and_shown(small: ReportedRun, tmp_path: Path) -> None:
    settings = {**SETTINGS, "name": "other"}
    other = small._replace(folder=write_run(tmp_path / "b", settings))
    write_page([small, other], tmp_path / "new" / "page.html")
    text = (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert "Runs side by side" in text
    assert text.index('id="run-0"') < text.index('id="run-1"')
    assert text.count('class="explorer"') == 2
    assert "scored on different images" not in text
    scores = {"test": SCORED | {"draw": SCORED["draw"] | {"points": 300}}}
    few = small._replace(folder=write_run(tmp_path / "c", settings, scores))
    assert "The runs are scored on different images (900 of 1,024 images, training" in page_of(
        [small, few]
    )
    init = SETTINGS["data"]["init_args"] | {"dataset": {"class_path": "dislab.datasets.DSprites"}}
    sprites = SETTINGS | {"data": SETTINGS["data"] | {"init_args": init}}
    unscored = small._replace(folder=write_run(tmp_path / "e", sprites, {}))
    assert "have different data" not in page_of([small, unscored])
    far = small._replace(folder=write_run(tmp_path / "d", sprites))
    assert "The runs have different data, and their scores cannot be compared." in page_of(
        [small, far]
    )


@pytest.mark.slow
def test_without_model_or_data_the_page_says_so(small: ReportedRun) -> None:
    for run in (small._replace(module=None), small._replace(data=None)):
        text = page_of([run])
        assert "No explorer: the checkpoint or the data could not be read" in text


@pytest.mark.slow
def test_a_page_with_an_explorer_is_kept_from_one_of_the_same_run_without(
    small: ReportedRun, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    write_page([small], page)
    before = page.read_bytes()
    for run in (small._replace(module=None), small._replace(data=None)):
        with pytest.raises(InputError, match="is kept: it has an explorer that the new page would"):
            write_page([run], page)
        assert page.read_bytes() == before
    other = small._replace(folder=write_run(tmp_path / "b", {**SETTINGS, "name": "other"}))
    write_page([other._replace(module=None)], page)  # the page of another run
    assert page.read_bytes() != before


def explorers(run: ReportedRun) -> Any:
    return json.loads(within("script", page_of([run]))[0])


@pytest.mark.slow
def test_data_that_end_a_script_are_escaped(small: ReportedRun) -> None:
    assert small.data is not None
    hostile = "</script><!--&\u2028"
    for factor in small.data.dataset.factors.factors:
        object.__setattr__(factor, "name", hostile)
    text = page_of([small])
    assert hostile not in text
    assert explorers(small)[0]["starts"][1]["detail"].startswith(hostile)


@pytest.mark.slow
def test_the_page_says_where_its_images_come_from(small: ReportedRun) -> None:
    assert "The decoder runs in this page, with " in page_of([small])
    text = page_of([small._replace(module=vae(Own, (1, 16, 16)))])
    assert "Images were decoded beforehand: the page cannot compute Own." in text


@pytest.mark.slow
def test_a_page_of_explorers_holds_nothing_else(small: ReportedRun) -> None:
    text = page_of([small, small], explorer_only=True)
    assert text.count('class="explorer"') == 2
    assert "small on GaussianBlob" in text
    assert text.count("Decoders run in this page, with ") == 1
    assert not {"Scores", "Pictures", "All settings"} & set(re.findall(r"\w+(?: \w+)?", text))
    assert len(text) < len(page_of([small, small]))


@pytest.mark.slow
def test_a_page_of_explorers_needs_models(small: ReportedRun) -> None:
    message = "version_0 has no explorer: the checkpoint or the data could not be read"
    with pytest.raises(InputError, match=message):
        page_of([small, small._replace(module=None)], explorer_only=True)


def test_a_page_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="a page needs at least one run"):
        page_of([])
