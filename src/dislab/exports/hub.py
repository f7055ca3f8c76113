"""Upload and download models on the Hugging Face Hub, as safetensors with a card."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from dislab.errors import InputError, one_line
from dislab.exports.card import CARD
from dislab.exports.export import export, write_records
from dislab.extras import imported
from dislab.naming.settings import checks_arguments
from dislab.runs import CONFIG, SCORES, load_run
from dislab.runs.exported import SETTINGS, WEIGHTS, is_exported
from dislab.storage import new_folder

FILES: Final = (WEIGHTS, SETTINGS, CARD, CONFIG, SCORES)
"""The files that are exchanged; other files of a repository are ignored."""
_NAME: Final = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
_NOT_ALLOWED: Final = (401, 403, 404)
"""HTTP status codes without a login; for a private repository the Hub answers that it does not
exist."""
_CARRIED: Final = ".cache"
"""Folder in which the library records downloads."""


@checks_arguments
def push(run: str | Path, repository: str, private: bool = False, half: bool = False) -> str:
    """Uploads the model of a run, and returns the address of its page.

    Args:
        run: A run folder, a checkpoint file, or an export of safetensors.
        repository: `user/name`; created if missing.
        private: Whether a new repository is visible only to its owner.
        half: Whether weights are stored in half precision.

    Raises:
        InputError: The name has another form, `huggingface_hub` is not installed, the run cannot be
            exported, or the Hub refuses, such as without a login.
    """
    _check_name(repository)
    hub = _library()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "model")
        if half or not is_exported(run):
            export(run, folder, ["safetensors"], half)
        else:
            load_run(run)  # refuse to upload a damaged export
            folder.mkdir()
            for name in (WEIGHTS, SETTINGS, CARD):
                if Path(run, name).is_file():
                    shutil.copyfile(Path(run, name), folder / name)
            write_records(Path(run), folder)  # an older dislab wrote more into them
        with _explained(f"pushing to {repository}"):
            api = hub.HfApi()
            name = api.create_repo(repository, private=private, exist_ok=True).repo_id
            api.upload_folder(
                repo_id=name,
                folder_path=folder,
                allow_patterns=list(FILES),
                commit_message=f"A model of dislab: {Path(run).name}",
            )
            return f"{api.endpoint}/{name}"


@checks_arguments
def pull(repository: str, out: str | Path, revision: str | None = None) -> Path:
    """Downloads a model, checks that it can be loaded, and returns its folder.

    No code of the repository is read, and its settings may name parts of dislab, torch, lightning
    and installed plugins only.

    Args:
        repository: `user/name`.
        out: The folder to create; it must not exist, or must be empty.
        revision: A branch, tag or commit; None is the newest.

    Raises:
        InputError: The name has another form, `huggingface_hub` is not installed, the repository
            cannot be read or holds no model of dislab, or the model cannot be loaded.
    """
    _check_name(repository)
    hub = _library()
    with new_folder("--out", Path(out)) as folder:
        with _explained(f"pulling {repository}"):
            hub.snapshot_download(
                repository,
                revision=revision,
                local_dir=folder,
                allow_patterns=list(FILES),
                endpoint=hub.HfApi().endpoint,
            )
        shutil.rmtree(folder / _CARRIED, ignore_errors=True)
        if not is_exported(folder):
            raise InputError(
                f"{repository} holds no model of dislab: it has no {SETTINGS}, which `dislab push` "
                "writes"
            )
        try:
            load_run(folder)
        except InputError as error:
            reason = str(error).replace(f"{folder}", repository)
            raise InputError(reason) from error
    return Path(out)


def _check_name(repository: str) -> None:
    """Refuses a name that the Hub cannot have, before anything is exported or sent."""
    if not _NAME.fullmatch(repository):
        raise InputError(
            f"{repository!r:.80} is no name of a repository; write user/name, such as "
            "me/factorvae, in letters without accents, digits and . _ -"
        )


def _library() -> Any:
    imported("safetensors", "hub", "a model on the Hugging Face Hub")
    return imported("huggingface_hub", "hub", "the Hugging Face Hub")


@contextmanager
def _explained(deed: str) -> Iterator[None]:
    """Turns errors of the library, the network and the Hub into one message."""
    errors = imported("huggingface_hub.errors", "hub", "the Hugging Face Hub")
    # HTTP errors are OSErrors; connection errors are those of the HTTP library in use
    refused = (OSError, ValueError, getattr(errors, "HTTPError", OSError))
    bars = imported("huggingface_hub.utils", "hub", "the Hugging Face Hub")
    bars.disable_progress_bars()
    try:
        yield
    except refused as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        advice = "check the name and the network"
        if status in _NOT_ALLOWED or isinstance(error, errors.LocalTokenNotFoundError):
            advice = "check the name; for writing and for private ones log in by `hf auth login`"
        reason = one_line(error)[:300] or type(error).__name__
        raise InputError(f"{deed} failed: {reason}; {advice}") from error
    finally:
        bars.enable_progress_bars()
