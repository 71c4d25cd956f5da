"""The examples in deploy/: what their own tools say of them, and that what they run is a crawl of a shard."""

import itertools
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from seaspider.arguments import Arguments
from seaspider.fleet.cluster import described
from tests.crawling import ROOT

SBATCH = ROOT / "deploy/slurm-array.sbatch"
JOB = ROOT / "deploy/kubernetes-job.yaml"


def arguments(command: list[str]) -> Arguments:
    assert command[1:3] == ["crawl", "seaspider"]
    given = [value for name, value in itertools.pairwise(command) if name == "-a"]
    return Arguments.read(dict(each.split("=", 1) for each in given))


def test_a_task_of_the_slurm_array_crawls_its_shard(tmp_path: Path) -> None:
    subprocess.run(["bash", "-n", SBATCH], check=True)
    scrapy = tmp_path / ".venv/bin/scrapy"
    scrapy.parent.mkdir(parents=True)
    scrapy.write_text('#!/bin/sh\npwd\nprintf "%s\\n" "$0" "$@"\n')
    scrapy.chmod(0o755)
    given = {"PATH": os.environ["PATH"], "PROJECT": str(tmp_path), "STORE": "some where", "SLURM_ARRAY_TASK_ID": "7"}
    ran = subprocess.run(["bash", SBATCH], env=given, capture_output=True, text=True, check=True)
    where, *command = ran.stdout.splitlines()
    assert Path(where) == tmp_path
    asked = arguments(command)
    assert (asked.plan, asked.shard, asked.store) == ("some where/plan", 7, "some where/shards/0007")
    for name in ("PROJECT", "STORE", "SLURM_ARRAY_TASK_ID"):
        without = {key: value for key, value in given.items() if key != name}
        assert subprocess.run(["bash", SBATCH], env=without, capture_output=True, check=False).returncode != 0


@pytest.mark.skipif(shutil.which("sbatch") is None, reason="no Slurm here")
def test_slurm_takes_the_array() -> None:
    subprocess.run(["sbatch", "--test-only", SBATCH], check=True)


def test_an_index_of_the_kubernetes_job_crawls_its_shard() -> None:
    job = yaml.safe_load(JOB.read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["/bin/sh", "-c"]
    ran = subprocess.run(
        [*container["command"], container["args"][0].replace("exec scrapy", "printf '%s\\n' scrapy")],
        env={"PATH": os.environ["PATH"], "JOB_COMPLETION_INDEX": "7", "LEDGER": "rediss://:a b@h:6379/0"},
        capture_output=True,
        text=True,
        check=True,
    )
    command = ran.stdout.splitlines()
    asked = arguments(command)
    assert (asked.plan, asked.shard, asked.store) == ("/shared/store/plan", 7, "/shared/store/shards/0007")
    assert "SEASPIDER_LEDGER=rediss://:a b@h:6379/0" in command
    assert shlex.split(container["args"][0])[0] == "exec"


def lost(given: Any, taken: Any, where: str = "") -> list[str]:
    """What is in `given` and not, or otherwise, in `taken`."""
    if isinstance(given, dict) and isinstance(taken, dict):
        return [found for key in given for found in lost(given[key], taken.get(key), f"{where}.{key}")]
    if isinstance(given, list) and isinstance(taken, list) and len(given) == len(taken):
        pairs = enumerate(zip(given, taken, strict=True))
        return [found for at, pair in pairs for found in lost(*pair, f"{where}[{at}]")]
    return [] if given == taken else [where]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here")
def test_kubectl_knows_each_field_of_the_job(tmp_path: Path) -> None:
    """It reads the job into its own types, with no server: what they do not have is lost."""

    def read(path: Path) -> Any:
        ran = subprocess.run(
            ["kubectl", "set", "image", "--local", "-f", path, "crawl=other:1", "-o", "json"],
            env={**os.environ, "KUBECONFIG": "/dev/null"},
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(ran.stdout)

    job = yaml.safe_load(JOB.read_text())
    assert lost(job, read(JOB)) == [".spec.template.spec.containers[0].image"]
    twin = tmp_path / "twin.yaml"
    job["spec"]["completionmode"] = "Indexed"
    twin.write_text(yaml.safe_dump(job))
    assert ".spec.completionmode" in lost(job, read(twin))


def test_the_jobqueue_file_names_a_cluster_and_its_options() -> None:
    kind, options = described(str(ROOT / "deploy/slurm.yaml"))
    assert kind.__name__ == "SLURMCluster"
    script = kind.job_cls("tcp://127.0.0.1:1", name="x", **{"processes": 1, **options}).job_script()
    assert "#SBATCH -p normal\n" in script
    assert "#SBATCH -t 1-00:00:00\n" in script
