"""Which attempts and dialogues of a long run its page has in full: it stays one file that opens quickly and can be mailed.

All attempts are in every sum and chart. In full there are those that are asked for by number, the first of each outcome, the
latest, the best and what it came from, each new best, and then the fastest, as far as `MOST` and `CHARACTERS` go. The others
stand line by line in a table beside the page (`attempts.html.j2`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kernelwright.records.attempt import Attempt
from kernelwright.records.brief import Brief, briefs, numbered
from kernelwright.records.run import Message
from kernelwright.report import tally
from kernelwright.report.dialogues import Dialogue, dialogues
from kernelwright.report.tally import SOURCE_LIMIT

MOST, LATEST = 200, 20
"""Attempts on a page; of those, the latest."""
CHARACTERS = 1_500_000
"""Of sources, differences and logs on a page, and as many of dialogues."""
MESSAGE_LIMIT = 20_000
"""Characters of one message of a dialogue; the run's file has all of it."""


def chosen(attempts: Sequence[Attempt], best: int | None, wanted: Iterable[int] = ()) -> list[int]:
    """The numbers of the attempts that are shown in full, in order."""
    room, kept = CHARACTERS, []
    for number in islice(_by_interest(attempts, best, wanted), MOST):
        attempt = numbered(attempts, number)
        length = _length(attempt) if attempt is not None else room + 1
        if length <= room:
            kept.append(number)
            room -= length
    return sorted(kept)


def _by_interest(attempts: Sequence[Attempt], best: int | None, wanted: Iterable[int]) -> Iterator[int]:
    """Every attempt once, the most telling first."""
    known = {a.number: a for a in briefs(attempts)}
    first = {a.outcome: a.number for a in reversed(known.values())}
    latest = sorted(known)[-LATEST:]
    fastest = sorted(known, key=lambda n: (-known[n].sure_speedup, n))
    stairs = (step.attempt for step in reversed(tally.staircase(attempts)))
    seen: set[int] = set()
    for number in (*wanted, *first.values(), *latest, *_line(known, best), *stairs, *fastest):
        if number in known and number not in seen:
            seen.add(number)
            yield number


def _line(known: dict[int, Brief], number: int | None) -> Iterator[int]:
    """An attempt, its first parent, that one's, and so on."""
    seen: set[int] = set()
    while number in known and number not in seen:
        seen.add(number)
        yield number
        parents = known[number].parents
        number = parents[0] if parents else None


def _length(attempt: Attempt) -> int:
    return 2 * min(len(attempt.proposal.candidate.source), SOURCE_LIMIT) + len(attempt.proposal.note)


def told(messages: Iterable[Message], requests: set[int] | None) -> list[Dialogue]:
    """The dialogues behind those requests, or all, as far as there is room for them."""
    found, room = [], CHARACTERS
    for dialogue in dialogues([m for m in messages if requests is None or m.proposal_request in requests]):
        room -= sum(min(len(said.text), MESSAGE_LIMIT) for said in dialogue.said)
        if room >= 0:
            found.append(dialogue)
    return found
