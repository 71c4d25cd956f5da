"""P1: an allowed robots decision of its origin, derived anew from the stored file, before each page request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from seaspider.core.records import Outcome
from seaspider.core.urls import UrlError, normalise
from seaspider.journal import Row
from seaspider.verify import walk
from seaspider.verify.evidence import Evidence, Request
from seaspider.verify.facts import Asked, Check, PageLine, RobotsLine, Run, Visit, Waiting, contradiction
from seaspider.verify.moments import Moments
from seaspider.verify.proof import Proof, Refuted
from seaspider.verify.robots import ALLOW, Entry, Said
from seaspider.verify.robotsrow import check_answer, check_body, check_row

_FIELDS: Final = ("group", "rule", "rule_line", "witness", "crawl_delay_s")
_NOTHING: Final = Said("")


def prove(evidence: Evidence) -> Proof:
    return walk.prove(evidence, [Allowed(evidence)])[0]


class Allowed(Check):
    promise: ClassVar[str] = "P1"

    def __init__(self, evidence: Evidence) -> None:
        super().__init__()
        self._evidence = evidence
        self._run: Run
        self._moments: Moments
        self._last: Request | None = None
        self._last_id = 0
        self._lost = 0

    def run_starts(self, run: Run) -> None:
        self._run, self._moments, self._last = run, Moments(run), None

    # --- robots.txt ---

    def robots(self, line: RobotsLine, requests: Sequence[Request | None], entry: Entry, before: Entry | None) -> None:
        self.checked["robots.txt rows"] += 1
        contradiction(entry.id == self._last_id + 1, line.place, f"id {entry.id} follows id {self._last_id}")
        self._last_id = entry.id
        check_row(line, before, self._run.terms)
        last = requests[-1]
        if line.answered and last is not None:
            check_answer(line, last, before, self._run.terms)
        elif line.answered:
            why = f"no request for {line.entry.chain[-1].url} is recorded that it can be of"
            contradiction(line.may_be_lost(self._run, self._last), line.place, why)
            self._lost += 1
        codings = last is None or last.settle is None or _has(last, b"content-encoding")
        check_body(line.entry, line.place, self._evidence, codings)

    # --- page requests ---

    def asked(self, request: Request, page: Asked | None, visit: Visit | None) -> None:
        self._last = request
        self._moments.check(request)
        if page is None:
            return
        self.checked["page requests"] += 1
        if page.entry is None:
            raise Refuted(request.place, f"no robots.txt of {page.origin or request.url} was in force")
        said = _said(page.said, page.entry, request.place)
        reason = f"robots.txt {page.entry.id} says {said.decision}" + (f" ({said.rule})" if said.rule else "")
        contradiction(said.decision == ALLOW, request.place, f"was asked for, but {reason}")
        slow = (said.crawl_delay_s or 0) > self._run.terms.crawl_delay_cap_s
        contradiction(not slow, request.place, f"was asked for, but a crawl-delay of {said.crawl_delay_s} s defers it")

    # --- what the page lines say ---

    def page(self, line: PageLine, visit: Visit, kept_from: Waiting | None) -> None:
        if kept_from is not None:
            return
        for number, hop in enumerate(line.chain, 1):
            self._check_hop(hop, line, visit, last=number == len(line.chain))

    def _check_hop(self, hop: Row, line: PageLine, visit: Visit, *, last: bool) -> None:
        url, decision, robots_id = hop.get("url", str), hop.optional("decision", str), hop.optional("robots_id", int)
        asked = [each for each in visit.asked if each.request.url == url]
        if decision is None or robots_id is None:
            nothing = decision is None and robots_id is None and not asked
            contradiction(nothing, hop.place, f"{url} has decision {decision} of robots.txt {robots_id}")
            _check_fields(hop, None)
            return
        self.checked["decisions"] += 1
        if asked:
            # Only a hop that was to be asked once more is judged after its last request.
            judged_ms, last_ms = _judged_ms(hop), asked[-1].request.judged_ms
            again = last and line.ending.outcome is not Outcome.STORED
            same = judged_ms == last_ms or (again and judged_ms > last_ms)
            contradiction(same, hop.place, f"{url} was judged elsewhen than its last request")
        known = asked[-1] if asked else None
        if known is not None and known.entry is not None and known.entry.id == robots_id:
            entry, said = known.entry, known.said
        else:
            contradiction(
                last or not asked, hop.place, f"{url} was asked for under another robots.txt than {robots_id}"
            )
            entry = self._entry(hop, url, robots_id, visit)
            said = self._run.book.says(entry, self._run.terms.token, url)
        self._compare(hop, decision, entry, _said(said, entry, hop.place), asked)

    def _entry(self, hop: Row, url: str, robots_id: int, visit: Visit) -> Entry:
        """What was in force when the hop was judged, without a request after it."""
        try:
            origin = normalise(url).origin
        except UrlError as error:
            raise Refuted(hop.place, str(error)) from error
        judged_ms = _judged_ms(hop)
        entry = self._run.book.by_id(origin, robots_id)
        if entry is None:
            latest = self._run.book.latest_id(origin)
            raise Refuted(hop.place, f"robots_id is {robots_id}, but the latest robots.txt of {origin} is {latest}")
        holds = entry.in_force(judged_ms) or visit.awaited is entry
        contradiction(holds, hop.place, f"robots.txt {robots_id} was not in force when {url} was judged")
        return entry

    def _compare(self, hop: Row, decision: str, entry: Entry, said: Said, asked: Sequence[Asked]) -> None:
        why = f"decision is {decision}, but robots.txt {entry.id} says {said.decision}"
        contradiction(decision == said.decision, hop.place, why)
        # Where a robots.txt has no rules, what an earlier attempt was allowed by stays.
        earlier = (each.said for each in reversed(asked) if each.entry is not None and each.entry.is_parsed)
        _check_fields(hop, said if entry.is_parsed else next(earlier, None))

    # --- the end ---

    def run_ends(self, run: Run, visits: Sequence[Visit], fetches: Sequence[Request]) -> None:
        finished = run.ended and run.end.get("reason", str) == "finished"
        for request in fetches:
            contradiction(not finished or request.visit is None, request.place, "no row of robots.jsonl speaks of it")

    def store_ends(self) -> None:
        if self._lost:
            self.notes.append(
                f"{self._lost} robots.txt rows of killed runs have no request in requests.jsonl: lost with the power, "
                "or taken out"
            )


def _said(said: Said | None, entry: Entry, place: str) -> Said:
    if said is None:
        name = entry.body.sha256 if entry.body is not None else "?"
        raise Refuted(place, f"the file of robots.txt {entry.id}, bodies/{name[:2]}/{name}, is missing or changed")
    return said


def _check_fields(hop: Row, said: Said | None) -> None:
    """What the rules said, if there were any."""
    said = said or _NOTHING
    for name in _FIELDS:
        found, value = hop.optional(name, object), getattr(said, name)
        contradiction(found == value, hop.place, f"{name} is {found!r}, but robots.txt says {value!r}")


def _judged_ms(hop: Row) -> int:
    if hop.optional("judged_at", str) is None:
        raise Refuted(hop.place, f"{hop.get('url', str)} has a decision, but was never judged")
    return hop.milliseconds("judged_at")


def _has(request: Request, name: bytes) -> bool:
    return request.settle is not None and any(key.lower() == name for key, _ in request.settle.headers)
