"""Files that dislab keeps: the cache folder, atomic writes, locks and verified downloads.

It needs only the standard library, platformdirs, filelock and tqdm.
"""

from dislab.storage.cache import CACHE_VARIABLE, cache_folder, cache_path
from dislab.storage.downloads import download, sha256
from dislab.storage.locks import acquire, locked
from dislab.storage.writing import atomic, check_output, json_text, remove_leftovers

__all__ = [
    "CACHE_VARIABLE",
    "acquire",
    "atomic",
    "cache_folder",
    "cache_path",
    "check_output",
    "download",
    "json_text",
    "locked",
    "remove_leftovers",
    "sha256",
]
