"""What goes through the door and comes back: a Scrapy Request as octets, and an answer as a Scrapy Response.

Decides which Requests are not sent, or not as they are. RFC 9110, RFC 9112.
"""

from __future__ import annotations

from scrapy import Request
from scrapy.http import Response
from scrapy.responsetypes import responsetypes

from seaspider import http1, scrapyhooks
from seaspider.core.addresses import ip_of
from seaspider.core.urls import Url
from seaspider.decoding import ACCEPT_ENCODING
from seaspider.permits import Asked
from seaspider.refusals import DoorRefusal

_SET_BY_THE_DOOR = frozenset(
    {b"host", b"user-agent", b"connection", b"accept-encoding", b"content-length", b"transfer-encoding"}
)
# What another part may have put in: secrets for strangers, and what makes an answer mean something else.
_NEVER_SENT = frozenset({b"authorization", b"cookie", b"proxy-authorization", b"range", b"referer"})


def octets_of(request: Request, url: Url, user_agent: str) -> bytes:
    """The message. Raises DoorRefusal for a Request that this door does not send, or not as it is."""
    if request.method != "GET" or request.body:
        raise DoorRefusal(f"only GET without a body is sent, not {request.method} {request.url}")
    for key in ("proxy", "bindaddress"):
        if request.meta.get(key):
            raise DoorRefusal(f"meta {key}={request.meta[key]!r} would be a second way out: {request.url}")
    identity = user_agent.encode("ascii")
    headers = []
    for name, values in scrapyhooks.fields(request.headers):
        lower = name.lower()
        if lower in _NEVER_SENT:
            raise DoorRefusal(f"header {name.decode('latin-1')} is not sent to anybody: {request.url}")
        if lower == b"user-agent" and values not in ([], [identity]):
            raise DoorRefusal(f"who asks is {user_agent!r} and nobody else: {request.url}")
        if lower not in _SET_BY_THE_DOOR:
            headers += [(name, value) for value in values]
    try:
        return http1.request_bytes(
            b"GET",
            url.target.encode("ascii"),
            [
                (b"Host", url.authority.encode("ascii")),
                (b"User-Agent", identity),
                *headers,
                (b"Accept-Encoding", ACCEPT_ENCODING),
            ],
        )
    except ValueError as error:
        raise DoorRefusal(f"{request.url}: {error}") from error


def response_of(request: Request, ip: str, asked: Asked) -> Response:
    if asked.status is None:
        raise ValueError(f"no answer to {request.url}")
    # What was encoded is decoded by now.
    headers = scrapyhooks.headers((name, value) for name, value in asked.headers if name.lower() != b"content-encoding")
    kind = responsetypes.from_args(headers=headers, url=request.url, body=asked.body)
    response = kind(
        url=request.url,
        status=asked.status,
        body=asked.body,
        flags=list(asked.flags),
        ip_address=ip_of(ip),
        protocol="HTTP/1.1",
    )
    response.headers = headers  # handed in above, each would be spelled anew
    return response
