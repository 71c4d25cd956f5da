"""An extension that keeps Requests from being scheduled."""

from scrapy import signals
from scrapy.exceptions import IgnoreRequest


class DropsMoved:
    """Drops every Request for /moved."""

    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        crawler.signals.connect(extension.drop, signals.request_scheduled)
        return extension

    def drop(self, request):
        if request.url.endswith("/moved"):
            raise IgnoreRequest("not this one")
