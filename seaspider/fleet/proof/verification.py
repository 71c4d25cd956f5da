"""All that is proven of a fleet's folder: P1 to P6 of each shard, P3 across them, its plan, its merged store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seaspider.core.records import File
from seaspider.errors import StoreError, UsageFault
from seaspider.fleet.folder import Fleet
from seaspider.fleet.merging import Merging, shard_idle
from seaspider.fleet.plan import name_of
from seaspider.fleet.proof import merged, placement
from seaspider.fleet.proof.spacing import Spacing, in_shard, measure
from seaspider.verify.evidence import Evidence
from seaspider.verify.proof import Counterexample, Proof
from seaspider.verify.verification import verify

_PROMISES: Final = ("P1", "P2", "P3", "P4", "P5", "P6")
_SHOWN: Final = 5
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class FleetVerification:
    """`proofs`: the plan, P1 to P6, and what was merged. `notes`: by proof, what could not be proven. `too_near`: pairs
    within a shard, and across shards. `equal`: the digest of the final page records of all (verify.equal), None if the
    plan is none that their lines can be told by."""

    store: str
    shards: int
    with_lines: int
    verified: int
    proofs: Mapping[str, Proof]
    notes: Mapping[str, Sequence[str]]
    requests: int
    too_near: tuple[int, int]
    equal: str | None

    @property
    def refuted(self) -> bool:
        return not all(proof.holds for proof in self.proofs.values())


def verify_fleet(folder: Path, queue: str | None = None) -> FleetVerification:
    """Raises UsageFault for what is no fleet and a queue that cannot be used, and StoreError."""
    fleet = Fleet.of(folder)
    try:
        return _verified(fleet, queue)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be verified: {error.strerror or error}") from error


def _verified(fleet: Fleet, queue: str | None) -> FleetVerification:
    plan, of_plan = placement.prove(fleet, queue)
    shards = _Shards(fleet)
    for shard in range(fleet.plan.shards):
        if fleet.is_begun(shard):
            shards.verify(shard)
    spacing = measure(shards.evidence)
    proofs = {"plan": plan, **shards.proofs()}
    proofs["P3"] = _with_spacing(proofs["P3"], spacing)
    notes = {"plan": of_plan, **{promise: [*_told(said)] for promise, said in shards.notes.items()}}
    notes.setdefault("P3", []).extend(_of_boots(spacing))
    equal = _merged(fleet, proofs, notes) if plan.holds else None
    return FleetVerification(
        store=str(fleet.folder),
        shards=fleet.plan.shards,
        with_lines=sum(part.lines > 0 for part in fleet.plan.parts),
        verified=len(shards.evidence),
        proofs=proofs,
        notes={name: tuple(said) for name, said in notes.items() if said},
        requests=spacing.by_boot.requests,
        too_near=(shards.too_near, spacing.by_boot.too_near),
        equal=equal,
    )


def _merged(fleet: Fleet, proofs: dict[str, Proof], notes: dict[str, list[str]]) -> str | None:
    """The digest. Adds what is proven of the merged store; what cannot be read, where something is refuted already, is
    no reason to say nothing of that."""
    merging = Merging(fleet)
    try:
        merging.read()
    except (StoreError, UsageFault) as error:
        if isinstance(error, StoreError) and all(proof.holds for proof in proofs.values()):
            raise
        place, _, why = str(error).removeprefix(f"{fleet.folder}/").partition(": ")
        name = "merged" if isinstance(error, StoreError) else "plan"
        proofs[name] = Proof(name, {}, Counterexample(place, why))
        return None
    notes.setdefault("P6", []).extend(f"shard {standing}" for standing in merging.incomplete)
    if merged.is_merged(fleet):
        proofs["merged"] = merged.prove(fleet, merging)
    elif isinstance(said := merged.without_manifest(fleet), Proof):
        proofs["merged"] = said
    else:
        notes["merged"] = [said]
    return merging.equal


class _Shards:
    """The proofs of all shards, one after the other."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._checked: dict[str, Counter[str]] = {promise: Counter() for promise in _PROMISES}
        self._first: dict[str, Counterexample] = {}
        self.evidence: list[tuple[int, Evidence]] = []
        self.notes: dict[str, dict[str, list[int]]] = {}
        """Promise -> note -> the shards it is of."""
        self.too_near = 0

    def verify(self, shard: int) -> None:
        with self._named(shard), shard_idle(self._fleet, shard):
            found = verify(self._fleet.store(shard), str(self._fleet.queue(shard)))
            self.evidence.append((shard, Evidence(self._fleet.store(shard))))
        for promise, proof in found.proofs.items():
            self._checked[promise].update(proof.checked)
            if proof.counterexample is not None:
                place, why = in_shard(shard, proof.counterexample.place), proof.counterexample.why
                self._first.setdefault(promise, Counterexample(place, why))
        for promise, said in found.notes.items():
            for note in said:
                self.notes.setdefault(promise, {}).setdefault(note, []).append(shard)
        self.too_near += sum(run.verdict.too_near for run in found.verdicts)

    def proofs(self) -> dict[str, Proof]:
        return {
            promise: Proof(promise, dict(checked), self._first.get(promise))
            for promise, checked in self._checked.items()
        }

    @contextmanager
    def _named(self, shard: int) -> Iterator[None]:
        """Some errors name the file in a store only; these name the shard as well."""
        try:
            yield
        except StoreError as error:
            inside = str(error).startswith(tuple(f"{file}:" for file in File))
            raise StoreError(str(self._fleet.store(shard) / str(error)) if inside else str(error)) from error


def _with_spacing(proof: Proof, spacing: Spacing) -> Proof:
    checked = {**proof.checked, "pairs across shards": spacing.by_boot.pairs}
    return Proof(proof.promise, checked, proof.counterexample or spacing.by_boot.first)


def _of_boots(spacing: Spacing) -> Iterator[str]:
    between = spacing.between
    if between is None:
        return
    near = f"{between.too_near} of them too near" + (f" (the first: {between.first})" if between.first else "")
    yield (
        f"the shards ran under {spacing.boots} boot ids: on one machine after restarts, or on several. Pauses are "
        "proven within each; between them there is no common clock, and the ledger's word counts. By their wall "
        f"clocks, which may be wrong: {between.pairs} pairs across shards, {near}"
    )


def _told(said: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """A note with its shards, at most so many of each promise."""
    for note, shards in list(said.items())[:_SHOWN]:
        names = ", ".join(map(name_of, shards[:_NAMED])) + (", ..." if len(shards) > _NAMED else "")
        yield f"shard {names}: {note}"
    if len(said) > _SHOWN:
        yield f"and {len(said) - _SHOWN} notes more of single shards: verify these"
