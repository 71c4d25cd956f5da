"""The address of a Redis server, read from a URL: `redis://` or, by TLS, `rediss://[USER:PASSWORD@]HOST[:PORT][/DB]`.

Decides which parts and options there may be, nothing that would make TLS trust anybody, and what is too much like a URL
to be a file's name. A password is in no text but the URL's own.
"""

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from seaspider.core.credentials import HIDDEN

OPTIONS: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
"""Files: who is trusted besides the system's authorities, and the certificate and key a server may want to see."""

_PORT: Final = 6379
_AUTHORITY = re.compile(r"(?<=://).*@", re.DOTALL)
_SCHEME = re.compile(r"rediss?", re.IGNORECASE)
# A relative path with a colon in its first part, an @, or the scheme for its first folder; :memory: is no path.
_MISTYPED = re.compile(r"\s*(?![./]|:memory:$)([^/]*:|.*@|rediss?\s*[/\\])", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class RedisPlace:
    host: str
    port: int
    db: int
    tls: bool
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    files: tuple[tuple[str, str], ...] = ()
    """OPTIONS with their values."""

    def __str__(self) -> str:
        """The URL without the password."""
        secret = "" if self.password is None else f"{self.user or ''}:{HIDDEN}@"
        host = f"[{self.host}]" if ":" in self.host else self.host
        options = "&".join(f"{name}={value}" for name, value in self.files)
        text = f"redis{'s' * self.tls}://{secret}{host}:{self.port}/{self.db}"
        return f"{text}?{options}" if options else text


def is_url(text: str) -> bool:
    return "://" in text


def is_mistyped(text: str) -> bool:
    """Whether it may be meant as a URL and is none. With `./` before it, it is a file's name all the same."""
    return not is_url(text) and _MISTYPED.match(text) is not None


def shown(url: str) -> str:
    """A ledger's URL, right or wrong, without what may be a secret in it; a path as it is."""
    if is_mistyped(url):
        scheme = _SCHEME.match(url)
        return f"{scheme[0] if scheme else ''}{HIDDEN}"
    if not is_url(url):
        return url
    try:
        return str(redis_place(url))
    except ValueError:
        return _AUTHORITY.sub(f"{HIDDEN}@", url).partition("?")[0]


def redis_place(url: str) -> RedisPlace:
    """Raises ValueError, whose text is for the user and holds no secret."""
    if not url.isascii() or not url.isprintable():
        raise ValueError("must be printable ASCII text; percent-encode the rest")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(
            "must be redis://[USER:PASSWORD@]HOST[:PORT][/DB]; percent-encode / ? # [ ] @ in a password"
        ) from None
    if parts.scheme not in ("redis", "rediss"):
        raise ValueError("must be a file, redis:// or rediss://")
    if not host or " " in url:
        raise ValueError("must name a host")
    db = parts.path.removeprefix("/") or "0"
    if not re.fullmatch(r"[0-9]{1,6}", db):
        raise ValueError("its path must be the number of a database, such as /0")
    if parts.fragment:
        raise ValueError("must have no fragment; percent-encode # in a password")
    tls = parts.scheme == "rediss"
    user = unquote(parts.username) if parts.username else None
    password = None if parts.password is None else unquote(parts.password)
    if user and not password:
        raise ValueError("names a user, so it must have a password")
    return RedisPlace(host, _PORT if port is None else port, int(db), tls, user, password, _files(parts.query, tls))


def _files(query: str, tls: bool) -> tuple[tuple[str, str], ...]:
    files = tuple(parse_qsl(query, keep_blank_values=True))
    for name, value in files:
        if name not in OPTIONS:
            raise ValueError(f"has an unknown option {name!r}; known are {', '.join(OPTIONS)}")
        if not value:
            raise ValueError(f"{name} must name a file")
    if files and not tls:
        raise ValueError(f"{files[0][0]} is for rediss:// only")
    return files
