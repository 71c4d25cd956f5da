"""For each promise the single edits of a good store that break it, by name."""

from tests.verify.tamperasked import P1, P2, P3
from tests.verify.tamperlines import AnEdit
from tests.verify.tamperrecords import P4, P5, P6

EDITS: dict[str, dict[str, AnEdit]] = {"P1": P1, "P2": P2, "P3": P3, "P4": P4, "P5": P5, "P6": P6}
