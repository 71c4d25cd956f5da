"""The second opinion on a robots decision: Protego's, on the canonical text of the one group that applies.

Decides nothing: our own parser does, and the answer here is recorded beside it. Protego never sees the raw file,
whose grouping, line ends and bytes it reads differently; it is asked about patterns and priorities only. There it
differs by design in a few things: a final `$` also stands for a literal dollar, `?` and `;` equal their escapes, and
octets that are no UTF-8 are all alike.

Its work is bounded, and it cannot raise: it is given ASCII text of one group, and the path of a URL on a fixed host.
"""

from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from protego import Protego

from seaspider.core.robotsfile import RobotsFile
from seaspider.core.robotsmatch import request_target

LARGEST_TEXT: Final = 200_000
"""Characters of canonical text up to which Protego is asked."""
LONGEST_URL: Final = 8_192
"""Characters of URL up to which Protego is asked."""

_HOST: Final = "http://h"
_ANY_NAME: Final = "x"  # the text has one group, for everyone
_made: "WeakKeyDictionary[RobotsFile, dict[str, Witness]]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Witness:
    """Protego with one group's rules; `protego` is None if their text is larger than LARGEST_TEXT."""

    protego: Protego | None

    @classmethod
    def of(cls, file: RobotsFile, token: str) -> "Witness":
        """The witness for the group of `token` in `file`. Time: linear in the canonical text, which is bounded."""
        text = file.canonical(token)
        return cls(Protego.parse(text) if len(text) <= LARGEST_TEXT else None)

    def allows(self, url: str) -> bool | None:
        """Protego's answer; None if it was not asked, because the rules or the URL are too long."""
        if self.protego is None or len(url) > LONGEST_URL:
            return None
        target = request_target(url).encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return self.protego.can_fetch(_HOST + target, _ANY_NAME)


def witness(file: RobotsFile, token: str, url: str) -> bool | None:
    """`Witness.allows` of `url`, with the witness of (`file`, `token`) made once and kept as long as `file`."""
    made = _made.setdefault(file, {})
    if token not in made:
        made[token] = Witness.of(file, token)
    return made[token].allows(url)
