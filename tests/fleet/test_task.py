"""A shard's crawl is a child that dies with whoever started it, and is told to stop once."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from seaspider.fleet import task
from seaspider.fleet.task import Order
from seaspider.loopback import Answer
from tests.crawling import ROOT, environment
from tests.fleet.fleets import crawls, is_alive, until

# A worker: crawls one shard in a thread that is not its main one, as Dask does.
WORKER = """
import json, sys, threading
from seaspider.fleet.task import Order, crawl_shard
order = json.load(sys.stdin)
thread = threading.Thread(target=crawl_shard, args=(Order(**order),))
thread.start()
thread.join()
"""


@pytest.fixture
def order(tmp_path: Path, loopback) -> Order:  # type: ignore[no-untyped-def]
    """A crawl that waits for an answer."""
    web = loopback({"/robots.txt": Answer(404), "/*": Answer(body="late", delay_s=50)}, names={"a.test": "127.0.6.1"})
    (tmp_path / "q").write_text(f"http://a.test:{web.port}/\nhttp://a.test:{web.port}/more\n")
    settings = {
        "SEASPIDER_LEDGER": tmp_path / "ledger",
        "SEASPIDER_INTERVAL": 0,
        "DOWNLOAD_TIMEOUT": 2,
        "SEASPIDER_RESOLVE": json.dumps(web.names),
    }
    return Order(
        fleet="f",
        shard=0,
        arguments=(
            *("crawl", "seaspider", "-a", f"queue={tmp_path / 'q'}", "-a", f"store={tmp_path / 'store'}"),
            *(part for name, value in settings.items() for part in ("-s", f"{name}={value}")),
        ),
        settings_module="settings.loopback",
        log=str(tmp_path / "log"),
    )


def asks(order: Order) -> bool:
    """Whether a crawl is under way."""
    path = Path(order.log).parent / "store/intents.jsonl"
    return path.exists() and path.stat().st_size > 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_a_child_dies_with_its_worker(order: Order, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, text=True, cwd=ROOT, env=environment()
    ) as worker:
        assert worker.stdin is not None
        worker.stdin.write(json.dumps({field: getattr(order, field) for field in Order.__slots__}))
        worker.stdin.close()
        until(lambda: asks(order))
        ((child, parent),) = crawls(os.getpid()).items()
        assert parent == worker.pid
        os.kill(worker.pid, number)
    until(lambda: not is_alive(child))


def test_the_twin_outlives_it(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the guard the crawl goes on, an orphan."""
    twin = (
        "import seaspider.fleet.child as child, sys; child.die_with = lambda parent: None; "
        "sys.argv[0] = 'seaspider.fleet.child'; child.main()"
    )
    starter = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {twin!r}]).wait()"
    with subprocess.Popen(
        [sys.executable, "-c", starter],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=environment(),
    ) as worker:
        assert worker.stdin is not None
        worker.stdin.write(json.dumps({"parent": worker.pid, "arguments": order.arguments}))
        worker.stdin.close()
        until(lambda: asks(order))
        (child,) = crawls(worker.pid)
        os.kill(worker.pid, signal.SIGKILL)
    try:
        assert is_alive(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_stop_ends_a_crawl_as_a_ctrl_c_does_and_no_other_begins(order: Order) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(task.crawl_shard(order)))
    thread.start()
    until(lambda: asks(order))
    task.stop("another")
    task.stop(order.fleet)
    task.stop(order.fleet)
    # The request in flight comes to its end.
    thread.join(60)
    assert codes == [130]
    last = json.loads((Path(order.log).parent / "store/manifest.jsonl").read_text().splitlines()[-1])
    assert (last["event"], last["reason"], last["exit"]) == ("end", "shutdown", 130)
    assert task.crawl_shard(order) == 130
    assert crawls(os.getpid()) == {}


def test_nobody_sees_what_a_child_is_given(order: Order, tmp_path: Path) -> None:
    secret = Order(
        order.fleet + "2", 7, (*order.arguments, "-s", "USER_AGENT=sesame"), order.settings_module, order.log
    )
    thread = threading.Thread(target=task.crawl_shard, args=(secret,))
    thread.start()
    until(lambda: asks(order))
    (child,) = crawls(os.getpid())
    line = Path(f"/proc/{child}/cmdline").read_bytes()
    assert line.split(b"\0")[-3:-1] == [b"seaspider.fleet.child", b"0007"]
    assert "sesame" not in repr(secret)
    os.kill(child, signal.SIGKILL)
    thread.join(30)
    assert not thread.is_alive()
