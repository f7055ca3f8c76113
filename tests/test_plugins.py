"""Look-up of plugins, with distributions made up on disk."""

import json
import shutil
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from functools import partial, wraps
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

import pytest

from dislab import plugins
from dislab.base import Encoder, Regularizer
from dislab.cli import main
from dislab.errors import InputError
from dislab.naming.classes import find_object
from dislab.naming.words import builders_of
from dislab.plugins import Plugin, PluginWarning, absent
from dislab.regularizers import KL


def distribution(root: Path, name: str, version: str, group: str, entries: dict[str, str]) -> None:
    info = root / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = "\n".join(f"{key} = {value}" for key, value in entries.items())
    (info / "entry_points.txt").write_text(f"[dislab.{group}]\n{lines}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("fake_"):
            del sys.modules[name]


def test_available_lists_own_and_foreign_parts_sorted(site: Path) -> None:
    distribution(site, "fake-blur", "1.2", "encoders", {"ABlur": "fake_blur:ABlur"})
    found = plugins.available("encoders")
    assert found[0] == Plugin("encoders", "ABlur", "fake_blur:ABlur", "fake-blur", "1.2")
    names = [plugin.name for plugin in found]
    assert names == sorted(names)
    assert {"ConvEncoder64", "MLPEncoder"} <= set(names)


def test_packages_are_those_of_the_declared_parts(site: Path) -> None:
    before = plugins.packages()
    assert "dislab" in before
    distribution(site, "fake-blur", "1.2", "encoders", {"ABlur": "fake_blur.parts:ABlur"})
    assert plugins.packages() == sorted([*before, "fake_blur"])


def test_a_summary_is_read_without_an_import(site: Path) -> None:
    (site / "fake_pkg").mkdir()
    (site / "fake_pkg" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    source = '"""Module."""\nraise SystemExit\nclass Blur:\n    """Softens.\n\n    More."""\n'
    (site / "fake_pkg" / "blur.py").write_text(source)
    assert Plugin("encoders", "Blur", "fake_pkg.blur:Blur", "d", "1").summary == "Softens."
    assert "fake_pkg" not in sys.modules


def test_constants_are_read_without_an_import(site: Path) -> None:
    source = """raise SystemExit
class Blur:
    licence: ClassVar[str] = "mine"
    note: ClassVar[str] = (
        "one "
        "two"
    )
    size: ClassVar[int | None] = None
    ratio: ClassVar[float] = 0.5
    made: ClassVar[str] = str(3)
    bare: str
    old = "not annotated"
"""
    (site / "fake_constants.py").write_text(source)
    plugin = Plugin("datasets", "Blur", "fake_constants:Blur", "d", "1")
    assert plugin.constants == {"licence": "mine", "note": "one two", "size": None}


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("fake_gone:Blur", None),
        ("fake_other:Blur", "class Sharpen:\n    'x'\n"),
        ("fake_bare:Blur", "class Blur: ...\n"),
        ("fake_syntax:Blur", "class Blur(:\n"),
        ("fake_null:Blur", "class Blur: 'x'\n\0"),
        ("fake_bytes:Blur", b"\xff\xfe\x00"),
    ],
)
def test_a_summary_that_cannot_be_read_is_empty(
    site: Path, value: str, content: str | bytes | None
) -> None:
    if content is not None:
        raw = content.encode() if isinstance(content, str) else content
        (site / value.replace(":Blur", ".py")).write_bytes(raw)
    assert Plugin("encoders", "Blur", value, "d", "1").summary == ""


@pytest.mark.parametrize(
    "value",
    ["fake_whole:Blur", "fake_whole.small:Blur"],
    ids=["the package re-exports it", "a module defines it"],
)
def test_a_summary_is_found_where_the_class_is_defined(site: Path, value: str) -> None:
    (site / "fake_whole").mkdir()
    (site / "fake_whole/__init__.py").write_text("from fake_whole.small import Blur\n")
    (site / "fake_whole/small.py").write_text("class Blur:\n    'Blurs.'\n")
    assert Plugin("datasets", "Blur", value, "d", "1").summary == "Blurs."


def test_own_scores_have_summaries() -> None:
    assert all(plugin.summary.endswith(".") for plugin in plugins.available("metrics"))


def test_load_all_returns_classes_by_group_and_name(site: Path) -> None:
    (site / "fake_good.py").write_text("class Good: ...\n")
    distribution(site, "fake-good", "0.1", "metrics", {"Good": "fake_good:Good"})
    loaded = plugins.load_all(["metrics"])
    assert set(loaded) == {"metrics"}
    assert {"Good", "DCI", "FactorVAEScore", "MIG"} <= set(loaded["metrics"])
    assert loaded["metrics"]["Good"].__module__ == "fake_good"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("raise RuntimeError('no camera')\n", "RuntimeError: no camera (fake_broken.py, line 1)"),
        ("\nimport fake_missing\n", "No module named 'fake_missing' (fake_broken.py, line 2)"),
        ("import os\nfrom shutil import Tensr\n", "shutil.py) (fake_broken.py, line 2)"),
        ("import os\nx = (\n", "SyntaxError: '(' was never closed (fake_broken.py, line 2)"),
        ("x = 1\n", "fake_broken has no Broken; mend the entry point in pyproject.toml"),
        ("class Brokn: ...\n", "fake_broken has no Broken (did you mean Brokn?); mend"),
        (
            "class Other: ...\nBroken = Other\n",
            "fake_broken:Broken is no class named Broken; settings find it by its own name, Other: "
            "make Other the key",
        ),
        ("def Broken(): ...\n", "is no class named Broken"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("raise ValueError('two\\nlines')\n", "ValueError: two lines"),
    ],
)
def test_a_broken_plugin_is_left_out_and_warned_of_where_that_is_asked(
    site: Path, content: str, reason: str
) -> None:
    (site / "fake_broken.py").write_text(content)
    distribution(site, "fake-broken", "3.4", "metrics", {"Broken": "fake_broken:Broken"})
    loaded = plugins.load_all(["metrics"])
    with pytest.warns(PluginWarning) as caught:
        plugins.warn_of_faults(["metrics"])
    message = str(caught[0].message)
    assert message.startswith("dislab.metrics: Broken of fake-broken 3.4 was left out: ")
    assert reason in message
    assert "Broken" not in loaded["metrics"]
    assert "MIG" in loaded["metrics"]


@pytest.mark.parametrize("value", ["fake_wrong:Blur", "fake_wrong:Blurred"])
def test_the_warning_of_a_wrong_entry_point_says_that_the_class_is_found(
    site: Path, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "fake_wrong.py").write_text(
        "from dislab.base import Metric\nclass Blurring(Metric): ...\nclass Blur: ...\n"
    )
    distribution(site, "fake-wrong", "1.0", "metrics", {"Blurring": value})
    assert "Blurring" not in plugins.load_all(["metrics"])["metrics"]
    with pytest.warns(PluginWarning) as caught:
        plugins.warn_of_faults(["metrics"])
    (message,) = [str(one.message) for one in caught]
    assert message.startswith(
        "dislab.metrics: Blurring of fake-wrong 1.0 has an entry point that is wrong, and is taken "
        "from the class of its name: "
    )
    assert main(["plugins", "Blurring"]) == 0
    assert "fake-wrong 1.0  has a wrong entry point: " in capsys.readouterr().out


def test_an_interrupt_at_import_ends_the_command(site: Path) -> None:
    (site / "fake_slow.py").write_text("raise KeyboardInterrupt\n")
    distribution(site, "fake-slow", "1.0", "metrics", {"Slow": "fake_slow:Slow"})
    with pytest.raises(KeyboardInterrupt):
        plugins.load_all(["metrics"])


def test_a_broken_module_of_many_parts_runs_once_and_gives_one_warning(site: Path) -> None:
    count = site / "count"
    code = (
        f"with open({str(count)!r}, 'a') as f: f.write('x')\nraise RuntimeError('out of order')\n"
    )
    (site / "fake_many.py").write_text(code)
    entries = {name: f"fake_many:{name}" for name in ("One", "Two")}
    distribution(site, "fake-many", "1.0", "encoders", entries)
    with (site / "fake_many-1.0.dist-info/entry_points.txt").open("a") as stream:
        stream.write("[dislab.metrics]\nOne = fake_many:One\nTwo = fake_many:Two\n")
    with pytest.warns(PluginWarning) as caught:
        plugins.warn_of_faults(["encoders", "metrics"])
    assert [str(one.message) for one in caught] == [
        "dislab.encoders: One of fake-many 1.0 was left out: RuntimeError: out of order "
        "(fake_many.py, line 2); so were 3 more parts of fake-many, which `dislab plugins` lists"
    ]
    assert count.read_text() == "x"


def test_an_entry_point_without_its_class_is_given_with_it(site: Path) -> None:
    distribution(site, "fake-short", "1.0", "metrics", {"JSONDecoder": "json"})
    remedy = "json is no class named JSONDecoder; write json:JSONDecoder"
    with pytest.raises(InputError, match=remedy):
        plugins.load("metrics", "JSONDecoder")


@pytest.mark.parametrize("value", ["", "fake_a b:C", "fake_a:b:C"])
def test_a_value_that_names_no_class_is_left_out_with_a_warning(site: Path, value: str) -> None:
    distribution(site, "fake-odd", "1.0", "metrics", {"Odd": value})
    with pytest.warns(PluginWarning, match="is not of the form module:Class"):
        plugins.warn_of_faults(["metrics"])
    assert "Odd" not in plugins.load_all(["metrics"])["metrics"]
    (odd,) = (one for one in plugins.available("metrics") if one.name == "Odd")
    assert odd.summary == ""
    with pytest.raises(InputError, match=r"Odd of fake-odd 1\.0 cannot be used: its entry point"):
        plugins.load("metrics", "Odd")


def test_a_line_without_a_value_leaves_out_its_distribution_alone(site: Path) -> None:
    distribution(site, "fake-good", "1.0", "metrics", {"Good": "fake_good:Good"})
    distribution(site, "fake-line", "2.0", "encoders", {"Blur": "fake_line:Blur"})
    with (site / "fake_line-2.0.dist-info/entry_points.txt").open("a") as stream:
        stream.write("Sharpen\n")
    with pytest.warns(
        PluginWarning,
        match=r"fake-line 2\.0 was left out: .*'Sharpen' in its entry_points.txt has no '='",
    ):
        found = [one.name for one in plugins.available("metrics")]
    assert {"Good", "MIG"} <= set(found)


def test_one_name_in_two_groups_is_allowed(site: Path) -> None:
    distribution(site, "fake-one", "1.0", "encoders", {"Twin": "fake_one:Twin"})
    distribution(site, "fake-two", "2.0", "decoders", {"Twin": "fake_two:Twin"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Twin" in [plugin.name for plugin in plugins.available("decoders")]


def apart(test: Callable[..., None]) -> Callable[..., None]:
    """The test in a process of its own, as parsers find its classes when their module is gone."""

    @wraps(test)
    def run(**arguments: object) -> None:
        process = get_context("fork").Process(target=test, kwargs=arguments)
        process.start()
        process.join()
        assert process.exitcode == 0

    return run


@pytest.fixture
def disputed(site: Path) -> str:
    """Two packages with an L1, of which the first is imported for its other part, and the error."""
    for name, module, others in (("fake-bad", "reg", ["Other"]), ("fake-kit", "l1", [])):
        package_name = name.replace("-", "_")
        (site / package_name).mkdir()
        (site / package_name / "__init__.py").touch()
        classes = "".join(f"class {cls}(KL):\n    ...\n" for cls in ("L1", *others))
        text = f"from dislab.regularizers import KL\n{classes}"
        (site / package_name / f"{module}.py").write_text(text)
        entries = {cls: f"{package_name}.{module}:{cls}" for cls in ("L1", *others)}
        distribution(site, name, "0.1.0", "regularizers", entries)
    return (
        "L1 is declared by fake-bad 0.1.0 and fake-kit 0.1.0; write fake_bad.reg.L1 or "
        "fake_kit.l1.L1, or uninstall one"
    )


@pytest.mark.every(8)
@pytest.mark.parametrize("form", ["option", "nested", "file", "help", "part help"])
@pytest.mark.parametrize("path", ["L1", "fake_kit.l1.L1", "fake_bad.reg.L1"])
@apart
def test_commands_refuse_a_name_of_two_distributions_and_take_its_paths(
    disputed: str, form: str, path: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = site / "mine.yaml"
    file.write_text(f"model: {{init_args: {{regularizers: {{x: {{class_path: {path}}}}}}}}}\n")
    fit = ["fit", "--config", "betavae"]
    lines = {
        "option": [*fit, f"--model.regularizers.x={path}", "--print_config"],
        "nested": [*fit, "--model.regularizers.x.class_path", path, "--print_config"],
        "file": [*fit, "--config", str(file), "--print_config"],
        "help": ["help", path],
        "part help": ["fit", "--model.regularizers.help", path],
    }
    try:
        status: object = main(lines[form])
    except SystemExit as end:  # after settings or help are printed
        status = end.code
    shown = capsys.readouterr()
    assert (status not in (0, None)) == (path == "L1")
    if path == "L1":
        assert "dislab: error: " in shown.err
        assert shown.err.rstrip().endswith(disputed)
        assert shown.err.count("error") == 1
    else:
        assert "error" not in shown.err
        assert path in shown.out or "L1" in shown.out


@apart
def test_python_refuses_a_name_of_two_distributions_and_takes_its_paths(disputed: str) -> None:
    plugins.load("regularizers", "Other")  # imports one of them
    for look_up in (
        lambda: find_object("L1", (Regularizer,)),
        lambda: find_object("L1", (KL,)),
        lambda: plugins.load("regularizers", "L1"),
        lambda: builders_of("regularizers", ["L1"], "penalty", "KL.beta=2"),
    ):
        with pytest.raises(InputError) as caught:
            look_up()
        assert str(caught.value) == disputed
    for path in ("fake_kit.l1.L1", "fake_bad.reg.L1"):
        cls = find_object(path, (Regularizer,))
        assert plugins.load("regularizers", path) is cls
        assert builders_of("regularizers", [path], "penalty", "KL.beta=2") == {"L1": cls}
        build = builders_of("regularizers", [f"{path}.beta=3"], "penalty", "KL.beta=2")["L1"]
        assert isinstance(build, partial)
        assert (build.func, build.keywords) == (cls, {"beta": 3})
    with pytest.raises(InputError, match="are both called L1"):
        builders_of("regularizers", ["fake_kit.l1.L1", "fake_bad.reg.L1"], "penalty", "KL.beta=2")
    assert find_object("L1", (Encoder,)) is None  # of another group


@apart
def test_a_listing_shows_both_distributions_of_a_name(
    disputed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", "regularizers", "--json"]) == 1
    rows = [row for row in json.loads(capsys.readouterr().out) if row["name"] == "L1"]
    assert [row["distribution"] for row in rows] == ["fake-bad", "fake-kit"]
    assert [row["error"] for row in rows] == [disputed, disputed]


def package(site: Path, name: str, files: dict[str, str]) -> Path:
    """A package that hands over configurations, and must not be imported for that."""
    distribution(site, name, "1.0", "configurations", {"mine": f"{name.replace('-', '_')}.configs"})
    folder = site / name.replace("-", "_") / "configs"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError('imported')\n")
    for file, text in files.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    return folder


def test_configurations_of_plugins_are_found_without_an_import(site: Path) -> None:
    before = plugins.configurations()
    folder = package(site, "fake-one", {"sparse.yaml": "a: 1\n", "studies/wide.yaml": "b: 1\n"})
    (site / "secret.yaml").write_text("c: 1\n")
    (folder / "secret.yaml").symlink_to(site / "secret.yaml")
    added = {k: v for k, v in plugins.configurations().items() if k not in before}
    assert added == {
        "sparse": [(folder / "sparse.yaml", "fake-one")],
        "studies/wide": [(folder / "studies/wide.yaml", "fake-one")],
    }
    assert plugins.configuration("sparse") == folder / "sparse.yaml"
    assert plugins.configuration("secret") is None


@pytest.mark.parametrize("others", ["fake-two", "dislab"])
def test_a_configuration_of_two_distributions_names_both(site: Path, others: str) -> None:
    name = "sparse" if others == "fake-two" else "factorvae"
    package(site, "fake-one", {f"{name}.yaml": "a: 1\n"})
    if others != "dislab":
        package(site, others, {f"{name}.yaml": "a: 1\n"})
    with pytest.raises(InputError, match="give the path of one of them") as caught:
        plugins.configuration(name)
    assert all(f"{name}.yaml of {part}" in str(caught.value) for part in ("fake-one", others))
    assert plugins.configuration("betavae") is not None


@pytest.mark.parametrize(
    "value",
    ["fake_absent.configs", "fake_here.configs", "fake_here:configs", "fake_here..", "/etc"],
)
def test_a_declared_folder_that_is_none_is_left_out_with_a_warning(site: Path, value: str) -> None:
    (site / "fake_here").mkdir()
    (site / "fake_here/__init__.py").touch()
    distribution(site, "fake-here", "1.0", "configurations", {"mine": value})
    with pytest.warns(PluginWarning, match="is no folder of an installed package"):
        listed = plugins.configurations()
    assert {file.distribution for files in listed.values() for file in files} == {"dislab"}


@pytest.mark.parametrize(
    ("group", "meant"),
    [
        ("metric", "metrics"),
        ("configuration", "configurations"),
        ("command", "commands"),
        ("stage", "stages"),
    ],
)
@pytest.mark.parametrize("installed", [True, False])
def test_a_part_of_a_misspelt_group_is_told_to_be_mended(
    group: str, meant: str, installed: bool, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = site / "cards"
    (package / "src/fake_cards/configs").mkdir(parents=True)
    (package / "src/fake_cards/configs/nice.yaml").write_text("name: nice\n")
    (package / "src/fake_cards/__init__.py").touch()
    key, value = (
        ("fake_cards", "fake_cards.configs")
        if group == "configuration"
        else ("nice", "fake_cards:Nice")
    )
    (package / "pyproject.toml").write_text(
        '[project]\nname = "fake-cards"\n'
        f'[project.entry-points."dislab.{group}"]\n{key} = "{value}"\n'
    )
    monkeypatch.syspath_prepend(str(package / "src"))
    monkeypatch.chdir(package)
    if installed:
        distribution(site, "fake-cards", "1.0", group, {key: value})
        record = {"url": package.as_uri(), "dir_info": {"editable": True}}
        (site / "fake_cards-1.0.dist-info/direct_url.json").write_text(json.dumps(record))
    said = (
        f" (fake-cards declares it in dislab.{group}, which is no group of dislab (did you mean "
        f"{meant}?); mend the entry point in pyproject.toml and install the package again)"
    )
    assert plugins.configuration_hint("nice") == said
    assert plugins.hint_for("nice", []) == said


@pytest.mark.parametrize("value", ["{outside}", "..outside", "a/../../../outside"])
def test_a_declaration_of_a_foreign_folder_is_not_looked_into(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, package = tmp_path / "outside", tmp_path / "package"
    for folder in (outside, package / "src/a"):
        folder.mkdir(parents=True)
    (outside / "nice.yaml").write_text("name: nice\n")
    (package / "pyproject.toml").write_text(
        '[project]\nname = "foreign"\n[project.entry-points."dislab.configurations"]\n'
        f'foreign = "{value.format(outside=outside)}"\n'
    )
    monkeypatch.chdir(package)
    assert plugins.configuration_hint("nice") == ""


def test_a_part_of_another_group_is_told_to_be_there(site: Path) -> None:
    distribution(site, "fake-cards", "1.0", "regularizers", {"Nice": "fake_cards:Nice"})
    with pytest.raises(InputError) as caught:
        plugins.load("metrics", "Nice")
    assert str(caught.value).startswith(
        "none of the metrics is named 'Nice' (fake-cards declares it in dislab.regularizers; if "
        "that is the wrong group, mend the entry point in pyproject.toml and install the package "
    )


def test_an_entry_point_with_a_wrong_module_says_which_is_meant(site: Path) -> None:
    (site / "fake_cards").mkdir()
    (site / "fake_cards/__init__.py").touch()
    (site / "fake_cards/pen.py").touch()
    for module in ("fake_cards.penn", "fake_card"):
        distribution(site, module, "1.0", "metrics", {module[-4:]: f"{module}:Nice"})
    said = "; mend the entry point in pyproject.toml and install the package again"
    for name, module, hint in (
        ("penn", "fake_cards.penn", " (did you mean fake_cards.pen?)"),
        ("card", "fake_card", ""),
    ):
        with pytest.raises(InputError) as caught:
            plugins.load("metrics", name)
        assert str(caught.value).endswith(f"there is no module {module}{hint}{said}")


def test_a_misspelt_group_is_told_with_its_distribution(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plugins.misspelt_groups() == []
    distribution(site, "fake-blur", "1.2", "encoder", {"ABlur": "fake_blur:ABlur"})
    distribution(site, "fake-stage", "1.0", "stages", {"blurred": "fake_blur:Blurred"})
    assert main(["plugins", "encoders"]) == 0
    said = capsys.readouterr().err
    assert said.startswith(
        "dislab: warning: fake-blur 1.2 has entry points in dislab.encoder, which is no group of "
        "dislab (did you mean encoders?); the groups are encoders, decoders, "
    )
    assert len(said.splitlines()) == 1


def test_groups_are_listed() -> None:
    with pytest.raises(InputError, match="'blur'; the groups are encoders, decoders"):
        plugins.available("blur")
    with pytest.raises(InputError, match=r"'scores' \(did you mean metrics\?\); the groups"):
        plugins.available("scores")


@pytest.mark.parametrize(
    ("words", "group"),
    [
        (("regularisers", "regulariser", "Regularizer", "penalty", "penalties"), "regularizers"),
        (("score", "scores", "METRICS", "metric"), "metrics"),
        (("method", "methods", "objective", "models"), "objectives"),
        (("data-set", "data_sets", "Dataset"), "datasets"),
        (("data module", "DataModules"), "datamodules"),
        (("stage", "launchers"), None),
        (("blur", "s", ""), None),
    ],
)
def test_a_group_is_meant_by_other_spellings_and_words(
    words: tuple[str, ...], group: str | None
) -> None:
    for word in words:
        meant = plugins.group_meant(word)
        assert meant == group if group else meant not in plugins.GROUPS


ROOT = Path(__file__).parents[1]


def names_of(plugin: Path) -> set[str]:
    """Names of everything that a distribution declares, and of its configurations."""
    groups = tomllib.loads((plugin / "pyproject.toml").read_text())["project"]["entry-points"]
    folders = groups.pop("dislab.configurations", {}).values()
    names = {name for group in groups.values() for name in group}
    for folder in (plugin / "src" / value.replace(".", "/") for value in folders):
        names |= {str(file.relative_to(folder).with_suffix("")) for file in folder.rglob("*.yaml")}
    return names


@pytest.mark.parametrize("folder", sorted(ROOT.glob("plugins/*")), ids=lambda path: path.name)
def test_names_of_distributed_plugins_say_what_to_install(folder: Path) -> None:
    names = names_of(folder)
    assert names
    assert set(plugins._PLUGINS[folder.name]) == names
    assert all(plugins.remedy(name).endswith(f"./plugins/{folder.name}") for name in names)


def test_the_plugins_of_the_repository_are_all_there_is_a_remedy_for() -> None:
    assert plugins._PLUGINS.keys() == {folder.name for folder in ROOT.glob("plugins/*")}
    assert plugins.remedy("fit") == ""


def test_entry_points_are_read_again_only_when_distributions_come_or_go(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [0]

    def counted() -> object:
        reads[0] += 1
        return metadata.entry_points()

    monkeypatch.setattr("dislab.plugins.entry_points", counted)
    monkeypatch.setattr(plugins, "_last", None)
    before = plugins.available("encoders")
    assert plugins.available("encoders") == before
    assert reads == [1]
    distribution(site, "fake-blur", "1.2", "encoders", {"ABlur": "fake_blur:ABlur"})
    assert len(plugins.available("encoders")) == len(before) + 1
    shutil.rmtree(site / "fake_blur-1.2.dist-info")
    assert plugins.available("encoders") == before
    other = site / "other"
    distribution(other, "fake-sharpen", "1.0", "encoders", {"Sharpen": "fake_sharpen:Sharpen"})
    monkeypatch.syspath_prepend(str(other))
    assert len(plugins.available("encoders")) == len(before) + 1


@pytest.mark.parametrize("editable", [True, False])
def test_a_part_declared_since_its_package_was_installed_is_told(
    editable: bool, site: Path, tmp_path: Path
) -> None:
    distribution(site, "fake-cards", "1.0", "encoders", {"First": "fake_cards:First"})
    source = tmp_path / "my cards"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        '[project]\n[project.entry-points."dislab.metrics"]\nNice = "fake_cards:Nice"\n'
    )
    record = {"url": source.as_uri(), "dir_info": {"editable": editable}}
    (site / "fake_cards-1.0.dist-info" / "direct_url.json").write_text(json.dumps(record))
    hint = plugins.hint_for("Nice", [])
    told = (
        " (fake-cards declares it since it was installed; install it again: "
        f"pip install -e {source})"
    )
    assert hint == (told if editable else "")
    (source / "src/fake_cards/configs/studies").mkdir(parents=True)
    (source / "src/fake_cards/configs/studies/nice.yaml").write_text("name: nice\n")
    with (source / "pyproject.toml").open("a") as stream:
        stream.write('[project.entry-points."dislab.configurations"]\na = "fake_cards.configs"\n')
    assert plugins.configuration_hint("studies/nice") == (
        told if editable else " (did you mean studies/quick?)"
    )
    assert plugins.hint_for("Other", []) == ""
    for text in ("[project\n", "[tool.black]\n", "project = 1\n", "[project]\nentry-points = 1\n"):
        (source / "pyproject.toml").write_text(text)
        assert plugins.hint_for("Nice", []) == ""


def test_an_installed_plugin_is_not_called_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "dislab_zoo-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: dislab-zoo\nVersion: 1\n")
    assert absent("zoo").startswith("dislab-zoo is not installed; ")
    monkeypatch.syspath_prepend(tmp_path)
    assert absent("zoo") == absent("own") == ""
