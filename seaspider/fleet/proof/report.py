"""What a verification of a fleet says: lines of text for a person, or one object for a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from seaspider.fleet.proof.verification import FleetVerification
from seaspider.verify.report import PROMISES, equal_line, numbers, standing

_TOLD: Final = {
    **PROMISES,
    "P3": "no request before its pause was over, in one shard and across all",
    "plan": "each line of the queue in one shard",
    "merged": "what merging the shards gives",
}


def as_text(found: FleetVerification) -> str:
    return "\n".join(_lines(found))


def _lines(found: FleetVerification) -> Iterator[str]:
    yield f"Fleet {found.store}: {found.verified} of {found.with_lines} shards with lines begun, {found.shards} in all"
    yield ""
    for name, proof in found.proofs.items():
        yield f"{name:<6}  {standing(proof):<7}  {_TOLD[name]}{numbers(proof)}"
        if proof.counterexample is not None:
            yield f"    {proof.counterexample}"
    within, across = found.too_near
    yield ""
    yield f"{found.requests} requests; pairs too near: {within} within shards, {across} across shards"
    notes = [f"{name}: {note}" for name, said in found.notes.items() for note in said]
    if notes:
        yield from ("", "Could not be proven:", *(f"- {note}" for note in notes))
    if found.equal is not None:
        yield from ("", equal_line(found.equal))
    yield f"result  {_result(found, bool(notes))}"


def _result(found: FleetVerification, notes: bool) -> str:
    if found.refuted:
        return "REFUTED"
    return "proven, but for what could not be, see above" if notes else "proven"


def as_object(found: FleetVerification) -> dict[str, Any]:
    within, across = found.too_near
    return {
        "store": found.store,
        "fleet": {"shards": found.shards, "with_lines": found.with_lines, "begun": found.verified},
        "proven": not found.refuted,
        "promises": {
            name: {
                "standing": standing(proof).lower(),
                "checked": dict(proof.checked),
                "counterexample": None if proof.counterexample is None else asdict(proof.counterexample),
            }
            for name, proof in found.proofs.items()
        },
        "requests": found.requests,
        "too_near": {"within": within, "across": across},
        "unproven": {name: list(said) for name, said in found.notes.items()},
        "equal": found.equal,
    }
