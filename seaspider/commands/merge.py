"""`scrapy merge STORE`: the shards of a fleet as one store, in the order of the queue. Asks nobody."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from seaspider.commands import edge
from seaspider.errors import UsageFault


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <store>"

    def short_desc(self) -> str:
        return "Put the shards of a fleet together into one store, in the order of the queue"

    def long_desc(self) -> str:
        return (
            "Write page records, links, skipped lines, robots.txt records and bodies of all shards into the fleet's "
            "folder, in the order of the queue, each followed page after the page it was found on. The same shards "
            "give the same bytes. Exit code 0: merged; 2: no fleet, or a shard of another plan; 3: something is not "
            "final yet; 74: it cannot be read or written; 75: a shard is being crawled."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--partial", action="store_true", help="merge what there is, although not all is final")
        parser.add_argument("--json", action="store_true", help="print the merged manifest as one JSON object")

    def run(self, args: list[str], opts: Namespace) -> None:
        from seaspider.cutoff import refuse_cut_off
        from seaspider.fleet.folder import is_fleet
        from seaspider.fleet.merge import merge

        if len(args) != 1:
            raise UsageError
        with edge.one_line(self):
            folder = Path(args[0])
            if not args[0] or not is_fleet(folder):
                raise UsageFault(f"store {args[0]!r}: is no fleet's: it has no plan/plan.json")
            refuse_cut_off(folder)
            record = merge(folder, partial=opts.partial)
            edge.out(self, json.dumps(record) if opts.json else _as_text(record, args[0]))


def _as_text(record: dict[str, Any], folder: str) -> str:
    from seaspider.verify.report import equal_line

    counts = dict(record["counts"])
    final = ", ".join(f"{number} {ending}" for ending, number in counts.pop("final").items())
    lines = [
        f"Merged {record['shards']} shards into {folder}: {', '.join(f'{n} {name}' for name, n in counts.items())}.",
        f"Final: {final or 'none'}.",
    ]
    if record["partial"]:
        lines.append(f"PARTIAL: {len(record['incomplete'])} shards are not complete; the manifest names them.")
    return "\n".join([*lines, equal_line(record["equal"])])
