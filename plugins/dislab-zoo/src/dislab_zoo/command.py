"""The command `dislab zoo`."""

import shutil
from pathlib import Path

from dislab.cli.arguments import Parser
from dislab.storage import new_folder
from dislab_zoo.models import names, path


def run(args: list[str]) -> int:
    """Lists trained models, or copies one to a new folder."""
    parser = Parser(
        "dislab zoo",
        description="List trained models, or copy one.",
        example="dislab zoo adagvae-shapes3d --out model",
    )
    parser.add_argument("name", nargs="?", help="name of a model; lists all models unless given")
    parser.add_argument("--out", type=Path, help="new folder to copy the model to")
    options = parser.parse_args(args)
    if options.name is None:
        print("\n".join(names()))
        return 0
    folder = path(options.name)
    if options.out is None:
        print(folder)
        return 0
    with new_folder("--out", options.out) as temporary:
        shutil.copytree(folder, temporary, dirs_exist_ok=True)
    print(options.out)
    return 0
