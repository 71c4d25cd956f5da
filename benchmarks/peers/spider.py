"""The list spider of stock Scrapy, which can also do what Seaspider does with a page: store its body, take its links.

`bodies`: a folder for them, named by their sha256. `links`: any text, to take them. `durable`: a file for the lines; a
body and a line are on the disk before the next request, and there is no feed. `names`: a JSON file of host names and
addresses, which Scrapy's DNS cache has from the start.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.resolver import dnscache

from benchmarks.stock_spider import ListSpider


class PeerSpider(ListSpider):
    name = "peer"
    bodies: str | None = None
    links: str | None = None
    durable: str | None = None
    names: str | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.extractor = LinkExtractor()
        for host, address in json.loads(Path(self.names).read_text("utf-8")).items() if self.names else ():
            dnscache[host] = address

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        item: dict[str, Any] = {"url": response.url, "status": response.status, "bytes": len(response.body)}
        if self.links and isinstance(response, TextResponse):
            item["links"] = [link.url for link in self.extractor.extract_links(response)]
        if self.bodies:
            item["sha256"] = hashlib.sha256(response.body).hexdigest()
            path = Path(self.bodies, item["sha256"])
            if self.durable:
                _written(path.with_suffix(".part"), response.body)
                path.with_suffix(".part").rename(path)
            else:
                path.write_bytes(response.body)
        if self.durable:
            _written(Path(self.durable), json.dumps(item).encode() + b"\n")
        else:
            yield item


def _written(path: Path, data: bytes) -> None:
    """Appends, and waits until it is on the disk."""
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fdatasync(file.fileno())
