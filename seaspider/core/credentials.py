"""User names and passwords in what is written down: taken out of URLs that are not asked for because of them.

A URL with user information is refused wherever it stands, so nothing is lost but the secret; what is left is refused
for the same reason, so whoever judges the record comes to the same answer. Never touches a URL that is used.
"""

import re
from collections.abc import Iterable
from typing import Final

HIDDEN: Final = "***"

_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_TAB_OR_NEWLINE = re.compile(r"[\t\n\r]")
# Two slashes, either way round, begin an authority whatever the base is; after fewer of them it depends on the base.
_REFERENCE = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.\-]*:)?[/\\]{2,})[^/\\?#]*@")
# In a line that is no URL, also behind what may stand before one.
_SOMEWHERE = re.compile(
    # A password that was not encoded: what is before its slash is taken for host and port.
    r"(?<=[/\\]{2})(?P<slashed>[^\s/\\?#@:]*+:[^\s/\\?#@]*+[/\\?#]\S{0,255}@)"
    r"|(?<=[:/\\][/\\])[^\s/\\?#]*@"
    # Without slashes, and perhaps without a scheme: `user:password@host`.
    r"|(?<![^\s\"'<(\[,;=])(?P<before>(?!mailto:)[^\s\"'<(\[,;=/\\?#@:]{1,255}+):[^\s/\\?#]{0,255}@",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")


def without_userinfo(reference: str) -> str:
    """A URL reference (a Location, an href) with the user information of its authority hidden, if it has any."""
    cleaned = _TAB_OR_NEWLINE.sub("", reference.strip(_C0_AND_SPACE)) if "@" in reference else ""
    found = _REFERENCE.match(cleaned)
    return f"{found[1]}{HIDDEN}@{cleaned[found.end() :]}" if found else reference


def without_userinfo_each(references: Iterable[str]) -> list[str]:
    """Several of them. Those that differ still do: two that contradict each other are judged otherwise than one."""
    taken: dict[str, str] = {}
    each = []
    for reference in references:
        hidden = without_userinfo(reference)
        while taken.setdefault(hidden, reference) != reference:
            hidden = hidden.replace(f"{HIDDEN}@", f"{HIDDEN}*@", 1)
        each.append(hidden)
    return each


def without_userinfo_anywhere(line: str) -> str:
    """A line that is no usable URL, with all that looks like user information hidden."""
    cleaned = _TAB_OR_NEWLINE.sub("", line) if "@" in line else ""
    hidden = _SOMEWHERE.sub(_hidden, cleaned)
    return line if hidden == cleaned else hidden


def _hidden(found: re.Match[str]) -> str:
    if found["slashed"]:
        return f"{HIDDEN}:{HIDDEN}/{HIDDEN}@"
    before = found["before"] or ""
    if before.lower() in ("http", "https"):
        return f"{before}:{HIDDEN}@"
    return f"x:{HIDDEN}@" if _SCHEME.fullmatch(before) else f"{HIDDEN}@"
