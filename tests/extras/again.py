"""Extensions that send the request of a robots.txt once more when its answer is in."""

import asyncio

from scrapy import signals
from scrapy.exceptions import IgnoreRequest


class _SendsAgain:
    """At a signal; what becomes of it goes into the stats."""

    signal: object

    def __init__(self, crawler):
        self._crawler = crawler
        self._sending = None
        crawler.signals.connect(self.told, self.signal)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def told(self, request):
        if request.url.endswith("/robots.txt") and self._sending is None:
            self._sending = asyncio.ensure_future(self._send(request))

    async def _send(self, request):
        await asyncio.sleep(0)  # the answer's own way is over then
        try:
            response = await self._crawler.engine.download_async(request)
        except IgnoreRequest as error:
            self._crawler.stats.set_value("sent_again", str(error))
        else:
            self._crawler.stats.set_value("sent_again", response.status)


class SendsReceived(_SendsAgain):
    signal = signals.response_received


class SendsScheduled(_SendsAgain):
    signal = signals.request_scheduled
