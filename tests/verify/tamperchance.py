"""Every small edit of a store that can be thought of: of each field by its kind, of each line, and of each body.

An edit is named by its place (`chain.*.status` for any hop's) and what was done, so that those can be listed which
nothing else in a store contradicts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from seaspider.core.records import File
from seaspider.core.times import parse_rfc3339_ms, rfc3339_ms
from tests.verify.tamper import Change, Row, Rows

Place = tuple[str | int, ...]
Value = Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MINUTES_MS = (-180_000, 180_000, 86_400_000)
_GONE = object()


@dataclass(frozen=True, slots=True)
class Altered:
    """`where`: the field without its place in lists; `what`: the kind of change."""

    where: str
    what: str
    change: Change


def fields(row: Row) -> list[Place]:
    """Where the values of a row are, each list and mapping being one, too. The format's version is left alone."""
    return [path for path in _paths(row) if path and path != ("v",)]


def _paths(value: Value, at: Place = ()) -> Iterator[Place]:
    yield at
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*at, key))
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from _paths(item, (*at, n))


def name(path: Place) -> str:
    return ".".join("*" if isinstance(step, int) else step for step in path)


def values(old: Value, key: str | int) -> dict[str, Value]:
    """Other values for a field: what is done -> the new one."""
    found: dict[str, Value] = {"null": None, **_OF_KIND[type(old)](old, str(key))}
    return {what: new for what, new in found.items() if type(new) is not type(old) or new != old}


def _of_int(old: int, key: str) -> dict[str, Value]:
    far = 60_000_000_000 if key.endswith("_ns") else 9
    return {"plus 1": old + 1, "minus 1": old - 1, "much more": old + far, "much less": old - far}


def _of_float(old: float, key: str) -> dict[str, Value]:
    return {"none": 0.0, "more": old + 0.001, "much more": old * 2 + 1, "less": old / 2}


def _of_text(old: str, key: str) -> dict[str, Value]:
    if _TIME.fullmatch(old):
        return {f"{ms // 60_000} minutes": rfc3339_ms(parse_rfc3339_ms(old) + ms) for ms in _MINUTES_MS}
    middle = len(old) // 2
    letter = "a" if old[middle : middle + 1] != "a" else "b"
    return {
        "a letter": old[:middle] + letter + old[middle + 1 :],
        "longer": old + "x",
        "shorter": old[:-1],
        "empty": "",
    }


def _of_list(old: list[Value], key: str) -> dict[str, Value]:
    return {"empty": [], "without the last": old[:-1], "the first twice": [*old[:1], *old]}


def _of_nothing(old: None, key: str) -> dict[str, Value]:
    return {"a text": "x", "a number": 1, "a time": "2026-01-01T00:00:00.000Z"}


_OF_KIND: dict[type, Callable[[Any, str], dict[str, Value]]] = {
    bool: lambda old, key: {"not": not old},
    int: _of_int,
    float: _of_float,
    str: _of_text,
    list: _of_list,
    dict: lambda old, key: {"empty": {}},
    type(None): _of_nothing,
}


def altered_fields(rows: Rows, line: int, path: Place) -> list[Altered]:
    """The edits of one field of one line."""
    old = _at(rows[line], path)
    edits = [Altered(name(path), what, _set(line, path, new)) for what, new in values(old, path[-1]).items()]
    if isinstance(path[-1], str):
        edits.append(Altered(name(path), "no key", _set(line, path, _GONE)))
    return edits


def altered_lines(rows: Rows, line: int) -> list[Altered]:
    """The edits of a whole line. A line is not swapped with one that is the same."""
    edits = [
        Altered("line", "gone", lambda rows: [*rows[:line], *rows[line + 1 :]]),
        Altered("line", "twice", lambda rows: [*rows[: line + 1], *rows[line:]]),
    ]
    if line + 1 < len(rows) and rows[line] != rows[line + 1]:
        edits.append(
            Altered("line", "swapped", lambda rows: [*rows[:line], rows[line + 1], rows[line], *rows[line + 2 :]])
        )
    return edits


def _at(value: Value, path: Place) -> Value:
    for step in path:
        value = value[step]
    return value


def _set(line: int, path: Place, new: Value) -> Change:
    def change(rows: Rows) -> Rows:
        holder = _at(rows[line], path[:-1])
        if new is _GONE:
            del holder[path[-1]]
        else:
            holder[path[-1]] = new
        return rows

    return change


def kind_of(file: File, row: Row) -> str:
    """The kind of line, where a file has several."""
    return f"{file.removesuffix('.jsonl')} {row['event']}" if "event" in row else file.removesuffix(".jsonl")
