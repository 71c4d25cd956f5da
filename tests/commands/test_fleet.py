"""`scrapy fleet`: what it refuses, in one line and before any worker; the plan alone; what is told of it."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from seaspider.fleet import plan as plans
from tests.crawling import ROOT, scrapy

QUEUE = "http://a.test/\nhttp://b.test/\n\n# x\nno URL\nhttp://a.test/\n"
JOBS = {
    "no.yaml": None,
    "broken.yaml": "{",
    "list.yaml": "- 1\n",
    "unknown.yaml": "cluster: cloud\n",
    "none.yaml": "cores: 1\n",
    "options.yaml": "cluster: slurm\nno_such_option: 1\n",
}
REDIS = ["--ledger", "redis://127.0.0.1:9/0"]
KNOWN = "is none of: htcondor, local, lsf, moab, oar, pbs, sge, slurm"
REFUSED = {
    "no workers": (["--workers", "0"], "option --workers '0': must be a whole number from 1 to 100000"),
    "many shards": (["--shards", "10000"], "option --shards '10000': must be a whole number from 1 to 9999"),
    "some shards": (["--shards", "x"], "option --shards 'x': must be a whole number from 1 to 9999"),
    "no store": (["--store", ""], "option --store: must name a folder"),
    "memory": (
        ["--ledger", ":memory:"],
        "setting SEASPIDER_LEDGER = ':memory:': no two shards would share it: name a ",
    ),
    "a file for many": (
        ["--scheduler", "tcp://127.0.0.1:9"],
        "setting SEASPIDER_LEDGER = 'LEDGER': is a file of this machine, and the workers are on others: name a server",
    ),
    "a file for jobs": (
        ["--jobqueue", "no.yaml"],
        "setting SEASPIDER_LEDGER = 'LEDGER': is a file of this machine, and the workers are on others: name a server",
    ),
    "two clusters": ([*REDIS, "--scheduler", "a", "--jobqueue", "b"], "options --scheduler and --jobqueue: a cluster "),
    "a queue, too": (["-a", "queue=q"], "argument -a queue=q: is not for a fleet: it comes from the plan"),
    "a shard, too": (["-a", "shard=1"], "argument -a shard=1: is not for a fleet: it comes from the plan"),
    "unknown": (["-a", "folow=host"], "argument -a folow=host: is unknown; "),
    "no value": (["-a", "follow"], "option -a: must be NAME=VALUE, not ['follow']"),
    "a bad value": (["-a", "follow=all"], "argument -a follow=all: must be one of: off, host"),
    "a setting": (["-s", "SEASPIDER_MAX_DEPTH=-1"], "setting SEASPIDER_MAX_DEPTH = '-1': must be at least 0"),
    "unsafe": (["-s", "CONCURRENT_REQUESTS=8"], "setting CONCURRENT_REQUESTS = '8': "),
    "a feed": (["-s", 'FEEDS={"x.csv": {}}'], "setting FEEDS = ['x.csv']: each shard would write the same feed"),
    "no scheduler": (
        [*REDIS, "--scheduler", "nothing://x"],
        "option --scheduler nothing://x: no Dask scheduler answers there (",
    ),
    **{
        name: ([*REDIS, "--jobqueue", f"FOLDER/{name}"], f"option --jobqueue FOLDER/{name}: {why}")
        for name, why in {
            "no.yaml": "cannot be read: No such file or directory",
            "broken.yaml": "is no YAML: ",
            "list.yaml": "must be names with values, `cluster` among them",
            "unknown.yaml": f"cluster 'cloud' {KNOWN}",
            "none.yaml": f"cluster None {KNOWN}",
            "options.yaml": "SLURMCluster: ",
        }.items()
    },
}


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    (tmp_path / "q").write_text(QUEUE)
    return tmp_path / "q"


def fleet(queue: Path, *options: str):  # type: ignore[no-untyped-def]
    return scrapy(["fleet", str(queue), "--store", str(queue.parent / "store"), *options], queue.parent)


@pytest.mark.parametrize(("options", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant_is_one_line(queue: Path, options: list[str], why: str) -> None:
    for name, text in JOBS.items():
        if text is not None:
            (queue.parent / name).write_text(text)
    ended = fleet(queue, *(option.replace("FOLDER", str(queue.parent)) for option in options))
    assert ended.exit == 2
    why = why.replace("LEDGER'", f"{queue.parent}/ledger.sqlite3'").replace("FOLDER", str(queue.parent))
    assert ended.log.startswith(f"scrapy fleet: {why}")
    assert ended.log.count("\n") == 1
    assert not list(queue.parent.glob("store/shards"))


def test_jobs_that_are_not_taken_are_told_and_not_waited_for(queue: Path) -> None:
    sbatch = queue.parent / "bin/sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text("#!/bin/sh\necho 'sbatch: error: invalid partition: normal' >&2\nexit 1\n")
    sbatch.chmod(0o755)
    given = ["fleet", str(queue), "--store", str(queue.parent / "store"), *REDIS]
    path = {"PATH": f"{sbatch.parent}:{os.environ['PATH']}"}
    ended = scrapy([*given, "--jobqueue", str(ROOT / "deploy/slurm.yaml")], queue.parent, environment=path)
    assert ended.exit == 2, ended.log
    assert "Traceback" not in ended.log
    assert "sbatch: error: invalid partition: normal" in ended.log
    last = ended.log.splitlines()[-1]
    assert last.endswith("SLURMCluster: no job could be submitted; what is above says why"), ended.log


@pytest.mark.parametrize("missing", ["dask", "distributed"])
def test_a_package_that_is_missing_is_named(queue: Path, missing: str) -> None:
    without = f"import sys; sys.modules[{missing!r}] = None"
    given = ["fleet", str(queue), "--store", str(queue.parent / "store")]
    ended = scrapy(given, queue.parent, sabotage=without, cold=True)
    assert ended.exit == 2
    assert ended.log == f"scrapy fleet: needs the package {missing}: pip install -r requirements-fleet.txt\n"


def test_a_plain_crawl_and_a_plan_import_nothing_of_it(queue: Path) -> None:
    absent = ("dask", "distributed", "dask_jobqueue", "yaml", "redis", "bokeh")
    without = f"import sys; sys.modules.update(dict.fromkeys({absent}))"
    store = str(queue.parent / "store")
    given = ["fleet", str(queue), "--store", store, "--plan-only"]
    planned = scrapy(given, queue.parent, sabotage=without, cold=True)
    assert planned.exit == 0, planned.log
    given = ["crawl", "seaspider", "-a", f"plan={store}/plan", "-a", "shard=0"]
    assert scrapy(given, queue.parent, sabotage=without, cold=True).exit == 0


def test_a_crawl_imports_nothing_that_only_other_commands_need(queue: Path) -> None:
    """Each takes its time at the start; aiohttp and requests would be second ways out, too."""
    absent = ("aiohttp", "requests", "tldextract", "twisted.conch", "numpy", "redis", "dask")
    absent += tuple(f"seaspider.{name}" for name in ("verify", "explain", "receipt", "replay", "demo", "loopback"))
    without = f"import sys; sys.modules.update(dict.fromkeys({absent}))"
    given = ["crawl", "seaspider", "-a", f"queue={queue}", "-a", f"store={queue.parent / 'store'}"]
    ended = scrapy(given, queue.parent, sabotage=without, cold=True)
    assert ended.exit == 0, ended.log


def test_a_plan_alone(queue: Path) -> None:
    ended = fleet(queue, "--shards", "2", "--plan-only")
    plan = str(queue.parent / "store/plan")
    assert (ended.exit, ended.log) == (0, "")
    assert ended.out == (
        f"Plan of 2 shards in {plan}: 6 lines, 1 blank, 1 comment, 1 rejected, 3 urls; the smallest shard has 2 lines, "
        f"the largest 2.\nCrawl each: scrapy crawl seaspider -a plan={plan} -a shard=N, N from 0 to 1.\n"
    )
    again = fleet(queue, "--shards", "2", "--plan-only", "--json")
    assert json.loads(again.out) == plans.read(Path(plan)).to_record()
    other = fleet(queue, "--shards", "3", "--plan-only")
    assert (other.exit, other.log) == (
        2,
        f"scrapy fleet: {plan}: is a plan of 2 shards, not 3; name another store\n",
    )


def test_one_fleet_at_a_time(queue: Path) -> None:
    (queue.parent / "store").mkdir()
    with (queue.parent / "store/fleet.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = fleet(queue)
    assert ended.exit == 75
    assert ended.log == f"scrapy fleet: store '{queue.parent}/store' is in use by another fleet\n"


@pytest.mark.parametrize(("content", "why"), [("", "is empty"), ("# x\n", "no line is a URL (1 comment)")])
def test_a_queue_that_cannot_be_used(queue: Path, content: str, why: str) -> None:
    queue.write_text(content)
    ended = fleet(queue)
    assert (ended.exit, ended.log) == (2, f"scrapy fleet: queue {str(queue)!r}: {why}\n")
