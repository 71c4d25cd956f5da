"""Bad input: one clear line that names the place and the value, an exit code, no request, nothing left behind."""

import gzip
import os
import re
import subprocess
import threading

import pytest

from seaspider.errors import ArgumentError, ExitCode, QueueFileError, SettingError
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.run import with_queue
from tests.accounts import check_accounts
from tests.crawling import ROOT, Ended, command, crawl, environment
from tests.projectsettings import project

URL = b"http://a.test/\n"
MANY = b"".join(b"http://a.test/%d\n" % number for number in range(20_000))

# name of the queue, its content (None: there is none), what the message says after the name
QUEUES = [
    ("none.txt", None, "No such file or directory"),
    ("none/urls.txt", None, "No such file or directory"),
    ("empty.txt", b"", "is empty"),
    ("empty.gz", b"", "is empty"),
    ("nothing.gz", gzip.compress(b""), "is empty"),
    ("binary.txt", b"http://a.test/\n\x7fELF\0\0", "is not UTF-8 text: NUL at byte 19"),
    ("utf16le.txt", "\ufeffhttp://a.test/\n".encode("utf-16-le"), "is UTF-16LE"),
    ("utf16be.txt", "\ufeffhttp://a.test/\n".encode("utf-16-be"), "is UTF-16BE"),
    ("nomark.txt", "http://a.test/\n".encode("utf-16-le"), "is not UTF-8 text: NUL at byte 1"),
    ("image.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not UTF-8 text: NUL at byte 8"),
    ("packed.txt", gzip.compress(URL), "is gzip data, but its name does not end in .gz"),
    ("comments.txt", b"# http://a.test/\n\n", "no line is a URL"),
    ("bad.txt", b"a.test\nftp://a.test/\nhttp://[\n", "no line is a URL (3 rejected)"),
    ("bad.gz", gzip.compress(b"a.test\n"), "no line is a URL (1 rejected)"),
    ("plain.gz", URL, "broken gzip: "),
    ("cut.gz", gzip.compress(MANY)[:-9], "broken gzip: "),
    ("trailer.gz", gzip.compress(MANY)[:-1], "broken gzip: "),
    ("checksum.gz", gzip.compress(MANY)[:-8] + b"\0" * 8, "broken gzip: "),
    ("behind.gz", gzip.compress(URL) + b"rubbish", "broken gzip: "),
]


@pytest.mark.parametrize(("name", "content", "why"), QUEUES, ids=[name for name, *_ in QUEUES])
def test_a_queue_that_cannot_be_used_leaves_no_store(tmp_path, name, content, why):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(QueueFileError) as caught:
        with_queue(project(), {"queue": str(path), "store": str(tmp_path / "store")})
    assert caught.value.exit_code is ExitCode.USAGE
    assert str(caught.value).startswith(f"queue '{path}': {why}")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "store").exists()


def test_a_folder_is_no_queue(tmp_path):
    with pytest.raises(QueueFileError, match=f"^queue '{tmp_path}': Is a directory$"):
        with_queue(project(), {"queue": str(tmp_path), "store": str(tmp_path / "store")})
    assert not (tmp_path / "store").exists()


def test_a_device_is_not_read_for_ever(tmp_path):
    with pytest.raises(QueueFileError, match=r"^queue '/dev/zero': "):
        with_queue(project(), {"queue": "/dev/zero", "store": str(tmp_path / "store")})


def test_a_pipe_can_be_used_although_it_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[b"# pipe\nhttp://a.test/\nnonsense\n"])
    writer.start()
    run = with_queue(project(), {"queue": str(path), "store": str(tmp_path / "store")})
    writer.join(5)
    run.store.close()
    assert (run.queue.path, run.queue.counts.lines, run.frontier.pending) == (str(path), 3, 1)


def test_a_pipe_that_cannot_be_used_leaves_no_store(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[b"nonsense\n"])
    writer.start()
    with pytest.raises(QueueFileError, match=re.escape("no line is a URL (1 rejected)")):
        with_queue(project(), {"queue": str(path), "store": str(tmp_path / "store")})
    writer.join(5)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("error", "arguments", "switches"),
    [
        (ArgumentError, {"stor": "x"}, {}),
        (ArgumentError, {"max_depth": "deep"}, {}),
        (ArgumentError, {"order": "random"}, {}),
        (SettingError, {}, {"SEASPIDER_INTERVAL": "-1"}),
        (SettingError, {}, {"SEASPIDER_INTERVALL": "1"}),
        (SettingError, {}, {"ROBOTSTXT_USER_AGENT": "seaspider/1.0"}),
    ],
    ids=["unknown-argument", "argument", "order", "setting", "unknown-setting", "token"],
)
def test_bad_arguments_and_settings_leave_no_store(tmp_path, error, arguments, switches):
    (tmp_path / "urls.txt").write_bytes(URL)
    given = {"queue": str(tmp_path / "urls.txt"), "store": str(tmp_path / "store"), **arguments}
    with pytest.raises(error):
        with_queue(project(**switches), given)
    assert not (tmp_path / "store").exists()


# --- real processes ---

NAMES = {"a.test": "127.0.0.2"}


@pytest.fixture(scope="module")
def web():
    with LoopbackWeb({"/robots.txt": Answer(404), "/*": Answer(body="hello")}, names=NAMES) as running:
        yield running


COMMANDS = [
    ("queue", {"arguments": {"queue": "/no/such/urls.txt"}}, "queue '/no/such/urls.txt': No such file or directory"),
    ("argument", {"arguments": {"max_pages": "-3"}}, "argument -a max_pages=-3: must be a whole number, not negative"),
    ("setting", {"settings": {"SEASPIDER_BLOCK": "x"}}, "setting SEASPIDER_BLOCK = 'x': must be a number of seconds"),
    ("store", {"arguments": {"store": "/dev/null/x"}}, "store '/dev/null/x' cannot be written: Not a directory"),
]


@pytest.mark.parametrize(("name", "options", "line"), COMMANDS, ids=[name for name, *_ in COMMANDS])
def test_the_command_says_it_in_one_line_and_asks_nothing(tmp_path, web, name, options, line):
    web.clear()
    ended = crawl([web.url("a.test")], tmp_path, names=NAMES, **options)
    assert (ended.exit, ended.log) == (74 if name == "store" else 2, f"scrapy crawl: {line}\n")
    assert web.connections == 0
    assert not ended.store.exists()


@pytest.mark.parametrize("malformed", [["-a", "max_pages"], ["-s", "SEASPIDER_BLOCK"], ["--no-such-option"]], ids=str)
def test_a_malformed_command_line(tmp_path, web, malformed):
    web.clear()
    ended = crawl([web.url("a.test")], tmp_path, names=NAMES, options=malformed)
    assert ended.exit == 2
    assert "Traceback" not in ended.log
    assert web.connections == 0
    assert not ended.store.exists()


def piped(content: bytes, folder) -> Ended:
    """A crawl of the queue on standard input."""
    args = ["crawl", "seaspider", "-a", "queue=-", "-a", f"store={folder / 'store'}"]
    ended = subprocess.run(
        command(args, names=NAMES),
        cwd=ROOT,
        env=environment(),
        input=content,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode(), folder / "store")


def test_standard_input_that_cannot_be_used(tmp_path, web):
    web.clear()
    ended = piped(b"", tmp_path)
    assert (ended.exit, ended.log) == (2, "scrapy crawl: queue standard input: is empty\n")
    assert web.connections == 0
    assert not ended.store.exists()


def bad_and_good(web) -> bytes:
    good = web.url("a.test", "/{}").encode()
    return b"\n".join(
        [
            b"\xef\xbb\xbf" + good.replace(b"{}", b"1"),
            b"\xff\xfe latin",
            b"ftp://a.test/",
            b"http://me:secret@a.test/",
            b"http://a.test:99999/",
            b"http://exa mple.test/",
            b"no-scheme.test/",
            good.replace(b"{}", b"2") + b"\r",
            b"http://a.test/" + b"x" * 70_000,
            b"# end",
            good.replace(b"{}", b"x/../1"),
        ]
    )


REJECTED = [
    (2, "encoding", "\\xff\\xfe latin"),
    (3, "scheme", "ftp://a.test/"),
    (4, "userinfo", "http://***@a.test/"),
    (5, "port", "http://a.test:99999/"),
    (6, "host", "http://exa mple.test/"),
    (7, "missing-scheme", "no-scheme.test/"),
    (9, "too-long", "http://a.test/" + "x" * 2031 + "..."),
]


@pytest.mark.parametrize("way", ["file", "gzip", "standard-input"])
def test_bad_lines_are_recorded_and_the_rest_goes_on(tmp_path, web, way):
    web.clear()
    content = bad_and_good(web)
    if way == "standard-input":
        ended = piped(content, tmp_path)
    else:
        queue = tmp_path / ("urls.gz" if way == "gzip" else "urls.txt")
        queue.write_bytes(gzip.compress(content) if way == "gzip" else content)
        ended = crawl(queue, tmp_path, names=NAMES)
    assert ended.exit == 0, ended.log
    skipped = ended.records("skipped")
    assert [(r["line"], r["reason"], r["text"]) for r in skipped if r["fate"] == "rejected"] == REJECTED
    assert [(r["line"], r["of"], r["url"]) for r in skipped if r["fate"] == "duplicate"] == [
        (11, 1, web.url("a.test", "/1"))
    ]
    assert [(page["line"], page["outcome"]) for page in ended.records("pages")] == [(1, "stored"), (8, "stored")]
    assert [arrival.target for arrival in web.arrivals] == ["/robots.txt", "/1", "/2"]
    queue_counts = check_accounts(ended, 1)["queue"]
    assert (queue_counts["rejected"], queue_counts["comment"], queue_counts["duplicate"]) == (7, 1, 1)
