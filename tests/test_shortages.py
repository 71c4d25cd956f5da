"""Shortages: this machine runs out of something, and the run ends with 74; what is recorded stays valid, and goes on.

Small disks and disks that cannot be written are real ones, mounted in a mount namespace of the crawl's own.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seaspider.loopback import Answer, LoopbackWeb
from tests.accounts import check_accounts
from tests.commands.many import Case, run
from tests.crawling import ROOT, Ended, command, crawl, environment
from tests.running import Running, finals

NAMES = {"a.test": "127.0.14.1", "b.test": "127.0.14.2", "late.test": "127.0.14.3"}
HTML = (("Content-Type", "text/html"),)
NO_SPACE, READ_ONLY, SHORT = "No space left on device", "Read-only file system", "Too many open files"
GONE = "No such file or directory"


def page(number: int) -> Answer:
    return Answer(200, HTML, f"<a href='/{number + 1}'>{number}</a>" + "." * 3000)


@pytest.fixture(scope="module")
def web() -> Iterator[LoopbackWeb]:
    routes = {"/robots.txt": Answer(body="User-agent: *\nDisallow: /no\n"), **{f"/{n}": page(n) for n in range(6)}}
    with LoopbackWeb({**routes, "late.test/1": Answer(delay_s=0.8)}, names=NAMES) as running:
        yield running


@pytest.fixture(scope="module")
def here(web: LoopbackWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shortages")
    queues = {
        "pages": [web.url(host, f"/{n}") for host in ("a.test", "b.test") for n in range(6)],
        "late": [web.url("late.test", f"/{n}") for n in (1, 2)],
        "local": [web.url("localhost", f"/{n}") for n in (1, 2)],
    }
    for name, urls in queues.items():
        (folder / f"{name}.txt").write_text("".join(f"{url}\n" for url in urls))
    return folder


def args_of(here: Path, name: str, queue: str = "pages", store: Path | None = None) -> list[str]:
    return ["crawl", "seaspider", "-a", f"queue={here}/{queue}.txt", "-a", f"store={store or here / name}"]


def settings_of(here: Path, name: str, **more: object) -> dict[str, object]:
    """Each crawl names itself to the server, and has a ledger that its restart knows, too."""
    ledger = here / f"{name.removesuffix(AGAIN)}.sqlite3"
    return {"SEASPIDER_LEDGER": ledger, "USER_AGENT": f"seaspider/{name}", **more}


AGAIN = "-again"


def asked(web: LoopbackWeb, name: str) -> list[str]:
    """What a crawl asked for, in order."""
    return [
        arrival.name + arrival.target
        for arrival in web.arrivals
        if ("User-Agent", f"seaspider/{name}") in arrival.headers
    ]


def kept(store: Path, code: int, log: str) -> Ended:
    """How a crawl ended, with a copy of its store as it is now."""
    copy = store.with_name(f"{store.name}-then")
    if store.exists():
        shutil.copytree(store, copy)
    return Ended(code, "", log, copy)


def check_ended(ended: Ended, line: str) -> None:
    """Exit code 74, one clear line at the end, and each line of the store is whole and blames nobody."""
    assert ended.exit == 74, ended.log
    assert re.fullmatch(f"scrapy crawl: {line}", ended.log.splitlines()[-1]), ended.log
    assert "Traceback" not in ended.log
    for path in ended.store.glob("*.jsonl"):
        assert path.read_bytes()[-1:] in (b"", b"\n")
        for text in path.read_text().splitlines():
            assert json.loads(text)["v"] == 1
    assert {page["outcome"] for page in ended.records("pages")} <= {"stored"}
    assert {row["state"] for row in ended.records("robots")} <= {"parsed", "absent"}


# --- disks ---

UNSHARE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]


def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)
        except OSError:
            return False
        return done.returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="no mount namespace to be had")


def tmpfs(options: str) -> str:
    return f"mount -t tmpfs -o {options} tmpfs ."


# The disk with the bodies goes over to read-only before the third page is stored.
TURNS = """
import subprocess
from seaspider import faultpoints
pages = []
def reached(point):
    if point == "after write pages.jsonl":
        pages.append("one")
        if len(pages) == 2:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", "{disk}/store/bodies"], check=True)
faultpoints.reached = reached
"""
BEGUN = {"CLOSESPIDER_ITEMCOUNT": 3}
# name -> what a shell does first on the disk, what is put into the crawl, the line, and how many pages are recorded
IN_STORE = r"\S+/store/\S+ cannot be written: "
DISKS: dict[str, tuple[str, str, str, range]] = {
    "no-space": (f"{tmpfs('size=4k')} && cd . && head -c 4096 /dev/zero > filled", "", IN_STORE + NO_SPACE, range(1)),
    "no-inode": (tmpfs("nr_inodes=2"), "", rf"store '\S+/store' cannot be written: {NO_SPACE}", range(1)),
    "some-lines": (tmpfs("size=24k"), "", IN_STORE + NO_SPACE, range(1)),
    "some-bodies": (tmpfs("size=36k"), "", IN_STORE + NO_SPACE, range(1, 7)),
    "most": (tmpfs("size=56k"), "", IN_STORE + NO_SPACE, range(5, 12)),
    "read-only": (
        "cp -r {here}/begun store && mount --bind . . && mount -o remount,bind,ro {disk}",
        "",
        rf"store '\S+/store' cannot be written: {READ_ONLY}",
        range(3, 4),
    ),
    "turns-read-only": ("true", TURNS, r"\S+/store/bodies/\S+ cannot be written: " + READ_ONLY, range(2, 3)),
}


def on_a_disk(here: Path, name: str) -> Ended:
    """A crawl into a store on a disk that is this process's alone; what is then on the disk is kept as `here`/name."""
    prepare, sabotage, *_ = DISKS[name]
    disk = here / f"{name}-disk"
    disk.mkdir()
    places = {"{disk}": str(disk), "{here}": str(here)}
    for place, path in places.items():
        prepare, sabotage = prepare.replace(place, path), sabotage.replace(place, path)
    script = (
        f'(cd {disk} && {prepare}) || exit 99; (cd {ROOT}; "$@"); code=$?; cp -r {disk}/store {here}/{name}; exit $code'
    )
    args = args_of(here, name, store=disk / "store")
    crawl = command(args, names=NAMES, settings=settings_of(here, name), sabotage=sabotage)
    ended = subprocess.run(
        [*UNSHARE, "sh", "-c", script, "sh", *crawl],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode != 99, ended.stderr
    if name == "turns-read-only":  # what lies under the mount is there again once that is gone
        shutil.copytree(disk / "store" / "bodies", here / name / "bodies", dirs_exist_ok=True)
    return kept(here / name, ended.returncode, ended.stderr)


# --- descriptors: from a moment on none is to be had; those that are open stay ---

NO_MORE = """
import resource
from seaspider import faultpoints
left = [{count}]
def no_more():
    left[0] -= 1
    if left[0] == 0:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
def reached(point):
    if point == "{point}":
        no_more()
faultpoints.reached = reached
"""
# The real system resolver, when it cannot open what it needs.
NO_NAMES = """
import socket
asked = socket.getaddrinfo
def getaddrinfo(*args, **options):
    no_more()
    return asked(*args, **options)
socket.getaddrinfo = getaddrinfo
"""


def no_more(point: str, count: int) -> str:
    return NO_MORE.replace("{point}", point).replace("{count}", str(count))


CANNOT_ASK = rf"this machine cannot ask for http://{{place}}: {SHORT}"
# name -> queue, what is put into the crawl, the line, the reason in the manifest, requests that arrive
DESCRIPTORS: dict[str, tuple[str, str, str, str | None, int]] = {
    "robots": (
        "pages",
        no_more("after commit claim", 1),
        CANNOT_ASK.format(place=r"a\.test:\d+/robots\.txt"),
        "shortage",
        0,
    ),
    "page": ("pages", no_more("after commit claim", 4), CANNOT_ASK.format(place=r"b\.test:\d+/0"), "shortage", 3),
    "name": ("local", no_more("", 3) + NO_NAMES, f"no address of localhost: {SHORT}", "shortage", 2),
    # Nothing more is written after a write that failed.
    "body": ("pages", no_more("after commit settle", 3), rf"\S+/body/bodies/\S+ cannot be written: {SHORT}", None, 3),
}

# As before there was a word for it: a robots.txt that could not be asked for is an origin that gave no answer.
NO_WORD = """
import seaspider.middlewares.robots as robots
class Unknown(Exception): pass
robots.RunFailed = Unknown
"""

# --- all these crawls, and a restart of each ---


@pytest.fixture(scope="module")
def ended(here: Path, web: LoopbackWeb) -> dict[str, Ended]:
    cases = {
        name: Case(args_of(here, name, queue), settings_of(here, name), sabotage=sabotage)
        for name, (queue, sabotage, *_) in DESCRIPTORS.items()
    }
    cases["whole"] = Case(args_of(here, "whole"), settings_of(here, "whole"))
    cases["begun"] = Case(args_of(here, "begun"), settings_of(here, "begun", **BEGUN))
    cases["no-word"] = Case(
        args_of(here, "no-word"), settings_of(here, "no-word"), sabotage=no_more("after commit claim", 1) + NO_WORD
    )
    ended = {name: kept(here / name, result.exit, result.err) for name, result in run(cases, NAMES).items()}
    return ended | ({name: on_a_disk(here, name) for name in DISKS} if can_mount() else {})


@pytest.fixture(scope="module")
def again(here: Path, web: LoopbackWeb, ended: dict[str, Ended]) -> dict[str, Ended]:
    """The next run of each, without a shortage."""
    cases = {
        name: Case(args_of(here, name, *DESCRIPTORS.get(name, ())[:1]), settings_of(here, name + AGAIN))
        for name in ended
    }
    return {name: Ended(result.exit, "", result.err, here / name) for name, result in run(cases, NAMES).items()}


EACH = [*DESCRIPTORS, *(pytest.param(name, marks=needs_mounts) for name in DISKS)]


@pytest.mark.parametrize("name", EACH)
def test_the_next_run_completes_the_store_and_asks_for_nothing_that_is_recorded(
    name: str, ended: dict[str, Ended], again: dict[str, Ended], web: LoopbackWeb
) -> None:
    before, after = ended[name], again[name]
    assert after.exit == 0, after.log
    recorded = [page["url"] for page in before.records("pages")]
    assert [page["url"] for page in after.records("pages")][: len(recorded)] == recorded
    last_run = after.records("manifest")[-1]["run"]
    assert check_accounts(after, last_run)["queue"]["done"] == len(recorded)
    assert not {url.replace(f":{web.port}", "")[7:] for url in recorded} & {*asked(web, name + AGAIN)}
    if name != "name":
        assert finals(after) == finals(ended["whole"])


@needs_mounts
@pytest.mark.parametrize("name", DISKS)
def test_a_disk_that_is_full_or_cannot_be_written(name: str, ended: dict[str, Ended], web: LoopbackWeb) -> None:
    *_, line, pages = DISKS[name]
    check_ended(ended[name], line)
    assert len(ended[name].records("pages")) in pages
    claims = [row for row in ended[name].records("requests") if row["event"] == "claim"]
    if name == "read-only":
        assert asked(web, name) == []
    else:
        assert len(asked(web, name)) == len(claims) < 14  # 2 robots.txt and 12 pages


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_no_descriptor_is_left(name: str, ended: dict[str, Ended], web: LoopbackWeb) -> None:
    _, _, line, reason, arrivals = DESCRIPTORS[name]
    check_ended(ended[name], line)
    assert "run it again, when this is mended, to go on" in ended[name].log
    assert len(asked(web, name)) == arrivals
    end = ended[name].records("manifest")[-1]
    if reason is None:
        assert end["event"] == "start"
        return
    assert (end["event"], end["reason"], end["exit"]) == ("end", reason, 74)
    counts = check_accounts(ended[name], 1)
    assert counts["interrupted"] == 1
    assert f"{counts['unfinished']} unfinished" in ended[name].log
    if name != "name":
        last = ended[name].records("requests")[-1]
        assert (last["event"], last["sent_ns"], last["status"], last["error"]) == ("settle", None, None, None)


def test_without_the_word_for_it_our_shortage_is_held_against_the_server(ended: dict[str, Ended]) -> None:
    assert [(row["state"], row["reason"]) for row in ended["no-word"].records("robots")] == [("unreachable", "aborted")]


# --- the log: nothing is asked after it failed ---

BAD_LOG = """
import os
from seaspider.writeahead import WriteAhead
write, frames = WriteAhead._write, []
def failing(log, frame):
    frames.append(frame)
    if len(frames) == 5:
        raise OSError(5, os.strerror(5))
    write(log, frame)
WriteAhead._write = failing
"""


def test_a_log_that_cannot_be_written_ends_the_crawl(here: Path, tmp_path: Path, web: LoopbackWeb) -> None:
    settings = settings_of(here, "bad-log")
    ended = crawl(here / "pages.txt", tmp_path, names=NAMES, settings=settings, sabotage=BAD_LOG)
    check_ended(ended, r"\S+/store/writeahead cannot be written: Input/output error")
    # The log begins with a frame, the manifest has one, and each request but the first.
    assert len(asked(web, "bad-log")) == 3
    after = crawl(here / "pages.txt", tmp_path, names=NAMES, settings=settings)
    assert after.exit == 0
    assert len(finals(after)) == 12


# --- a store that somebody takes away ---


def remove(store: Path) -> None:
    shutil.rmtree(store)


def remove_journal(store: Path) -> None:
    for path in store.glob("*.jsonl"):
        path.unlink()


def remove_bodies(store: Path) -> None:
    shutil.rmtree(store / "bodies")


def move(store: Path) -> None:
    store.rename(store.with_name(f"{store.name}-moved"))


def replace(store: Path) -> None:
    move(store)
    shutil.copytree(store.with_name(f"{store.name}-moved"), store)


VANISHED: dict[str, tuple[Callable[[Path], None], str]] = {
    "removed": (remove, f"requests.jsonl cannot be written: {GONE}"),
    "no-journal": (remove_journal, f"requests.jsonl cannot be written: {GONE}"),
    "no-bodies": (remove_bodies, rf"bodies/\S+ cannot be written: {GONE}"),
    "moved": (move, f"requests.jsonl cannot be written: {GONE}"),
    "replaced": (replace, "requests.jsonl cannot be written: another file has taken its place"),
}
BLIND = "from seaspider.journal import JournalFile as J; J.check_place = lambda self: None"


def taken_away(here: Path, web: LoopbackWeb, name: str, how: Callable[[Path], None], sabotage: str = "") -> Ended:
    """A crawl whose store somebody else takes away while the first page's answer is on its way."""
    folder = here / f"{name}-log"
    folder.mkdir()
    urls = (here / "late.txt").read_text().split()
    settings = settings_of(here, name)
    with Running(folder, urls, names=NAMES, store=here / name, settings=settings, sabotage=sabotage) as running:
        web.wait_until(lambda _: "late.test/1" in asked(web, name), 20)
        how(running.store)
        return running.end()


@pytest.fixture(scope="module")
def vanished(here: Path, web: LoopbackWeb) -> dict[str, tuple[Ended, Ended]]:
    """How each ended, and its next run. `blind` is the twin that does not look, `alone` one that nobody disturbs."""
    ended = {name: taken_away(here, web, name, how) for name, (how, _) in VANISHED.items()}
    ended["blind"] = taken_away(here, web, "blind", remove_journal, BLIND)
    names = [*VANISHED, "alone"]
    cases = {name: Case(args_of(here, name, "late"), settings_of(here, name + AGAIN)) for name in names}
    cases["moved"] = Case(args_of(here, "moved-moved", "late"), settings_of(here, "moved" + AGAIN))
    results = {name: Ended(result.exit, "", result.err, here / name) for name, result in run(cases, NAMES).items()}
    results["moved"] = Ended(results["moved"].exit, "", results["moved"].log, here / "moved-moved")
    return {name: (ended.get(name, results["alone"]), results.get(name, results["alone"])) for name in {*ended, *cases}}


@pytest.mark.parametrize("name", VANISHED)
def test_a_store_that_vanishes(
    name: str, vanished: dict[str, tuple[Ended, Ended]], here: Path, web: LoopbackWeb
) -> None:
    before, after = vanished[name]
    assert before.exit == 74
    assert re.fullmatch(f"scrapy crawl: {here}/{name}/{VANISHED[name][1]}", before.log.splitlines()[-1]), before.log
    assert "Traceback" not in before.log
    assert asked(web, name) == ["late.test/robots.txt", "late.test/1"]
    # What was moved is known where it is now, and what was removed from the log, if that is not gone as well.
    fresh = name == "removed"
    assert asked(web, name + AGAIN) == ["late.test/robots.txt"] * fresh + ["late.test/1", "late.test/2"]
    assert after.exit == 0, after.log
    assert finals(after) == finals(vanished["alone"][1])
    assert len(finals(after)) == 2


def test_without_a_look_at_its_name_a_journal_that_was_removed_takes_lines_for_nobody(
    vanished: dict[str, tuple[Ended, Ended]],
) -> None:
    ended, _ = vanished["blind"]
    assert (ended.exit, ended.records("pages")) == (0, [])


# --- feeds: exports, whose failure ends no crawl and is not passed over ---


def test_a_feed_that_fails_keeps_nothing_from_the_store_and_from_other_feeds(
    tmp_path: Path, here: Path, ended: dict[str, Ended]
) -> None:
    feeds = ["-o", "/dev/full:jsonlines", "-o", f"{tmp_path}/good.jsonl"]
    crawled = crawl(here / "pages.txt", tmp_path, names=NAMES, options=feeds)
    assert crawled.exit == 74
    line = f"feed '/dev/full' cannot be written: {NO_SPACE}; the store has every record"
    assert crawled.log.splitlines()[-1] == f"scrapy crawl: {line}"
    assert crawled.log.count("Feed /dev/full cannot be written") == 1
    assert "Error caught on signal handler" not in crawled.log
    assert finals(crawled) == finals(ended["whole"])
    good = [json.loads(text) for text in (tmp_path / "good.jsonl").read_text().splitlines()]
    assert good == crawled.records("pages")
    # The end line speaks of the crawl.
    assert crawled.records("manifest")[-1]["exit"] == 0


def test_a_feed_that_fails_at_its_very_end(tmp_path: Path, here: Path) -> None:
    """One row stays in the buffer until the feed is closed, after the run's last line."""
    queue = (here / "pages.txt").read_text().split()[:1]
    ended = crawl(queue, tmp_path, names=NAMES, options=["-o", "/dev/full:csv"])
    assert ended.exit == 74
    assert ended.log.splitlines()[-1].startswith("scrapy crawl: feed '/dev/full' cannot be written: ")
    assert ended.endings() == {queue[0]: "stored"}
    # Nothing is left to be asked for, so the next run has no row that could fail.
    assert crawl(queue, tmp_path, names=NAMES, options=["-o", "/dev/full:csv"]).exit == 0


def test_standard_output_that_nobody_reads(tmp_path: Path, here: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    args = [*args_of(here, "", store=tmp_path / "store"), "-o", "-:jsonlines"]
    ended = subprocess.run(
        command(args, names=NAMES),
        cwd=ROOT,
        env=environment(),
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(write)
    assert ended.returncode == 74, ended.stderr
    assert ended.stderr.splitlines()[-1] == (
        "scrapy crawl: feed 'stdout:' cannot be written: Broken pipe; the store has every record"
    )
    assert "Exception ignored" not in ended.stderr
    assert len((tmp_path / "store" / "pages.jsonl").read_text().splitlines()) == 12
