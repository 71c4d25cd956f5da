"""What a verification says: lines of text for a person, or one object for a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from seaspider.core.verdict import table
from seaspider.verify.proof import Proof
from seaspider.verify.verdicts import RunVerdict
from seaspider.verify.verification import Verification

PROMISES: Final = {
    "P1": "allowed by robots.txt before each page request",
    "P2": "every request through one door",
    "P3": "no request before its pause was over",
    "P4": "each redirect hop judged and asked for itself",
    "P5": "order and outcomes follow from queue and answers",
    "P6": "nothing lost",
}
"""In short; README has them in full."""
SHOWN_RUNS: Final = 20


def as_text(found: Verification) -> str:
    return "\n".join(_lines(found))


def _lines(found: Verification) -> Iterator[str]:
    yield f"Store {found.store}"
    yield ""
    yield from promise_lines(found)
    yield ""
    for run in found.verdicts[-SHOWN_RUNS:]:
        yield from _verdict(run)
    notes = [f"{promise}: {note}" for promise, said in found.notes.items() for note in said]
    if notes:
        yield from ("", "Could not be proven:", *(f"- {note}" for note in notes))
    yield from ("", f"digest  {found.digest}  (times aside)", f"exact   {found.exact}  (every byte of the records)")
    yield equal_line(found.equal)
    yield f"result  {_result(found, bool(notes))}"


def equal_line(equal: str) -> str:
    """The digest that stores of one queue share, however often and by how many they were crawled."""
    return f"equal   {equal}  (final pages, times and runs aside)"


def _result(found: Verification, notes: bool) -> str:
    if found.refuted:
        return "REFUTED"
    return "proven, but for what could not be, see above" if notes else "proven"


def promise_lines(found: Verification) -> Iterator[str]:
    """A line for each promise, and one for what contradicts it."""
    for promise, proof in found.proofs.items():
        yield f"{promise}  {standing(proof):<7}  {PROMISES[promise]}{numbers(proof)}"
        if proof.counterexample is not None:
            yield f"    {proof.counterexample}"


def standing(proof: Proof) -> str:
    return "proven" if proof.holds else "REFUTED"


def numbers(proof: Proof) -> str:
    counted = ", ".join(f"{number} {name}" for name, number in proof.checked.items())
    return f" ({counted})" if counted else ""


def _verdict(run: RunVerdict) -> Iterator[str]:
    found = run.verdict
    ending = "killed" if run.reason is None else run.reason
    figures = (
        f"{found.requests} requests to {found.hosts} hosts, breadth {found.breadth_per_mil} per mil, at most "
        f"{found.most_per_host} a host, {found.too_near} too near"
    )
    yield f"run {run.run} ({ending}): {figures}; {table(found, run.gate)[-1].removeprefix('verdict: ')}"


def as_object(found: Verification) -> dict[str, Any]:
    return {
        "store": found.store,
        "proven": not found.refuted,
        "promises": {promise: _proof(proof) for promise, proof in found.proofs.items()},
        "verdicts": [{"run": run.run, "reason": run.reason, **run.verdict.to_record()} for run in found.verdicts],
        "unproven": {promise: list(said) for promise, said in found.notes.items()},
        "digest": found.digest,
        "exact": found.exact,
        "equal": found.equal,
    }


def _proof(proof: Proof) -> dict[str, Any]:
    counterexample = None if proof.counterexample is None else asdict(proof.counterexample)
    return {
        "standing": standing(proof).lower(),
        "checked": dict(proof.checked),
        "counterexample": counterexample,
    }
