"""User names and passwords in what is written down: taken out of URLs that are not asked for because of them.

A URL with user information is refused wherever it stands, so nothing is lost but the secret; what is left still reads
as a URL with user information, so whoever judges the record comes to the same answer. Never touches a URL that is used.
"""

import re
from typing import Final

HIDDEN: Final = "***"

_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_TAB_OR_NEWLINE = re.compile(r"[\t\n\r]")
# As `urls` finds an authority: browsers take any number of slashes, either way round, behind http: and https:.
_REFERENCE = re.compile(
    r"(https?:[/\\]*|(?:[A-Za-z][A-Za-z0-9+.\-]*:)?[/\\]{2,})[^/\\?#]*@(?=[^@/\\?#]*(?:[/\\?#]|\Z))",
    re.IGNORECASE,
)
# In a line that is no URL, also behind what may stand before one, without a scheme (`user:password@host`), and with a
# password that was not encoded (`//user:pass/word@host`).
_SOMEWHERE = re.compile(
    r"(?:(?<=[/\\]{2})(?:[^\s/\\?#@:]*+:\S{0,255}|[^\s/\\?#]*)"
    r"|(?<![^\s\"'<(\[,;=])(?!mailto:)[^\s\"'<(\[,;=/\\?#@:]{1,255}+:[^\s/\\?#]{0,255})@",
    re.IGNORECASE,
)


def without_userinfo(reference: str) -> str:
    """A URL reference (a Location, an href) with the user information of its authority hidden, if it has any."""
    cleaned = _TAB_OR_NEWLINE.sub("", reference.strip(_C0_AND_SPACE)) if "@" in reference else ""
    found = _REFERENCE.match(cleaned)
    return f"{found[1]}{HIDDEN}@{cleaned[found.end() :]}" if found else reference


def without_userinfo_anywhere(text: str) -> str:
    """A line that is no usable URL, with all that looks like user information hidden."""
    return _SOMEWHERE.sub(f"{HIDDEN}@", text) if "@" in text else text
