"""Which answer a request gets: the route table, and the `wire` vocabulary of tests/cases/robots_fetch.jsonl.

Decides by scheme, host name or address, and target; never by time. A key or a value that is not understood is an
error, so that no test runs against a server other than the one it describes.
"""

import base64
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from seaspider.loopback.answers import Answer, Fault, Request, Route

NOT_FOUND = Answer(404, (("Content-Type", "text/plain; charset=utf-8"),), "no such page\n")
CONNECT_FAULTS = frozenset({"dns", "tls-selfsigned"})

# "/target", "host/target", "127.0.0.2/target", each also with a scheme in front; the target "/*" stands for any.
_KEY = re.compile(r"(?:(?P<scheme>https?)://)?(?P<place>[^/:]*)(?P<target>/.*)", re.DOTALL)
_WIRE_KEYS = frozenset({field.name for field in fields(Answer)} - {"parts"} | {"body_b64", "body_gen"})

Place = tuple[str, str, str]  # scheme, host name or address, target; '' = any


class WireError(ValueError):
    """A route that is not in the vocabulary; the message holds the key and the value."""


def from_wire(wire: Mapping[str, Any]) -> dict[str, Route]:
    """The routes of a case's `wire`.

    A case with `connect` has no server to speak of, so no routes: "dns" is a name that must not resolve,
    "tls-selfsigned" a server with `certificates.self_signed()`. Steps told in prose (`sequence` of a whole wire) are
    no routes: WireError.
    """
    if wire.get("connect") in CONNECT_FAULTS and "routes" not in wire:
        return {}
    if set(wire) != {"routes"}:
        raise WireError(f"not a wire of routes: {wire!r}")
    return {key: as_route(route, key) for key, route in wire["routes"].items()}


def as_route(value: Route | Mapping[str, Any] | Sequence[Any], key: str = "") -> Route:
    """A route from a value, a `wire` mapping or `{"sequence": [...]}`. `key` is for the message of a WireError."""
    if isinstance(value, Answer) or callable(value):
        return value
    steps = value if isinstance(value, tuple) else None
    if isinstance(value, Mapping) and "sequence" in value:
        if set(value) != {"sequence"}:
            raise WireError(f"{key}: `sequence` stands alone, found {sorted(value)}")
        steps = tuple(value["sequence"])
    if steps is not None:
        if not steps:
            raise WireError(f"{key}: an empty sequence")
        return tuple(step if isinstance(step, Answer) else _answer(step, key) for step in steps)
    return _answer(value, key)


def _answer(wire: Any, key: str) -> Answer:
    if not isinstance(wire, Mapping):
        raise WireError(f"{key}: not an answer: {wire!r}")
    if unknown := set(wire) - _WIRE_KEYS:
        raise WireError(f"{key}: unknown in an answer: {sorted(unknown)}")
    plain = {name: wire[name] for name in wire if name not in {"headers", "body_b64", "body_gen", "fault"}}
    if "body_b64" in wire:
        plain["body"] = base64.b64decode(wire["body_b64"], validate=True)
    fault = wire.get("fault")
    if fault is not None and fault not in {known.value for known in Fault}:
        raise WireError(f"{key}: unknown fault {fault!r}")
    return Answer(
        **plain,
        headers=tuple((name, value) for name, value in wire.get("headers", ())),
        parts=tuple((text.encode(), count) for text, count in wire.get("body_gen", ())),
        fault=Fault(fault) if fault is not None else None,
    )


def parse_key(key: str) -> Place:
    """(scheme, host name or address, target) of a route's key; '' where the key leaves it open."""
    match = _KEY.fullmatch(key)
    if match is None:
        raise WireError(f"not a route's key: {key!r}")
    return match["scheme"] or "", match["place"].lower(), match["target"]


class RouteTable:
    """Routes by key. The most particular wins: its own target before `/*`, host before address before any, scheme."""

    def __init__(self, routes: Mapping[str, Any]) -> None:
        self._routes = {parse_key(key): as_route(value, key) for key, value in routes.items()}
        self._asked: Counter[Place] = Counter()

    def places(self) -> list[str]:
        """The host names and addresses that keys name, sorted."""
        return sorted({place for _, place, _ in self._routes if place})

    def answer(self, request: Request) -> Answer:
        """The answer to this request; a sequence moves on by one, its last answer repeats. Unknown: 404."""
        for target in (request.target, "/*"):
            for place in (request.name, request.address, ""):
                for scheme in (request.scheme, ""):
                    key = (scheme, place, target)
                    if key in self._routes:
                        return self._answer(key, request)
        return NOT_FOUND

    def _answer(self, key: Place, request: Request) -> Answer:
        route = self._routes[key]
        if isinstance(route, Answer):
            return route
        if isinstance(route, tuple):
            self._asked[key] += 1
            return route[min(self._asked[key], len(route)) - 1]
        return route(request)
