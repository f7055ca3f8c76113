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
