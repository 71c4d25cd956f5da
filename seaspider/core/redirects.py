"""Where an answer sends a visit next (RFC 9110 15.4), if anywhere.

Decides from one answer's status and Location values whether the answer is final, the next hop, or the reason why there
is none. Never asks: robots.txt, address and claim of the next hop are its own matters, and robots.txt fetches use the
same rules with their own budget. A page's meta refresh is a link, not a redirect.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from seaspider.core.credentials import without_userinfo
from seaspider.core.urls import Url, UrlError, UrlReason, normalise

# 300 offers a choice, 304 answers a condition, 305 is deprecated (RFC 9110 15.4.1, 15.4.5, 15.4.6): final answers.
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})


class HopReason(StrEnum):
    """Why a redirect is not followed."""

    SCHEME = "scheme"
    USERINFO = "userinfo"
    BAD_LOCATION = "bad-location"
    REDIRECT_LOOP = "redirect-loop"
    REDIRECT_LIMIT = "redirect-limit"


@dataclass(frozen=True, slots=True)
class RefusedHop:
    """A redirect that ends its visit. `location` is what the server sent, as `location_text` writes it."""

    reason: HopReason
    location: str


def next_hop(
    current: Url, status: int, locations: Sequence[bytes], seen: Collection[str], budget: int
) -> Url | RefusedHop | None:
    """The URL to ask next; None if the answer is final: another status, or no Location at all.

    `locations` are the raw Location values in the order received, `seen` the texts of the URLs of this chain (`current`
    counts anyway), `budget` the number of hops that may still be taken. An empty Location or a mere fragment names the
    current URL, which makes it a loop. The same value twice counts as one; two different values are ambiguous.
    """
    if status not in REDIRECT_STATUSES or not locations:
        return None
    values = list(dict.fromkeys(value.strip() for value in locations))
    if len(values) > 1:
        return RefusedHop(HopReason.BAD_LOCATION, ", ".join(map(location_text, values)))
    location = location_text(values[0])
    try:
        target = normalise(location, current)
    except UrlError as error:
        return RefusedHop(_reason(error.reason), location)
    if target.text == current.text or target.text in seen:
        return RefusedHop(HopReason.REDIRECT_LOOP, location)
    if budget < 1:
        return RefusedHop(HopReason.REDIRECT_LIMIT, location)
    return target


def location_text(value: bytes) -> str:
    """A raw Location value as ASCII: other bytes percent-encoded as they are, whatever charset they are meant in.

    Control characters stay; JSON escapes them and `normalise` drops or encodes them. User information, for which it is
    not followed anyway, is hidden.
    """
    return without_userinfo("".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in value))


def _reason(reason: UrlReason) -> HopReason:
    if reason is UrlReason.SCHEME:
        return HopReason.SCHEME
    return HopReason.USERINFO if reason is UrlReason.USERINFO else HopReason.BAD_LOCATION
