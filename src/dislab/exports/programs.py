"""Export of networks as ONNX files and `torch.export` programs, and comparison after loading."""

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dislab.errors import InputError, one_line
from dislab.exports.networks import Network, listed
from dislab.extras import imported

_TOLERANCE = 1e-4
"""Largest allowed difference of an output from the model's, as a share of its largest value."""


def write_onnx(network: Network, folder: Path) -> Path:
    """Writes a network as `<name>.onnx`, for any batch size, and returns its path.

    Args:
        network: The network.
        folder: The folder, which exists.

    Raises:
        InputError: A package of the extra `onnx` is missing, or torch cannot translate the network.
    """
    for package in ("onnx", "onnxscript", "onnxruntime"):
        imported(package, "onnx", "an export to ONNX")
    program = _program(network)
    path = folder / f"{network.name}.onnx"
    with _quiet(), _explained(network, "ONNX"):
        exported = torch.onnx.export(
            program,
            (network.example,),
            input_names=[network.source.name],
            output_names=[port.name for port in network.results],
            verbose=False,
        )
        if exported is None:
            raise RuntimeError("torch returned no program")
        exported.save(path, external_data=False)
    return path


def read_onnx(path: Path) -> Callable[[Tensor], list[Tensor]]:
    """Loads a network from an ONNX file, to run by onnxruntime on the CPU."""
    runtime = imported("onnxruntime", "onnx", "an export to ONNX")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    [source] = session.get_inputs()

    def compute(rows: Tensor) -> list[Tensor]:
        return [
            torch.from_numpy(output) for output in session.run(None, {source.name: rows.numpy()})
        ]

    return compute


def write_program(network: Network, folder: Path) -> Path:
    """Writes a network as `<name>.pt2`, a `torch.export` program for any batch size.

    Args:
        network: The network.
        folder: The folder, which exists.

    Raises:
        InputError: torch cannot translate the network.
    """
    path = folder / f"{network.name}.pt2"
    program = _program(network)
    with _quiet():
        torch.export.save(program, path)
    return path


def read_program(path: Path) -> Callable[[Tensor], list[Tensor]]:
    """Loads a network from a `.pt2` file."""
    with _quiet():
        module = torch.export.load(path).module()

    def compute(rows: Tensor) -> list[Tensor]:
        with torch.no_grad():
            return listed(module(rows))

    return compute


def difference(network: Network, compute: Callable[[Tensor], Sequence[Tensor]], file: str) -> float:
    """The largest absolute difference between the outputs of a loaded network and of the model.

    Args:
        network: The network.
        compute: The same network, loaded from a file.
        file: Name of the file, for messages.

    Raises:
        InputError: The outputs differ by more than rounding, or the file does not accept another
            batch size.
    """
    largest = 0.0
    for rows in (len(network.example), 1):
        part = network._replace(example=network.example[:rows])
        for port, mine, computed in zip(
            network.results, part.outputs(), compute(part.example), strict=True
        ):
            worst = (
                float((mine - computed).abs().max()) if mine.shape == computed.shape else torch.inf
            )
            if not worst <= _TOLERANCE * max(1.0, float(mine.abs().max())):
                raise InputError(
                    f"{file} was exported, but loaded again its {port.name} differs by {worst:.3g} "
                    "from that of the model; use --to safetensors, and report this as an issue"
                )
            largest = max(largest, worst)
    return largest


def _program(network: Network) -> torch.export.ExportedProgram:
    batch = torch.export.Dim("batch")
    with _quiet(), _explained(network, "torch.export"):
        return torch.export.export(
            network.module,
            (network.example,),
            dynamic_shapes={network.source.name: {0: batch}},
        )


@contextlib.contextmanager
def _explained(network: Network, target: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # base class of torch's tracing and translation errors
        reason = one_line(error)[:300]
        raise InputError(
            f"torch cannot translate the {network.name} to {target} ({reason}); use --to "
            "safetensors"
        ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses warnings about torch's own code and about packages that are not needed."""
    log: Any = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
