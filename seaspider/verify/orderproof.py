"""P5: the order and every record follow from the queue, the store at the start, the answers and the clock decisions.

Each run's turns are taken again with the crawl's own order of hosts (core/orders), from the store
alone. Its tasks are the URLs that its records name, by queue line; then the links followed before, in file order, that
were neither queued nor done; then those followed in it, as their page line is written. Turns, stops, pauses, hops,
attempts, visit numbers, outcomes and links then have only one way to go on, and the first line that goes another is the
counterexample.

A run that did not come to its end (killed, interrupted, a visit lost to another part of the crawl) leaves URLs that
never had a turn. Those of a queue that another run read, too, are known from there. The others may be left out. A host
that has only such a URL to offer either gets its turn, and then the URL is known; or the run ended before, and nothing
was changed but this:

* hosts of the same address that waited behind it have no turn either. A visit that has no page record in such a run
  may end unseen, so they are passed over;
* its place in the round was taken by a task that came to the host in the meantime, a redirect or a robots.txt on its
  way. That task then had its turn in this round, else it has it in the next. The records show which: a cut run that
  cannot be explained is walked a second time, in which every host that something came to may have had such a URL.

This makes the check of a cut run milder than that of a whole one, never stricter. Where the order depends on how many
URLs wait at a host, the start of a run says so, and those that had no turn are counted as such.

Requests of other parts of the crawl take no turn; whether one came before or after the next turn was given out is told
by when that turn was judged. Not looked at: whether a pause, a decision or an address is right, and whether the links
are those of the page's body.
"""

from __future__ import annotations

from collections.abc import Collection

from seaspider.core.records import File
from seaspider.verify.evidence import Evidence, RunInfo
from seaspider.verify.orderfacts import Places, Requests, lines_of
from seaspider.verify.orderpast import Past
from seaspider.verify.orderrequests import Files
from seaspider.verify.ordertasks import NO_LINE, Begun, Gatherer, ended_whole
from seaspider.verify.orderwalk import Walk
from seaspider.verify.proof import Proof, Refuted


def prove(evidence: Evidence) -> Proof:
    """Raises StoreError for a line that is none of a store.

    A run that was cut short is walked a second time if need be, see Waiting.doubt().
    """
    doubted: dict[int, Refuted] = {}
    while True:
        check = _Check(evidence, doubted)
        try:
            check.all_runs()
        except Refuted as refuted:
            run = check.run
            if run is not None and run.number not in doubted and not ended_whole(run):
                doubted[run.number] = refuted
                continue
            found = refuted if run is None else doubted.get(run.number, refuted)
            return Proof("P5", check.checked, found.counterexample)
        return Proof("P5", check.checked)


class _Check:
    """`doubted`: the runs in which a host may have had a URL waiting that nothing tells of."""

    def __init__(self, evidence: Evidence, doubted: Collection[int]) -> None:
        self.checked = {"runs": 0, "turns": 0, "page records": 0, "links": 0}
        self.run: RunInfo | None = None
        """The one that is walked."""
        self._evidence = evidence
        self._doubted = doubted
        self._places = Places()
        self._past = Past()
        self._files = Files(
            requests=Requests(evidence.requests()),
            pages=lines_of(evidence.rows(File.PAGES)),
            intents=lines_of(evidence.rows(File.INTENTS)),
            links=lines_of(evidence.rows(File.LINKS)),
            robots=lines_of(evidence.rows(File.ROBOTS)),
        )

    def all_runs(self) -> None:
        gatherer = Gatherer(self._evidence, self._places)
        for run in self._evidence.runs:
            self.run = run
            begun = gatherer.begun(run)
            walk = Walk(run, self._past, self._places, self._files, begun, last=run is self._evidence.runs[-1])
            self._load(walk, run, begun, gatherer)
            try:
                walk.walk()
            finally:
                self.checked["runs"] += 1
                self.checked["turns"] += walk.asked
                self.checked["page records"] += walk.pages
                self.checked["links"] += walk.links.checked
        self.run = None
        self._nothing_else()

    def _load(self, walk: Walk, run: RunInfo, begun: Begun, gatherer: Gatherer) -> None:
        """What waited when the run started, in the order of the crawl."""
        begun.add_others(gatherer.others(run, begun, self._past))
        for at in begun.by_line(self._places.hosts):
            origin, line = begun.origins[at], begun.lines[at]
            if line == NO_LINE:
                walk.add_unknown(origin)
            else:
                walk.add(origin, begun.urls[at], line)
        begun.forget_lines()
        for origin, url, depth, via in list(self._past.followed):
            if url not in walk.known and (
                url not in self._past.done or (url in self._past.failed and url in begun.followed)
            ):
                walk.add(origin, url, depth=depth, via=via)
        walk.fill_up(run)
        if run.number in self._doubted:
            for host in sorted(begun.moved):
                walk.doubt(host)

    def _nothing_else(self) -> None:
        files = self._files
        for lines in (files.requests, files.pages, files.intents, files.links, files.robots):
            left = lines.after_all()
            if left is not None:
                raise Refuted(left.place, "a line of a run that manifest.jsonl does not name")
