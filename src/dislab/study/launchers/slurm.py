"""Workers as an array of Slurm jobs."""

import shlex
from typing import Final, final

from dislab.study.launchers.base import Launcher, Workers

_HEAD: Final = """#!/bin/bash
# Workers of the study {name}: each takes one run after another until none is free. Send it off as
# often as you like; workers that were cancelled or timed out leave runs that go on. `sbatch` takes
# more options, such as --partition and --time, before the name of this file.
#SBATCH --job-name={name}
#SBATCH --array=1-{count}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={cpus}
{gpus}#SBATCH --signal=B:TERM@300
#SBATCH --output={logs}/slurm_%A_%a.txt
#SBATCH --no-requeue
"""
_BODY: Final = """
# bash passes the signal on that comes before the time is up, so that models are saved
trap 'kill -TERM "$worker"; wait "$worker"' TERM
{command} --leave &
worker=$!
wait "$worker"
"""


@final
class Slurm(Launcher):
    """Prints a script for `sbatch` that starts an array of workers, without submitting it.

    Array tasks are workers, not runs, so that limits on the array size do not limit the study.
    """

    def launch(self, workers: Workers) -> bool:
        """Prints the script."""
        print(script(workers), end="")
        return False


def script(workers: Workers) -> str:
    """Returns the text of the script."""
    gpus = workers.resources.gpus
    head = _HEAD.format(
        name=workers.folder.name,
        count=min(workers.count or 8, max(workers.unfinished, 1)),
        cpus=workers.resources.cpus,
        gpus=f"#SBATCH --gpus-per-task={max(1, int(gpus))}\n" if gpus else "",
        logs=workers.folder.resolve() / "workers",
    )
    return head + _BODY.format(command=shlex.join(workers.command))
