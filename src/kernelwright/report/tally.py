"""The attempts of a run as the report shows them: sums over all, a row for each, and their source text.

An attempt whose evaluation was already known, in this run or from the cache, is counted, but its stages are not added:
nothing ran. Sources are hostile text: everything that leaves here is escaped markup without scripts or styles.
"""

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from kernelwright.languages import language
from kernelwright.records.attempt import Attempt, Cost
from kernelwright.records.brief import briefs, numbered
from kernelwright.records.evaluation import (
    OUTCOMES,
    BuildFailed,
    Compiled,
    Crashed,
    Incorrect,
    Measured,
    Verified,
)
from kernelwright.records.measure import Accuracy, BuildFacts
from kernelwright.records.reasons import reason_of
from kernelwright.records.run import RunCard
from kernelwright.report import words


@dataclass(frozen=True)
class Row:
    """One attempt, ready to be laid out."""

    attempt: Attempt
    best: bool
    parent: int | None
    """The attempt that `diff` is taken against."""
    diff: Markup | None

    @property
    def reason(self) -> str:
        """What the referee found, in one sentence."""
        return reason(self.attempt)

    @property
    def log(self) -> str:
        """The log that came with the outcome."""
        found = self.attempt.evaluation
        return found.log if isinstance(found, BuildFailed | Crashed) else ""

    @property
    def build(self) -> BuildFacts | None:
        """What the build produced, where it did."""
        found = self.attempt.evaluation
        return found.build if isinstance(found, Compiled | Verified | Measured) else None

    @property
    def accuracy(self) -> Accuracy | None:
        """The cases that were judged, if any."""
        found = self.attempt.evaluation
        kept = found.accuracy if isinstance(found, Verified | Measured | Incorrect) else None
        return kept if kept and kept.cases else None

    @property
    def measured(self) -> Measured | None:
        """The measurement, if there is one."""
        found = self.attempt.evaluation
        return found if isinstance(found, Measured) else None


def rows(attempts: Sequence[Attempt], best: int | None, shown: Sequence[int] | None = None) -> list[Row]:
    """Attempts in order: those of the numbers `shown`, or all."""
    wanted = [a.number for a in attempts] if shown is None else shown
    return [_row(a, attempts, a.number == best) for n in wanted if (a := numbered(attempts, n)) is not None]


def writer(card: RunCard, attempt: Attempt) -> str:
    """Who wrote the kernel: a model by its name, or a proposer; empty where nobody told."""
    name = attempt.proposal.writer or str(card.config.get("proposer", ""))
    return attempt.proposal.model or words.WRITER.get(name, name)


def reason(attempt: Attempt) -> str:
    """What the referee found, in one sentence."""
    match attempt.evaluation:
        case Measured(timing=timing):
            return f"Right in every case; {words.microseconds(timing.latency_us)} a call."
        case Verified(how=how):
            return f"Right, not timed: {how}."
    return reason_of(attempt.evaluation)


def reasons(attempts: Sequence[Attempt]) -> dict[int, str]:
    """Why attempts were not right, by their number; the same reason once, and no more than `MOST_REASONS`."""
    first: dict[str, int] = {}
    for attempt in briefs(attempts):
        if attempt.why and len(first) < MOST_REASONS:
            first.setdefault(attempt.why, attempt.number)
    return {number: why for why, number in first.items()}


def _row(attempt: Attempt, attempts: Sequence[Attempt], best: bool) -> Row:
    parent = next(filter(None, (numbered(attempts, n) for n in attempt.proposal_request.parents)), None)
    source = attempt.proposal.candidate.source
    diff = difference(parent.proposal.candidate.source, source) if parent else None
    return Row(attempt, best, parent.number if parent else None, diff)


MOST_REASONS = 200
"""A run of thousands of attempts has as many reasons; JSON and pages have the first of them."""
LOG_LIMIT = 16_000
SOURCE_LIMIT = 120_000
"""Characters that are shown; the store keeps the whole."""
HIGHLIGHT_LIMIT = 200_000
"""Characters; a longer source is shown without colours."""
DIFF_LINES = 1500
LINE_LIMIT = 2000
"""Characters of one line of a difference."""


def highlighted(source: str, written: str | None) -> Markup:
    """`source` with a span for each token and each line; `None` stands for Python."""
    text = words.visible(source).rstrip("\n")
    if len(text) > HIGHLIGHT_LIMIT:
        return _lines(str(escape(words.clip(text, HIGHLIGHT_LIMIT))))
    lexer = get_lexer_by_name(language(written).lexer if written else "python", stripnl=False)
    return _lines(highlight(text, lexer, HtmlFormatter(nowrap=True)).rstrip("\n"))


def plain(text: str, limit: int = LOG_LIMIT) -> Markup:
    """A log or a source as it is, at most `limit` characters of it."""
    return escape(words.visible(words.clip(text, limit)))


def difference(old: str, new: str) -> Markup:
    """A unified difference with three lines of context, a class for each kind of line."""
    lines = difflib.unified_diff(words.visible(old).splitlines(), words.visible(new).splitlines(), lineterm="", n=3)
    body = list(lines)[2:]
    rows = [_source_row(line) for line in body[:DIFF_LINES]]
    if len(body) > DIFF_LINES:
        rows.append(Markup('<span class="d at">… {} more lines …</span>').format(len(body) - DIFF_LINES))
    return Markup("\n").join(rows)


def _source_row(line: str) -> Markup:
    kind = {"+": "add", "-": "del", "@": "at"}.get(line[:1], "same")
    return Markup('<span class="d {}">{}</span>').format(kind, words.clip(line, LINE_LIMIT))


def _lines(escaped: str) -> Markup:
    """Takes what markupsafe or pygments escaped, and nothing else."""
    spans = (f'<span class="l">{line}</span>' for line in escaped.split("\n"))
    return Markup("\n".join(spans))


@dataclass(frozen=True)
class Step:
    """The attempt at which the best so far changed, and to what median speedup over eager."""

    attempt: int
    speedup: float


def counts(attempts: Sequence[Attempt]) -> dict[str, int]:
    """How often each outcome occurred, best outcome first; those that never did are left out."""
    found = Counter(a.outcome for a in briefs(attempts))
    return {name: found[name] for name in OUTCOMES if name in found}


def staircase(attempts: Sequence[Attempt]) -> tuple[Step, ...]:
    """Every new best, in order of attempts. As everywhere the lower bound decides, so that the median can step down."""
    steps: list[Step] = []
    best = 0.0
    for attempt in briefs(attempts):
        if attempt.sure_speedup > best:
            best = attempt.sure_speedup
            steps.append(Step(attempt.number, attempt.speedup))
    return tuple(steps)


def other_work(attempts: Sequence[Attempt], final: Attempt | None = None) -> str:
    """How many of the timed attempts, and the final, a busy machine makes doubtful, and by what at worst; empty for none."""
    timed = [a for a in (*briefs(attempts), *briefs([final] if final else [])) if a.outcome == "measured"]
    loads = [a.busy for a in timed if a.busy is not None]
    if not loads:
        return ""
    worst = max(loads, key=lambda load: (load.neighbours, (load.during or 0.0) + load.stolen * load.cores))
    return (
        f"This machine was busy while {len(loads)} of {len(timed)} attempts were timed, and their figures are doubtful; "
        f"at worst, {worst.words}."
    )


def stage_seconds(attempts: Sequence[Attempt]) -> dict[str, float]:
    """Wall seconds by stage of the referee, in the order in which stages first appear."""
    total: dict[str, float] = {}
    ran = (a for a in briefs(attempts) if a.known is None and not a.cached_from)
    for part in (part for attempt in ran for part in attempt.seconds):
        total[part.stage] = total.get(part.stage, 0.0) + part.seconds
    return total


def cost(attempts: Sequence[Attempt]) -> Cost:
    """What all attempts were charged together."""
    charged = [a.cost for a in briefs(attempts)]
    return Cost(
        proposals=sum(c.proposals for c in charged),
        device_s=sum(c.device_s for c in charged),
        tokens=sum(c.tokens for c in charged),
        usd=sum(c.usd for c in charged),
    )


def disabled(attempts: Sequence[Attempt], final: Attempt | None = None) -> tuple[str, ...]:
    """Every defence that was switched off for at least one attempt, or for the final."""
    found = {name for a in briefs(attempts) for name in a.disabled}
    return tuple(sorted(found | set(final.evaluation.disabled if final else ())))
