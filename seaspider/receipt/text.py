"""What `scrapy receipt` found out, on one page, for somebody who runs a site and has never heard of Seaspider."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from seaspider.core.times import NS_PER_S
from seaspider.planreport import duration
from seaspider.receipt.pages import PageFact
from seaspider.receipt.receipt import Forbidden, Receipt, RunFact, Slowed
from seaspider.receipt.report import leave_alone
from seaspider.receipt.requests import ROBOTS, Asked, Gaps
from seaspider.receipt.robotstext import robots_lines
from seaspider.receipt.words import (
    BASIS,
    LABEL_COLUMNS,
    PAGE_COLUMNS,
    TEXT_COLUMNS,
    capped,
    ending,
    many,
    moment,
    plain,
    result,
    seconds,
    short,
    why_not,
    wrapped,
)

# How much a section shows, so that all of them fit on a page.
_IDENTITIES: Final = 2
_IPS: Final = 2
_NAMES: Final = 20
_FIRST_URLS: Final = 4
_LINES: Final = {"Pages": 2, "robots.txt": 10, "Not asked": 5, "Slowed down": 2, "After a 403": 2}

_NAMED_VERSIONS: Final = ("seaspider", "scrapy", "python")

Section = tuple[str, list[str]]


def as_text(receipt: Receipt) -> str:
    """The receipt for people."""
    lines = [f"Receipt for {receipt.host}", "", *_intro(receipt)]
    for label, texts in _sections(receipt):
        for number, text in enumerate(capped(texts, _LINES.get(label, len(texts)))):
            lines.append(f"{'' if number else label:<{LABEL_COLUMNS}}{text}")
    return "\n".join([*lines, "", *_closing(receipt)])


def _intro(receipt: Receipt) -> list[str]:
    host = receipt.host
    if receipt.asked:
        text = f"This is all that a program called Seaspider asked of {host}, by the records of this crawl."
    elif receipt.known:
        text = f"Nothing was asked of {host} by a program called Seaspider, but the records of this crawl name it."
    else:
        text = f"Nothing was asked of {host} by a program called Seaspider: the records of this crawl do not know it."
    text += (
        " Seaspider downloads a list of pages: one request at a time, with a pause after each, and only what a site's"
        " robots.txt allows. Times are UTC."
    )
    if any("replay_of" in run.versions for run in (*receipt.runs, receipt.latest) if run is not None):
        text = f"This store is of a replay: none of these requests was sent to {host}. " + text
    text += " Whether the records hold together: scrapy verify."
    lines = wrap(text, PAGE_COLUMNS, break_on_hyphens=False)
    if receipt.names_at:
        names = ", ".join(receipt.names_at[:_NAMES]) + (", ..." if len(receipt.names_at) > _NAMES else "")
        lines += wrap(f"But this address was asked for pages of {names}: ask for the receipt of each.", PAGE_COLUMNS)
    if receipt.given.strip() != host:
        lines.append(short(f"(Looked up was the host of {receipt.given.strip()!r}.)", PAGE_COLUMNS))
    return [*lines, ""] if receipt.known else lines


def _sections(receipt: Receipt) -> Iterator[Section]:
    if receipt.asked:
        yield "Asked", list(_asked(receipt))
        yield "By", list(_identity(receipt))
        yield "Address", [_addresses(receipt)]
        yield "Requests", _urls(receipt.asked)
    own = [page for page in receipt.pages if page.own]
    if own:
        yield "Pages", wrapped(_pages(own))
    if receipt.origins:
        yield "robots.txt", robots_lines(receipt.origins)
    not_asked = [page for page in receipt.pages if page.not_asked]
    if not_asked:
        yield "Not asked", list(_not_asked(not_asked))
    if receipt.asked:
        yield "Pauses", list(_pauses(receipt))
    if slowed := receipt.slowed:
        yield "Slowed down", list(map(_slowed, slowed))
    if forbidden := receipt.forbidden:
        yield "After a 403", list(map(_forbidden, forbidden))
    if receipt.known and not (receipt.asked or receipt.pages or receipt.origins):
        yield "Pages", ["the list names pages of it, but none had its turn yet"]
    if receipt.strays:
        yield "Damaged", [f"{many(receipt.strays, 'record')} of requests cannot be assigned: see scrapy verify"]


def _asked(receipt: Receipt) -> Iterator[str]:
    asked = receipt.asked
    robots = sum(each.kind == ROBOTS for each in asked)
    runs = len({each.run for each in asked})
    yield (
        f"{many(len(asked), 'request')} in {many(runs, 'run')} of the program: {robots} for robots.txt, "
        f"{many(len(asked) - robots, 'page')}"
    )
    yield f"the first at {moment(asked[0].at_ms)}, the last at {moment(asked[-1].at_ms)}"
    counted = Counter(map(result, asked))
    answers = ", ".join(f"{words} ({counted[words]:,})" for words in sorted(counted))
    yield short(f"answers: {answers}; {many(sum(each.bytes or 0 for each in asked), 'byte')} in all", TEXT_COLUMNS)
    if receipt.redirected:
        example = next(iter(receipt.came_from.values()), None)
        where = f", as from {example}" if example else ""
        yield short(f"{receipt.redirected} of them came by redirect from another site{where}", TEXT_COLUMNS)
    not_sent = sum(not each.sent for each in asked)
    if not_sent:
        yield f"{not_sent} of them did not get through: nothing was sent"
    no_end = sum(each.ended_ms is None for each in asked)
    if no_end:
        yield f"{no_end} of them without a recorded end: the program was stopped in it, or is still at it"


def _identity(receipt: Receipt) -> Iterator[str]:
    """Three lines for each way the program introduced itself, the latest first."""
    who: dict[tuple[str, ...], RunFact] = {}
    asked = {each.run for each in receipt.asked}
    for run in reversed(receipt.runs):
        if run.run in asked:
            who.setdefault((run.user_agent, run.contact or "", run.token, str(run.versions)), run)
    for run in list(who.values())[:_IDENTITIES]:
        versions = ", ".join(f"{name.capitalize()} {run.versions.get(name, '?')}" for name in _NAMED_VERSIONS)
        contact = f"contact: {run.contact}" if run.contact else "no contact given"
        yield short(f"User-Agent: {run.user_agent}", TEXT_COLUMNS)
        yield short(f"name in robots.txt: {run.token}; {contact}", TEXT_COLUMNS)
        yield short(versions, TEXT_COLUMNS)
    if len(who) > _IDENTITIES:
        yield f"... and {len(who) - _IDENTITIES:,} more before: see --json"


def _addresses(receipt: Receipt) -> str:
    counted = Counter(each.ip for each in receipt.asked)
    listed = ", ".join(f"{ip} ({many(counted[ip], 'request')})" for ip in sorted(counted))
    return short(listed, TEXT_COLUMNS)


def _urls(asked: tuple[Asked, ...]) -> list[str]:
    """The first few requests, and the last."""
    left = len(asked) - _FIRST_URLS - 1
    shown = asked if left <= 1 else (*asked[:_FIRST_URLS], asked[-1])
    width = max(len(result(each)) for each in shown)
    lines = [short(f"{moment(each.at_ms)}  {result(each):<{width}}  {each.url}", TEXT_COLUMNS) for each in shown]
    return lines if left <= 1 else [*lines[:-1], f"... and {left:,} more: see --json; the last is", lines[-1]]


def _pages(own: list[PageFact]) -> str:
    """What became of the site's own pages, those whose turn has come."""
    counted = Counter(ending(page) for page in own)
    return ", ".join(f"{counted[words]:,} {words}" for words in sorted(counted))


def _not_asked(pages: list[PageFact]) -> Iterator[str]:
    """One line a reason, with an example."""
    grouped: dict[str, list[PageFact]] = defaultdict(list)
    for page in pages:
        grouped[why_not(page)].append(page)
    for words in sorted(grouped):
        found = grouped[words]
        until_ms = max((page.not_before_ms for page in found if page.not_before_ms is not None), default=None)
        until = "" if until_ms is None else f", not before {moment(until_ms)}"
        rule = f" ({found[0].rule})" if found[0].rule and words == why_not(found[0]) else ""
        yield from wrapped(f"{many(len(found), 'page')}: {words}{until}")
        yield short(f"   {'as' if len(found) > 1 else 'this is'} {found[0].not_asked}{rule}", TEXT_COLUMNS)


def _pauses(receipt: Receipt) -> Iterator[str]:
    others = [ip for ip, gaps in receipt.ip_gaps.items() if gaps != receipt.gaps]
    yield from wrapped(_gap("to this site" if others else "to this site and its address", receipt.gaps))
    for ip in others[:_IPS]:
        yield from wrapped(_gap(f"to {ip}, with all sites there", receipt.ip_gaps[ip]))
    every = (receipt.gaps, *receipt.ip_gaps.values())
    if any(gaps.below for gaps in every):
        yield "some requests were NEARER than the pause that was due: that must not be"
    elif any(gaps.pairs for gaps in every):
        yield "no two requests were nearer than the pause that was due after the first of them"
    longest = receipt.longest_pause
    if longest is not None:
        basis = BASIS.get(longest.pause_basis, longest.pause_basis)
        yield from wrapped(f"longest pause due after a request: {longest.pause_s:g} s ({basis})")
    if receipt.gaps.other_boot or receipt.gaps.no_end:
        yield from wrapped(
            f"not measured: {many(receipt.gaps.other_boot, 'gap')} across a restart of the machine, "
            f"{receipt.gaps.no_end} after a request without a recorded end"
        )


def _gap(where: str, gaps: Gaps) -> str:
    """The shortest of them, from the end of an answer to the next request."""
    if gaps.shortest is None:
        return f"shortest gap between requests {where}: none could be measured"
    due = f"{gaps.shortest.due_ns / NS_PER_S:g} s"
    of = f"of {gaps.pairs:,}" + (f", {gaps.below:,} NEARER than due" if gaps.below else "")
    return f"shortest gap between requests {where}: {seconds(gaps.shortest.ns)}, due {due} ({of})"


def _slowed(found: Slowed) -> str:
    each = found.asked
    asked_for = "" if each.retry_after is None else f", Retry-After: {short(each.retry_after, 16)}"
    text = f"{moment(each.ended_ms or each.at_ms)}  {result(each)}{asked_for}: pause {each.pause_s:g} s, "
    if found.following is None:
        return short(text + "not asked again since", TEXT_COLUMNS)
    when = f"at {moment(found.following.at_ms)}" if found.gap_ns is None else f"{seconds(found.gap_ns)} later"
    return short(f"{text}next request {when}", TEXT_COLUMNS)


def _forbidden(found: Forbidden) -> str:
    at = moment(found.asked.ended_ms or found.asked.at_ms)
    if found.next_page is None:
        return f"{at}: no page was asked for since"
    why = "" if found.stops else ", as the program was told to go on"
    return f"{at}: next page asked for at {moment(found.next_page.at_ms)}{why}"


def _closing(receipt: Receipt) -> list[str]:
    facts = leave_alone(receipt)
    if facts is None:
        return ["No run of the program is recorded here."]
    at = facts["at"][0] if facts["at"] else f"robots.txt of {receipt.host}"
    contact = f"Or write to {short(facts['contact'], 60)}." if facts["contact"] else "The runs above named no contact."
    text = (
        f"They concern this program only. It uses a robots.txt for {duration(facts['read_again_after_s'])} at most;"
        " then it looks again, and asks for no page any more. To be asked more slowly instead, add a line such as"
        f' "Crawl-delay: 30" (seconds) to the rules that apply to it. {contact}'
    )
    return [
        short(f"To be left alone, put these two lines into {at}:", PAGE_COLUMNS),
        *(f"    {line}" for line in facts["lines"]),
        *wrap(plain(text), PAGE_COLUMNS, break_on_hyphens=False),
    ]
