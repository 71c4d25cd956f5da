"""Which line of a store a tamper edit is about, and what it makes of a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seaspider.core.records import File
from seaspider.core.times import parse_rfc3339_ms, rfc3339_ms
from tests.verify.tamper import (
    BodyEdit,
    Edit,
    Row,
    Rows,
    inside,
    put,
    put_in,
    request,
    set_values,
)

AnEdit = Edit | BodyEdit
HOUR_MS = 3_600_000
S_NS = 1_000_000_000
NO_DIGEST = "0" * 64


def plus(amount: int) -> Callable[[int], int]:
    return lambda value: value + amount


def later(ms: int) -> Callable[[str], str]:
    return lambda text: rfc3339_ms(parse_rfc3339_ms(text) + ms)


def other(text: str) -> str:
    """Another text of the same kind."""
    return text[:-1] + ("x" if text[-1] != "x" else "y")


# --- which line ---


def stored(row: Row) -> bool:
    return row["outcome"] == "stored" and row["attempts"] > 0


def by_rules(row: Row) -> bool:
    """Asked for because rules of a robots.txt allow it."""
    return stored(row) and row["chain"][-1]["decision"] == "allow" and row["chain"][-1]["group"] is not None


def ruled(row: Row) -> bool:
    """The same, by a rule."""
    return by_rules(row) and row["chain"][-1]["rule"] is not None


def ended(outcome: str, reason: str | None = None) -> Callable[[Row], bool]:
    return lambda row: row["outcome"] == outcome and reason in (None, row["reason"]) and row["visit"] is not None


def hopped(row: Row) -> bool:
    """Redirected, and what it was redirected to was asked for."""
    return len(row["chain"]) > 1 and row["chain"][1]["status"] is not None


def state(name: str) -> Callable[[Row], bool]:
    return lambda row: row["state"] == name


def fetched(row: Row) -> bool:
    return row["state"] == "parsed" and row["status"] == 200


def claim(kind: str = "page", most: int = 10**9) -> Callable[[Row], bool]:
    return lambda row: row["event"] == "claim" and row["kind"] == kind and 3 < row["n"] < most


def settle(row: Row) -> bool:
    return row["event"] == "settle" and row["n"] > 3


def answered(row: Row) -> bool:
    return settle(row) and row["status"] == 200


def rested(row: Row) -> bool:
    return answered(row) and row["pause_s"] > 0


def paused(basis: str) -> Callable[[Row], bool]:
    return lambda row: row["event"] == "settle" and row["pause_basis"] == basis


def start(row: Row) -> bool:
    return row["event"] == "start"


def end(row: Row) -> bool:
    return row["event"] == "end"


def any_row(row: Row) -> bool:
    return True


# --- edits of one value ---


def last_hop(where: Callable[[Row], Any], **values: Any) -> Edit:
    """Of the page's last hop."""
    return Edit(File.PAGES, put_in("chain", -1, where, **values))


def setting(**values: Any) -> Edit:
    """Of the first run."""
    return Edit(File.MANIFEST, inside(start, "settings", **values), everywhere=False)


def robots_row(where: Callable[[Row], Any], **values: Any) -> Edit:
    return Edit(File.ROBOTS, put(where, **values))


def request_line(where: Callable[[Row], Any], **values: Any) -> Edit:
    return Edit(File.REQUESTS, put(where, **values))


def answer_of(where: Callable[[Row, Row], Any], **values: Any) -> Edit:
    """New values in the settle of a request."""

    def act(rows: Rows, claim: Row, settle: Row) -> Rows:
        set_values(settle, values)
        return rows

    return Edit(File.REQUESTS, request(where, act))


def redirected_hop(n: int, **values: Any) -> Edit:
    return Edit(File.PAGES, put_in("chain", n, hopped, **values))


def count(*path: str, **values: Any) -> Edit:
    return Edit(File.MANIFEST, inside(end, "counts", *path, **values))


def page_line(where: Callable[[Row], Any], **values: Any) -> Edit:
    return Edit(File.PAGES, put(where, **values))


def link_row(where: Callable[[Row], Any], **values: Any) -> Edit:
    return Edit(File.LINKS, put(where, **values))
