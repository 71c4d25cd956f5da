"""Dask, as a fleet uses it: this machine, an existing scheduler, or the jobs of a queueing system.

Imports Dask when it is asked for, so nothing else of the project needs it. Raises UsageFault for what is not there.
"""

from __future__ import annotations

import logging
import math
import shlex
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from seaspider.errors import UsageFault
from seaspider.fleet.task import PROJECT

CONNECT_S: Final = 30
SUBMIT_S: Final = 120
_HOST: Final = "127.0.0.1"
_ANY_PORT: Final = f"{_HOST}:0"
_STAND_IN: Final = "dask_jobqueue.local"
"""The queueing system of dask-jobqueue's own tests: jobs are processes of this machine, and have no shell."""
# Each death of a worker is told and counted here (fleet.roster), not by Dask, which gives up after a few.
_CONFIG: Final = {"distributed.scheduler.allowed-failures": 0}


@dataclass(frozen=True, slots=True)
class Where:
    """Where the shards are crawled. At most one of `scheduler` and `jobqueue`."""

    workers: int
    scheduler: str | None = None
    jobqueue: str | None = None
    dashboard: bool = True

    @property
    def is_remote(self) -> bool:
        return self.scheduler is not None or self.jobqueue is not None


@contextmanager
def connected(where: Where) -> Iterator[Any]:
    """A distributed.Client, its own cluster up and running as long as the block lasts."""
    distributed = _needed("distributed")
    dask = _needed("dask")
    _quieten()
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_CONFIG))
        if where.scheduler is not None:
            yield stack.enter_context(_client(distributed, where.scheduler))
            return
        cluster = _local(stack, distributed, where) if where.jobqueue is None else _jobs(where, where.jobqueue)
        stack.enter_context(cluster)
        yield stack.enter_context(distributed.Client(cluster))


def _quieten() -> None:
    """What matters of what Dask logs, deaths and losses, is told by those who count them."""
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL)
    # Some of it has no handler, and would come out as a bare traceback.
    logging.getLogger().addHandler(logging.NullHandler())


def _needed(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise UsageFault(f"needs the package {error.name}: pip install -r requirements-fleet.txt") from error


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=CONNECT_S)
    except (OSError, ValueError) as error:
        raise UsageFault(f"option --scheduler {address}: no Dask scheduler answers there ({_first(error)})") from error


def _local(stack: ExitStack, distributed: Any, where: Where) -> Any:
    with warnings.catch_warnings():
        # Without a dashboard it looks for a port of its own choice; the next best will do.
        warnings.filterwarnings("ignore", "Port 8787 is already in use")
        return _local_cluster(distributed, where, stack.enter_context(_scratch()))


def _scratch() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="seaspider-fleet-", ignore_cleanup_errors=True)


def _local_cluster(distributed: Any, where: Where, folder: str) -> Any:
    return distributed.LocalCluster(
        n_workers=where.workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,  # the work is done in children, which it does not count
        host=_HOST,
        dashboard_address=_ANY_PORT if where.dashboard else None,
        local_directory=folder,
        silence_logs=logging.CRITICAL,
        preload=["seaspider.fleet.preload"],
    )


def _jobs(where: Where, path: str) -> Any:
    kind, given = described(path)
    options = {"cores": 1, "processes": 1, "memory": "1GB", **given}
    if kind.__module__ != _STAND_IN:
        # Not every system hands on the environment.
        prologue = f"export PYTHONPATH={shlex.quote(str(PROJECT))}${{PYTHONPATH:+:$PYTHONPATH}}"
        options["job_script_prologue"] = [prologue, *options.get("job_script_prologue", [])]
    scheduler = {"dashboard": where.dashboard, "dashboard_address": _ANY_PORT}
    options["scheduler_options"] = {**scheduler, **options.get("scheduler_options", {})}
    handler = logging.StreamHandler()
    handler.addFilter(_in_one_line)
    logging.getLogger("tornado.application").handlers = [handler]
    try:
        cluster = kind(n_workers=where.workers, **options)
        _check_taken(cluster)
        jobs = math.ceil(where.workers / int(options["processes"]))
        # A job that ends, for whatever reason, is followed by another.
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
    except (AttributeError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise UsageFault(f"option --jobqueue {path}: {kind.__name__}: {_first(error)}") from error
    return cluster


def _check_taken(cluster: Any) -> None:
    """Raises RuntimeError if the system takes no jobs; else nobody would ever do anything."""
    end_s = time.monotonic() + SUBMIT_S
    while not cluster.workers and time.monotonic() < end_s:
        time.sleep(0.1)
    if not any(job.job_id for job in cluster.workers.values()):
        # There is nothing to close, and closing does not bear that.
        cluster.shutdown_on_close = False
        raise RuntimeError("no job could be submitted; what is above says why")


def _in_one_line(record: logging.LogRecord) -> bool:
    """Of a job that could not be submitted: Dask only logs it, with a traceback that says nothing to a user."""
    if record.exc_info and record.exc_info[1] is not None:
        record.msg, record.args, record.exc_info = _first(record.exc_info[1]), (), None
    return True


def described(path: str) -> tuple[Any, dict[str, Any]]:
    """The class and its options. Raises UsageFault."""
    yaml, kinds = _needed("yaml"), _kinds()
    try:
        read = yaml.safe_load(Path(path).read_text("utf-8"))
    except OSError as error:
        raise UsageFault(f"option --jobqueue {path}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageFault(f"option --jobqueue {path}: is no YAML: {_first(error)}") from error
    if not isinstance(read, Mapping) or not all(isinstance(name, str) for name in read):
        raise UsageFault(f"option --jobqueue {path}: must be names with values, `cluster` among them")
    kind = kinds.get(str(read.get("cluster", "")).lower().removesuffix("cluster"))
    if kind is None:
        known = ", ".join(sorted(kinds))
        raise UsageFault(f"option --jobqueue {path}: cluster {read.get('cluster')!r} is none of: {known}")
    return kind, {name: value for name, value in read.items() if name != "cluster"}


def _kinds() -> dict[str, Any]:
    """`slurm` -> SLURMCluster."""
    jobqueue = _needed("dask_jobqueue")
    local = import_module(_STAND_IN).LocalCluster
    ending = "Cluster"
    named = {name: getattr(jobqueue, name) for name in dir(jobqueue) if name.endswith(ending)}
    return {name.removesuffix(ending).lower(): kind for name, kind in named.items() if name != "JobQueueCluster"} | {
        "local": local
    }


def _first(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
