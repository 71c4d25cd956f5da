"""A connection to a Redis server that may keep a ledger: one instance that forgets nothing, and is who it should be.

Decides which servers are refused, and which errors mean that a server is not there just now. Never tells a password.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from redis import Redis
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError
from redis.retry import Retry

from seaspider.core.redisurl import RedisPlace

TIMEOUT_S: Final = 2.0
"""For an answer, and for a connection. A stop is not looked at meanwhile."""

SCRIPTS: Final = Path(__file__).with_name("redisscripts")
_VERBS: Final = ("claim", "settle", "acquire", "renew", "release", "anew")
_LEAST_VERSION: Final = 6
_KEYS: Final = "seaspider:*"
_SOME_KEYS: Final = [_KEYS.replace("*", kind) for kind in ("epoch", "lease:", "key:")]
# INFO's field, what it must be, and what is wrong otherwise.
_MUST_BE: Final = (
    ("cluster_enabled", "0", "is a cluster; the ledger needs one instance that has all keys"),
    ("role", "master", "is a replica, which cannot be written to"),
    ("aof_enabled", "1", "keeps nothing over a restart (appendonly no); set appendonly yes"),
    ("maxmemory_policy", "noeviction", "may forget pauses (maxmemory-policy {found}); set noeviction"),
)


class UnfitServer(Exception):
    """The server must not keep a ledger, or does not let this user in. The text is for the user, after `it`."""


class RedisServer:
    """Connected and looked at. `ask()` runs a verb's script. Raises UnfitServer, RedisError, OSError."""

    def __init__(self, place: RedisPlace) -> None:
        self._client = _client(place)
        try:
            _check(self._client)
            _check_rights(self._client)
            self._scripts = {verb: self._script(verb) for verb in _VERBS}
        except BaseException as error:
            self._client.close()
            why = _unfit(error)
            if why is not None:
                raise UnfitServer(why) from error
            raise

    def ask(self, verb: str, keys: list[str], args: list[str | int]) -> list[Any]:
        reply: list[Any] = self._scripts[verb](keys=keys, args=args)
        return reply

    def close(self) -> None:
        self._client.close()

    def _script(self, verb: str) -> Script:
        return self._client.register_script("\n".join(map(source, ("common", verb))))


def source(name: str) -> str:
    return (SCRIPTS / f"{name}.lua").read_text("ascii")


def _client(place: RedisPlace) -> Redis:
    options: dict[str, Any] = {}
    if place.tls:
        options = {"ssl": True, "ssl_cert_reqs": "required", "ssl_check_hostname": True, **dict(place.files)}
    for name, file in place.files:
        try:
            Path(file).read_bytes()
        except OSError as error:
            raise UnfitServer(f"needs the file of {name}, which cannot be read: {error}") from error
    return Redis(
        host=place.host,
        port=place.port,
        db=place.db,
        username=place.user,
        password=place.password,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        # A verb is tried again by the ledger, which knows what it is about.
        retry=Retry(NoBackoff(), 0),
        protocol=2,
        decode_responses=True,
        **options,
    )


def _check(client: Redis) -> None:
    found: Any = client.info("default")
    if int(str(found["redis_version"]).partition(".")[0]) < _LEAST_VERSION:
        raise UnfitServer(f"is Redis {found['redis_version']}; it must be {_LEAST_VERSION} or newer")
    for name, wanted, why in _MUST_BE:
        if str(found.get(name)) != wanted:
            raise UnfitServer(why.format(found=found.get(name)))


def _check_rights(client: Redis) -> None:
    """A verb that is refused later would be waited for."""
    why = f"does not let this user do what the ledger needs with keys {_KEYS}: "
    try:
        denied: Any = client.register_script(source("rights"))(keys=_SOME_KEYS)
    except NoPermissionError as error:
        raise UnfitServer(f"{why}{error}") from error
    if denied:
        raise UnfitServer(f"{why}{', '.join(denied)}")


def _unfit(error: BaseException) -> str | None:
    """Why the server is refused, if it is there. None: it is not there, or not ready, or the error is another."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            said = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else cause
            return f"fails the TLS check: {said}"
    if isinstance(error, AuthenticationError):
        return "refuses user or password"
    if isinstance(error, NoPermissionError):
        return f"does not let this user do what the ledger needs: {error}"
    if isinstance(error, ResponseError):
        return f"answers: {error}"
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


__all__ = ["TIMEOUT_S", "RedisError", "RedisServer", "UnfitServer"]
