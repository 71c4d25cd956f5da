"""What is wrong with a crawl that was killed and started anew: nothing, or a list of sentences.

Looks at three things: the store as each death left it, what each restart asked for, and what came of it all beside an
undisturbed run. Pauses and requests are taken from the servers' log, never from what the crawl says of itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from seaspider.core.records import without_times
from seaspider.core.times import ns_from_s
from seaspider.ledger import SLICE_NS
from seaspider.loopback import Arrival
from seaspider.loopback.judge import Key, Pair, max_in_flight, pairs
from tests.accounts import check_accounts
from tests.crash import site
from tests.crash.bench import Seen, Snapshot, Trace
from tests.crash.cases import COLUMNS
from tests.crawling import Ended

Wrong = Iterator[str]
_NOT_FINAL = ("deferred", "blocked")


def wrong(trace: Trace, undisturbed: Trace) -> list[str]:
    """Everything that is wrong with the runs of a case."""
    found = [*_deaths(trace), *_pauses(trace), *_accounts(trace), *_end(trace.last, undisturbed.last)]
    found += [f"after the undisturbed run: {text}" for text in _instant(undisturbed.last.store)]
    for before, after in zip(trace.runs, trace.runs[1:], strict=False):
        found += _restart(trace, before, after)
    asked: list[Arrival] = []
    for run in trace.runs:
        asked += run.arrivals
        found += [*_instant(run.store), *_evidence(run, asked, power=any(_power(each) for each in trace.runs))]
    return found


def _deaths(trace: Trace) -> Wrong:
    """A kill that did not come shows nothing."""
    first = trace.runs[0]
    if first.kill is not None and not first.killed:
        yield f"was to die at {first.kill.point} {first.kill.nth}, but ended with {first.exit}: {first.log[-500:]}"
    for run in trace.runs:
        if run.killed and run.kill is None:
            yield "died, and nobody killed it"


# --- at any instant ---


def _instant(store: Snapshot) -> Wrong:
    """The store is whole after each death: half a line is at the very end of a file, or nowhere."""
    yield from (f"not a line of a store: {line}" for line in store.bad)
    yield from (f"bodies/{name} is not what its name says" for name, right in store.bodies.items() if not right)
    links = Counter((row["run"], row["visit"]) for row in store.records["links"])
    for page in store.records["pages"]:
        url = site.place(page["url"])
        if page["sha256"] is not None and page["sha256"] not in store.bodies:
            yield f"{url} is recorded without its body"
        if (page["links"] or 0) != links[page["run"], page["visit"]]:
            yield f"{url} is recorded with {links[page['run'], page['visit']]} of {page['links']} links"
    for entry in store.records["robots"]:
        if entry["sha256"] is not None and entry["sha256"] not in store.bodies:
            yield f"robots.txt of {entry['origin']} is recorded without its body"
    for url, count in Counter(page["url"] for page in store.records["pages"] if _final(page)).items():
        if count > 1:
            yield f"{site.place(url)} has {count} final records"


def _evidence(run: Seen, asked: list[Arrival], *, power: bool) -> Wrong:
    """What was asked for had been written down before: an intent; and a claim, which a power cut may take."""
    intents = {site.place(row["url"]) for row in run.store.records["intents"]}
    claims = Counter(site.place(row["url"]) for row in run.store.records["requests"] if row["event"] == "claim")
    for place, count in Counter(map(_place, asked)).items():
        owner = site.OWNERS.get(place)
        if owner is None:
            yield f"{place} is nobody's, and was asked for"
        elif not owner.startswith("robots ") and owner not in intents:
            yield f"{place} was asked for without an intent of {owner}"
        if claims[place] < count and not power:
            yield f"{place} was asked for {count} times, with {claims[place]} claims"
    yield from _synced(run)


def _synced(run: Seen) -> Wrong:
    """What had been waited for is still there: what the log has, or in a store without one each file."""
    log = "after sync writeahead"
    for file in ("manifest", "robots", "intents", "requests", "pages", "links"):
        waited = log if log in run.reached else f"after sync {file}.jsonl"
        until = len(run.reached) - run.reached[::-1].index(waited) if waited in run.reached else 0
        written = run.reached[:until].count(f"after write {file}.jsonl")
        if len(run.store.records[file]) < written:
            yield f"{file}.jsonl has {len(run.store.records[file])} lines, {written} were written and synced"


# --- a restart ---


def _restart(trace: Trace, before: Seen, after: Seen) -> Wrong:
    """Only what was under way is asked for again."""
    robots = {site.place(f"{row['origin']}/").rstrip("/") for row in before.store.records["robots"]}
    ended = {site.place(page["url"]) for page in before.store.records["pages"]}
    begun = {site.place(row["url"]) for row in before.store.records["intents"]} - ended
    index = trace.runs.index(after)
    asked = {_place(arrival) for run in trace.runs[:index] for arrival in run.arrivals}
    for place, count in Counter(map(_place, after.arrivals)).items():
        owner = site.OWNERS.get(place, "")
        if count > 1:
            yield f"{place} was asked for {count} times in one run"
        if owner.removeprefix("robots ") in robots and owner.startswith("robots "):
            yield f"{place} was asked for again, although the rules were in force"
        elif owner in ended:
            yield f"{place} was asked for again, although {owner} has its record"
        elif place in asked and not owner.startswith("robots ") and owner not in begun:
            yield f"{place} was asked for again, although {owner} was not under way"
    for file, records in before.store.records.items():
        if file != "skipped" and (lost := [row for row in records if row not in after.store.records[file]]):
            yield f"{file}.jsonl has lost what a run had found in it: {lost[0]}"
    again = {place for place in map(_place, after.arrivals) if place in asked}
    waiting = [place for place in again if site.OWNERS.get(place, "").startswith("robots ")]
    if len({site.OWNERS[place] for place in waiting}) > index:
        yield f"more than one robots.txt a crash was asked for again: {sorted(waiting)}"


# --- pauses ---


def _pauses(trace: Trace) -> Wrong:
    """No gap is shorter than the pause, restarts included; and one request is in flight."""
    for key in Key:
        for pair in pairs(trace.arrivals, key):
            if pair.gap_ns < _pause_ns(trace, pair):
                yield f"{pair.key}: {pair.gap_ns / 1e9:.3f} s from {_place(pair.first)} to {_place(pair.second)}"
    if not any(run.killed for run in trace.runs) and max_in_flight(trace.arrivals) > 1:
        yield "more than one request in flight"


def _pause_ns(trace: Trace, pair: Pair) -> int:
    delay_s = site.CRAWL_DELAYS_S.get(pair.first.name, 0)
    # Rules that were asked for, and lost with the power before they were written, are not known to anybody.
    if pair.first.target == pair.second.target and trace.case.new_boot:
        delay_s = 0
    return ns_from_s(max(site.INTERVAL_S, delay_s))


def held_back(trace: Trace) -> int:
    """How many requests after a death came so soon after one before it that only the ledger can have kept them apart.

    That is: less than the pause and the time between two looks of the ledger.
    """
    run_of = {arrival: number for number, run in enumerate(trace.runs) for arrival in run.arrivals}
    near = (pair for key in Key for pair in pairs(trace.arrivals, key) if run_of[pair.first] < run_of[pair.second])
    return len({pair.second for pair in near if pair.gap_ns < _pause_ns(trace, pair) + SLICE_NS})


# --- the end ---


def _accounts(trace: Trace) -> Wrong:
    """Each line of the queue once in the last run."""
    last = trace.last
    ended = Ended(last.exit, "", last.log, trace.folder / "store")
    try:
        check_accounts(ended, max(row["run"] for row in ended.records("manifest")))
    except (AssertionError, ValueError) as error:
        yield f"the accounts do not add up: {error}"


def _end(last: Seen, undisturbed: Seen) -> Wrong:
    """The store is equal to that of an undisturbed run, and says no more and no less."""
    if last.exit != undisturbed.exit:
        yield f"ended with {last.exit}, not {undisturbed.exit}: {last.log[-500:]}"
    if last.store.torn:
        yield f"half a line, or body, is left: {last.store.torn}"
    ours, other = equal_parts(last.store), equal_parts(undisturbed.store)
    for part in ours:
        for line in _differences(ours[part], other[part]):
            yield f"{part}: {line}"


def equal_parts(store: Snapshot) -> dict[str, list[Any]]:
    """What is the same in equal stores: see design, "Equal stores". The latest record of a URL that is not final, and
    the answer of each robots.txt, are beside it."""
    latest = {page["url"]: page for page in store.records["pages"]}
    recorded = {(page["run"], page["visit"]) for page in store.records["pages"] if _final(page)}
    return {
        "pages": _sorted(_timeless(page) for page in latest.values()),
        "final": sorted(page["url"] for page in store.records["pages"] if _final(page)),
        "links": _sorted(
            _without(row, "run", "visit") for row in store.records["links"] if (row["run"], row["visit"]) in recorded
        ),
        "robots": _sorted(_without(without_times(row), "run", "id", "cause") for row in store.records["robots"]),
        "bodies": sorted(store.bodies),
    }


def _timeless(page: dict[str, Any]) -> dict[str, Any]:
    kept = _without(without_times(page), "run", "visit", "attempts")
    return {**kept, "chain": [_without(hop, "robots_id") for hop in kept["chain"]]}


def _without(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}


def _sorted(records: Any) -> list[Any]:
    return sorted(records, key=repr)


def _differences(ours: list[Any], other: list[Any]) -> Wrong:
    yield from (f"too much: {record}" for record in ours if ours.count(record) > other.count(record))
    yield from (f"missing: {record}" for record in other if other.count(record) > ours.count(record))


def _final(page: dict[str, Any]) -> bool:
    return page["outcome"] not in _NOT_FINAL


def _power(run: Seen) -> bool:
    return run.kill is not None and run.kill.how in COLUMNS


def _place(arrival: Arrival) -> str:
    return f"{arrival.name}{arrival.target}"
