"""Which crawl-delays were in force at a host: what its origins' robots.txt files said when they were last looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Delays:
    """A run knows the delay of an origin from when it first judges by its rules. That moment leaves a trace if a
    request follows; if none does, it may be any, so a longer delay is accepted as well."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, float]] = {}
        self._possible: dict[str, dict[str, float]] = {}
        self._unsure: set[str] = set()

    def run_starts(self) -> None:
        self._known = {}
        self._unsure = set()

    def learn(self, host: str, origin: str, delay_s: float | None) -> None:
        """The rules of an origin were looked at."""
        for table in (self._known, self._possible):
            if delay_s:
                table.setdefault(host, {})[origin] = delay_s
            elif origin in table.get(host, {}):
                del table[host][origin]

    def unsure(self, host: str) -> None:
        """Rules came that nothing was recorded of."""
        self._unsure.add(host)

    def is_unsure(self, host: str) -> bool:
        return host in self._unsure

    def of(self, host: str, cap_s: float) -> Iterator[float]:
        """The delay in force, s, then longer ones that may be. One over the cap is not waited for."""
        known = max(_within(self._known.get(host, {}).values(), cap_s), default=0.0)
        yield known
        yield from sorted(delay for delay in _within(self._possible.get(host, {}).values(), cap_s) if delay > known)


def _within(delays: Iterable[float], cap_s: float) -> list[float]:
    return [delay for delay in delays if delay <= cap_s]
