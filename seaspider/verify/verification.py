"""All checks over one store, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.journal import Row
from seaspider.verify import orderproof, shape, walk
from seaspider.verify.allowed import Allowed
from seaspider.verify.digest import digest, exact
from seaspider.verify.equal import EqualDigest, is_final
from seaspider.verify.evidence import Evidence
from seaspider.verify.hops import Hops
from seaspider.verify.nothinglost import NothingLost
from seaspider.verify.onedoor import OneDoor
from seaspider.verify.pauses import Pauses
from seaspider.verify.proof import Counterexample, Proof
from seaspider.verify.queuefate import Queue
from seaspider.verify.verdicts import RunVerdict, Verdicts


@dataclass(frozen=True, slots=True)
class Verification:
    """`proofs`: P1 to P6 in order. `notes`: by promise, what could not be proven, and why."""

    store: str
    proofs: Mapping[str, Proof]
    notes: Mapping[str, Sequence[str]]
    verdicts: Sequence[RunVerdict]
    digest: str
    exact: str
    """sha256 over the journal files as they are, times and all, one after the other."""
    equal: str
    """The digest of the final page records: see verify.equal."""

    @property
    def refuted(self) -> bool:
        return not all(proof.holds for proof in self.proofs.values())


def verify(folder: Path, queue: str | None = None) -> Verification:
    """Raises StoreError for what is no store, and QueueFileError."""
    file = None if queue is None else Queue(queue)
    evidence = Evidence(folder)
    verdicts = Verdicts()
    checks = (Allowed(evidence), OneDoor(), Pauses(), Hops(), NothingLost(evidence, file))
    walk.prove(evidence, (*checks, verdicts))
    proofs = {check.promise: check.proof() for check in checks}
    notes = {check.promise: tuple(check.notes) for check in checks if check.notes}
    runs = tuple(verdicts.runs)
    # What they remember of the store is not needed any more, and the next needs as much.
    del checks, verdicts
    proofs["P5"] = _order(evidence, refuted=not all(proof.holds for proof in proofs.values()))
    ordered = {promise: proofs[promise] for promise in sorted(proofs)}
    return Verification(str(folder), ordered, notes, runs, *_digests(evidence))


def _digests(evidence: Evidence) -> tuple[str, str, str]:
    equal = EqualDigest()

    def look(file: File, row: Row) -> None:
        shape.check(file, row)
        if file is File.PAGES and is_final(row):
            equal.add(row)

    try:
        return digest(evidence, look), exact(evidence), equal.hexdigest()
    except OSError as error:
        raise StoreError(f"no room in {gettempdir()} for digests of the pages: {error.strerror or error}") from error


def _order(evidence: Evidence, *, refuted: bool) -> Proof:
    """P5. What it cannot read in a store that is `refuted` already is no reason to say nothing of that."""
    try:
        return orderproof.prove(evidence)
    except StoreError as error:
        if not refuted:
            raise
        place, _, why = str(error).partition(": ")
        return Proof("P5", {}, Counterexample(place, why))
