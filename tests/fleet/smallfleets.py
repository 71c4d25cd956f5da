"""A small fleet made shard by shard, as any engine would, and the site it crawls: links, redirects into other shards,
hosts that share an address, lines that are skipped."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seaspider.fleet import plan as plans
from seaspider.fleet import planning
from seaspider.loopback import Answer, LoopbackWeb
from tests.crawling import Ended, scrapy

HOSTS = 8
SHARDS = 4
# Two hosts on each address.
NAMES = {f"h{number}.test": f"127.0.71.{number // 2 + 1}" for number in range(HOSTS)}
HTML = {"Content-Type": "text/html; charset=utf-8"}
FOLLOW = ("-a", "follow=host", "-a", "max_depth=2")
PAUSE_S = 0.05


def link(path: str) -> str:
    return f'<a href="{path}">x</a>'


def site() -> dict[str, Any]:
    """Routes of all hosts: `/` leads to /a and /b, /a to /c; /away to the next host's /b."""
    pages = {"/": link("/a") + link("/b"), "/a": link("/c") + link("/b"), "/b": "b", "/c": link("/a")}
    routes: dict[str, Any] = {path: Answer(body=text, headers=HTML) for path, text in pages.items()}
    routes["/robots.txt"] = Answer(body="User-agent: *\nDisallow: /no\n")
    routes["/gone"] = Answer(404, body="gone")
    return routes


def lines(web: LoopbackWeb) -> list[str]:
    """A queue with a comment, a blank line, a duplicate and two lines that are no URLs."""
    urls = [
        f"http://h{host}.test:{web.port}{path}" for path in ("/", "/gone", "/no", "/away") for host in range(HOSTS)
    ]
    return ["# a queue", *urls[:10], "no URL", "", urls[3], *urls[10:], "nor this", urls[0].replace("http", "HTTP")]


def start_web(**more: Any) -> LoopbackWeb:
    web = LoopbackWeb(site(), names=NAMES, **more)
    for number in range(HOSTS):
        target = f"http://h{(number + 1) % HOSTS}.test:PORT/b"
        web.route(f"h{number}.test", "/away", Answer(302, headers={"Location": target}))
    return web
