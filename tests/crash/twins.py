"""Crawls without one of their guards, and the death that shows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.crash.cases import ARRIVAL, COLUMNS, END, Case
from tests.crash.saboteur import Kill

_PAGE = """
import hashlib
from seaspider.items import record
from seaspider.pipelines import StorePipeline
from seaspider.core.records import File
def write(self, page):
    store, body = self._run.store, page.body
    page.sha256 = None if body is None else hashlib.sha256(body).hexdigest()
    steps = {
        "body": lambda: body is None or store.put_body(body),
        "links": lambda: [store.write(File.LINKS, record(link)) for link in page.link_items],
        "page": lambda: store.write(File.PAGES, record(page)),
    }
    for step in ORDER:
        steps[step]()
StorePipeline._write = write
"""
_BODY_IN_PLACE = """
import os
from seaspider import faultpoints
from seaspider.bodyshelf import BodyShelf
def write_body(self, folder, path, body):
    os.makedirs(folder, exist_ok=True)
    with open(path, "wb", buffering=0) as file:
        file.write(body[: len(body) // 2])
        faultpoints.reached("before rename body")
        file.write(body[len(body) // 2 :])
BodyShelf._write = write_body
"""
_UNCUT = "from seaspider import journal; journal.cut_torn_end = lambda path: 0\n"
_FORGETS = "import seaspider.history as h; h.read = lambda store, book, **options: h.History(runs=2)\n"
_NO_INTENT = "from seaspider.middlewares.robots import RobotsMiddleware as M; M._intend = lambda self, visit: None\n"
_CLAIM_AFTERWARDS = """
from seaspider.requestlog import RequestLog
claim, settle, claims = RequestLog.claim, RequestLog.settle, []
def later(self, *claimed):
    claims.append(claimed)
    return self.requests + 1
def both(self, *settled):
    claim(self, *claims.pop())
    settle(self, *settled)
RequestLog.claim, RequestLog.settle = later, both
"""
_NO_SYNC = """
import os
from seaspider import faultpoints
from seaspider.writeahead import WriteAhead
def write(self, frame):
    self._size = 1 << 20  # it is never full: then its files would be synced
    os.pwrite(self._descriptor, frame, self._end)
    faultpoints.reached("after sync writeahead")
WriteAhead._write = write
"""
_NO_DOOR = "from seaspider.requestlog import RequestLog; RequestLog.sync = lambda self: None\n"
_TRUSTS = """
from seaspider.journal import JournalFile
init = JournalFile.__init__
def clean(self, path):
    init(self, path)
    self.dirty = False
JournalFile.__init__ = clean
"""
_NO_RESTORE = "from seaspider import restoring; restoring.restore = lambda store, boot_id: {}\n"
_NO_CUT = "from seaspider import restoring; restoring._kept = lambda path, end: path.stat().st_size\n"
_NO_BODY = "from seaspider import bodyshelf; bodyshelf.sync_file = lambda path: None\n"
_NO_FILE_SYSTEM = "from seaspider.wholesync import WholeSync; WholeSync.sync = lambda self: True\n"
_NO_NAME = "from seaspider import bodyshelf; bodyshelf.sync_folder = lambda folder: None\n"
_NO_FOLDER = """
from seaspider import store
store._make_folder = lambda folder: folder.mkdir(parents=True, exist_ok=True)
"""


@dataclass(frozen=True, slots=True)
class Twin:
    """`finds`: a part of what the verdict says of it."""

    case: Case
    finds: str


def _twin(name: str, sabotage: str, finds: str, *kills: Kill) -> Twin:
    return Twin(Case(name, "twin", kills, new_boot=kills[-1].how in COLUMNS, sabotage=sabotage), finds)


TWINS = [
    _twin("page before body", f"ORDER = ['links', 'page', 'body']{_PAGE}", "/1 is recorded without its body",
          Kill("before rename body", 6)),
    _twin("page before links", f"ORDER = ['body', 'page', 'links']{_PAGE}", "is recorded with 0 of 5 links",
          Kill("before write links.jsonl", 1)),
    _twin("body in place", _BODY_IN_PLACE, "is not what its name says", Kill("before rename body", 5)),
    _twin("torn ends stay", _UNCUT, "not a line of a store: intents.jsonl",
          Kill("before write intents.jsonl", 4, "torn")),
    _twin("no history", _FORGETS, "was asked for again", Kill("before write pages.jsonl", 8)),
    _twin("no intents", _NO_INTENT, "was asked for without an intent of", Kill("before write pages.jsonl", 4)),
    _twin("claims afterwards", _CLAIM_AFTERWARDS, "was asked for 1 times, with 0 claims", Kill(ARRIVAL, 3)),
    _twin("no sync", _NO_SYNC, "pages.jsonl has 0 lines, 7 were written and synced",
          Kill("after write pages.jsonl", 8, "power")),
    _twin("asks before it syncs", _NO_DOOR, "was asked for without an intent of",
          Kill("after write pages.jsonl", 4, "power")),
    _twin("what is found is trusted", _TRUSTS, "robots.jsonl has lost what a run had found in it",
          Kill("after write robots.jsonl", 7), Kill("after sync writeahead", 2, "power")),
    _twin("nothing is restored", _NO_RESTORE, "has lost what a run had found in it",
          Kill("after sync writeahead", 7, "power")),
    _twin("lines nobody waited for", _NO_CUT, "is recorded without its body",
          Kill("after write pages.jsonl", 4, "early")),
    _twin("bodies as one", _NO_FILE_SYSTEM, "is recorded without its body", Kill(*END, "power")),
    _twin("bodies one by one", _NO_BODY, "is not what its name says", Kill("before sync file system", 2, "power")),
    _twin("names of bodies", _NO_NAME, "is recorded without its body", Kill("before sync file system", 2, "power")),
    _twin("name of the store", _NO_FOLDER, "manifest.jsonl has 0 lines, 1 were written and synced",
          Kill("after write requests.jsonl", 1, "power")),
]  # fmt: skip

# The pause is far longer than a restart takes. Two runs, which both die after their first request, show it.
LONG_PAUSE_S = 4
LONG_PAUSE = Case(
    "long pause",
    "twin",
    (Kill("after write requests.jsonl", 2),) * 2,
    settings={"SEASPIDER_INTERVAL": LONG_PAUSE_S},
    most_runs=1,
)
LEDGER_IN_MEMORY = replace(LONG_PAUSE, settings={**LONG_PAUSE.settings, "SEASPIDER_LEDGER": ":memory:"})
