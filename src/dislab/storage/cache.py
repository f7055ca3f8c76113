"""The cache folder, for files that can be made or downloaded again."""

import os
from pathlib import Path
from typing import Final

import platformdirs

from dislab.errors import InputError

CACHE_VARIABLE: Final = "DISLAB_CACHE"
"""Environment variable that names the cache folder."""

ELSEWHERE: Final = f"name another cache folder in the environment variable {CACHE_VARIABLE}"
"""Advice at the end of messages about a cache folder without write permission."""


def cache_path() -> Path:
    """Path of the cache folder, whether or not it exists; nothing is created."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("dislab")


def cache_folder() -> Path:
    """The cache folder, for files that can be made or downloaded again; created when missing.

    It is `$DISLAB_CACHE` if set, else the system's cache folder of the user. Existing files can be
    read without write permission.

    Raises:
        InputError: The folder cannot be made.
    """
    folder = cache_path()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the cache folder {folder} cannot be made: {error}; {ELSEWHERE}"
        ) from error
    return folder


def cache_file(name: str) -> Path:
    """Path of a file or folder in the cache folder, whether or not it exists.

    Args:
        name: Its name, including folders.

    Raises:
        InputError: The cache folder cannot be made, or this user may not read it.
    """
    path = cache_folder() / name
    try:
        path.stat()
    except PermissionError as error:
        raise unreadable(path, error) from error
    except OSError:  # there is none
        pass
    return path


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a file or folder of the cache that this user may not read.

    Args:
        path: The file or folder.
        error: The error of the system.
    """
    return InputError(
        f"{path} cannot be read: {error.strerror}; have its owner permit it, or {ELSEWHERE}"
    )
