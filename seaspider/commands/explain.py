"""`scrapy explain URL`: why a URL was fetched or not, from a store alone. Asks nobody, locks and changes nothing."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from seaspider.clock import SystemClock
from seaspider.commands import edge
from seaspider.core.records import File
from seaspider.core.times import parse_rfc3339_ms, rfc3339_ms
from seaspider.errors import UsageFault
from seaspider.storereader import StoreReader

if TYPE_CHECKING:
    from seaspider.explain.explanation import Explanation, Rejection

# RFC 3339 5.6; the blank that it allows instead of T, too.
_MOMENT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([01][0-9]|2[0-3])(:[0-5][0-9]:[0-5][0-9])(\.[0-9]+)?"
    r"([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <url>"

    def short_desc(self) -> str:
        return "Say why a URL was fetched or not, from a store alone"

    def long_desc(self) -> str:
        return (
            "Say from the records of a store why a URL was fetched or not, what decided, and what would have to "
            "change. Nobody is asked and nothing is written. Exit code 0: explained; 3: never seen, and nothing in "
            "force decides it, or it waits in a shard of a fleet; 2: no store, or no usable URL or time."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--store", metavar="FOLDER", default="store", help="the crawl's store (default: store)")
        parser.add_argument(
            "--at", metavar="TIME", help="what was known and in force then (RFC 3339, e.g. 2026-11-30T06:17:00Z)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: Namespace) -> None:
        from seaspider.explain.explanation import explain
        from seaspider.explain.infleet import explain_in_fleet
        from seaspider.fleet.folder import Fleet, is_fleet

        if len(args) != 1:
            raise UsageError
        with edge.one_line(self):
            at = None if opts.at is None else _moment(opts.at)
            at_ms = SystemClock().wall_ms() if at is None else parse_rfc3339_ms(at)
            with edge.reading_store(opts.store):
                shard: int | None = None
                if is_fleet(Path(opts.store)):
                    shard, found = explain_in_fleet(Fleet.of(Path(opts.store)), args[0], at, at_ms)
                else:
                    found = explain(_store(opts.store), args[0], at, at_ms)
            self.exitcode = found.exit_code
            edge.out(self, _object(found, shard) if opts.json else _text(found, shard))


def _object(found: Explanation | Rejection, shard: int | None) -> str:
    from seaspider.explain.report import as_object

    if shard is None:
        return json.dumps(as_object(found))
    return json.dumps(
        {**as_object(found), "shard": shard, "waits": None if found.waits is None else asdict(found.waits)}
    )


def _text(found: Explanation | Rejection, shard: int | None) -> str:
    """Of a fleet, lines are those of the whole queue; all other numbers are of the shard's store."""
    from seaspider.explain.report import as_text
    from seaspider.fleet.plan import name_of

    if shard is None:
        return as_text(found)
    where = f"whose store is {found.store}" if found.begun else "which has not begun"
    return f"{as_text(found)}\n{'shard':<12} {name_of(shard)}, {where}"


def _store(text: str) -> StoreReader:
    manifest = Path(text) / File.MANIFEST
    try:
        found = manifest.is_file()
    except OSError as error:
        raise UsageFault(f"option --store {text!r}: cannot be read: {error.strerror}") from error
    if not found:
        raise UsageFault(f"option --store {text!r}: is no store: it has no {File.MANIFEST}")
    return StoreReader(Path(text))


def _moment(text: str) -> str:
    """The moment as the store writes one; what is below a millisecond is cut, as records have no more."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise UsageFault(f"option --at {text!r}: must be a time of RFC 3339, like 2026-11-30T06:17:00Z")
    day, hour, rest, fraction, offset = found.groups()
    digits = (fraction or ".")[1:4].ljust(3, "0")
    try:
        moment = datetime.fromisoformat(f"{day}T{hour}{rest}.{digits}{offset.upper()}").astimezone(UTC)
        return rfc3339_ms((moment - _EPOCH) // timedelta(milliseconds=1))
    except (OverflowError, ValueError) as error:
        raise UsageFault(f"option --at {text!r}: there is no such time") from error
