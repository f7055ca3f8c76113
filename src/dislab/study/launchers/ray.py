"""Workers as tasks of a Ray cluster."""

import contextlib
import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Final, final

from dislab.errors import InputError, TrainingError, one_line
from dislab.study.launchers.base import Launcher, Workers
from dislab.study.results import last_message

_ADDRESS: Final = "RAY_ADDRESS"
"""Environment variable with the address of a running cluster."""
_TICK: Final = 0.5
_GRACE: Final = 300.0
"""Seconds that interrupted workers get to save their state."""


@final
class Ray(Launcher):
    """Starts workers as Ray tasks: on this machine, or on the cluster that RAY_ADDRESS names.

    Without that variable, Ray never joins an existing cluster. Ray restarts workers that are
    killed. On a cluster, every node must see the study's folder under the same path.
    """

    def launch(self, workers: Workers) -> bool:
        """Starts the workers and waits for them."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError as error:
            raise InputError(
                "the launcher ray needs Ray: pip install 'dislab[ray]', or choose --launcher "
                "processes"
            ) from error
        address = os.environ.get(_ADDRESS, "local")
        folder = tempfile.mkdtemp(prefix="ray")  # short: socket paths have at most 107 characters
        here: dict[str, Any] = {}
        working = os.getcwd() if address == "local" else None
        if address == "local":
            cpus = max(workers.count or 0, 1) * workers.resources.cpus
            here = {
                "num_cpus": cpus if workers.count else None,
                "include_dashboard": False,
                "_temp_dir": folder,
            }
        try:
            # Ray's processes import from the folder in which Ray is started: an empty one
            with contextlib.chdir(folder):
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **here)
            self._work(ray, workers, working)
        except ray.exceptions.RayError as error:
            raise TrainingError(
                f"Ray has ended ({one_line(error)[:200]}); files are whole: "
                "run the same command again"
            ) from error
        finally:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)
        return True

    def _work(self, ray: Any, workers: Workers, folder: str | None) -> None:
        resources = workers.resources
        cores = int(ray.cluster_resources().get("CPU", 1))
        count = workers.count or max(1, cores // resources.cpus)
        task = ray.remote(
            num_cpus=resources.cpus, num_gpus=resources.gpus, max_retries=-1, max_calls=1
        )(_work)
        environment = {"CUDA_VISIBLE_DEVICES": ""} if not resources.gpus else {}
        waiting = [
            task.remote([*workers.command, "--attached"], environment, folder)
            for _ in range(min(count, max(workers.unfinished, 1)))
        ]
        try:
            while waiting:
                ended, waiting = ray.wait(waiting, timeout=_TICK)
                workers.tick()
                for status, message in ray.get(ended):
                    if status == 1:
                        raise TrainingError(message)
                    if status:
                        raise InputError(message or f"a worker has ended with status {status}")
        except ray.exceptions.RayError:  # Ray has ended, with all its workers
            raise
        except BaseException:
            with contextlib.suppress(ray.exceptions.RayError):  # Ray may be gone already
                for task_id in waiting:
                    ray.cancel(task_id)
                ray.wait(waiting, num_returns=len(waiting), timeout=_GRACE)
            raise


def _work(
    command: Sequence[str], environment: dict[str, str], folder: str | None
) -> tuple[int, str]:
    """Runs one worker in a folder; returns its exit status and its last line of output."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=folder,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        try:
            # Ray delivers its interrupt only between two waits
            while process.poll() is None:
                time.sleep(_TICK)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        errors.seek(0)
        message = last_message(errors.read())
    if process.returncode < 0:  # killed; Ray starts the task again
        os._exit(1)
    return process.returncode, message
