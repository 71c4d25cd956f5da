"""What stands in a queue for URLs of which the store tells only that they are there.

A visit that was cut short before its first page request has no line with its URL, but its robots.txt may have been
asked; and a link to a URL of the queue was no news, though that URL never had its turn. Neither is in any record of
its run, so what stands for it is never written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from seaspider.core.links import LinkReason
from seaspider.core.orders import OrderName
from seaspider.core.queue import Entry, Skipped
from seaspider.core.records import File
from seaspider.core.urls import Url, normalise
from seaspider.core.visits import Visit
from seaspider.journal import Row
from seaspider.replay.found import url_of
from seaspider.replay.recordedqueue import RecordedQueue
from seaspider.replay.reel import whole
from seaspider.run import Run
from seaspider.verify.evidence import Evidence, RunInfo

_NO_LINE = 0
"""No record tells the line, and none needs it."""


def with_stand_ins(queue: RecordedQueue, evidence: Evidence, run: RunInfo, followed: Iterable[Url]) -> RecordedQueue:
    """The queue with an entry for each such URL, where its turn comes when it came. `followed`: links of earlier runs
    that waited, too. Raises StoreError."""
    lines = list(queue.lines)
    numbers = _visit_numbers(evidence, run.number)
    begun = set(_begun(evidence, run.number, set(numbers.values())))
    if waiting := run.start.record.get("waiting"):
        urls = [*(line.url for line in lines if isinstance(line, Entry)), *followed]
        begun = set(_of_no_line(sorted(begun), Counter(url.host for url in urls), waiting))
    for visit, origin in sorted(begun):
        place = next((place for place, line in enumerate(lines) if _is_after(line, origin, visit, numbers)), len(lines))
        lines.insert(place, Entry(_NO_LINE, normalise(f"{origin}/.not-recorded-{visit}")))
    linked = _linked(evidence, {line.url.text for line in queue.lines if isinstance(line, Entry)})
    lines += [Entry(_NO_LINE, url) for url in linked]
    return replace(queue, lines=tuple(lines), missing=max(0, queue.missing - len(begun) - len(linked)))


def fill_up(run: Run, info: RunInfo) -> None:
    """Puts into the frontier what waited besides, if the order depends on how much that was. Nothing of it had a turn.

    Raises StoreError.
    """
    if not OrderName(run.config.order).counts_tasks:
        return
    known, waiting = dict(run.frontier.waiting()), Row(info.start.place, info.start.get("waiting", dict))
    more = {host: waiting.get(host, int) - known.get(host, 0) for host in sorted(waiting.record)}
    if not any(missing > 0 for missing in more.values()):
        return
    origins = {visit.url.host: visit.url.origin for visit in run.frontier.unfinished()}
    for host, missing in more.items():
        for number in range(missing):
            run.frontier.add(Visit(normalise(f"{origins.get(host, f'http://{host}')}/.not-recorded-too-{number}")))


def _of_no_line(
    begun: Iterable[tuple[int, str]], known: Counter[str], waiting: dict[str, int]
) -> Iterator[tuple[int, str]]:
    """Those visits for which there is room beside the URLs that are known, by how many waited at each host. The others
    are of one of these, which has the turn anyway."""
    for visit, origin in begun:
        host = normalise(origin).host
        if known[host] < waiting.get(host, 0):
            known[host] += 1
            yield visit, origin


def _is_after(line: Entry | Skipped, origin: str, visit: int, numbers: dict[str, int]) -> bool:
    """Whether a line is of this origin and had its first turn after this visit, or none."""
    return isinstance(line, Entry) and line.url.origin == origin and numbers.get(line.url.text, visit) >= visit


def _visit_numbers(evidence: Evidence, run: int) -> dict[str, int]:
    """URL -> number of its visit, as far as a run tells."""
    rows = (row for file in (File.INTENTS, File.PAGES) for row in evidence.rows(file))
    return {row.get("url", str): row.get("visit", int) for row in rows if row.get("run", int) == run}


def _begun(evidence: Evidence, run: int, told: set[int]) -> Iterator[tuple[int, str]]:
    """The visits of a run that have no line of their own, and the origin whose robots.txt was asked for them."""
    for request in whole(evidence.requests()):
        if request.run == run and request.visit is not None and request.visit not in told:
            told.add(request.visit)
            yield request.visit, normalise(request.url).origin


def _linked(evidence: Evidence, known: set[str]) -> list[Url]:
    """URLs a link to which was no news, though nothing else in the store tells of them."""
    known |= {row.get("url", str) for row in evidence.rows(File.PAGES)}
    linked: dict[str, Url] = {}
    for row in evidence.rows(File.LINKS):
        if row.get("followed", bool):
            known.add(row.get("url", str))
        elif row.optional("reason", str) == LinkReason.DUPLICATE:
            linked[row.get("url", str)] = url_of(row)
    return [url for text, url in linked.items() if text not in known]
