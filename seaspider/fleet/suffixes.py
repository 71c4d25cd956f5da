"""The public suffix list that comes with tldextract. Never fetches another, never writes a cache."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_LIST: Final = ".tld_set_snapshot"
_VERSION: Final = re.compile(rb"^// VERSION: ([!-~]{1,80})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SuffixList:
    """`version` is what the list says of itself, `sha256` that of its file. `suffix_of`: see core.shards.Placement."""

    version: str
    sha256: str
    suffix_of: Callable[[str], str]


def bundled() -> SuffixList:
    """Its first part only, the registries': the names below one operator's suffix (`github.io`) share its servers."""
    import tldextract  # noqa: PLC0415 - it can fetch, so it brings an HTTP client: 50 ms of every command's start

    octets = files("tldextract").joinpath(_LIST).read_bytes()
    named = _VERSION.search(octets)
    extract = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)
    return SuffixList(
        version=named[1].decode() if named else "",
        sha256=hashlib.sha256(octets).hexdigest(),
        suffix_of=lambda host: extract.extract_str(host, include_psl_private_domains=False).suffix,
    )
