"""Mutates the JSON and YAML files of a study, runs, an export and a cache, and reads them.

    python benchmarks/faults/records.py            # every mutation, some minutes
    python benchmarks/faults/records.py --every 9  # every ninth one

The folders are as if they came from somebody else. Each value of each file is removed or replaced
by values of other types, hostile numbers, names that lead to another folder, and classes that are
no parts of dislab; a field of a later version is added; the bytes of the file are cut, replaced and
nested; a folder, a pipe or a link to nothing, to itself or to another file takes its place. The
commands that read the file then have to end with status 0 or 2 and at most three
lines, without a traceback; a refusal names the file, its folder or the setting; nothing outside the
folder may change, and nothing may be executed. A record of one run may not keep `status`, `table`
and a worker from the other runs.
"""

import argparse
import copy
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from PIL import Image

from dislab.cli import main as dislab
from dislab.cli.study_runs import resolver
from dislab.datasets.bank import bank
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.runs import load_run, versions, write_scores
from dislab.runs.exported import write_exported
from dislab.study import worker
from dislab.study.resolving import make_schedule
from dislab.study.results import Done, StudyFolder
from dislab.study.schedule import read_schedule
from dislab.study.study_file import read_study_file
from dislab.study.worker import Report, Settings, Task, Worker
from dislab.yaml_files import parse_yaml, yaml_text

STUDY: Final = "base: [base.yaml]\naxes: {model.latent_dim: [2, 3]}\nseeds: 2\n"
BASE: Final = """
trainer: {max_steps: 20, accelerator: cpu, devices: 1}
model:
  class_path: VAE
  init_args:
    encoder: {class_path: MLPEncoder, init_args: {hidden: [8]}}
    decoder: {class_path: MLPDecoder, init_args: {hidden: [8]}}
    regularizers: {kl: {class_path: KL}}
data: {class_path: SingleData, init_args: {dataset: GaussianBlob, batch_size: 8, test: 0.1}}
evaluate: {metrics: {mig: {class_path: MIG}}, points: 200}
"""
RESULTS: Final = {
    "path": "models/1",
    "train_results.uuid": "a",
    "evaluation_config.evaluation.evaluation_fn": "@mig",
    "evaluation_results.discrete_mig": 0.25,
    "train_config.model.random_seed": 3,
}
"""A result of disentanglement_lib."""
PATIENCE: Final = 300
"""Seconds after which a reader counts as hung."""
MARK: Final = "executed"
SYSTEM: Final = {"class_path": "os.system", "init_args": {"command": f"touch {MARK}"}}


class Case(NamedTuple):
    """One mutation: the file, what was done, and its new bytes, or a function that replaces it."""

    file: Path
    name: str
    content: bytes | Callable[[Path], object]

    def apply(self) -> None:
        """Mutates the file."""
        if isinstance(self.content, bytes):
            self.file.write_bytes(self.content)
        else:
            self.file.unlink()
            self.content(self.file)


# --- the folders ---------------------------------------------------------------------------------


def prepare() -> None:
    """Writes the folders, as dislab itself writes them, and the homes of somebody else."""
    worker._SETTLING = 0.0  # no process of a dead worker has to notice its death
    for home in (Path("home"), Path("foreign/home")):
        home.mkdir(parents=True)
        (home / "thesis.txt").write_text("all of it")
        (home / "done.json").write_text("{}")
    Path("evil_part.py").write_text(f"open({str(Path(MARK).resolve())!r}, 'w').close()\n")
    sys.path.insert(0, str(Path.cwd()))
    Path("base.yaml").write_text(BASE)
    Path("small.yaml").write_text(STUDY)
    resolve = resolver()
    plan = make_schedule(read_study_file("small.yaml"), lambda: resolve, versions())
    folder = StudyFolder(Path("foreign/study"))
    plan.write(folder.path)
    for index, run in enumerate(plan.runs):
        digests = {stage: stage_group.digest for stage, stage_group in run.group.stages.items()}
        record = {
            "scores": {"mig": 0.1 * index, "mig_gap": None},
            "chance": {"mig": 0.01},
            "intervals": {"mig": [0.0, 0.5]},
            "metrics": {"mig": {"primary": "mig", "higher_is_better": True}},
            "skipped": {"dci": "too few images"},
            "versions": versions(),
            "checkpoint": {"path": "last.ckpt", "steps": 20},
            "untrained": {"seeds": [0], "scores": {"mig": {"mean": 0.1, "std": None}}},
            "baselines": {"pca": {"mig": 0.2}},
        }
        write_scores(folder.run(run.id), "test", record)
        transfer = {"scores": {"ood/mlp": 0.5, "ood/mlp/accuracy": 0.7}, "notes": ["few images"]}
        write_scores(folder.run(run.id), "test_transfer", transfer)
        (folder.run(run.id) / "config.yaml").write_text(yaml_text({**run.config, "name": run.id}))
        for stage, scores in (("train", {}), ("score", {"mig": 0.1 * index})):
            done = Done(digests[stage], "done", scores, 1.5, versions())
            folder.write_done(run, stage, done)
    failed = folder.stage(plan.runs[-1].id, "score")
    (failed / "done.json").unlink()
    message = {"kind": "exception", "message": "no room", "traceback": "", "attempts": 1}
    record = {"digest": plan.runs[-1].group.stages["score"].digest, **message, "versions": {}}
    (failed / "failed.json").write_text(json.dumps(record))
    folder.claims.mkdir()
    owner = {"machine": "elsewhere", "process": 7, "began": "1", "token": "x"}
    (folder.claims / f"{plan.runs[-1].id}.0").write_text(json.dumps(owner))
    model = VAE(
        (1, 64, 64),
        32,
        latent_dim=2,
        encoder=partial(MLPEncoder, hidden=(8,)),
        decoder=partial(MLPDecoder, hidden=(8,)),
        regularizers={"kl": KL},
    )
    write_exported(model, Path("foreign/export"))
    Path("foreign/results.json").write_text(json.dumps(RESULTS))
    scenario = {"train": {"x": {"max": 0.5}}, "test": {"x": {"min": 0.5}}, "shifted": ["x"]}
    Path("foreign/scenario.yaml").write_text(yaml_text({"about": "Far x.", **scenario}))
    shutil.copy("base.yaml", "foreign/base.yaml")
    Path("foreign/images").mkdir()
    for number in range(20):
        Image.new("L", (16, 16), 12 * number).save(f"foreign/images/{number}.png")
    shutil.copy("small.yaml", "foreign/small.yaml")
    bank.prepare_bank(spec())


def spec() -> bank.BankSpec:
    """A bank of two rows."""
    rows = np.arange(8, dtype=np.uint8).reshape(2, 4)
    return bank.BankSpec(Path("foreign/cache/rows.npy"), (2, 4), {"of": "rows"}, lambda: [rows])


# --- the mutations -------------------------------------------------------------------------------


def hostile(home: Path) -> list[Any]:
    """Values that replace each value of a file."""
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    values = [None, True, -1, 0, 2.5, 10**400, float("inf"), float("nan"), "", "x", [], {}, [None]]
    values += ["../../home", "../home", str(home), "..", "a" * 300, "a\0b", "a\nb", "\ud800", deep]
    values += ["evil_part.Part", {"class_path": "evil_part.Part"}, "os.system", SYSTEM]
    return [*values, {"x": SYSTEM}, "--out=home/thesis.txt", "1e400", "*", "\x1b[2J"]


def nodes(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values below the content."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from nodes(value, (*path, key))


def replaced(content: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """A copy of the content, in which a function changes the part that holds a path's value."""
    result = part = copy.deepcopy(content)
    for key in path[:-1]:
        part = part[key]
    change(part, path[-1])
    return result


def mutations(file: Path, home: Path, most: int) -> Iterator[Case]:
    """Mutations of a file: those of its bytes, and a sample of those of its values."""
    intact = file.read_bytes()
    text = intact.decode()
    is_json = file.suffix == ".json" or text.startswith("{")
    content = json.loads(text) if is_json else parse_yaml(text, str(file))

    def written(value: Any) -> bytes:
        try:
            return (json.dumps(value) if is_json else yaml_text(value)).encode()
        except (RecursionError, ValueError):  # half a character, in YAML
            return json.dumps(value).encode()

    damages = {
        "empty": b"",
        "cut": intact[: len(intact) // 2],
        "list": b"[1]",
        "null": b"null",
        "text": b'"x"',
        "number": b"1",
        "deep": b"[" * 50_000,
        "deep object": b'{"a":' * 50_000,
        "no UTF-8": intact[:9] + b"\xff\xfe" + intact[9:],
        "zeros": bytes(64),
        "mark": b"\xef\xbb\xbf" + intact,
        "twice": intact + intact,
    }
    for name, damage in damages.items():
        yield Case(file, name, damage)
    places: dict[str, Callable[[Path], object]] = {
        "folder": Path.mkdir,
        "pipe": os.mkfifo,
        "link to nothing": lambda path: path.symlink_to("nothing"),
        "link to itself": lambda path: path.symlink_to(path.name),
        "link to another": lambda path: path.symlink_to(home / "thesis.txt"),
    }
    for name, place in places.items():
        yield Case(file, name, place)
    yield Case(file, "later version", written({**content, "of a later version": [1, {"x": None}]}))
    changes: list[tuple[str, Any]] = []
    for path in nodes(content):
        where = ".".join(map(str, path))
        changes.append((f"without {where}", (path, lambda part, key: part.pop(key))))
        for value in hostile(home):
            change = lambda part, key, value=value: part.__setitem__(key, value)  # noqa: E731
            changes.append((f"{where}: {value!r:.40}", (path, change)))
    order = np.random.default_rng(0).permutation(len(changes))[:most]
    for name, (path, change) in (changes[index] for index in sorted(order)):
        yield Case(file, name, written(replaced(content, path, change)))


# --- the readers ---------------------------------------------------------------------------------

Answer = tuple[int, str]


def command_answer(*args: str) -> Answer:
    """Exit status and output of a command in this process."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out), warnings.catch_warnings():
        warnings.simplefilter("default")
        signal.alarm(PATIENCE)
        try:
            status = dislab(args)
        except SystemExit as ended:
            status = int(ended.code or 0)
        except BaseException as error:
            return -1, f"Traceback: {type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
    return status, out.getvalue()


class Finished(NamedTuple):
    """A process that has done its task."""

    def wait(self, seconds: float) -> bool:
        """It has ended."""
        return True

    def interrupt(self) -> None:
        """Nothing is left to interrupt."""

    def kill(self) -> None:
        """Nothing is left to kill."""

    def report(self) -> Report:
        """Success."""
        return Report("done")


def tried(deed: Callable[[], object]) -> Answer:
    """Status and message of a call of Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        signal.alarm(PATIENCE)
        try:
            deed()
        except InputError as error:
            return 2, f"dislab: error: {error}"
        except BaseException as error:
            return -1, f"Traceback: {type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
    return 0, ""


def work() -> Answer:
    """A worker of the study, whose processes succeed at once."""

    def start(task: Task) -> Finished:
        return Finished()

    folder = Path("foreign/study")
    settings = Settings(leave=True)
    return tried(lambda: Worker(StudyFolder(folder), read_schedule(folder), start, settings).work())


def opened() -> Answer:
    """The bank, written again if its record is damaged."""

    def deed() -> None:
        bank.prepare_bank(spec())
        bank.open_bank(spec())
        bank.bank_record(spec())

    return tried(deed)


def readers(file: Path, index: int) -> dict[str, Callable[[], Answer]]:
    """The commands that read a file; slow ones for a few mutations only."""
    study, run = "foreign/study", str(file.parent)
    every: dict[str, Callable[[], Answer]] = {}
    rare: dict[str, Callable[[], Answer]] = {}
    if "study" in file.parts:
        every["study status"] = lambda: command_answer("study", "status", study)
        every["study table"] = lambda: command_answer("study", "table", study)
        every["work"] = work
        rare["study plan"] = lambda: command_answer("study", "plan", study)
        summary = ("study", "summary", study, "--out", "foreign/out", "--pictures", "none")
        rare["study summary"] = lambda: command_answer(*summary)
        rare["report of the study"] = lambda: command_answer(
            "report", study, "--out", "foreign/page.html"
        )
    if file.name in ("scores.json", "config.yaml"):
        neighbour = next(
            path for path in sorted(file.parent.parent.iterdir()) if path != file.parent
        )
        every["compare"] = lambda: command_answer("compare", run, str(neighbour))
        figure = ("draw", run, "scores", "--out", "foreign/scores.svg")
        every["draw"] = lambda: command_answer(*figure)
        rare["report"] = lambda: command_answer("report", run, "--out", "foreign/page.html")
    if file.name == "config.yaml":
        every["cite"] = lambda: command_answer("cite", run)
        rare["fit"] = lambda: command_answer("fit", f"--config={file}", "--print_config")
    if file.name == "model.yaml":
        every["load_run"] = lambda: tried(lambda: load_run("foreign/export"))
    if file.name == "results.json":
        every["import"] = lambda: tried(lambda: read_disentanglement_lib(str(file)))
    if file.name == "small.yaml":
        every["study plan of a file"] = lambda: command_answer("study", "plan", str(file))
    if file.name == "base.yaml":
        new = ("configs", "new", "--data", "foreign/images", "--method", str(file))
        every["configs new"] = lambda: command_answer(*new, "--out", "foreign/new.yaml")
        rare["study plan of a base"] = lambda: command_answer("study", "plan", "foreign/small.yaml")
    if file.name == "scenario.yaml":
        every["load_scenario"] = lambda: tried(lambda: load_scenarios([str(file)]))
    if "cache" in file.parts:
        every["bank"] = opened
    return every | (rare if index % 40 == 0 or not every else {})


def read_disentanglement_lib(path: str) -> object:
    """Reads results by the plugin, installed or not."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "plugins/dislab-import/src"))
    from dislab_import import read_disentanglement_lib as read

    return read(path)


def load_scenarios(names: Sequence[str]) -> object:
    """Reads scenarios."""
    from dislab.transfer.scenario import load_scenarios as load

    return load(list(names))


# --- the campaign --------------------------------------------------------------------------------


def snapshot() -> dict[str, bytes]:
    """All files outside the foreign folder, and in its second home."""
    outside = [*Path().glob("*"), *Path("home").rglob("*"), *Path("foreign/home").rglob("*")]
    return {str(path): path.read_bytes() for path in outside if path.is_file()}


def names_its_source(case: Case, text: str) -> bool:
    """Whether a message contains the folder of the damaged file, or the damaged setting."""
    path = case.name.partition(":")[0].removeprefix("without ").split(".")
    settings = [name for name in path if not name.isdigit()]
    return str(case.file.parent) in text or settings[-1] in text


def violation(case: Case, reader: str, answer: Answer, before: dict[str, bytes]) -> str | None:
    """The rule that a reader broke, if any."""
    status, text = answer
    lines = [line for line in text.splitlines() if line.startswith("dislab:") or "Error" in line]
    if status == -1 or "Traceback" in text:
        return text[:400]
    if status not in (0, 2) or (status == 2 and len(lines) > 3):
        return f"status {status}: {text[:400]}"
    if snapshot() != before:
        return "changed a file outside the folder"
    if Path(MARK).exists() or "evil_part" in sys.modules:
        return "executed code"
    if status == 2 and not names_its_source(case, text):
        return f"names neither file, folder nor setting: {text[:400]}"
    of_a_run = {"done.json", "failed.json", "scores.json"} & {case.file.name}
    others = reader in ("study status", "study table", "work")
    if (reader, case.name) == ("work", "folder"):
        return None  # a worker cannot write its record, and says so; only a person removes folders
    if (of_a_run or "claims" in case.file.parts) and others and status:
        return f"one damaged record ends the command: {text[:400]}"
    return None


def files() -> dict[Path, int]:
    """The files, with the largest number of mutations of values of each."""
    study = Path("foreign/study")
    run = sorted(study.rglob("score/done.json"))[0].parents[2]
    failed = next(study.rglob("failed.json"))
    return {
        study / "plan.json": 240,
        run / "stages/train/done.json": 90,
        run / "stages/score/done.json": 90,
        failed: 70,
        next((study / "claims").iterdir()): 50,
        run / "scores.json": 150,
        run / "config.yaml": 50,
        Path("foreign/export/model.yaml"): 130,
        Path("foreign/results.json"): 50,
        Path("foreign/small.yaml"): 40,
        Path("foreign/base.yaml"): 15,
        Path("foreign/scenario.yaml"): 80,
        next(path for path in Path("foreign/cache").iterdir() if path.suffix == ".json"): 60,
    }


def hung(number: int, frame: object) -> None:
    """Ends a reader that waits for ever."""
    raise TimeoutError(f"it still waits after {PATIENCE} seconds")


def campaign(every: int, only: str = "") -> dict[str, Any]:
    """Reads every mutation of every file; counts by file, and the violations."""
    signal.signal(signal.SIGALRM, hung)
    prepare()
    table: dict[str, Counter[str]] = {}
    wrong: list[str] = []
    shutil.copytree("foreign", "kept")
    before = snapshot()
    for file, most in files().items():
        print(f"{file}: {time.strftime('%H:%M:%S')}", file=sys.stderr, flush=True)
        kind = "claim" if "claims" in file.parts else file.name
        kind = "bank" if "cache" in file.parts else kind
        count = table.setdefault(kind, Counter())
        for reader, read in readers(file, 0).items():
            if (usual := read())[0]:
                raise RuntimeError(f"{reader} does not work on {file}: {usual}")
        cases = [*mutations(file, Path("home").resolve(), most)][::every]
        for index, case in enumerate(case for case in cases if only in case.name):
            count["mutations"] += 1
            for reader, read in readers(file, index).items():
                if (reader, case.name) == ("fit", "pipe"):
                    continue  # a configuration may come from a pipe, and is waited for
                case.apply()
                answer = read()
                broken = violation(case, reader, answer, before)
                count["refused" if answer[0] == 2 else "read"] += 1
                if broken:
                    count["violations"] += 1
                    wrong.append(f"{file.name}, {case.name!r}, {reader}: {broken}")
                    print(ascii(wrong[-1]), file=sys.stderr, flush=True)
                before = snapshot()
                shutil.rmtree("foreign")
                shutil.copytree("kept", "foreign")
    return {"files": {key: dict(counts) for key, counts in table.items()}, "violations": wrong}


def main() -> None:
    """Runs the campaign and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, help="take every N-th mutation only")
    parser.add_argument("--only", default="", help="mutations whose name holds this text")
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    target = options.json.resolve() if options.json else None
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dislab-records-") as folder:
        os.chdir(folder)
        os.environ["DISLAB_CACHE"] = str(Path(folder, "cache"))
        record = campaign(options.every, options.only)
        os.chdir("/")
    columns = ("mutations", "refused", "read", "violations")
    print(f"{'file':<16}" + "".join(f"{column:>12}" for column in columns))
    for name, row in record["files"].items():
        print(f"{name:<16}" + "".join(f"{row.get(column, 0):>12}" for column in columns))
    total = {
        column: sum(row.get(column, 0) for row in record["files"].values()) for column in columns
    }
    print(f"{'all':<16}" + "".join(f"{column:>12}" for column in total.values()))
    record |= {"seconds": round(time.monotonic() - began), "versions": versions()}
    if target:
        target.write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(bool(record["violations"]))


if __name__ == "__main__":
    main()
