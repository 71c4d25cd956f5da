"""Whether a page asks that its links be not followed: robots meta tags and X-Robots-Tag headers.

There is no standard; the rules are the ones that search engines document: directives separated by commas, case does
not matter, `none` means `noindex, nofollow`, an agent's name before a colon limits the rest of that header to it. All
sources add up. Where a text can be read in two ways, the reading that follows less is taken.

Never decides whether a page may be fetched (that is robots.txt) or stored (`noindex` is not looked at).
"""

import re
from collections.abc import Iterable, Sequence

_NOFOLLOW = frozenset({"nofollow", "none"})
_EVERYONE = frozenset({"robots", "*"})
# Directives with a value, so what stands before their colon is not an agent. All `max-...` are such too.
_VALUED = frozenset({"unavailable_after"})
# An agent begins with a letter: the hour of a date (`..., 15:00:00 GMT`) is none.
_AGENT = re.compile(r"\s*(\*|[a-z][a-z0-9_-]*)(?:/[^\s:]*)?\s*:(.*)", re.DOTALL)


def meta_nofollow(metas: Iterable[tuple[str, str]], token: str) -> bool:
    """Whether one of the page's meta tags, given as (name, content), says nofollow to everyone or to `token`."""
    ours = ("robots", token.lower())
    return any(name.strip().lower() in ours and _has_nofollow(content.lower()) for name, content in metas)


def header_nofollow(values: Sequence[str], token: str) -> bool:
    """Whether one of the X-Robots-Tag header values says nofollow to everyone or to `token`.

    An agent named in one value does not reach into the next value.
    """
    return any(_value_nofollow(value.lower(), token.lower()) for value in values)


def _value_nofollow(value: str, token: str) -> bool:
    agent = "*"
    for part in value.split(","):
        directive = part
        named = _AGENT.match(part)
        if named is not None and not _is_valued(named[1]):
            agent, directive = named[1], named[2]
        if (agent == token or agent in _EVERYONE) and _has_nofollow(directive):
            return True
    return False


def _is_valued(name: str) -> bool:
    return name in _VALUED or name.startswith("max-")


def _has_nofollow(directives: str) -> bool:
    """Commas are often forgotten, so blanks and semicolons separate as well; a part with a colon has a value."""
    return any(
        not _NOFOLLOW.isdisjoint(part.split()) for part in directives.replace(";", ",").split(",") if ":" not in part
    )
