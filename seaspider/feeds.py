"""Feeds: what `-o`, `-O` and FEEDS export. A feed that names no item class exports Page records, one row each.

A feed is an export of one run. It never is the journal, so it must not lie where the store does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy.exporters import CsvItemExporter
from scrapy.settings import BaseSettings
from w3lib.url import file_uri_to_path

from seaspider.errors import SettingError
from seaspider.items import Page

_CSV = f"{__name__}.RecordCsvExporter"
_WHOLE = frozenset({"json", "xml"})
"""Formats in which a second run's items, behind those of the first, make a file that nobody can read."""
_FILES = "seaspider.feedfiles."
_STORAGES = {"": f"{_FILES}FileStorage", "file": f"{_FILES}FileStorage", "stdout": f"{_FILES}StdoutStorage"}


class RecordCsvExporter(CsvItemExporter):
    """CSV in which a field that holds several values is JSON text, and an appended file has one header line."""

    def __init__(self, file: Any, include_headers_line: bool = True, **options: Any) -> None:
        begun = file.seekable() and file.tell() > 0
        super().__init__(file, include_headers_line=include_headers_line and not begun, **options)

    def serialize_field(self, field: Mapping[str, Any], name: str, value: Any) -> Any:
        if isinstance(value, list | tuple | dict) and "serializer" not in field:
            return json.dumps(value, ensure_ascii=False)
        return super().serialize_field(field, name, value)


def complete(settings: BaseSettings) -> None:
    """Gives the feeds what they do not say: items of one kind, Pages, our CSV and our files. Raises SettingError."""
    feeds = _feeds(settings)
    if not feeds:
        return
    for feed in feeds.values():
        feed.setdefault("item_classes", [f"{Page.__module__}.{Page.__qualname__}"])
    settings.set("FEEDS", feeds, priority=settings.getpriority("FEEDS") or "project")
    for name, ours in (("FEED_EXPORTERS", {"csv": _CSV}), ("FEED_STORAGES", _STORAGES)):
        settings.set(name, {**ours, **settings.getdict(name)}, priority=settings.getpriority(name) or "project")


def check(settings: BaseSettings, store: Path) -> None:
    """Raises SettingError for a feed that lies in the store, cannot be written, or would not be valid any more."""
    for uri, feed in _feeds(settings).items():
        path = _path(str(uri))
        if path is None:
            continue
        if path.resolve().is_relative_to(store.resolve()):
            raise SettingError("FEEDS", str(uri), f"a feed must not lie in the store, {str(store)!r}")
        try:
            _try_to_write(path)
        except OSError as error:
            raise SettingError("FEEDS", str(uri), f"cannot be written: {error.strerror}") from error
        if feed.get("format") in _WHOLE and not feed.get("overwrite") and path.is_file() and path.stat().st_size:
            why = f"is not empty, and {feed['format']} cannot be appended to: take jsonl, or -O to write it anew"
            raise SettingError("FEEDS", str(uri), why)


def _try_to_write(path: Path) -> None:
    """Finds out now; Scrapy opens a feed at its first item, and goes on without it."""
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
    if not path.exists() or path.is_file() or path.is_dir():  # a pipe or a device is opened once, by the feed
        path.open("ab").close()


def _feeds(settings: BaseSettings) -> dict[Any, dict[str, Any]]:
    feeds = settings.getdict("FEEDS")
    for uri, feed in feeds.items():
        if not isinstance(feed, Mapping):
            raise SettingError("FEEDS", {uri: feed}, "must map each feed to its options, at least its format")
    return {uri: dict(feed) for uri, feed in feeds.items()}


def _path(uri: str) -> Path | None:
    """Where a feed lies on this machine; None for one that does not, or whose name depends on the run (`%(time)s`)."""
    scheme = urlsplit(uri).scheme
    if "%(" in uri:
        return None
    if scheme == "file":
        return Path(file_uri_to_path(uri))
    return None if scheme or uri == "-" else Path(uri)
