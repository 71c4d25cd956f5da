"""Which group name a crawler goes by, and which one a `User-agent:` line gives (RFC 9309, section 2.2.1).

Decides how a header or a line is cut down to one name. Never decides which rules apply, and never folds letters
outside ASCII: U+212A KELVIN SIGN is no k.
"""

import re
from typing import Final

ANYONE: Final = b"*"

_PRODUCT_TOKEN = re.compile(r"[A-Za-z_-]+")
_FIRST_NAME = re.compile(r"[^\s*,;/()]+")
_COMPATIBLE_NAME = re.compile(r"compatible;\s*([^\s*,;/()]+)")
# A name ends at a blank or a separator; one star glued to its end is dropped. "*" counts only if it stands alone.
_GROUP_NAME = re.compile(rb"\*(?=[ \t]|\Z)|[^ \t*,;/()]+(?=\*?(?:[ \t,;/()]|\Z))")


def is_product_token(text: str) -> bool:
    """Whether `text` is a product token as RFC 9309 spells it: ASCII letters, `_` and `-`, at least one."""
    return _PRODUCT_TOKEN.fullmatch(text) is not None


def product_token(text: str) -> str:
    """The name by which `text`, a bare token or a whole User-Agent header, is looked up in robots.txt.

    The first word without its version; of a header that starts with Mozilla the word after `compatible;`, so that no
    word of a comment or contact URL is taken for a name. A name that breaks the token grammar (`bot2`) is kept whole:
    a shorter one would be somebody else's. Empty if there is no word; then only the `*` groups apply.
    """
    first = _FIRST_NAME.search(text)
    if first is None:
        return ""
    if first[0].lower() == "mozilla" and (named := _COMPATIBLE_NAME.search(text)):
        return named[1]
    return first[0]


def group_key(token: str) -> bytes:
    """The key under which the groups of the crawler `token` are kept: its octets, ASCII letters in lower case."""
    return token.encode("utf-8", "surrogatepass").lower()


def line_key(value: bytes) -> bytes | None:
    """The key that the value of a `User-agent:` line names, ANYONE for `*`, None if it names nobody.

    Read as the reference implementation does (`name/1.0`, `name*`, `name, other`: name), but a longer word is another
    name: `bot2` is not bot.
    """
    match = _GROUP_NAME.match(value)
    return match[0].lower() if match else None
