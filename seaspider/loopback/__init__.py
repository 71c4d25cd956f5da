"""The loopback web that the demo and the end-to-end tests crawl."""

from seaspider.loopback.answers import Answer, Fault, Request, Route
from seaspider.loopback.arrivals import Arrival
from seaspider.loopback.routes import WireError, from_wire
from seaspider.loopback.server import LoopbackError, LoopbackWeb
from seaspider.loopback.sockets import ConnectFault

__all__ = [
    "Answer",
    "Arrival",
    "ConnectFault",
    "Fault",
    "LoopbackError",
    "LoopbackWeb",
    "Request",
    "Route",
    "WireError",
    "from_wire",
]
