"""One HTTP/1.1 request over one connection of its own: `exchange` sends it, reads one answer, closes the socket.

It never looks a name up, reads no environment variable for a proxy, keeps no connection, sends nothing twice and never
believes an octet beyond the end of the one answer (RFC 9112 9.2). Politeness, robots.txt, redirects and content codings
are the caller's. Why not httptools: llhttp refuses, with every leniency on, a header line without a colon, a repeated
equal Content-Length, Transfer-Encoding beside Content-Length and a blank after a chunk size, all of which real servers
send and RFC 9112 settles; it joins folded lines without a word, and has no caps. So the head and the framing are parsed
here; the tests ask llhttp as a second witness.
"""

from seaspider.http1.exchange import exchange
from seaspider.http1.message import (
    SKIP,
    WHOLE,
    Answer,
    BodyPlan,
    ExchangeError,
    Flag,
    Headers,
    Limits,
    Reason,
    request_bytes,
)
from seaspider.http1.tls import client_context

__all__ = [
    "SKIP",
    "WHOLE",
    "Answer",
    "BodyPlan",
    "ExchangeError",
    "Flag",
    "Headers",
    "Limits",
    "Reason",
    "client_context",
    "exchange",
    "request_bytes",
]
