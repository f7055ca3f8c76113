"""Files that dislab keeps: the cache folder, atomic writes, records, locks, verified downloads.

It needs only the standard library, platformdirs, filelock and tqdm.
"""

from dislab.storage.cache import (
    CACHE_VARIABLE,
    acquire,
    cache_file,
    cache_folder,
    cache_path,
    locked,
    unreadable,
)
from dislab.storage.downloads import download, foreign_format, sha256
from dislab.storage.records import check_fields, check_inside, is_component, read_json, record_of
from dislab.storage.writing import (
    WIDTH,
    atomic,
    check_output,
    created,
    duration,
    folders_above,
    json_text,
    markdown_text,
    minus_signs,
    new_folder,
    remove_leftovers,
    reopened,
    text_table,
)

__all__ = [
    "CACHE_VARIABLE",
    "WIDTH",
    "acquire",
    "atomic",
    "cache_file",
    "cache_folder",
    "cache_path",
    "check_fields",
    "check_inside",
    "check_output",
    "created",
    "download",
    "duration",
    "folders_above",
    "foreign_format",
    "is_component",
    "json_text",
    "locked",
    "markdown_text",
    "minus_signs",
    "new_folder",
    "read_json",
    "record_of",
    "remove_leftovers",
    "reopened",
    "sha256",
    "text_table",
    "unreadable",
]
