"""One crawl: a fresh web in a process of its own, the crawler in another, and what both tell when it is over.

Time, processor time and peak memory are what the system says of the crawler's process; everything else is from the
servers' log. A crawl that is not whole is no figure: its fault is said instead.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from resource import struct_rusage
from tempfile import mkdtemp

from benchmarks.peers.crawlers import ROOT, SORT, Crawler, Job, environment
from benchmarks.peers.origin import SO_BINDTODEVICE
from benchmarks.peers.runs import Run
from benchmarks.peers.seen import NS, judge, read
from benchmarks.peers.workloads import Workload
from seaspider.loopback import Arrival

LONGEST_S = 900
START_S = 20
PORTS = range(24_100, 25_100)
"""Below those that the system gives to clients."""


class BenchError(Exception):
    """The benchmark itself cannot be run."""


@contextmanager
def free_port() -> Iterator[int]:
    """Kept for this process: it is bound as long as the context lasts, so that no other benchmark takes it."""
    with ExitStack() as sockets:
        for port in PORTS:
            sock = sockets.enter_context(socket.socket())
            sock.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"lo\0")
            try:
                sock.bind(("0.0.0.0", port))  # noqa: S104 - of the loopback device only
            except OSError:
                continue
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # so that each web can listen on it
            yield port
            return
    raise BenchError(f"no free port from {PORTS.start} to {PORTS.stop - 1}")


@contextmanager
def busy_cores() -> Iterator[None]:
    """Each core has a process that never rests."""
    with ExitStack() as spinning:
        for _ in range(os.cpu_count() or 1):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            spinning.callback(process.wait)
            spinning.callback(process.kill)
        yield


@contextmanager
def running_web(workload: Workload, port: int, folder: Path) -> Iterator[Path]:
    """Its log, whole when the context is over. Raises BenchError if it does not start."""
    profiles, log = folder / "profiles.json", folder / "log.tsv"
    others = {address: asdict(profile) for address, profile in workload.profiles().items()}
    profiles.write_text(json.dumps([asdict(workload.profile), others]), "utf-8")
    module = [sys.executable, "-m", "benchmarks.peers.origin"]
    with subprocess.Popen(  # noqa: S603 - this very Python
        [*module, str(profiles), str(port), str(log), str(workload.enough)], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        try:
            if process.stdout is None or not select.select([process.stdout], [], [], START_S)[0]:
                raise BenchError(f"the web does not start within {START_S} s")
            if process.stdout.readline() != b"ready\n":
                raise BenchError(f"the web cannot listen on port {port} of 127.0.0.0/8")
            yield log
        finally:
            process.terminate()
            process.wait(START_S)


def measure(workload: Workload, crawler: Crawler, queue: Path, port: int, turn: int, busy: bool = False) -> Run:
    """`queue` has the workload's lines for that port. What the crawl leaves stays in a new folder beside it.

    It is not removed before all crawls are over: ext4 passes over inodes that were freed in the last minutes one by
    one, which made each new file of the next crawl up to sixty times as dear.
    """
    load = os.getloadavg()[0]
    folder = Path(mkdtemp(dir=queue.parent))
    with ExitStack() as around:
        (folder / "out").mkdir()
        if busy:
            around.enter_context(busy_cores())
        command = crawler.command(Job(workload, queue, folder / "out"))
        with running_web(workload, port, folder) as log:
            begun_ns = time.monotonic_ns()
            code, used = ended(command, crawler, folder, log if workload.enough else None)
            wall_s = (time.monotonic_ns() - begun_ns) / NS
        cpu_s, peak_mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        run = Run(workload.name, crawler.name, turn, busy, load, wall_s, cpu_s, peak_mib)
        if fault := _fault(code, workload, folder / "output"):
            return replace(run, fault=fault)
        return run if crawler is SORT else _with_sight(run, read(log), begun_ns, workload)


def _with_sight(run: Run, arrivals: list[Arrival], begun_ns: int, workload: Workload) -> Run:
    if not arrivals:
        return replace(run, fault="no request")
    seen = judge(arrivals, workload)
    missing = 0 if workload.enough else workload.pages - seen.pages
    fault = f"{missing} pages were not asked for" if missing else ""
    return replace(run, start_s=(seen.first_ns - begun_ns) / NS, seen=seen, fault=fault)


def ended(command: list[str], crawler: Crawler, folder: Path, enough: Path | None = None) -> tuple[int, struct_rusage]:
    """Its exit code and what it used; what it says is in `folder`/output.

    It is killed as soon as there is a file `enough`, and after LONGEST_S.
    """
    cwd = ROOT if crawler.order else folder  # where a project is, Scrapy takes its settings
    until = time.monotonic() + LONGEST_S
    with (folder / "output").open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - a command of crawlers.py
            command, cwd=cwd, env=environment(crawler), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() > until or (enough and enough.exists()):
                break
            time.sleep(0.005)
    finally:
        os.kill(process.pid, signal.SIGKILL)  # not reaped yet: if it has ended, nothing happens
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used


def _fault(code: int, workload: Workload, output: Path) -> str:
    if code == 0 or (workload.enough and code == -signal.SIGKILL):
        return ""
    lines = output.read_text("utf-8", "replace").splitlines() or [""]
    return f"exit code {code}: {lines[-1][:200]}"
