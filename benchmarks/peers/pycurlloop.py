"""A floor: one handle of libcurl, one request after another. `python -m benchmarks.peers.pycurlloop QUEUE PAGES`"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

import pycurl  # type: ignore[import-untyped]

from benchmarks.peers.bareloop import line, requests


def main(queue: str, pages: str) -> None:
    handle = pycurl.Curl()
    with Path(pages).open("w") as file:
        for url, is_page in requests(queue):
            body = BytesIO()
            handle.setopt(pycurl.URL, url)
            handle.setopt(pycurl.WRITEDATA, body)
            handle.perform()
            if is_page:
                file.write(line(url, handle.getinfo(pycurl.RESPONSE_CODE), body.getvalue()))


main(*sys.argv[1:])
