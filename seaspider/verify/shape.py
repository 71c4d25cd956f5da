"""Whether a line is one of a store of format 1: its keys in their order, each value of its kind.

Judges no value but whether a time is one. Raises StoreError, with file and line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from seaspider.core.records import File
from seaspider.core.times import parse_rfc3339_ms
from seaspider.journal import Row

# A word for each kind; with a question mark it may be null, with a star it may be missing. `number` is what JSON writes
# with a point.
_TYPES: Final[Mapping[str, type]] = {
    "int": int,
    "number": float,
    "text": str,
    "time": str,
    "flag": bool,
    "list": list,
    "object": dict,
}
Shape = Mapping[str, str]


def _shape(keys: str) -> Shape:
    """`name:kind` for each key, in order."""
    pairs = (each.partition(":") for each in keys.split())
    return {name: kind for name, _, kind in pairs}


_RUN = "v:int run:int"
SHAPES: Final[Mapping[tuple[File, str], Shape]] = {
    (File.MANIFEST, "start"): _shape(
        f"{_RUN} event:text started_at:time started_ns:int boot_id:text versions:object queue:text queue_sha256:text "
        "settings:object waiting:object*"
    ),
    (File.MANIFEST, "end"): _shape(
        f"{_RUN} event:text ended_at:time ended_ns:int reason:text exit:int counts:object verdict:object"
    ),
    (File.SKIPPED, ""): _shape(f"{_RUN} line:int fate:text url:text? text:text? of:int? reason:text?"),
    (File.ROBOTS, ""): _shape(
        f"{_RUN} id:int origin:text cause:text chain:list state:text reason:text? status:int? sha256:text? bytes:int? "
        "truncated:flag etag:text? last_modified:text? retry_after_s:int? fetched_at:time expires_at:time sitemaps:list"
    ),
    (File.INTENTS, ""): _shape(f"{_RUN} visit:int url:text line:int? intended_at:time"),
    (File.REQUESTS, "claim"): _shape(
        f"{_RUN} event:text n:int visit:int? kind:text url:text host:text ip:text addresses:list judged_at:time "
        "claimed_at:time claimed_ns:int"
    ),
    (File.REQUESTS, "settle"): _shape(
        f"{_RUN} event:text n:int sent_ns:int? ended_at:time ended_ns:int pause_s:number pause_basis:text status:int? "
        "error:text? headers:list bytes:int"
    ),
    (File.PAGES, ""): _shape(
        f"{_RUN} visit:int url:text line:int? depth:int via:text? outcome:text reason:text? status:int? final_url:text "
        "chain:list content_type:text? charset:text? bytes:int? sha256:text? links:int? nofollow:flag? flags:list "
        "attempts:int not_before:time? started_at:time ended_at:time"
    ),
    (File.LINKS, ""): _shape(
        f"{_RUN} visit:int page:text n:int url:text text:text rel:text nofollow:flag followed:flag reason:text?"
    ),
}
_HOPS: Final[Mapping[File, Shape]] = {
    File.ROBOTS: _shape("url:text ip:text? status:int? location:text? error:text?"),
    File.PAGES: _shape(
        "url:text ip:text? decision:text? robots_id:int? group:text? rule:text? rule_line:int? witness:text? "
        "crawl_delay_s:number? status:int? location:text? error:text? judged_at:time?"
    ),
}


def check(file: File, row: Row) -> None:
    """A line of that file."""
    event = row.record.get("event", "") if file in (File.MANIFEST, File.REQUESTS) else ""
    shape = SHAPES.get((file, event)) if isinstance(event, str) else None
    if shape is None:
        raise row.error(f"'event' is {event!r}")
    _check(row, row.record, shape)
    if file in _HOPS:
        for hop in row.record["chain"]:
            if not isinstance(hop, dict):
                raise row.error(f"'chain' has {hop!r} in it, not an object")
            _check(row, hop, _HOPS[file])


def _check(row: Row, record: Mapping[str, Any], shape: Shape) -> None:
    shape = {key: kind.rstrip("*") for key, kind in shape.items() if key in record or not kind.endswith("*")}
    if list(record) != list(shape):
        raise row.error(f"has the keys {', '.join(record)}; format 1 has {', '.join(shape)}")
    for (key, value), kind in zip(record.items(), shape.values(), strict=True):
        if value is None and kind[-1] == "?":
            continue
        word = kind.rstrip("?")
        # A bool is an int to isinstance, but never to a record.
        if type(value) is not _TYPES[word]:
            raise row.error(f"{key!r} is {value!r}, not of kind {kind}")
        if word == "time" and isinstance(value, str):
            _check_time(row, key, value)


def _check_time(row: Row, key: str, value: str) -> None:
    try:
        parse_rfc3339_ms(value)
    except ValueError as error:
        raise row.error(f"{key!r}: {error}") from error
