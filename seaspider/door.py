"""The door: the one way out. Address check, then politeness, then the socket, for every request there is.

A request passes with a permit only (permits.py). It is resolved, all its addresses are judged, the address and the host
are claimed, the connection goes to that one address, and both are settled with the pause that follows from the answer.
Waiting happens here and nowhere else, and one request is under way at a time. Never decides what an answer means for a
visit. RFC 9112 (the message), RFC 9110 8.4 (content codings).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus

from scrapy import Request
from scrapy.http import Response

from seaspider import faultpoints
from seaspider.clock import Clock, Moment
from seaspider.config import Config
from seaspider.core.addresses import SpecialAddressError, choose
from seaspider.core.answers import deferral
from seaspider.core.frontier import Frontier
from seaspider.core.gaps import Gaps
from seaspider.core.governor import BackoffPolicy, Backoffs
from seaspider.core.politeness import Claimed, Pause, PauseBasis, pause
from seaspider.core.pushback import NOTHING, Pushback, pushback
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.times import ns_from_s
from seaspider.core.urls import Url
from seaspider.core.visits import Hop
from seaspider.errors import LeaseLost, RunFailed, Shortage
from seaspider.exchange import Exchange
from seaspider.ledger import LeaseTaken, Ledger, LedgerStopped
from seaspider.messages import octets_of, response_of
from seaspider.permits import Asked, Clearance, Permit, Permits
from seaspider.refusals import ExchangeFailed, Interrupted, VisitStopped
from seaspider.requestlog import RequestLog
from seaspider.resolver import ResolveError, Resolver

logger = logging.getLogger(__name__)

HOLD_SLACK_S = 2
"""A claim outlives the exchange's time-out by so much. A settle that comes later still only lengthens the rest."""


class _StaleClaim(Exception):
    """A claim was over before the first byte; nothing was sent."""


class Door:
    """Sends one request at a time, in the order they come. All requests of a process go through one Door.

    After a Shortage, or without its lease, the door stays shut.
    """

    def __init__(
        self,
        config: Config,
        clock: Clock,
        resolver: Resolver,
        ledger: Ledger,
        exchange: Exchange,
        frontier: Frontier,
        permits: Permits,
        log: RequestLog,
    ) -> None:
        self.failed: RunFailed | None = None
        self.rests: dict[str, PauseBasis] = {}
        """What the latest pause of each host follows from."""
        self.bytes_sent = self.bytes_received = 0
        self.asking: str | None = None
        """The host of the request that has the door."""
        self.asked: Callable[[str], None] = lambda host: None
        """Told the host of each request that is over: for who watches. A signal of Scrapy's takes ten times as long."""
        self._gaps = Gaps()
        self._backoff = BackoffPolicy(ns_from_s(config.backoff_base_s), ns_from_s(config.backoff_cap_s))
        self._backoffs = Backoffs()
        self._config = config
        self._clock = clock
        self._resolver = resolver
        self._ledger = ledger
        self._frontier = frontier
        self._permits = permits
        self._log = log
        self._one_at_a_time = asyncio.Lock()
        self._exchange = exchange
        self._interval_ns, self._ip_interval_ns = ns_from_s(config.interval_s), ns_from_s(config.ip_interval_s)
        self._hold_ns = ns_from_s(config.timeout_s + HOLD_SLACK_S)

    @property
    def too_near(self) -> int:
        """Pairs of requests to one host or address nearer than the pause between them: none, or this door is broken."""
        return self._gaps.too_near

    async def send(self, request: Request) -> Response:
        """The answer to a request that has a permit.

        Raises DoorRefusal (no permit, or nothing this door sends), VisitStopped (no usable address), ExchangeFailed
        (no usable answer), Interrupted (stopped before it was sent) and RunFailed (not recorded, not sent; a shortage).
        """
        permit = self._permits.take(request)
        octets = octets_of(request, permit.hop.url, self._config.user_agent)
        async with self._one_at_a_time:
            if self.failed is not None:
                raise self.failed
            self._check_host(permit)
            self._log.sync()
            self.asking = host = permit.hop.url.host
            try:
                addresses = await self._resolve(permit.hop.url)
                permit.hop.ip = ip = self._choose(permit.hop, addresses)
                asked = await self._ask_in_time(permit, ip, addresses, octets)
            except (Shortage, LeaseLost) as error:
                self.failed = error
                raise
            finally:
                self.asking = None
                self.asked(host)
        if asked.error is not None:
            logger.info("%s: no answer: %s: %s", request.url, asked.error, asked.detail)
            raise ExchangeFailed(request.url, asked.error, asked.detail)
        return response_of(request, ip, asked)

    def _check_host(self, permit: Permit) -> None:
        """What was allowed may have waited here while another answer stopped its host."""
        obstacle = self._frontier.obstacle(permit.hop.url.host, self._clock.wall_ms())
        if obstacle and permit.kind == Clearance.kind:
            raise VisitStopped(obstacle)

    # --- address ---

    async def _resolve(self, url: Url) -> Sequence[str]:
        try:
            return await self._resolver.resolve(url.host)
        except ResolveError as error:
            if error.temporary:
                raise ExchangeFailed(url.text, Reason.DNS, str(error)) from error
            raise self._no_address(url, Ending(Outcome.FAILED, Reason.DNS)) from error

    def _choose(self, hop: Hop, addresses: Sequence[str]) -> str:
        try:
            return choose(addresses, self._config.allowed_networks)
        except SpecialAddressError as error:
            hop.ip = error.address
            ending = Ending(Outcome.REFUSED, Reason.SPECIAL_ADDRESS)
            raise self._no_address(hop.url, ending, error.address) from error

    def _no_address(self, url: Url, ending: Ending, ip: str | None = None) -> VisitStopped:
        self._frontier.host_ended(url.host, ending, ip)
        return VisitStopped(ending)

    # --- politeness ---

    def _pauses(self, host: str, pushed: Pushback = NOTHING) -> tuple[Pause, int]:
        """The pause in force for a host, after an answer that asks for `pushed`, and for its address in ns.

        An address has its own interval; whatever else a host asks for, its address is left alone for as well.
        """
        crawl_delay_ns = ns_from_s(self._frontier.crawl_delay_s(host))
        of_host = pause(self._interval_ns, crawl_delay_ns, pushed.backoff_ns, pushed.waited_ns)
        of_address_ns = self._ip_interval_ns
        if of_host.basis is not PauseBasis.INTERVAL:
            of_address_ns = max(of_address_ns, of_host.ns)
        return of_host, of_address_ns

    async def _claim(self, url: Url, ip: str) -> Claimed:
        of_host, of_address_ns = self._pauses(url.host)
        try:
            return await self._ledger.claim({_host_key(url): of_host.ns, _ip_key(ip): of_address_ns}, self._hold_ns)
        except LedgerStopped as error:
            raise Interrupted(f"stopped before {url.text} was asked for") from error
        except LeaseTaken as error:
            raise LeaseLost(str(error)) from error

    async def _ask_in_time(self, permit: Permit, ip: str, addresses: Sequence[str], octets: bytes) -> Asked:
        """Claims and asks. A process that was paused for so long that its claim is over before the first byte claims
        anew: others may have asked meanwhile."""
        while True:
            claimed = await self._claim(permit.hop.url, ip)
            try:
                return await self._ask(permit, ip, addresses, octets, claimed)
            except _StaleClaim:
                continue

    async def _ask(self, permit: Permit, ip: str, addresses: Sequence[str], octets: bytes, claimed: Claimed) -> Asked:
        """One exchange, recorded before it, and its settle, which comes whatever happens; the pause follows the answer.

        Raises StoreError before anything is sent if the claim cannot be recorded.
        """
        url = permit.hop.url
        host_key, ip_key = _host_key(url), _ip_key(ip)
        number: int | None = None
        sent_ns: list[int] = []
        asked, pushed, ended = Asked(detail="cancelled"), NOTHING, None

        def before_send() -> None:
            now_ns = self._clock.boot_ns()
            if now_ns > claimed.hold_until_ns:
                raise _StaleClaim
            faultpoints.reached("before send")
            sent_ns.append(now_ns)
            self.bytes_sent += len(octets)

        try:
            self._gaps.claimed((host_key, ip_key), claimed.claimed_ns)
            number = self._log.claim(permit, ip, addresses, claimed.claimed_ns)
            self._frontier.sent(url.host, in_turn=permit.in_turn)
            permit.sent()
            asked = await self._exchange.ask(permit, ip, octets, before_send)
            ended = Moment.of(self._clock)
            self.bytes_received += asked.wire_bytes
            pushed = self._take_in(permit, asked, ended.wall_ms)
        finally:
            of_host, of_address_ns = self._pauses(url.host, pushed)
            ended = ended or Moment.of(self._clock)
            await self._ledger.settle(claimed.token, {host_key: of_host.ns, ip_key: of_address_ns})
            if number is not None:
                self._frontier.settled(url.host, ip, of_host.ns, of_address_ns)
                self._gaps.settled((host_key, of_host.ns), (ip_key, of_address_ns), ended.boot_ns)
                self.rests[url.host] = of_host.basis
                self._log.settle(number, asked, of_host, sent_ns[0] if sent_ns else None, ended)
        return asked

    def _take_in(self, permit: Permit, asked: Asked, now_ms: int) -> Pushback:
        """Before the next request leaves: a robots.txt gives the pause, a page's 403 stops its host, and what pushes
        back, or asks for more of a pause than is waited for, is heeded. Failures of robots.txt are no back-off."""
        permit.conclude(asked, now_ms)
        host = permit.hop.url.host
        if permit.kind != Clearance.kind:
            return pushback(asked.headers, 0, self._backoff, now_ms)
        self._backoffs.ended(host, asked.status, asked.error)
        pushed = pushback(asked.headers, self._backoffs.failures(host), self._backoff, now_ms)
        deferred = deferral(pushed, now_ms)
        if deferred:
            self._frontier.deferred(host, deferred)
        if asked.error is None and asked.status == HTTPStatus.FORBIDDEN:
            self._frontier.forbidden(host, now_ms)
        return pushed


def _host_key(url: Url) -> str:
    return f"host:{url.host}"


def _ip_key(ip: str) -> str:
    return f"ip:{ip}"
