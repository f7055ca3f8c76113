"""Damages the checkpoint of a run in many ways, and looks what resuming, testing and loading say.

    python benchmarks/faults/damage.py            # every damage, some minutes
    python benchmarks/faults/damage.py --every 5  # every fifth one

Bytes are flipped, cut off, overwritten or replaced by files of other programs. Parts of the
content are removed, emptied, or replaced by something else and saved again, then without a
checksum, as another program would. Each damage has to end in one message of at most three lines
with status 2, and no traceback. A damage that changes nothing that is read may be accepted; the
table counts those.
"""

import argparse
import copy
import io
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import torch

from dislab.cli import main as dislab
from dislab.errors import InputError
from dislab.runs import load_run, versions

CONFIG = """
name: small
seed_everything: 3
model:
  class_path: VAE
  init_args:
    latent_dim: 3
    encoder: {class_path: MLPEncoder, init_args: {hidden: [8]}}
    decoder: {class_path: MLPDecoder, init_args: {hidden: [8]}}
    regularizers: {kl: {class_path: KL}, tc: {class_path: TotalCorrelation, init_args: {width: 8}}}
data: {class_path: SingleData, init_args: {dataset: GaussianBlob, batch_size: 8, test: 0.1}}
trainer:
  max_steps: 3
  accelerator: cpu
  devices: 1
  limit_val_batches: 0
  limit_test_batches: 1
  enable_model_summary: false
  enable_progress_bar: false
evaluate: {metrics: {}}
traversals: {images: 1, steps: 3, points: 50}
"""

RUN = Path("runs/small/version_0")
LAST = RUN / "checkpoints/last.ckpt"
WRONG: tuple[Any, ...] = (None, 3, "x", [], {}, [None], {"x": None}, float("nan"))

Damage = tuple[str, str, Callable[[Path], None]]


class Evil:
    """A stranger's pickle that runs a command."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """The function that unpickling calls, and its arguments."""
        return os.system, ("touch executed",)


def of_bytes(intact: bytes) -> Iterator[Damage]:
    """Damages of the file."""
    size = len(intact)

    def written(content: bytes) -> Callable[[Path], None]:
        return lambda path: path.write_bytes(content) and None

    for index in range(40):
        position = index * (size - 1) // 39
        flipped = (
            intact[:position]
            + bytes([intact[position] ^ (1 << index % 8)])
            + intact[position + 1 :]
        )
        yield "flipped bits", f"bit {index % 8} of byte {position}", written(flipped)
    for length in (0, 1, 2, 22, 64, 100, size // 4, size // 2, size - 200, size - 78, size - 1):
        yield "cut off", f"{length} of {size} bytes", written(intact[:length])
    for index in range(8):
        start = index * size // 8
        block = intact[:start] + bytes(min(512, size - start)) + intact[start + 512 :]
        yield "overwritten", f"512 zeros at {start}", written(block)
    yield "overwritten", "zeros", written(bytes(size))
    yield "overwritten", "twice", written(intact + intact)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("data.pkl", b"x")
    pickled = io.BytesIO()
    torch.save({"state_dict": Evil()}, pickled)
    for name, content in (
        ("text", b"hello\n" * 50),
        ("PNG", b"\x89PNG\r\n\x1a\n" + bytes(100)),
        ("ZIP", archive.getvalue()),
        ("pickle that executes", pickled.getvalue()),
        ("JSON", b"{}"),
        ("HDF5", b"\x89HDF\r\n\x1a\n" + bytes(100)),
    ):
        yield "other programs", name, written(content)

    def folder(path: Path) -> None:
        path.unlink()
        path.mkdir()

    def link(path: Path) -> None:
        path.unlink()
        path.symlink_to("nowhere")

    yield "other programs", "a folder", folder
    yield "other programs", "a link to nothing", link


def of_content(stored: dict[str, Any]) -> Iterator[Damage]:
    """Damages of what is in the file."""

    def saved(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
        def damage(path: Path) -> None:
            content = copy.deepcopy(stored)
            change(content)
            torch.save(content, path)

        return damage

    for key in stored:
        yield "missing parts", key, saved(lambda state, key=key: state.pop(key))
        for wrong in WRONG:
            change = saved(lambda state, key=key, wrong=wrong: state.update({key: wrong}))
            yield "wrong kinds", f"{key}: {wrong!r}", change
    for key in stored["hyper_parameters"]:
        for wrong in (None, 3, "os.system", {"class_path": "os.system"}, [1]):
            change = saved(lambda state, k=key, w=wrong: state["hyper_parameters"].update({k: w}))
            yield "settings", f"{key}: {wrong!r}", change
    for key in list(stored["state_dict"])[:4]:
        for wrong in (None, torch.zeros(7, 7), torch.zeros(0)):
            kind = "none" if wrong is None else tuple(wrong.shape)
            change = saved(lambda state, k=key, w=wrong: state["state_dict"].update({k: w}))
            yield "weights", f"{key}: {kind}", change
        yield "weights", f"{key} missing", saved(lambda state, k=key: state["state_dict"].pop(k))
    loops = stored["loops"]["fit_loop"]
    for key in loops:
        for wrong in (None, 3, {}):
            change = saved(lambda state, k=key, w=wrong: state["loops"]["fit_loop"].update({k: w}))
            yield "counters", f"{key}: {wrong!r}", change
    for key in ("state", "param_groups"):
        for wrong in (None, 3, {}, []):
            change = saved(
                lambda state, k=key, w=wrong: state["optimizer_states"][0].update({k: w})
            )
            yield "optimiser", f"{key}: {wrong!r}", change


def answer(*args: str) -> tuple[int, list[str]]:
    """Status and lines on standard error of a command; -1 where it raises."""
    errors = io.StringIO()
    with redirect_stderr(errors), redirect_stdout(io.StringIO()):
        try:
            status = dislab(args)
        except SystemExit as ended:
            status = int(ended.code or 0)
        except BaseException as error:
            return -1, [f"{type(error).__name__}: {error}"]
    lines = errors.getvalue().splitlines()
    return status, [line for line in lines if "error" in line.lower() or "Traceback" in line]


def loads() -> tuple[int, list[str]]:
    """The same of `load_run`."""
    try:
        load_run(LAST)
    except InputError as error:
        return 2, [str(error)]
    except BaseException as error:
        return -1, [f"{type(error).__name__}: {error}"]
    return 0, []


DOORS: dict[str, Callable[[], tuple[int, list[str]]]] = {
    "load_run": loads,
    "test": lambda: answer("test", f"--run={RUN}"),
    "resume": lambda: answer("fit", f"--resume={RUN}", "--trainer.max_steps=4"),
}


def main() -> None:
    """Runs the campaign and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, help="take every N-th damage only")
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    target = options.json.resolve() if options.json else None
    folder = Path(tempfile.mkdtemp(prefix="dislab-damage-"))
    os.chdir(folder)
    Path("small.yaml").write_text(CONFIG)
    assert answer("fit", "--config=small.yaml")[0] == 0
    shutil.copytree(RUN, "kept")
    content = LAST.read_bytes()
    stored = torch.load(LAST, weights_only=True)
    damages = [*of_bytes(content), *of_content(stored)][:: options.every]
    tally: dict[str, Counter[str]] = {}
    wrong = []
    for kind, name, damage in damages:
        for door, opened in DOORS.items():
            shutil.rmtree(RUN)
            shutil.copytree("kept", RUN)
            damage(LAST)
            status, lines = opened()
            count = tally.setdefault(kind, Counter())
            count["refused" if status == 2 else "accepted" if status == 0 else "failed"] += 1
            text = " | ".join(lines)
            if status not in (0, 2) or len(lines) > 3 or "Traceback" in text:
                wrong.append(f"{door}, {kind}, {name}: {text[:300]}")
            if Path("executed").exists():
                wrong.append(f"{door}, {kind}, {name}: executed")
                Path("executed").unlink()
    print(f"{len(damages)} damages through {len(DOORS)} doors")
    for kind, count in tally.items():
        print(f"{kind:<16} {dict(count)}")
    print("\n".join(wrong) or "each ended in a message or changed nothing that is read")
    if target:
        record = {"damages": len(damages), "doors": list(DOORS), "kinds": tally}
        record |= {"violations": len(wrong), "versions": versions()}
        target.write_text(json.dumps(record, indent=2) + "\n")
    os.chdir("/")
    shutil.rmtree(folder)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
