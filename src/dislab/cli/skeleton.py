"""`dislab plugins new`: writes a package with a new part, or adds a part to one."""

import builtins
import importlib.resources
import keyword
import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Final, NamedTuple

from dislab.cli.arguments import Parser
from dislab.errors import InputError
from dislab.plugins import CONFIGURATIONS, available, configurations, group_meant
from dislab.storage import atomic, new_folder
from dislab.yaml_files import read_text


class _Kind(NamedTuple):
    suffix: str
    check: str
    usage: str
    own_test: str
    checked: str = "$Class"
    before: str = ""
    config: dict[str, str] | None = (
        None  # what the configuration changes; None for no configuration
    )


_CONFIG: Final = {
    "trained": "A VAE with $Class",
    "method": "VAE",
    "model": "VAE",
    "encoder": "MLPEncoder, init_args: {hidden: [64, 64]}",
    "decoder": "MLPDecoder, init_args: {hidden: [64, 64]}",
    "regularizers": "\n    regularizers: {kl: {class_path: KL}}",
    "dataset": "{class_path: GaussianBlob, init_args: {sigma: 12}}, resize: 16",
    "metrics": "",
}
"""The configuration of a part, but for its own lines."""

_CONFIG_TEST: Final = """

def test_its_configuration_is_read() -> None:
    check_configuration("$module")
"""

_LONGEST: Final = 40
"""Maximum length of a package name, from which file names are derived."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_ ][A-Za-z0-9]+)*")
_CLASS: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_KEYWORDS: Final = {word.lower() for word in (*keyword.kwlist, *keyword.softkwlist)}

_IN_A_VAE: Final = "In any configuration of a VAE: `--model.{option} $Class`."

_KINDS: Final = {
    "regularizers": _Kind(
        "Penalty",
        "check_regularizer",
        "In a configuration: "
        "`regularizers: {kl: {class_path: KL}, $module: {class_path: $Class}}`.",
        """

def test_its_weight_scales_the_penalty() -> None:
    z = torch.tensor([[1.0, -2.0], [0.0, 3.0]])
    posterior, step = Posterior(z, torch.zeros_like(z)), torch.tensor(0)
    penalty, _, terms = $Class(2, 100, weight=2.0)(posterior, z, {}, step)
    assert terms["size"] == 3.0
    assert penalty == 6.0


def test_it_can_be_compiled() -> None:
    build = partial(
        VAE,
        image_shape=(1, 8, 8),
        latent_dim=3,
        encoder=MLPEncoder,
        decoder=MLPDecoder,
        regularizers={"kl": KL, "$module": $Class},
        train_size=100,
    )
    check_compiles(build, torch.rand(4, 1, 8, 8))
""",
        config={
            "method": "VAE with $Class",
            "regularizers": "\n    regularizers:\n      kl: {class_path: KL}"
            "\n      $module: {class_path: $Class, init_args: {weight: 0.1}}",
        },
    ),
    "encoders": _Kind(
        "Encoder",
        "check_encoder",
        _IN_A_VAE.format(option="encoder"),
        """

def test_its_width_is_that_of_the_hidden_layer() -> None:
    assert $Class((1, 8, 8), 6, width=5).layers[1].out_features == 5
""",
        config={"encoder": "$Class"},
    ),
    "decoders": _Kind(
        "Decoder",
        "check_decoder",
        _IN_A_VAE.format(option="decoder"),
        """

def test_its_width_is_that_of_the_hidden_layer() -> None:
    assert $Class(3, (1, 8, 8), width=5).layers[0].out_features == 5
""",
        config={"decoder": "$Class"},
    ),
    "metrics": _Kind(
        "Score",
        "check_metric",
        "In a configuration: `evaluate: {metrics: {$module: {class_path: $Class}}}`.",
        """

def test_perfect_codes_get_one() -> None:
    space = FactorSpace((Factor("a", (0.0, 1.0)), Factor("b", (0.0, 1.0))))
    factors = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])
    metric = $Class(space)
    metric.update(factors.float(), factors)
    assert abs(float(metric.compute()["$module"]) - 1) < 1e-9
""",
        config={"metrics": ", $module: {class_path: $Class}"},
    ),
    "predictors": _Kind(
        "Predictor",
        "check_predictor",
        "From Python: `$Class(latents, classes)`, then `fit(codes, targets)` and `predict(codes)`.",
        """

def test_its_order_says_which_code_is_nearest() -> None:
    codes, targets = torch.tensor([[[0.0, 4.0], [3.0, 3.0]]]), torch.tensor([[0.0], [1.0]])
    found = []
    for order in (1.0, 8.0):
        predictor = $Class(2, (0,), order=order)
        predictor.fit(codes, targets)
        found.append(predictor.predict(torch.zeros(1, 1, 2)).item())
    assert found == [0.0, 1.0]
""",
    ),
    "datamodules": _Kind(
        "Data",
        "check_datamodule",
        "In a configuration: `data: {class_path: $Class, init_args: {dataset: DSprites}}`, with a "
        "method whose `batch_types` hold its batches, `Row`.",
        """

def test_rows_are_as_long_as_asked() -> None:
    data = $Class(GaussianBlob(), length=5, batch_size=8, steps_per_epoch=8)
    assert data.plan("train").draw(np.random.default_rng(0), 8, 0).states.shape == (5, 8)
""",
        "lambda: $Class(GaussianBlob(), batch_size=8, steps_per_epoch=8)",
    ),
    "objectives": _Kind(
        "Autoencoder",
        "check_objective",
        "In a configuration: `model: {class_path: $Class, init_args: {latent_dim: 10, "
        "encoder: ConvEncoder64, decoder: ConvDecoder64}}`.",
        """

def test_its_weight_scales_the_size_of_the_codes() -> None:
    model = build(weight=2.0)
    loss, log = model.losses(BATCH, {}, torch.tensor(0))
    torch.testing.assert_close(loss, log["reconstruction"] + 2 * log["size"])


def test_it_can_be_compiled() -> None:
    check_compiles(build, BATCH)
""",
        "build, BATCH",
        """
BATCH = ImageBatch(torch.rand(4, 1, 8, 8), torch.zeros(4, 1, dtype=torch.int64))


def build(weight: float = 0.1) -> $Class:
    return $Class((1, 8, 8), 3, MLPEncoder, MLPDecoder, weight=weight)
""",
        config={"trained": "$Class", "method": "$Class", "model": "$Class", "regularizers": ""},
    ),
    "datasets": _Kind(
        "Images",
        "check_dataset",
        "In a configuration: `data: {class_path: SingleData, init_args: {dataset: $Class}}`.",
        """

def test_the_squares_are_as_bright_as_their_factors_say() -> None:
    dataset = $Class()
    (image,) = dataset.images(torch.tensor([len(dataset.factors["small"]) + 2]))
    assert image[0, 0, 0] == 17
    assert image[0, -1, -1] == 34
""",
        "$Class()",
        config={
            "trained": "A VAE",
            "dataset": "$Class, validation: 0.1, test: 0.1",
        },
    ),
}

_IMPORTS: Final = {
    "regularizers": "from functools import partial\n\nimport torch\n\n"
    "from dislab.base import Posterior\nfrom dislab.decoders import MLPDecoder\n"
    "from dislab.encoders import MLPEncoder\nfrom dislab.objectives import VAE\n"
    "from dislab.regularizers import KL\n",
    "metrics": "import torch\n\nfrom dislab.factors import Factor, FactorSpace\n",
    "datasets": "import torch\n\n",
    "datamodules": "import numpy as np\n\nfrom dislab.datasets import GaussianBlob\n",
    "objectives": "import torch\n\nfrom dislab.base import ImageBatch\n"
    "from dislab.decoders import MLPDecoder\nfrom dislab.encoders import MLPEncoder\n",
    "predictors": "import torch\n\n",
}


_PARTS: Final = "Parts for dislab: "
"""Beginning of the description of a package, which names its classes."""

_POINT_OF_CONFIGS: Final = Template(
    """
# Folders with configurations, which `dislab fit --config NAME` finds.
[project.entry-points."dislab.configurations"]
$package = "$package.configs"
"""
)


def run(args: list[str]) -> int:
    """Writes a package and returns the exit status."""
    parser = Parser(
        "dislab plugins new",
        description="Write a package with one part, its test, a configuration and a README.",
        example="dislab plugins new sparse --group regularizers",
    )
    parser.add_argument("name", help="of the package, such as sparse or my-penalties")
    parser.add_argument(
        "--group",
        type=group_meant,
        choices=sorted(_KINDS),
        default="regularizers",
        help="what the part is",
    )
    parser.add_argument(
        "--class", dest="cls", metavar="CLASS", help="name of the class; else made from the name"
    )
    parser.add_argument(
        "--folder", type=Path, help="where the package's folder goes; here unless given"
    )
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="add the part to the package in this folder"
    )
    options = parser.parse_args(args)
    if options.into is not None and options.folder is not None:
        raise InputError(
            "--folder is where a new package goes, and --into names an existing one; leave out one "
            "of them"
        )
    if options.into is not None:
        package = options.into
        files = add_part(options.name, options.group, options.cls, package)
        reason = "  # again, as entry points are read at installation"
    else:
        package = write_package(options.name, options.group, options.cls, options.folder or Path())
        files = sorted(path for path in package.rglob("*") if path.is_file())
        reason = ""
    changed = ("pyproject.toml", "README.md") if options.into is not None else ()
    print(*(f"{file} (changed)" if file.name in changed else file for file in files), sep="\n")
    words = _words(options.name)
    if (plain := "-".join(words)) != options.name.removeprefix("dislab-"):
        print(f"The name {options.name!r} became {plain}: lower-case words joined by -.")
    cls = _class_of(words, options.group, options.cls)
    (source,) = (path for path in files if path.match(f"src/*/{'_'.join(words)}.py"))
    print(f"Made {cls}, one of the {options.group}, in {source}.")
    path = package if package.is_absolute() else f"./{package}"  # else pip takes it for a name
    print(f"Next:\n  pip install -e '{path}[test]'{reason}\n  python -m pytest {package}")
    if _KINDS[options.group].config is not None:
        print(f"  dislab fit --config {'_'.join(words)}")
    return 0


def write_package(name: str, group: str, cls: str | None, folder: Path) -> Path:
    """Writes the package `dislab-<name>` with one part of a group, and returns its folder.

    Without `cls` the name of the class is derived from the name of the package.

    Raises:
        InputError: A name is invalid, or the folder exists or cannot be written.
    """
    words = _words(name)
    target = folder / f"dislab-{'-'.join(words)}"
    files = _files(group, _values(words, group, cls, target.name, f"dislab_{'_'.join(words)}"))
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is no folder; choose another --folder")
    if target.exists():
        raise InputError(
            f"{target} exists already; choose another name or --folder, or add a part to it by "
            f"--into {target}"
        )
    with new_folder("--folder", target) as temporary:
        for file, text in files.items():
            path = temporary / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return target


def add_part(name: str, group: str, cls: str | None, package: Path) -> list[Path]:
    """Adds a part with its test and its entry point to a package, and returns the files.

    The package has a `pyproject.toml` and one package in `src`. Without `cls` the name of the class
    is derived from the name of the part.

    Raises:
        InputError: A name is invalid, the folder holds no such package, or a file exists already.
    """
    words = _words(name)
    if not package.exists():
        raise InputError(f"--into {package} does not exist; make it first: dislab plugins new NAME")
    project = package / "pyproject.toml"
    sources = sorted({path.parent for path in package.glob("src/*/*.py")})
    lacking = ["pyproject.toml"] if not project.is_file() else []
    if len(sources) != 1:
        lacking.append(f"package in src, such as src/{'_'.join(words)}, with Python files")
    if lacking and sources[1:]:
        lacking[-1] = f"single package in src, which has {len(sources)}"
    if lacking:
        raise InputError(
            f"{package} holds no {' and no '.join(lacking)}; --into takes the folder of a package, "
            "as `dislab plugins new` writes it"
        )
    values = _values(words, group, cls, package.resolve().name, sources[0].name)
    texts = {package / file: text for file, text in _part(group, values).items()}
    if existing := [str(path) for path in texts if path.exists()]:
        raise InputError(f"{' and '.join(existing)} exist already; choose another name")
    texts[project] = _extended(project, values)
    readme = package / "README.md"
    if readme.is_file():
        texts[readme] = read_text(readme).rstrip("\n") + "\n" + _section(group, values)
    for path, text in texts.items():
        with atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return list(texts)


def _extended(project: Path, values: dict[str, str]) -> str:
    """The text of a pyproject.toml with the entry points and requirements of one more part."""
    text = read_text(project)
    points = {values["group"]: Template('$Class = "$package.$module:$Class"').substitute(values)}
    folder = Template('$package = "$package.configs"').substitute(values)
    if _KINDS[values["group"]].config and folder not in text.splitlines():
        points[CONFIGURATIONS] = folder
    for group, line in points.items():
        section = f'[project.entry-points."dislab.{group}"]'
        if section in text.splitlines():
            text = text.replace(f"{section}\n", f"{section}\n{line}\n", 1)
        else:
            text = f"{text.rstrip()}\n\n{section}\n{line}\n"
    missing = [name for name in _required(values["group"]) if not re.search(rf'"{name}\b', text)]
    added = "".join(f'"{name}", ' for name in missing)
    text = re.sub(r"^dependencies = \[", rf"\g<0>{added}", text, count=1, flags=re.MULTILINE)
    described = rf'^description = "{_PARTS}[^"]*'
    text = re.sub(described, rf"\g<0>, {values['Class']}", text, count=1, flags=re.MULTILINE)
    try:
        parsed = tomllib.loads(text)["project"]
        complete = set(missing) <= set(parsed["dependencies"]) and all(
            parsed["entry-points"][f"dislab.{group}"] for group in points
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        complete = False
    if not complete:
        wanted = " and ".join([*points.values(), *missing])
        raise InputError(f"{project} cannot be extended; mend it, or add {wanted} yourself")
    return text


def _values(
    words: list[str], group: str, cls: str | None, distribution: str, package: str
) -> dict[str, str]:
    """The values of placeholders in the templates."""
    kind = _KINDS[group]
    cls = _class_of(words, group, cls)
    _check_class(cls, group)
    module = "_".join(words)
    if taken := _taken("".join(words), group):
        raise InputError(
            f"{taken} is one of the {group} already; choose another name, such as "
            f"my-{'-'.join(words)}"
        )
    if kind.config and (files := configurations().get(module)):
        raise InputError(
            f"there is a configuration {module} in {files[0].distribution} already "
            f"({files[0].path}); choose another name"
        )
    return {
        "distribution": distribution,
        "package": package,
        "module": module,
        "Class": cls,
        "group": group,
        "check": kind.check,
        "checked": Template(kind.checked).substitute({"Class": cls}),
        "before": Template(kind.before).substitute({"Class": cls}),
        "summary": f"{cls}, one of the {group} of dislab.",
        "description": f"{_PARTS}{cls}",
        "version": version("dislab"),
        "requirements": "".join(f', "{name}"' for name in _required(group)),
        "configurations": _POINT_OF_CONFIGS.substitute(package=package) if kind.config else "",
    }


def _class_of(words: list[str], group: str, cls: str | None) -> str:
    """The name of the class of a part, with the suffix of its group once."""
    name = "".join(word[:1].upper() + word[1:] for word in words)
    ending, suffix = name.lower(), _KINDS[group].suffix
    has_suffix = ending.endswith(suffix.lower()) and ending != suffix.lower()
    return cls or (name if has_suffix else name + suffix)


def _words(name: str) -> list[str]:
    """Words of a package name in lower case; rejects names that Python or pip would reject."""
    bare = name.removeprefix("dislab-")
    if len(bare) > _LONGEST:
        raise InputError(
            f"the name of a package has at most {_LONGEST} characters, not {len(bare)}, as in "
            "my-part"
        )
    if not _NAME.fullmatch(bare) or bare.lower() in _KEYWORDS:
        reason = ", and no word of Python" if bare.lower() in _KEYWORDS else ""
        raise InputError(
            f"{name!r} cannot name a package; use letters, digits and -, the first a letter"
            f"{reason}, as in my-part"
        )
    return re.split(r"[-_ ]", bare.lower())


def _check_class(cls: str, group: str) -> None:
    if len(cls) > _LONGEST + 20:
        raise InputError(
            f"the name of a class has at most {_LONGEST + 20} characters, not {len(cls)}, as in "
            "MyPart"
        )
    if not _CLASS.fullmatch(cls) or keyword.iskeyword(cls) or hasattr(builtins, cls):
        raise InputError(
            f"{cls!r} cannot name a class; use letters and digits, the first a capital, and no "
            "word of Python, as in MyPart"
        )
    if taken := _taken(cls, group):
        raise InputError(f"{taken} is one of the {group} already; choose another --class")
    if cls in _imported(group):
        raise InputError(f"{cls!r} is a name that the package imports; choose another --class")


def _taken(name: str, group: str) -> str | None:
    """The part of a group with this name in capitals or not, as keys of configurations are."""
    return {plugin.name.lower(): plugin.name for plugin in available(group)}.get(name.lower())


def _required(group: str) -> list[str]:
    """Distributions that the module of a part imports, besides dislab."""
    packages = set(re.findall(r"^(?:from|import) (\w+)", _template(f"{group}.py"), re.MULTILINE))
    return sorted(packages - sys.stdlib_module_names - {"dislab"})


def _imported(group: str) -> set[str]:
    """Names that the files of a package import, without its own class."""
    text = _IMPORTS.get(group, "") + _template(f"{group}.py")
    lines = re.findall(r"^(?:from \S+ )?import (\([^)]*\)|.+)$", text, re.MULTILINE)
    lines += re.findall(r"^class (\w+)", text, re.MULTILINE)
    return {word for line in lines for word in re.findall(r"\w+", line)}


def _files(group: str, values: dict[str, str]) -> dict[str, str]:
    """The files of a new package by name."""
    package = values["package"]
    return {
        "pyproject.toml": _filled("pyproject.toml", values),
        "README.md": _filled("README.md", values) + _section(group, values),
        f"src/{package}/__init__.py": _filled("init.py", values),
        f"src/{package}/py.typed": "",
        **_part(group, values),
    }


def _part(group: str, values: dict[str, str]) -> dict[str, str]:
    """The files of one part by name: its module, its test, and a configuration that trains it."""
    kind, module = _KINDS[group], values["module"]
    own_test = kind.own_test if kind.config is None else _CONFIG_TEST + kind.own_test
    checks = {"check_declared", kind.check, *re.findall(r"check_\w+", own_test)}
    tested = {
        "own": Template(own_test).substitute(values).rstrip("\n"),
        "checks": ", ".join(sorted(checks)),
    }
    files = {
        f"src/{values['package']}/{module}.py": _filled(f"{group}.py", values),
        f"tests/test_{module}.py": _IMPORTS.get(group, "") + _filled("test.py", values | tested),
    }
    if kind.config is not None:
        lines = {
            name: Template(text).substitute(values)
            for name, text in (_CONFIG | kind.config).items()
        }
        path = f"src/{values['package']}/configs/{module}.yaml"
        files[path] = _filled("config.yaml", {**values, **lines})
    return files


def _section(group: str, values: dict[str, str]) -> str:
    """The section of a README about one part."""
    kind = _KINDS[group]
    trial = "\n`dislab fit --config $module` tries it on small images." if kind.config else ""
    usage = Template(kind.usage + trial).substitute(values)
    return _filled("part.md", {**values, "usage": usage})


def _filled(name: str, values: dict[str, str]) -> str:
    return Template(_template(name)).substitute(values)


def _template(name: str) -> str:
    path = importlib.resources.files("dislab.cli") / "templates" / f"{name}.txt"
    return path.read_text(encoding="utf-8")
