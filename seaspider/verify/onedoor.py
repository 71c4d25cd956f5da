"""P2: each request is recorded, numbered, went to an address that may be asked, in time, and is what the records say.

A request without a trace in requests.jsonl leaves one in what its answer made of robots.jsonl and pages.jsonl; so each
answer there must have its request, and each request its place there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from seaspider.core.addresses import SpecialAddressError, choose
from seaspider.core.httpfields import values_of
from seaspider.core.records import Reason
from seaspider.core.redirects import location_text
from seaspider.core.times import MS_PER_S, NS_PER_MS
from seaspider.core.urls import UrlError, normalise
from seaspider.journal import Row
from seaspider.verify import walk
from seaspider.verify.evidence import Evidence, Request, Settle
from seaspider.verify.facts import Asked, Check, PageLine, RobotsLine, Run, Visit, Waiting, contradiction
from seaspider.verify.proof import Proof, Refuted
from seaspider.verify.robots import Entry

_CHOICES_KEPT = 10_000
CLOCK_STEP_MS = 10_000
"""Less is how clocks are corrected day by day, and no matter to anybody."""


def prove(evidence: Evidence) -> Proof:
    return walk.prove(evidence, [OneDoor()])[0]


class OneDoor(Check):
    promise: ClassVar[str] = "P2"

    def __init__(self) -> None:
        super().__init__()
        self._run: Run
        self._last: Request | None = None
        self._choices: dict[tuple[str, ...], str] = {}
        self._unsettled = 0
        self._clock_ms = 0
        """How far the wall clock is ahead of the boot clock."""

    def run_starts(self, run: Run) -> None:
        self._run, self._last = run, None
        began_ms = run.info.start.milliseconds("started_at")
        self._clock_ms = began_ms - run.info.start.get("started_ns", int) // NS_PER_MS
        source = run.info.start.get("versions", dict).get("replay_of")
        if source is not None:
            self.notes.append(f"run {run.number} is a replay (of the store with digest {source}): nothing was sent")
        self._choices.clear()

    # --- a request by itself ---

    def asked(self, request: Request, page: Asked | None, visit: Visit | None) -> None:
        self.checked["requests"] += 1
        last, self._last = self._last, request
        number = 0 if last is None else last.n
        contradiction(request.n == number + 1, request.place, f"request {request.n} follows request {number}")
        if last is not None and last.settle is None:
            raise Refuted(last.place, f"request {last.n} has no settle line, but others follow it")
        contradiction(request.kind in ("robots", "page"), request.place, f"kind is {request.kind!r}")
        _check_url(request)
        chosen = self._chosen(request)
        contradiction(request.ip == chosen, request.place, f"ip is {request.ip}, its addresses give {chosen}")
        self._look_at_clock(request.place, request.claimed_ms, request.claimed_ns)
        if request.settle is not None:
            self._check_settle(request, request.settle)
            self._look_at_clock(request.settle.place, request.settle.ended_ms, request.settle.ended_ns)

    def _look_at_clock(self, place: str, wall_ms: int, boot_ns: int) -> None:
        """Dates are by a clock that may be set at any time; the pauses are by one that cannot."""
        ahead_ms = wall_ms - boot_ns // NS_PER_MS - self._clock_ms
        if abs(ahead_ms) > CLOCK_STEP_MS:
            self._clock_ms += ahead_ms
            self.notes.append(
                f"{place}: the wall clock stands {ahead_ms / MS_PER_S:+.3f} s from where it was: it was set, or the "
                "dates are not true"
            )

    def _chosen(self, request: Request) -> str:
        """Raises Refuted if one of the addresses may not be asked."""
        if request.addresses not in self._choices:
            try:
                chosen = choose(request.addresses, self._run.terms.networks)
            except ValueError as error:
                raise Refuted(request.place, str(error)) from error
            if len(self._choices) >= _CHOICES_KEPT:
                self._choices.clear()
            self._choices[request.addresses] = chosen
        return self._choices[request.addresses]

    def _check_settle(self, request: Request, settle: Settle) -> None:
        contradiction(request.claimed_ns <= settle.ended_ns, settle.place, "ends before its claim")
        if settle.sent_ns is None:
            contradiction(settle.status is None, settle.place, "has an answer, but nothing was sent")
            return
        in_turn = request.claimed_ns <= settle.sent_ns <= settle.ended_ns
        contradiction(in_turn, settle.place, "sent_ns is not between its claim and its end")
        held = settle.sent_ns <= request.claimed_ns + self._run.terms.hold_ns
        contradiction(held, settle.place, "was sent after its claim was over")

    # --- and what came of it ---

    def robots(self, line: RobotsLine, requests: Sequence[Request | None], entry: Entry, before: Entry | None) -> None:
        for number, (hop, request) in enumerate(zip(line.entry.chain, requests, strict=True)):
            if not line.was_asked(number):
                continue
            if request is None:
                lost = line.may_be_lost(self._run, self._last)
                contradiction(lost, line.place, f"{hop.url} was answered, but no request is recorded")
                continue
            self.checked["hops"] += 1
            _check_hop(line.place, hop.url, (hop.ip, hop.status, hop.location, hop.error), request)

    def page(self, line: PageLine, visit: Visit, kept_from: Waiting | None) -> None:
        asked = [each.request for each in visit.asked]
        if kept_from is not None:
            for request in asked:
                raise Refuted(request.place, f"{line.place} keeps an earlier record, as if nothing had been asked")
            return
        count = f"attempts is {line.attempts}, requests.jsonl has {len(asked)} for the pages of visit {line.visit}"
        contradiction(len(asked) == line.attempts, line.place, count)
        last: Request | None = None
        for hop in line.chain:
            url = hop.get("url", str)
            last = None
            while asked and asked[0].url == url:
                last = asked.pop(0)
            self._check_page_hop(line, hop, last, ends=hop is line.chain[-1])
        for request in asked:
            raise Refuted(request.place, f"is for {request.url}, which is no next hop in the chain at {line.place}")
        self._check_page(line, last)

    def _check_page_hop(self, line: PageLine, hop: Row, request: Request | None, *, ends: bool) -> None:
        url, ip, error = hop.get("url", str), hop.optional("ip", str), hop.optional("error", str)
        status, location = hop.optional("status", int), hop.optional("location", str)
        if request is None:
            nothing = status is None and location is None and error in (None, Reason.DNS)
            contradiction(nothing, line.place, f"{url} was answered, but no request is recorded")
            self._check_unasked_ip(line, url, ip, refused=ends and line.ending.reason is Reason.SPECIAL_ADDRESS)
            return
        self.checked["hops"] += 1
        if request.settle is not None and ends and error == Reason.DNS:
            error = request.settle.error  # its name was not found when it was to be asked once more
        if ends and line.ending.reason is Reason.SPECIAL_ADDRESS:
            ip = request.ip
        _check_hop(line.place, url, (ip, status, location, error), request)

    def _check_unasked_ip(self, line: PageLine, url: str, ip: str | None, *, refused: bool) -> None:
        """The address of a hop that was not asked for: the special one it is refused for, or none."""
        contradiction((ip is not None) == refused, line.place, f"{url} was not asked for, and its ip is {ip}")
        if ip is None:
            return
        try:
            choose((ip,), self._run.terms.networks)
        except SpecialAddressError:
            return
        except ValueError as error:
            raise Refuted(line.place, str(error)) from error
        raise Refuted(line.place, f"{url} was refused for its address {ip}, which is none to refuse")

    def _check_page(self, line: PageLine, last: Request | None) -> None:
        row = line.row
        if not line.chain:
            raise Refuted(line.place, "has no hop in its chain")
        hop = line.chain[-1]
        same = (row.optional("status", int), row.get("final_url", str)) == (hop.record["status"], hop.record["url"])
        contradiction(same, line.place, "status and final_url are not those of its last hop")
        octets = None if last is None or last.settle is None else last.settle.bytes
        contradiction(row.optional("bytes", int) == octets, line.place, f"bytes is {row.record['bytes']}, not {octets}")

    # --- the end ---

    def run_ends(self, run: Run, visits: Sequence[Visit], fetches: Sequence[Request]) -> None:
        last = self._last
        if last is not None and last.settle is None:
            contradiction(not run.ended, last.place, f"request {last.n} has no settle line, but its run ended")
            self._unsettled += 1
        if run.ended:
            counts = Row(run.end.place, run.end.get("counts", dict))
            number = 0 if last is None else last.n
            recorded = counts.get("requests", int)
            contradiction(recorded == number, run.end.place, f"{recorded} requests are counted, {number} are recorded")
            began_ns, ended_ns = run.info.start.get("started_ns", int), run.end.get("ended_ns", int)
            last_ns = began_ns if last is None or last.settle is None else last.settle.ended_ns
            contradiction(ended_ns >= last_ns, run.end.place, "the run ended before its last request did")

    def store_ends(self) -> None:
        if self._unsettled:
            self.notes.append(
                f"{self._unsettled} requests were in flight when their run was killed; they count as sent"
            )


def _check_url(request: Request) -> None:
    try:
        url = normalise(request.url)
    except UrlError as error:
        raise Refuted(request.place, str(error)) from error
    contradiction(url.text == request.url, request.place, f"{request.url} is not as it is sent: {url.text}")
    contradiction(url.host == request.host, request.place, f"host is {request.host}, the URL's is {url.host}")


def _check_hop(
    place: str, url: str, found: tuple[str | None, int | None, str | None, str | None], request: Request
) -> None:
    """`found`: ip, status, location and error as a chain has them."""
    settle = request.settle
    if settle is None:
        raise Refuted(place, f"{url} has an end, but its request at {request.place} has none")
    true = (request.ip, settle.status, _location(settle), settle.error)
    for name, value, other in zip(("ip", "status", "location", "error"), found, true, strict=True):
        contradiction(value == other, place, f"{name} of {url} is {value!r}, at {settle.place} it is {other!r}")


def _location(settle: Settle) -> str | None:
    values = dict.fromkeys(values_of(settle.headers, b"location"))
    return ", ".join(map(location_text, values)) if values else None
