"""Dask, as a fleet uses it: this machine, an existing scheduler, or the jobs of a queueing system.

Imports Dask when it is asked for, so nothing else of the project needs it. Raises UsageFault for what is not there.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from seaspider.errors import UsageFault
from seaspider.fleet.task import PROJECT

CONNECT_S: Final = 30
_HOST: Final = "127.0.0.1"
_ANY_PORT: Final = f"{_HOST}:0"
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
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_CONFIG))
        if where.scheduler is not None:
            yield stack.enter_context(_client(distributed, where.scheduler))
            return
        cluster = _local(stack, distributed, where) if where.jobqueue is None else _jobs(where, where.jobqueue)
        stack.enter_context(cluster)
        yield stack.enter_context(distributed.Client(cluster))


def _needed(name: str) -> Any:
    try:
        return __import__(name)
    except ModuleNotFoundError as error:
        raise UsageFault(f"needs the package {error.name}: pip install -r requirements-fleet.txt") from error


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=CONNECT_S)
    except (OSError, ValueError) as error:
        raise UsageFault(f"option --scheduler {address}: no Dask scheduler answers there ({_first(error)})") from error


def _local(stack: ExitStack, distributed: Any, where: Where) -> Any:
    return distributed.LocalCluster(
        n_workers=where.workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,  # the work is done in children, which it does not count
        host=_HOST,
        dashboard_address=_ANY_PORT if where.dashboard else None,
        local_directory=stack.enter_context(TemporaryDirectory(prefix="seaspider-fleet-", ignore_cleanup_errors=True)),
        silence_logs=logging.CRITICAL,
        preload=["seaspider.fleet.preload"],
    )


def _jobs(where: Where, path: str) -> Any:
    kind, options = described(path)
    options = {"cores": 1, "processes": 1, "memory": "1GB", **options}
    options["job_script_prologue"] = [
        f"export PYTHONPATH={PROJECT}${{PYTHONPATH:+:$PYTHONPATH}}",
        *options.get("job_script_prologue", []),
    ]
    dashboard = _ANY_PORT if where.dashboard else None
    options["scheduler_options"] = {"dashboard_address": dashboard, **options.get("scheduler_options", {})}
    try:
        cluster = kind(**options)
        jobs = math.ceil(where.workers / int(options["processes"]))
        # Not scale(): a job that ends, for whatever reason, is to be followed by another.
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise UsageFault(f"option --jobqueue {path}: {kind.__name__}: {_first(error)}") from error
    return cluster


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
    local = __import__("dask_jobqueue.local").local.LocalCluster
    ending = "Cluster"
    named = {name: getattr(jobqueue, name) for name in dir(jobqueue) if name.endswith(ending)}
    return {name.removesuffix(ending).lower(): kind for name, kind in named.items() if name != "JobQueueCluster"} | {
        "local": local
    }


def _first(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
