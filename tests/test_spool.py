"""Texts are numbered once, wherever they lie and whatever their digests are."""

import pytest

from seaspider import spool
from seaspider.knownurls import KnownUrls, Mark, Marked
from seaspider.spool import Spool

DIGESTS = {"hash": hash, "all-one": lambda text: 7, "narrow": lambda text: len(text) & 3, "negative": lambda text: -1}


@pytest.mark.parametrize("digest", DIGESTS.values(), ids=DIGESTS.keys())
@pytest.mark.parametrize("block", [1, 40, 1 << 20], ids=["in-the-file", "both", "in-memory"])
@pytest.mark.parametrize("together", [1, 7, 300])
@pytest.mark.parametrize("many", [1, 1000], ids=["many-at-once", "one-by-one"])
def test_a_text_has_one_number(monkeypatch, digest, block, together, many):
    """Texts of one digest are told apart."""
    monkeypatch.setattr(spool, "_BLOCK_BYTES", block)
    monkeypatch.setattr(spool, "_FIRST_SLOTS", 2)
    monkeypatch.setattr(spool, "_MANY", many)
    monkeypatch.setattr(spool, "_AT_ONCE", 1)
    texts = [b"%d" % (number * number % 101) for number in range(300)]
    kept, slow = Spool(digest), {}
    for at in range(0, len(texts), together):
        part = texts[at : at + together]
        expected = []
        for index, text in enumerate(part):
            if text in slow:
                expected.append((index, slow[text]))
            slow.setdefault(text, len(slow))
        assert kept.add(part) == expected
    assert len(kept) == len(slow) == 51
    assert [kept.text(number) for number in range(len(kept))] == list(slow)
    assert {text: kept.find(text) for text in slow} == slow
    assert kept.find(b"never") is None


@pytest.mark.parametrize("many", [1, 10_000], ids=["many-at-once", "one-by-one"])
def test_texts_that_come_again_in_their_order_have_their_numbers(monkeypatch, many):
    """With new ones, twins and gaps among them, as in a queue that was edited before it is crawled again."""
    monkeypatch.setattr(spool, "_BLOCK_BYTES", 64)
    monkeypatch.setattr(spool, "_MANY", many)
    monkeypatch.setattr(spool, "_AT_ONCE", 8)
    kept = Spool()
    texts = [b"text %d" % number for number in range(1_000)]
    assert kept.add(texts) == []
    kept.add(texts)
    again = [text for text in texts if not text.endswith(b"77")]
    for at in range(7, len(again), 20):
        again.insert(at, again[at // 2])
    for at in range(11, len(again), 50):
        again.insert(at, b"new %d" % at)
    numbers = {text: number for number, text in enumerate(texts)}
    for at in range(0, len(again), 100):
        part = again[at : at + 100]
        expected = []
        for index, text in enumerate(part):
            if text in numbers:
                expected.append((index, numbers[text]))
            numbers.setdefault(text, len(numbers))
        assert kept.add(part) == expected
    assert [kept.text(number) for number in range(len(kept))] == list(numbers)


def test_twin_texts_of_one_digest_are_one_where_they_are_not_compared(monkeypatch):
    monkeypatch.setattr(Spool, "text", lambda self, number: b"b")
    kept = Spool(lambda text: 7)
    assert kept.add([b"a", b"b"]) == [(1, 0)]


def test_no_room_is_told(monkeypatch):
    def full(**options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(spool, "TemporaryFile", full)
    with pytest.raises(OSError, match="No space left"):
        Spool().add([b"a"])


def test_what_is_known():
    urls = KnownUrls(lambda text: 7)
    urls.mark("http://h.test/done", Mark.DONE)
    urls.mark("http://h.test/failed", Mark.FAILED)
    urls.mark("http://h.test/followed", Mark.FOLLOWED)
    urls.lines[urls.number("http://h.test/queued")] = 3
    urls.number("http://h.test/met")
    known = {
        name
        for name in ("done", "failed", "followed", "queued", "met", "new")
        if urls.is_known(f"http://h.test/{name}")
    }
    assert known == {"done", "followed", "queued"}
    done = Marked(urls, Mark.DONE)
    assert (done == {"http://h.test/done"}, len(done), "http://h.test/failed" in done) == (True, 1, False)
