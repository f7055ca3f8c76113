"""Gives every setting of every part wrong values, and looks how the command refuses them.

python benchmarks/faults/inputs.py                     every case, about an hour
python benchmarks/faults/inputs.py --short             a sample of each kind, about a minute
python benchmarks/faults/inputs.py --only metrics      the cases of one group
python benchmarks/faults/inputs.py --json OUT.json     writes the counts and violations as well

The cases come from the signatures: each setting of each part of each plugin group, of the standing
callbacks, of the trainer, and of the options of `dislab score | transfer | data | plugins new` gets
values of the wrong kind, null, nan, infinite, negative, zero, a fraction, huge, empty and unknown
ones. A case is first given to the constructor, where it has one, then to the command, on a small
part of dSprites, in a process and a folder of its own with a limit of time and memory. It holds if
the command succeeds with a value that makes sense, or ends with status 2, at most three lines, no
traceback, a message that names the setting, and nothing left in the folder.
"""

import argparse
import collections
import contextlib
import functools
import inspect
import io
import itertools
import json
import math
import os
import platform
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from types import FrameType, NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import yaml
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from dislab import callbacks, plugins
from dislab.base import offered
from dislab.cli import main, score, training, transfer
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

MEMORY: Final = 6 * 2**30
"""Bytes of address space that a case may take beside those of the process before it."""
SECONDS: Final = 60
"""Time limit of a case that goes through the command."""
ENDLESS: Final = ("max_steps", "max_epochs")
"""Settings of a run that may well take longer than that."""
CONSTRUCTOR_SECONDS: Final = 3
"""Time limit of a case that goes to the constructor."""
STANDING: Final[dict[str, type]] = {
    "evaluate": callbacks.Evaluate,
    "transfer": callbacks.TransferScores,
    "generalisation": callbacks.Generalisation,
    "reconstructions": callbacks.Reconstructions,
    "traversals": callbacks.Traversals,
    "samples": callbacks.Samples,
    "interpolations": callbacks.Interpolations,
    "representations": callbacks.Representations,
    "inner_steps": callbacks.InnerSteps,
    "progress": callbacks.Progress,
    "score_curves": callbacks.ScoreCurves,
    "checkpoint": ModelCheckpoint,
    "trainer": Trainer,
}
"""The settings of a configuration that are no plugins."""
NOT_THE_USERS: Final = re.compile(
    r"Seed set|GPU available|TPU available|`Trainer|Running in|Trainable|The run is in|💡|.*it/s"
)
"""Lines of Lightning's own, which are no part of a message."""

SHORT: Final[dict[str, int | None]] = {"constructed": 400, "commanded": 22}
"""Numbers of cases of the short form."""
LEADING: Final = {
    "encoders": 2, "decoders": 2, "regularizers": 2, "metrics": 1, "predictors": 2,
}  # fmt: skip
"""How many leading arguments the owner of a part fills in."""
SYMBOLS: Final = (
    *(f"scale={level}" for level in ("low", "middle", "high")),
    *(f"shape={level}" for level in ("square", "ellipse", "heart")),
)
"""Attributes of `SymbolData`, as the runs that come first are trained on them."""
Settings = dict[str, Any]


class Case(NamedTuple):
    """One setting with one wrong value.

    Attributes:
        group: Plugin group, name of a standing part, or command.
        part: Class or command.
        setting: The setting's name.
        fault: The kind of the fault.
        value: The value.
        hopeless: Whether no setting of that annotation can have the value.
    """

    group: str
    part: str
    setting: str
    fault: str
    value: Any
    hopeless: bool

    def __str__(self) -> str:
        """One line for the list of violations."""
        return f"{self.group} {self.part}.{self.setting} {self.fault} ({self.value!r:.40})"


class Outcome(NamedTuple):
    """The end of a case.

    Attributes:
        status: Exit status of the command; 0 of a constructor that accepted the value.
        text: Standard error.
        files: Files that remained in the folder.
    """

    status: int | str
    text: str
    files: list[str]


# --- the cases ---------------------------------------------------------------------------------


def faults(annotation: Any) -> Iterator[tuple[str, Any, bool]]:
    """Kind, value and hopelessness of the wrong values for one annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        arms = [level for level in arguments if level is not NoneType]
        seen: set[str] = set()
        for arm in arms:
            for fault, value, hopeless in faults(arm):
                if (fault == "null" and NoneType in arguments) or repr(value) in seen:
                    continue
                seen.add(repr(value))
                yield fault, value, hopeless and len(arms) == 1
        return
    yield "null", None, True
    if annotation in (int, float):
        for value in ("x", "", [1], {}, True):
            yield "empty" if value == "" else "wrong kind", value, True
        yield from (("nan", math.nan, True), ("infinite", math.inf, True))
        yield from (("infinite", -math.inf, True), ("negative", -1, False), ("zero", 0, False))
        if annotation is int:
            yield from (("fraction", 0.5, True), ("huge", 10**9, False))
            yield from (("huge", 10**18, False), ("huge", 2**63, False))
        else:
            yield from (("huge", 1e300, False), ("huge", 10**12, False))
    elif annotation is bool:
        for value in ("maybe", 3, 0.5, math.nan, []):
            yield "wrong kind", value, True
    elif annotation is str:
        yield from (("empty", "", False), ("unknown", "nonsense", False))
        yield from (("wrong kind", [], True), ("wrong kind", {}, True))
    elif origin is Literal:
        yield from (("unknown", "nonsense", True), ("unknown", -1, True), ("empty", "", True))
        yield "wrong kind", [], True
    elif origin in (Callable, collections.abc.Callable):
        for value in ("Nonsense", {"class_path": None}, {"class_path": "Nonsense"}):
            yield "unknown", value, True
        yield from (("wrong kind", 3, True), ("wrong kind", [], True), ("empty", {}, False))
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield from (("wrong kind", "x", False), ("wrong kind", 3, True), ("empty", {}, False))
        yield from (("empty", [], False), ("unknown", {"nonsense": None}, False))
        for fault, value, hopeless in faults(arguments[1]):
            yield fault, {"shape": value}, hopeless
    elif isinstance(origin, type) and issubclass(origin, Sequence):
        yield from (("wrong kind", 3, True), ("wrong kind", {}, False), ("empty", [], False))
        for fault, value, hopeless in faults(arguments[0]):
            many = len(arguments) if origin is tuple and Ellipsis not in arguments else 1
            yield fault, [value] * many, hopeless
    elif isinstance(annotation, type):
        yield from (("wrong kind", 3, True), ("unknown", "Nonsense", True))
        yield "wrong kind", [], True


def settings_of(group: str, cls: type) -> dict[str, Any]:
    """Annotations of the settings that a user gives, by name."""
    init = inspect.unwrap(getattr(cls, "__init__"))  # noqa: B009  # the class's own
    hints = get_type_hints(init) if inspect.isfunction(init) else {}
    parameters = list(inspect.signature(cls).parameters.values())[LEADING.get(group, 0) :]
    names = [part.name for part in parameters if part.kind is not part.VAR_KEYWORD]
    return {name: hints.get(name, Any) for name in names if name not in offered()}


@functools.cache
def parts() -> dict[str, dict[str, type]]:
    """The classes whose settings are tried, by group and name."""
    classes = plugins.load_all()
    return classes | {key: {cls.__name__: cls} for key, cls in STANDING.items()}


def option_cases() -> Iterator[Case]:
    """Wrong options of the commands that score, encode and show."""
    parsers = {"score": score._parser(), "transfer --codes": transfer._parser()}
    for command, parser in parsers.items():
        for action in parser._actions:
            if not action.option_strings or action.dest in ("help", "codes"):
                continue
            kind = action.type if isinstance(action.type, type) else str
            values = ("x", "", "nan", "inf", "-1", "0", "0.5", "1e18", str(2**63))
            for value in values if kind in (int, float) else ("", "nonsense", "\0", "a" * 5000):
                hopeless = kind is int and value in ("x", "", "nan", "inf", "0.5")
                yield Case(command, command, action.option_strings[-1], "option", value, hopeless)
    for option in ("--images", "--out", "--nonsense"):
        for value in ("x", "", "nan", "-1", "0", "0.5", str(10**18), str(2**63)):
            hopeless = option == "--images" and value in ("x", "", "nan", "0.5", "-1", "0")
            yield Case("data show", "data show GaussianBlob", option, "option", value, hopeless)
    for value in ("", "None", "__init__", "class", "1x", "a/b", "é", "x" * 300, "../x", "-"):
        yield Case("plugins new", "plugins new", "NAME", "option", value, True)
    for value in ("", "nonsense", "callbacks", "3"):
        yield Case("plugins new", "plugins new x", "--group", "option", value, True)


def cases() -> list[Case]:
    """Every case."""
    part_cases = [
        Case(group, name, setting, *fault)
        for group, classes in parts().items()
        for name, cls in classes.items()
        for setting, annotation in settings_of(group, cls).items()
        for fault in faults(annotation)
    ]
    return part_cases + list(option_cases())


# --- small settings with which each part works ---------------------------------------------------

ENCODER: Final[Settings] = {"class_path": "MLPEncoder", "init_args": {"hidden": [8]}}
DECODER: Final[Settings] = {"class_path": "MLPDecoder", "init_args": {"hidden": [8]}}
KL: Final[Settings] = {"class_path": "KL"}
NETWORKS: Final[Settings] = {"encoder": ENCODER, "decoder": DECODER}
VAE: Final[Settings] = {"latent_dim": 3, **NETWORKS, "regularizers": {"kl": KL}}
GAME: Final[Settings] = {
    "generator": {"class_path": "ConvGenerator", "init_args": {"channels": [4, 4], "hidden": 8}},
    "critic": {"class_path": "ConvCritic", "init_args": {"channels": [4, 4], "hidden": 8}},
}
MODELS: Final[dict[str, Settings]] = {
    "VAE": VAE,
    "AdaGVAE": VAE,
    "AdaMLVAE": VAE,
    "BetaVAEDAE": {"latent_dim": 3, **NETWORKS, "dae": "{earlier}/runs/dae/version_0"},
    "BottleneckGenerator": {"decoder": DECODER},
    "CompositionVAE": {"latent_dim": 5, **NETWORKS},
    "DCIGN": {
        "latents": {"shape": 1, "others": 3},
        **NETWORKS,
        "regularizers": {"kl": KL},
    },
    "DenoisingAutoencoder": {**NETWORKS, "bottleneck": 4},
    "GroundTruthDecoder": {"decoder": DECODER},
    "InfoGAN": {**GAME, "noise_dim": 3},
    "InfoWGANGP": {**GAME, "noise_dim": 3},
    "JMVAE": {"latent_dim": 3, **NETWORKS, "hidden": [8]},
    "Recombinator": {"scan": "{earlier}/runs/scan/version_0"},
    "SCAN": {"vision": "{earlier}/runs/vision/version_0", "hidden": [8]},
    "TELBO": {"latent_dim": 3, **NETWORKS, "hidden": [8]},
}
DATA_OF: Final = {
    "AdaGVAE": "PairedData",
    "AdaMLVAE": "PairedData",
    "CompositionVAE": "CompositionData",
    "DCIGN": "ClampedData",
    "JMVAE": "SymbolData",
    "Recombinator": "SymbolData",
    "SCAN": "SymbolData",
    "TELBO": "SymbolData",
}
MODEL_OF: Final = {
    "ClampedData": "DCIGN",
    "CompositionData": "CompositionVAE",
    "ConceptScores": "JMVAE",
    "PairedData": "AdaGVAE",
    "SingleData": "VAE",
    "SymbolData": "JMVAE",
    "TransitionData": "AdaGVAE",
}
DATA: Final[dict[str, Settings]] = collections.defaultdict(dict) | {
    "ClampedData": {
        "groups": {"shape": ["shape"], "others": ["scale", "orientation", "posX", "posY"]}
    },
    "SymbolData": {"attributes": {"shape": None, "scale": None}},
}
DSPRITES: Final[Settings] = {
    "dataset": {"class_path": "DSprites"},
    "batch_size": 8,
    "include": {
        "scale": [0.5, 1.0],
        "orientation": {"max": 1.0},
        "posX": {"max": 0.2},
        "posY": {"max": 0.2},
    },
    "validation": 0.05,
    "test": 0.1,
}
DATASETS: Final[dict[str, Settings]] = collections.defaultdict(dict) | {
    "FolderDataset": {"folder": "{earlier}/pictures"},
    "GaussianBlob": {"places": 8},
    "ParametricHeads": {"identities": 2, "azimuths": 3, "elevations": 2, "lights": 2},
    "RobotFinger": {"states": 32},
}
METRICS: Final[dict[str, Settings]] = collections.defaultdict(dict) | {
    "BetaVAEScore": {"points_train": 100, "points_test": 50, "pairs": 4},
    "DownstreamAccuracy": {"labels": [20], "tested": 50},
    "FactorVAEScore": {"votes_train": 100, "votes_test": 50, "samples": 4},
}
PREDICTORS: Final[dict[str, Settings]] = collections.defaultdict(dict) | {
    "GradientBoosting": {"rounds": 2, "depth": 2},
    "MLP": {"steps": 2, "width": 8},
    "RandomForest": {"trees": 2},
}
HEARTS: Final[Settings] = {
    "about": "From squares and ellipses to hearts.",
    "train": {"shape": ["square", "ellipse"]},
    "test": {"shape": "heart"},
    "shifted": ["shape"],
    "encoder": "in",
}
FACTORS: Final = FactorSpace(
    (
        Factor("shape", ("square", "ellipse", "heart"), "categorical"),
        Factor("posX", tuple(range(7))),
    )
)


def spec(name: str, settings: Settings) -> Settings:
    """A part as a configuration names it."""
    return {"class_path": name, "init_args": settings}


def configuration(case: Case) -> Settings:
    """A small configuration in which one setting has the wrong value."""
    group, part = case.group, case.part
    objective = part if group == "objectives" else MODEL_OF.get(part, "VAE")
    data = part if group == "datamodules" else DATA_OF.get(objective, "SingleData")
    model, module = deepcopy(MODELS[objective]), deepcopy(DATA[data] | DSPRITES)
    trains = group in ("metrics", "predictors", "callbacks") or group in STANDING
    config: Settings = {
        "name": "case",
        "seed_everything": 3,
        "trainer": {"accelerator": "cpu", "devices": 1, "max_steps": 1, "num_sanity_val_steps": 0},
        "evaluate": {"metrics": None, "points": 200},
        "traversals": {"images": 1, "steps": 2, "points": 50},
    }
    config["trainer"] |= {"limit_val_batches": 1, "limit_test_batches": 1, "logger": True}
    if not trains:
        config["trainer"]["fast_dev_run"] = 1
    wrong = {case.setting: case.value} if case.setting else {}
    if group == "objectives":
        model |= wrong
    elif group == "datamodules":
        module |= wrong
    elif group == "datasets":
        module["dataset"] = spec(part, DATASETS[part] | wrong)
        del module["include"]
    elif group in ("encoders", "decoders"):
        settings = (
            {"channels": [4, 4], "hidden": 8} if part in ("ConvCritic", "ConvGenerator") else {}
        )
        model[group.removesuffix("s")] = spec(part, settings | wrong)
    elif group == "regularizers":
        model["regularizers"]["own"] = spec(part, wrong)
    elif group == "metrics":
        config["evaluate"]["metrics"] = {"own": spec(part, METRICS[part] | wrong)}
    elif group == "callbacks":
        config["trainer"]["callbacks"] = [spec(part, wrong)]
    elif group == "predictors" or group == "transfer":
        config["transfer"] = {
            "scenarios": ["{earlier}/hearts.yaml"],
            "predictors": {"own": spec("Ridge", {})},
            "labels": 50,
            "tested": 20,
        }
        if group == "predictors":
            config["transfer"]["predictors"] = {"own": spec(part, PREDICTORS[part] | wrong)}
    if group in STANDING:
        config.setdefault(group, {}).update(wrong)
    return config | {"model": spec(objective, model), "data": spec(data, module)}


def arguments(case: Case, earlier: Path) -> list[str]:
    """The command line of a case; writes its configuration into the current folder."""
    if case.group == "plugins new":
        return [*case.part.split(), *([case.setting] if case.setting != "NAME" else []), case.value]
    if case.fault == "option":
        file, small = str(earlier / "codes.npz"), ["--labels=50", "--tested=20"]
        scenario = [f"--scenarios={earlier / 'hearts.yaml'}", "--predictors=Ridge"]
        words = {"score": [file, "--metrics=MIG"], "transfer --codes": [file, *scenario, *small]}
        wrong = [f"{case.setting}={case.value}"] if case.setting else []
        return [*case.part.split(), *words.get(case.group, []), *wrong]
    text = yaml.safe_dump(configuration(case)).replace("{earlier}", str(earlier))
    Path("case.yaml").write_text(text)
    return ["fit", "--config=case.yaml"]


# --- the trials ----------------------------------------------------------------------------------


def isolated(work: Callable[[], int], folder: Path, seconds: float) -> Outcome:
    """Does some work in a process and a folder of its own, with limits."""
    folder.mkdir()
    log = folder.with_suffix(".log")
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.setsid()
        with log.open("wb", buffering=0) as file, open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(file.fileno(), 2)
        _limit()
        code = 70
        try:
            code = work()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    status: int | str = "no end"
    process = os.pidfd_open(child)
    if select.select([process], [], [], seconds)[0]:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    else:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(process)
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    text = log.read_text(errors="replace")
    shutil.rmtree(folder)
    log.unlink()
    # the folder of all runs may stay, without a run
    return Outcome(status, text, [path for path in names if path not in ("case.yaml", "runs")])


def _limit() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def by_command(case: Case, earlier: Path, folder: Path) -> Outcome:
    """The end of the command that is given one wrong value."""
    return isolated(lambda: main(arguments(case, earlier)), folder, SECONDS)


def prepare(folder: Path) -> None:
    """Makes the runs and files that some parts are built on."""
    folder.mkdir()
    (folder / "hearts.yaml").write_text(yaml.safe_dump(HEARTS))
    generator = np.random.default_rng(0)
    positions = np.stack([generator.integers(0, size, 300) for size in FACTORS.sizes], axis=1)
    codes = positions + 0.1 * generator.normal(size=positions.shape)
    arrays: Any = {"codes": codes.astype(np.float32), "factors": positions}
    arrays |= {"names": FACTORS.names, "values_shape": FACTORS["shape"].values}
    np.savez(folder / "codes.npz", **arrays)
    _pictures(folder / "pictures")
    runs = {
        "dae": ("DenoisingAutoencoder", MODELS["DenoisingAutoencoder"], "SingleData"),
        "vision": ("VAE", VAE, "SingleData"),
        "scan": ("SCAN", MODELS["SCAN"], "SymbolData"),
    }
    for name, (objective, model, data) in runs.items():
        case = Case("trainer", "Trainer", "", "", None, False)
        config = configuration(case) | {"name": name, "model": spec(objective, model)}
        config["data"] = spec(data, DATA[data] | DSPRITES)
        config |= {"runs": str(folder / "runs")}
        text = yaml.safe_dump(config).replace("{earlier}", str(folder))
        (folder / f"{name}.yaml").write_text(text)
        command = ["fit", f"--config={folder / f'{name}.yaml'}"]
        ended = isolated(functools.partial(main, command), folder / "trial", 120)
        if ended.status:
            raise RuntimeError(f"{name} cannot be trained: {ended.text}")


def _pictures(folder: Path) -> None:
    from PIL import Image

    folder.mkdir()
    rows = ["file,x,y"]
    for x, y in itertools.product(range(6), range(6)):
        pixels = np.zeros((64, 64), np.uint8)
        pixels[8 * x : 8 * x + 8, 8 * y : 8 * y + 8] = 255
        Image.fromarray(pixels).save(folder / f"{x}{y}.png")
        rows.append(f"{x}{y}.png,{x},{y}")
    (folder / "factors.csv").write_text("\n".join(rows) + "\n")


class _TooLong(BaseException):
    """A constructor did not return in time."""


def by_constructor(selected: Sequence[Case], earlier: Path) -> Iterator[tuple[Case, str | None]]:
    """Gives each case to its constructor, in one process; the fault of its answer, or None."""
    classes = parts()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _limit()
        os.chdir(earlier)
        signal.signal(signal.SIGALRM, _too_long)
        with os.fdopen(writer, "w") as file:
            usual: dict[str, str] = {}
            for case in selected:
                if case.part not in usual:  # which may lack a library or its data
                    fine = case._replace(setting="")
                    usual[case.part] = _constructed(fine, classes, earlier) or ""
                answer = _constructed(case, classes, earlier)
                answer = None if answer == usual[case.part] else answer
                file.write(json.dumps(answer) + "\n")
                file.flush()
        os._exit(0)
    os.close(writer)
    answered = 0
    with os.fdopen(reader) as file:
        for case, line in zip(selected, file, strict=False):
            yield case, json.loads(line)
            answered += 1
    os.waitpid(child, 0)
    if answered < len(selected):  # the process died of one of them
        yield selected[answered], "ends the process"
        yield from by_constructor(selected[answered + 1 :], earlier)


def _too_long(signal_number: int, frame: FrameType | None) -> None:
    raise _TooLong


def _constructed(case: Case, classes: dict[str, dict[str, type]], earlier: Path) -> str | None:
    build = classes[case.group][case.part]
    signal.setitimer(signal.ITIMER_REAL, CONSTRUCTOR_SECONDS)
    try:
        settings = _leading(case, earlier)
        if case.setting:
            settings[case.setting] = _object(case.value)
        with contextlib.redirect_stderr(io.StringIO()):
            build(**settings)
    except InputError as error:
        if not case.setting or case.setting not in str(error):
            return f"names no setting: {error}"
        return "refused" if str(error).count("\n") < 3 else f"too long: {error}"
    except _TooLong:
        return f"takes more than {CONSTRUCTOR_SECONDS} s"
    except BaseException as error:
        return f"{type(error).__name__}: {error!s:.150}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return f"accepts {case.value!r:.40}" if case.hopeless and case.setting else None


def _object(value: Any, dataset: bool = False) -> Any:
    """Builders for the parts that a configuration names."""
    if not isinstance(value, dict) or "class_path" not in value:
        return {k: _object(v) for k, v in value.items()} if isinstance(value, dict) else value
    for classes in parts().values():
        if value["class_path"] in classes:
            settings = {k: _object(v) for k, v in value.get("init_args", {}).items()}
            build = functools.partial(classes[value["class_path"]], **settings)
            return build() if dataset else build
    return str(value["class_path"])


def _leading(case: Case, earlier: Path) -> Any:
    """Arguments with which the constructor of a case works, as Python gives them."""
    shape = (1, 64, 64)
    config = yaml.safe_load(yaml.safe_dump(configuration(case)).replace("{earlier}", str(earlier)))
    if case.group == "objectives":
        links = {
            "image_shape": shape,
            "train_size": 100,
            "factor_names": FACTORS.names,
            "factor_sizes": FACTORS.sizes,
            "group_names": ("shape", "others"),
            "action_names": FACTORS.names,
            "symbol_names": SYMBOLS,
        }
        names = set(inspect.signature(parts()["objectives"][case.part]).parameters)
        settings = {key: _object(value) for key, value in config["model"]["init_args"].items()}
        return {key: value for key, value in links.items() if key in names} | settings
    if case.group == "datamodules":
        settings = config["data"]["init_args"]
        return settings | {"dataset": _object(DSPRITES["dataset"], dataset=True)}
    if case.group in ("encoders", "decoders"):
        part = config["model"]["init_args"][case.group.removesuffix("s")]
        sizes = ("outputs", 6) if case.group == "encoders" else ("latent_dim", 3)
        return {"image_shape": shape, sizes[0]: sizes[1]} | part["init_args"]
    leading = {
        "regularizers": {"latent_dim": 3, "train_size": 100},
        "metrics": {"space": FACTORS},
        "predictors": {"latent_dim": 3, "classes": (0, 3)},
    }
    groups = {"datasets": DATASETS, "metrics": METRICS, "predictors": PREDICTORS}
    settings = groups.get(case.group, {}).get(case.part, {})
    text = yaml.safe_dump(settings).replace("{earlier}", str(earlier))
    return leading.get(case.group, {}) | yaml.safe_load(text)


def violation(case: Case, ended: Outcome, usual: Outcome) -> str | None:
    """The rule that the end of a case breaks, if it breaks one.

    Args:
        case: The case.
        ended: Its end.
        usual: The end of the part with its usual settings, which may lack its data.
    """
    message = ended.text[ended.text.find("dislab:") :] if "dislab:" in ended.text else ended.text
    lines = [line for line in message.splitlines() if line and not NOT_THE_USERS.match(line)]
    if ended.status == "no end" and case.setting in ENDLESS:
        return None
    if ended.status == "no end":
        return f"does not end within {SECONDS} s"
    if "Traceback" in ended.text:
        return f"traceback: {lines[-1] if lines else ''}"
    if ended.status == 0:
        lightnings = case.group in ("trainer", "checkpoint") and case.fault == "null"
        return f"accepts {case.value!r:.40}" if case.hopeless and not lightnings else None
    if ended.status == usual.status and _core(ended) == _core(usual):
        return None  # the setting was accepted; something else is missing
    if ended.status != 2:
        return f"status {ended.status}: {lines[-1] if lines else ''}"
    if len(lines) > 3:
        return f"{len(lines)} lines: {lines[0]}"
    if ended.files:
        return f"leaves {', '.join(ended.files[:3])} behind: {lines[-1] if lines else ''}"
    setting = case.setting.strip("-").removesuffix("s")
    quoted = case.fault == "option" and repr(case.value)[1:20]  # such as the name of a file
    if setting not in message and not (quoted and quoted in message) and case.setting != "NAME":
        return f"names no setting: {message.strip()}"
    return None


def _core(ended: Outcome) -> str:
    return ended.text[ended.text.find("dislab: error") :]


# --- the report ----------------------------------------------------------------------------------


def sample(population: list[Case], count: int | None) -> list[Case]:
    """A few cases of each group, over all kinds of faults, always the same ones."""
    if count is None:
        return population
    groups: dict[str, list[Case]] = collections.defaultdict(list)
    for case in population:
        groups[case.group].append(case)
    share = -(-count // max(1, len(groups)))
    chosen = []
    for cases_of in groups.values():
        generator = np.random.default_rng(0)
        numbers = sorted(generator.permutation(len(cases_of))[:share])
        chosen += [cases_of[index] for index in numbers]
    return chosen


def campaign(only: str | None, constructed: int | None, commanded: int | None) -> Settings:
    """Runs the cases; the counts by group, and the violations.

    Args:
        only: The group whose cases are run; None takes all.
        constructed: How many go to constructors; None takes all.
        commanded: How many go through the command; None takes all.
    """
    parts()
    _ = training  # imported before the first fork
    selected = [case for case in cases() if only in (None, case.group)]
    table: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    wrong: list[str] = []

    def count(case: Case, way: str, answer: str | None) -> None:
        table[case.group][way] += 1
        fine = answer in (None, "refused", "accepted")
        table[case.group][answer or "accepted" if fine else "violations"] += 1
        if not fine:
            wrong.append(f"{way} {case}: {answer}")
            print(wrong[-1], file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        earlier = Path(temporary, "earlier")
        prepare(earlier)
        others = ("trainer", "checkpoint")  # Lightning's own constructors
        constructible = [
            each for each in selected if each.fault != "option" and each.group not in others
        ]
        for case, answer in by_constructor(sample(constructible, constructed), earlier):
            count(case, "constructor", answer)
        usual: dict[tuple[str, str], Outcome] = {}
        for index, case in enumerate(sample(selected, commanded)):
            key = case.group, case.part
            if key not in usual and case.group not in STANDING and case.group != "plugins new":
                fine = case._replace(setting="", value=None)
                usual[key] = by_command(fine, earlier, Path(temporary, f"usual{index}"))
                if case.fault == "option" and usual[key].status:
                    raise RuntimeError(f"{case.part} does not work: {usual[key].text}")
            ended = by_command(case, earlier, Path(temporary, f"case{index}"))
            broken = violation(case, ended, usual.get(key, Outcome(0, "", [])))
            count(case, "command", broken or ("accepted" if ended.status == 0 else "refused"))
    return {"groups": {key: dict(each) for key, each in table.items()}, "violations": wrong}


def show(record: Settings) -> None:
    """Prints the counts by group."""
    columns = ("constructor", "command", "refused", "accepted", "violations")
    groups = record["groups"]
    total = {column: sum(row.get(column, 0) for row in groups.values()) for column in columns}
    print(f"{'group':<18}" + "".join(f"{column:>13}" for column in columns))
    for name, row in (groups | {"all": total}).items():
        print(f"{name:<18}" + "".join(f"{row.get(column, 0):>13}" for column in columns))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="a sample through the command")
    parser.add_argument("--only", metavar="GROUP", help="the cases of one group")
    parser.add_argument("--constructed", type=int, metavar="N", help="how many go to constructors")
    parser.add_argument("--commanded", type=int, metavar="N", help="how many go to the command")
    parser.add_argument("--json", metavar="OUT", help="write counts and violations there")
    options = parser.parse_args()
    began = time.time()
    short = SHORT if options.short else {"constructed": None, "commanded": None}
    limits = {"constructed": options.constructed, "commanded": options.commanded}
    record = campaign(
        options.only,
        **{key: short[key] if level is None else level for key, level in limits.items()},
    )
    show(record)
    record["seconds"] = round(time.time() - began)
    record["versions"] = {"python": platform.python_version()} | {
        level: version(level) for level in ("dislab", "torch", "lightning", "jsonargparse")
    }
    if options.json:
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(bool(record["violations"]))
