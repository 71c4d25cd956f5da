"""What the bare loops share: each origin's robots.txt before its first page, and one JSON line a page. No manners."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path


def requests(queue: str) -> Iterator[tuple[str, bool]]:
    """(URL, whether it is a page)"""
    seen = set()
    for url in Path(queue).read_text("utf-8").split():
        origin = url[: url.index("/", 8)]
        if origin not in seen:
            seen.add(origin)
            yield f"{origin}/robots.txt", False
        yield url, True


def line(url: str, status: int, body: bytes) -> str:
    return json.dumps({"url": url, "status": status, "bytes": len(body)}) + "\n"
