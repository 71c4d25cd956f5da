"""A real redis-server on a loopback port and in a folder of its own, which can be stopped, killed and started again."""

from __future__ import annotations

import random
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis

from seaspider.core.redisurl import RedisPlace, redis_place
from tests.tlscerts import Authority

PASSWORD = "s3cret/+@?"
LASTING = {"appendonly": "yes", "maxmemory-policy": "noeviction"}
STARTS_WITHIN_S = 20


def program() -> str:
    found = shutil.which("redis-server")
    if found is None:
        pytest.fail("redis-server is missing: apt-get install redis-server, or see .ci/run", pytrace=False)
    return found


def free_port() -> int:
    """Below those that the system gives to clients: else one could take it while the server is away, even a client of
    this very port, which is then connected to itself. A cluster adds 10,000 for a second port."""
    while True:
        port = random.randrange(11_000, 21_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class RedisProcess:
    """Runs within a `with` block. `settings`: redis.conf's, on top of LASTING. `tls`: the port is for TLS only, by an
    authority in `folder`'s `ca.pem`. What it kept is there again when it is started again."""

    def __init__(self, folder: Path, *, password: str | None = None, tls: bool = False, **settings: str) -> None:
        self.folder = folder
        self.password = password
        self.tls = tls
        self.port = free_port()
        self._settings = {**LASTING, **{name.replace("_", "-"): value for name, value in settings.items()}}
        self._process: subprocess.Popen[bytes] | None = None
        if tls:
            Authority(folder).server("127.0.0.1")

    @property
    def place(self) -> RedisPlace:
        return redis_place(self.url)

    @property
    def url(self) -> str:
        secret = "" if self.password is None else f":{quote(self.password, safe='')}@"
        option = f"?ssl_ca_certs={self.folder / 'ca.pem'}" if self.tls else ""
        return f"redis{'s' * self.tls}://{secret}127.0.0.1:{self.port}/0{option}"

    @property
    def client(self) -> redis.Redis:
        options: dict[str, Any] = {"ssl": True, "ssl_ca_certs": str(self.folder / "ca.pem")} if self.tls else {}
        return redis.Redis("127.0.0.1", self.port, password=self.password, decode_responses=True, protocol=2, **options)

    def start(self) -> None:
        ports = {"port": "0", "tls-port": str(self.port)} if self.tls else {"port": str(self.port)}
        files = {"tls-cert-file": "server-1.pem", "tls-key-file": "server-1.pem", "tls-ca-cert-file": "ca.pem"}
        given = {
            "bind": "127.0.0.1",
            "dir": str(self.folder),
            "save": "",
            "enable-debug-command": "yes",
            **ports,
            **({"tls-auth-clients": "no", **files} if self.tls else {}),
            **({"requirepass": f'"{self.password}"'} if self.password else {}),
            **self._settings,
        }
        conf = self.folder / "redis.conf"
        conf.write_text("".join(f"{name} {value or chr(34) * 2}\n" for name, value in given.items()))
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen([program(), conf], cwd=self.folder, stdout=log, stderr=log)
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + STARTS_WITHIN_S
        while not self._answers():
            log = (self.folder / "redis.log").read_text("utf-8")
            assert self._process is not None
            assert self._process.poll() is None, log
            assert time.monotonic() < end, log
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with self.client as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """As kill -9 does. What it acknowledged is kept."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self, **settings: str) -> None:
        self.kill()
        self._settings |= {name.replace("_", "-"): value for name, value in settings.items()}
        self.start()

    def began(self, ago_s: float) -> None:
        """Its present epoch began that long ago, so that no claim has to wait for the requests before."""
        with self.client as client:
            seconds, micros = client.time()  # type: ignore[misc]
            began = seconds * 1_000_000 + micros - int(ago_s * 1_000_000)
            run_id = client.info("server")["run_id"]  # type: ignore[index]
            client.hset(
                "seaspider:epoch",
                mapping={"run_id": run_id, "began": began, "hold": 0, "earlier": 0, "latest": began},
            )

    def __enter__(self) -> RedisProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
        self.kill()
