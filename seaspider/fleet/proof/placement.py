"""The plan: each line of the queue in exactly one shard, in the files that plan.json names, where the rule puts it.

With the queue at hand, the plan is made once more from it and must come out the same. Raises QueueFileError for a queue
that cannot be used.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from seaspider.core.plainurls import Origins
from seaspider.core.queue import Block, QueueError
from seaspider.core.shards import RULE, Placement
from seaspider.errors import QueueFileError
from seaspider.fleet import planning
from seaspider.fleet.folder import Fleet
from seaspider.fleet.plan import PLAN, PlanError, name_of, queue_sha256
from seaspider.fleet.suffixes import SuffixList, bundled
from seaspider.queuefile import STDIN, QueueFile
from seaspider.verify.facts import contradiction
from seaspider.verify.proof import Proof, Refuted

_PLAN: Final = f"plan/{PLAN}"


def prove(fleet: Fleet, queue: str | None) -> tuple[Proof, list[str]]:
    """The proof, and what could not be proven."""
    check = _Check(fleet)
    try:
        check.lines()
        check.queues()
        if queue is not None:
            check.queue(queue)
    except Refuted as refuted:
        return Proof("plan", check.checked, refuted.counterexample), check.notes
    return Proof("plan", check.checked), check.notes


class _Check:
    """Each raises Refuted."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._plan = fleet.plan
        self._suffixes = bundled()
        self.checked: dict[str, int] = {}
        self.notes = list(_underivable(fleet, self._suffixes))
        self._derivable = not self.notes

    def lines(self) -> None:
        """No line of the queue in two shards, and as many in all as there are."""
        most = self._plan.lines["lines"]
        owners = array("H", bytes(2)) * (most + 1)
        for shard in range(self._plan.shards):
            for number, line in enumerate(self._lines(shard), 1):
                place = f"plan/{name_of(shard)}.lines:{number}"
                contradiction(line <= most, place, f"line {line} is none of the queue, which has {most}")
                owner = owners[line] - 1
                contradiction(
                    owner < 0, place, f"line {line} of the queue is in shard {name_of(max(owner, 0))} as well"
                )
                owners[line] = shard + 1
        found = sum(part.lines for part in self._plan.parts)
        expected = self._plan.lines["urls"] + self._plan.lines["rejected"]
        contradiction(found == expected, _PLAN, f"the shards have {found} lines, the queue has {expected}")
        self.checked["lines"] = found

    def _lines(self, shard: int) -> array[int]:
        try:
            return self._fleet.lines(shard)
        except PlanError as error:
            raise Refuted(f"plan/{name_of(shard)}.lines", str(error).partition(": ")[2]) from error

    def queues(self) -> None:
        """The files of the shards are those of plan.json, and each line is where the rule puts it."""
        placement = Placement(self._plan.shards, self._suffixes.suffix_of)
        rejected = 0
        for shard, part in enumerate(self._plan.parts):
            file, origins, hosts = QueueFile(str(self._fleet.queue(shard)), part=True), Origins(), set[str]()
            name = f"plan/{name_of(shard)}.txt"
            try:
                for block in file.blocks(origins):
                    met = {origins.hosts[origin] for origin in block.origins} - hosts
                    if self._derivable:
                        _check_hosts(met, placement, shard, name)
                        _check_others(block, placement, shard, name)
                    hosts |= met
            except QueueError as error:
                raise Refuted(name, str(error).partition(": ")[2]) from error
            found = (file.sha256, file.counts.lines, len(hosts))
            expected = (part.sha256, part.lines, part.hosts)
            for what, ours, theirs in zip(("sha256", "lines", "hosts"), found, expected, strict=True):
                contradiction(ours == theirs, name, f"{what} {ours}, where plan.json has {theirs}")
            contradiction(not file.counts.blank + file.counts.comment, name, "has lines that are blank, or comments")
            rejected += file.counts.rejected
        self.checked["shards"] = self._plan.shards
        told = self._plan.lines["rejected"]
        contradiction(rejected == told, _PLAN, f"{told} lines are rejected, of the shards' lines {rejected}")

    def queue(self, path: str) -> None:
        """Raises QueueFileError."""
        if path == STDIN:
            raise QueueFileError("queue '-': must be a file, since it is read more than once")
        sha256 = queue_sha256(path)
        why = f"is of a queue with sha256 {self._plan.queue_sha256}, that of {path} is {sha256}"
        contradiction(sha256 == self._plan.queue_sha256, _PLAN, why)
        if not self._derivable:
            return
        with TemporaryDirectory() as folder:
            anew = planning.make(path, Path(folder), self._plan.shards)
        for shard, (ours, theirs) in enumerate(zip(self._plan.parts, anew.parts, strict=True)):
            why = f"is not what a plan of {path} gives"
            contradiction(ours.sha256 == theirs.sha256, f"plan/{name_of(shard)}.txt", why)
            contradiction(ours.lines_sha256 == theirs.lines_sha256, f"plan/{name_of(shard)}.lines", why)
        contradiction(anew.digest == self._plan.digest, _PLAN, f"is not the plan of {path}")
        self.checked["lines of the queue file"] = anew.lines["lines"]


def _check_hosts(hosts: set[str], placement: Placement, shard: int, name: str) -> None:
    for host in sorted(hosts):
        right = placement.of_host(host)
        contradiction(right == shard, name, f"host {host} belongs to shard {name_of(right)}")


def _check_others(block: Block, placement: Placement, shard: int, name: str) -> None:
    for skipped, raw in zip(block.rejected, block.rejected_raws, strict=True):
        right = placement.of_bytes(raw)
        # As a record has it: without user information.
        why = f"the line {(skipped.text or '')[:80]!r} belongs to shard {name_of(right)}"
        contradiction(right == shard, name, why)


def _underivable(fleet: Fleet, suffixes: SuffixList) -> Iterator[str]:
    plan = fleet.plan
    if plan.placement != RULE or plan.resolve is not None:
        yield f"its rule of placement, {plan.placement}, is not one that this version knows: not derived anew"
    elif plan.suffix_list["sha256"] != suffixes.sha256:
        version = plan.suffix_list["version"]
        yield f"its public suffix list {version} is not here, {suffixes.version} is: placement was not derived anew"
