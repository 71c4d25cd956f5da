"""What a request ends with instead of an answer, in Scrapy's own terms. None of them ends a command.

IgnoreRequest (Scrapy's)
├── VisitStopped              a visit ends here, with an outcome and a reason
├── DoorRefusal               a request that has no permit, or is none the door sends
└── Interrupted               the crawl stops while a request waits for its pause

DownloadFailedError (Scrapy's)
└── ExchangeFailed            asked, but no usable answer
"""

from __future__ import annotations

from scrapy.exceptions import DownloadFailedError, IgnoreRequest

from seaspider.core.records import Ending, Reason


class VisitStopped(IgnoreRequest):
    """Ends a visit without (another) request. `ending` says how."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(str(ending))
        self.ending = ending


class DoorRefusal(IgnoreRequest):
    """The door does not send this request; nothing was sent."""


class ExchangeFailed(DownloadFailedError):
    """A page was asked for and no usable answer came. `reason` is the word for it in the records."""

    def __init__(self, url: str, reason: Reason, detail: str) -> None:
        super().__init__(f"{url}: {reason}: {detail}")
        self.reason = reason


class Interrupted(IgnoreRequest):
    """The crawl stops while this request waits for its pause. Nothing was sent; its visit begins again next time."""
