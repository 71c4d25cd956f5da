"""P4: each hop after the first is where the answer before it sends, within the budget, and was asked for itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from seaspider.core.httpfields import values_of
from seaspider.core.redirects import RefusedHop, next_hop
from seaspider.core.urls import UrlError, normalise
from seaspider.verify import walk
from seaspider.verify.evidence import Evidence, Request
from seaspider.verify.facts import Asked, Check, PageLine, RobotsLine, Run, Visit, Waiting, contradiction
from seaspider.verify.proof import Proof, Refuted
from seaspider.verify.robots import Entry


def prove(evidence: Evidence) -> Proof:
    return walk.prove(evidence, [Hops()])[0]


class Hops(Check):
    promise: ClassVar[str] = "P4"

    def __init__(self) -> None:
        super().__init__()
        self._run: Run

    def run_starts(self, run: Run) -> None:
        self._run = run

    def asked(self, request: Request, page: Asked | None, visit: Visit | None) -> None:
        """Of a visit whose page line may never come, too."""
        if page is None or visit is None or len(visit.asked) < 2:
            return
        before = visit.asked[-2].request
        if before.url != request.url:
            seen = list(dict.fromkeys(each.request.url for each in visit.asked[:-1]))
            self._check(request.place, request.url, before, seen, self._run.terms.max_redirects)
            self.checked["page hops"] += 1

    def robots(self, line: RobotsLine, requests: Sequence[Request | None], entry: Entry, before: Entry | None) -> None:
        urls = [hop.url for hop in line.entry.chain]
        first = f"{line.entry.origin}/robots.txt"
        contradiction(urls[:1] == [first], line.place, f"its chain does not begin at {first}")
        for number in range(1, len(urls)):
            asked = requests[number - 1]
            if asked is not None:
                self._check(line.place, urls[number], asked, urls[:number], self._run.terms.robots_max_redirects)
                self.checked["robots.txt hops"] += 1
            else:
                contradiction(not self._run.ended, line.place, f"{urls[number]} follows a hop that was not asked for")

    def page(self, line: PageLine, visit: Visit, kept_from: Waiting | None) -> None:
        urls = [hop.get("url", str) for hop in line.chain]
        contradiction(urls[:1] == [line.url], line.place, f"its chain does not begin at {line.url}")
        contradiction(line.row.get("final_url", str) == urls[-1], line.place, "final_url is not that of its last hop")
        if kept_from is not None:
            return
        asked_urls = list(dict.fromkeys(each.request.url for each in visit.asked))
        whole = asked_urls in (urls, urls[:-1])
        contradiction(whole, line.place, f"its chain is not that of the URLs asked for: {', '.join(asked_urls)}")
        for hop in line.chain[1 : len(asked_urls)]:
            own = hop.optional("decision", str) is not None and hop.optional("robots_id", int) is not None
            contradiction(own, line.place, f"{hop.get('url', str)} was asked for without a decision of its own")
        for number in range(1, len(urls)):
            asked = [each.request for each in visit.asked if each.request.url == urls[number - 1]]
            if not asked:
                raise Refuted(line.place, f"{urls[number]} follows a hop that was not asked for")
            self._check(line.place, urls[number], asked[-1], urls[:number], self._run.terms.max_redirects)

    def _check(self, place: str, url: str, before: Request, seen: Iterable[str], budget: int) -> None:
        """Raises Refuted unless the answer to `before`, the last of `seen`, sends to `url`."""
        chain, settle = list(seen), before.settle
        if settle is None or settle.status is None:
            raise Refuted(place, f"{url} follows the request at {before.place}, which has no answer")
        values = values_of(settle.headers, b"location")
        try:
            target = next_hop(normalise(before.url), settle.status, values, chain, budget - len(chain) + 1)
        except UrlError as error:
            raise Refuted(before.place, str(error)) from error
        if target is None or isinstance(target, RefusedHop):
            why = "sends nowhere" if target is None else f"sends nowhere ({target.reason})"
            raise Refuted(place, f"{url} is the next hop, but the answer at {settle.place} {why}")
        contradiction(
            target.text == url, place, f"{url} is the next hop, the answer at {settle.place} says {target.text}"
        )
