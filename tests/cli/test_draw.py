import inspect
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image
from tests.report.cases import write_run

from dislab.callbacks.pictures import (
    Interpolations,
    Picture,
    Reconstructions,
    Samples,
    Traversals,
)
from dislab.cli import main
from dislab.cli.draw import _scores
from dislab.plots import save
from dislab.plots._traversals import SPANS, Positions
from dislab.runs import open_run

TRAINED = Path(__file__).parents[1] / "data" / "old_run"
IMAGES = ("traversals", "reconstructions", "samples", "interpolations")
WIDTH = 4.0


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TRAINED, tmp_path / "run"))


def draw(run: Path, kind: str, out: Path, *options: str) -> int:
    return main(["draw", str(run), kind, "--out", str(out), f"--width={WIDTH}", *options])


def inches(path: Path) -> float:
    """Width of a figure."""
    if path.suffix == ".png":
        with Image.open(path) as picture:
            return float(picture.width / 300)
    text = path.read_bytes().decode("latin-1")
    pattern = {".svg": r'<svg[^>]* width="([\d.]+)pt"', ".pdf": r"MediaBox \[ 0 0 ([\d.]+)"}
    match = re.search(pattern[path.suffix], text)
    assert match
    return float(match[1]) / 72


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "suffix"),
    [*((kind, ".pdf") for kind in IMAGES), ("traversals", ".svg"), ("traversals", ".png")],
)
def test_images_are_drawn_at_the_width_of_print(
    kind: str, suffix: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run.parent / f"figure{suffix}"
    for _ in range(2):  # the second replaces the first
        assert draw(run, kind, out) == 0
    assert capsys.readouterr().out.split() == [str(out), str(out)]
    assert inches(out) == pytest.approx(WIDTH, abs=0.02)
    assert b"/Type3" not in out.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "picture",
    [Traversals(images=1, positions="absolute"), Samples()],
    ids=["traversals", "samples"],
)
def test_a_picture_of_an_opened_run_is_that_of_the_command(picture: Picture, run: Path) -> None:
    by_python, by_command = run.parent / "python.png", run.parent / "command.png"
    opened = open_run(run)
    save(picture.figure(opened, WIDTH), by_python)
    assert draw(run, picture.name, by_command) == 0
    with Image.open(by_python) as first, Image.open(by_command) as second:
        assert first.tobytes() == second.tobytes()
    assert picture.figure(opened).get_figwidth() == pytest.approx(6.75, abs=0.02)


@pytest.mark.parametrize("positions", ["shifted", "absolute"])
def test_a_printed_traversal_says_what_its_positions_are(positions: Positions, run: Path) -> None:
    opened, axis = open_run(run), {"shifted": "shift from the code of the image"}
    picture = Traversals(images=1, positions=positions)
    texts = [text.get_text() for text in picture.figure(opened, WIDTH).texts]
    assert axis.get(positions, "position of the latent") in texts
    grid = picture.grid(opened.data, opened.model, opened.precision)  # of training, with a title
    assert grid.axis not in [text.get_text() for text in grid.figure().texts]


@pytest.mark.parametrize(("chance", "words"), [(0.1, ["chance"]), (None, [])])
def test_red_bars_of_scores_are_explained(
    chance: float | None, words: list[str], tmp_path: Path
) -> None:
    record = {"scores": {"mig": 0.5}} | ({} if chance is None else {"chance": {"mig": chance}})
    run = write_run(tmp_path / "run", scores={"test": record})
    legends = _scores(run, None, WIDTH).legends
    assert [text.get_text() for legend in legends for text in legend.get_texts()] == words


@pytest.mark.parametrize("names", [None, ["dci_hgbt_informativeness", "explained_variance_train"]])
def test_scores_have_room_beside_long_names(names: list[str] | None, tmp_path: Path) -> None:
    scores = {f"explained_variance_{split}": 0.9 for split in ("train", "validation", "test")}
    scores |= {"mig": 0.5, "dci_hgbt_informativeness": 0.864, "factor_vae_score": 0.85}
    record = {"scores": scores, "chance": {"mig": 0.1, "dci_hgbt_informativeness": 0.1}}
    figure = _scores(write_run(tmp_path / "run", scores={"test": record}), names, WIDTH)
    figure.canvas.draw()
    (axes,) = figure.axes
    labels = [text.get_text().replace("\n", " ") for text in axes.get_yticklabels()]
    if names is None:
        assert labels == ["MIG", "DCI informativeness", "FactorVAE score"]
    assert axes.get_window_extent().width > figure.bbox.width / 4
    (text,) = figure.legends[0].get_texts()
    assert figure.bbox.containsx(text.get_window_extent().x1)


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", ["scores", "curves"])
@pytest.mark.parametrize("suffix", [".pdf", ".svg", ".png"])
def test_numbers_are_drawn_at_the_width_of_print(kind: str, suffix: str, tmp_path: Path) -> None:
    run, out = write_run(tmp_path / "run"), tmp_path / f"figure{suffix}"
    assert draw(run, kind, out) == 0
    assert inches(out) == pytest.approx(WIDTH, abs=0.02)


@pytest.mark.parametrize("ends", [None, [], [0.1], [None, 0.2], [0.1, 0.2, 0.3], [0.1, 0.9]])
def test_scores_are_drawn_whatever_intervals_a_record_has(
    ends: list[float | None] | None, tmp_path: Path
) -> None:
    record = {"scores": {"mig": 0.5}, "intervals": {"mig": ends}}
    run = write_run(tmp_path / "run", scores={"test": record})
    assert draw(run, "scores", tmp_path / "figure.svg") == 0


@pytest.mark.parametrize(
    ("kind", "name", "title"), [("scores", "mig", "MIG"), ("curves", "kl/kl", "kl")]
)
def test_what_to_show_is_named_as_in_a_file_or_as_in_the_figure(
    kind: str, name: str, title: str, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run")
    with (run / "metrics.csv").open("w") as file:
        file.write("epoch,step,train/kl/kl,train/loss\n0,1,2.0,3.0\n0,2,1.0,2.0\n")
    for word in (name, title):
        assert draw(run, kind, tmp_path / f"{word.replace('/', '_')}.png", "--show", word) == 0
    first, second = (tmp_path / f"{word.replace('/', '_')}.png" for word in (name, title))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.slow
def test_an_animation_shows_the_chosen_latents(run: Path) -> None:
    sizes = []
    for latents in (["0"], ["1", "0"]):
        out = run.parent / "moves.gif"
        assert draw(run, "traversals", out, "--steps=3", "--latents", *latents) == 0
        with Image.open(out) as animation:
            sizes.append(animation.size)
            assert getattr(animation, "n_frames", 1) == 4  # forth and back
    assert sizes[1][0] > 1.9 * sizes[0][0]
    assert sizes[1][1] == sizes[0][1]


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("kind", "name", "options", "message"),
    [
        ("samples", "a.gif", [], "ends in one of .png, .pdf, .svg"),
        ("samples", "a", [], "ends in one of .png, .pdf, .svg"),
        ("samples", "a.pdf", ["--latents", "0"], "--latents does not go with samples"),
        ("scores", "a.pdf", ["--labels=none"], "--labels does not go with scores"),
        ("scores", "a.pdf", [], "has no scores yet; dislab test --run"),
        ("curves", "a.pdf", [], "No curves: the run folder has no metrics.csv with logged values"),
        ("curves", "a.pdf", ["--show", "lost"], "No curves: the run folder has no metrics.csv"),
        ("traversals", "a.pdf", ["--latents", "99"], "latent 99 does not exist"),
        ("traversals", "a.pdf", ["--span", "2", "1"], "span"),
        ("traversals", "a.pdf", ["--steps=100", "--images=9"], "show fewer columns"),
        ("traversals", "a.pdf", ["--rows=0"], "--rows is 0"),
        ("interpolations", "a.pdf", ["--rows=-1"], "--rows is -1"),
        ("traversals", "a.pdf", ["--width=0.5"], "--width is 0.5 inches"),
        ("traversals", "a.pdf", ["--width=nan"], "--width is nan inches"),
    ],
)
def test_wrong_figures_are_refused(
    kind: str,
    name: str,
    options: list[str],
    message: str,
    run: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = run.parent / name
    assert draw(run, kind, out, *options) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("name", ["own.pdf", "own.png", "own.gif"])
def test_no_file_of_a_user_is_replaced(
    name: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = run.parent / name
    own.write_bytes(b"mine")
    assert draw(run, "traversals", own) == 2
    assert "which this command did not write" in capsys.readouterr().err
    assert own.read_bytes() == b"mine"
    assert draw(run.parent, "traversals", run.parent / "new.pdf") == 2
    assert "is no run" in capsys.readouterr().err


def test_the_kind_before_the_run_is_answered_with_the_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["draw", "traversals", "runs/my run", "--out=t.pdf"]) == 2
    assert (
        "write the run first: dislab draw 'runs/my run' traversals --out=t.pdf\n"
        in capsys.readouterr().err
    )
    assert main(["draw", "scores", "--out", "s.pdf", "runs/a"]) == 2
    assert "dislab draw RUN scores with the options behind it\n" in capsys.readouterr().err


def test_the_help_has_the_defaults_of_the_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["draw", "--help"])
    said = " ".join(capsys.readouterr().out.split())

    def default(cls: type, name: str) -> object:
        return inspect.signature(cls).parameters[name].default

    shifted, absolute = (" ".join(f"{end:g}" for end in SPANS[how]) for how in SPANS)
    steps, seeds = (
        {default(cls, name) for cls in (Traversals, Interpolations)} for name in ("steps", "seed")
    )
    for text in (
        f"(at most; {default(Traversals, 'latents')} unless given), rows of samples "
        f"({default(Samples, 'rows')}) or pairs of images ({default(Interpolations, 'pairs')})",
        f"to reconstruct ({default(Reconstructions, 'count')}) or in a row of samples "
        f"({default(Samples, 'columns')})",
        f"or an interpolation ({', '.join(map(str, steps))})",
        f"({absolute}; {shifted} for shifted positions)",
        "(absolute, the default, as on the page of the run)",
        f"{default(Interpolations, 'split')} (the default)",
        f"which images or samples ({', '.join(map(str, seeds))})",
    ):
        assert text in said
