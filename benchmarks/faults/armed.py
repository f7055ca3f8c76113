"""The `dislab` command, killed by itself at a chosen moment.

`event pattern count rank` names the moment: the `count`-th time that the process of this rank
causes the audit event (`open` for writing, or `os.rename`) on a path that matches the pattern, as
in `os.rename */last.ckpt 2 0`. SIGKILL arrives before the file is opened or renamed.
`time seconds 1 rank` kills after a time. Processes that this one starts find the moment in
`DISLAB_FAULT`.
"""

import os
import signal
import sys
import threading
from fnmatch import fnmatch
from typing import Any

from dislab.cli import main

VARIABLE = "DISLAB_FAULT"


def arm(moment: str) -> None:
    """Kills this process at a moment."""
    event, pattern, count, rank = moment.split()
    if rank != os.environ.get("LOCAL_RANK", "0"):
        return
    if event == "time":
        timer = threading.Timer(float(pattern), os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
        return
    countdown = [int(count)]

    def hook(name: str, arguments: tuple[Any, ...]) -> None:
        if name != event:
            return
        path = arguments[1] if name == "os.rename" else arguments[0]
        if name == "open" and (arguments[1] is None or not set(str(arguments[1])) & set("wa+x")):
            return
        if isinstance(path, str | os.PathLike) and fnmatch(os.fspath(path), pattern):
            countdown[0] -= 1
            if not countdown[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def obey(moment: str, args: list[str]) -> int:
    """The command, killed at a moment; at none if that is empty."""
    sys.argv = [__file__, *args]  # how Lightning starts the other processes of a run
    os.environ[VARIABLE] = moment
    if moment:
        arm(moment)
    return main(args)


if __name__ == "__main__":
    sys.exit(obey(os.environ[VARIABLE], sys.argv[1:]))
