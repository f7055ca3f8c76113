"""Export of trained models: verified files in several formats in one folder, with a card."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import torch

from dislab.base import Objective
from dislab.errors import InputError
from dislab.exports.card import CARD, card, described
from dislab.exports.networks import Network, networks_of
from dislab.exports.programs import (
    difference,
    read_onnx,
    read_program,
    write_onnx,
    write_program,
)
from dislab.functional.checks import check_choice
from dislab.naming.settings import checks_arguments
from dislab.runs import CONFIG, SCORES, load_run, read_scores
from dislab.runs.exported import SETTINGS, WEIGHTS, write_exported
from dislab.runs.published import published, without_paths
from dislab.storage import json_text, new_folder
from dislab.yaml_files import read_mapping, yaml_text

Format = Literal["safetensors", "onnx", "torch-export"]
FORMATS: tuple[Format, ...] = get_args(Format)


class Exported(NamedTuple):
    """A file of an export.

    Attributes:
        file: Name of the file in the folder.
        difference: Largest absolute difference between the outputs of the loaded file and of the
            run's model; None for a file without a network.
    """

    file: str
    difference: float | None


@checks_arguments
def export(
    run: str | Path,
    out: str | Path,
    formats: Sequence[Format],
    half: bool = False,
    checkpoint: str | Path | None = None,
) -> list[Exported]:
    """Exports the model of a run for other programs, with a model card.

    Before the folder gets its final name, every file is loaded again and compared with the model on
    random images, so that a failed export leaves nothing behind.

    Args:
        run: A run folder, a checkpoint file, or an export of safetensors.
        out: The folder to create; it must not exist, or must be empty.
        formats: `safetensors` for dislab itself, `onnx` for other programs, `torch-export` for
            torch without dislab.
        half: Whether safetensors are stored in half precision, at half the size.
        checkpoint: File of the run whose weights are exported; unless given, the best one of a run
            with a monitor, else the last one.

    Raises:
        InputError: The run cannot be read, a package is missing, the folder cannot be made, or a
            network cannot be translated.
    """
    for kind in formats:
        check_choice("--to", kind, FORMATS)
    if half and "safetensors" not in formats:
        raise InputError("--half is for weights in safetensors; add --to safetensors, or leave out")
    with new_folder("--out", Path(out)) as folder:
        model = load_run(checkpoint or run).float()
        needed = [kind for kind in formats if kind != "safetensors"]
        networks = networks_of(model) if needed or "image_shape" in model.hparams else []
        if needed and not networks:
            raise InputError(
                f"{type(model).__name__} has neither encoder nor decoder; use --to safetensors"
            )
        files: list[Exported] = []
        if "safetensors" in formats:
            files += _safetensors(model, networks, folder, half)
        for network in networks:
            if "onnx" in formats:
                path = write_onnx(network, folder)
                files.append(Exported(path.name, difference(network, read_onnx(path), path.name)))
            if "torch-export" in formats:
                path = write_program(network, folder)
                program = read_program(path)
                files.append(Exported(path.name, difference(network, program, path.name)))
        files += write_records(Path(run), folder)
        about = described(Path(run), model)
        text = card(about, networks, {kind.file: kind.difference for kind in files}, half)
        (folder / CARD).write_text(text, encoding="utf-8")
    return [*files, Exported(CARD, None)]


def _safetensors(
    model: Objective, networks: list[Network], folder: Path, half: bool
) -> list[Exported]:
    """Writes weights and settings, and compares the model loaded from them."""
    write_exported(model, folder, half)
    loaded = load_run(folder)
    weights = loaded.state_dict()
    for name, mine in model.state_dict().items():
        rounded = mine.half().to(mine.dtype) if half and mine.is_floating_point() else mine
        if not torch.equal(rounded, weights[name]):
            raise InputError(
                f"{WEIGHTS} was exported, but loaded again {name} differs from that of the run; "
                "report this as an issue"
            )
    largest = 0.0
    for mine, stored in zip(networks, networks_of(loaded) if networks else [], strict=True):
        same = stored._replace(example=mine.example)
        for value, stored_value in zip(mine.outputs(), same.outputs(), strict=True):
            largest = max(largest, float((value - stored_value).abs().max()))
    return [Exported(WEIGHTS, largest if networks else None), Exported(SETTINGS, None)]


def write_records(run: Path, folder: Path) -> list[Exported]:
    """Writes the configuration and the scores of a run, if it has them, as others may read them."""
    files = []
    if (run / CONFIG).is_file():
        settings = published(read_mapping(run / CONFIG, "data: {class_path: SingleData}"))
        (folder / CONFIG).write_text(yaml_text(settings), encoding="utf-8")
        files.append(Exported(CONFIG, None))
    if (run / SCORES).is_file():
        records = without_paths(read_scores(run))
        (folder / SCORES).write_text(json_text(records), encoding="utf-8")
        files.append(Exported(SCORES, None))
    return files
