"""The end of a run in the terminal: the claim, the counts and the best attempts, as rich tables.

Says the same as the HTML report, shorter. All untrusted text goes through `words.line` into `Text`, so that it
neither moves the cursor nor is read as markup.
"""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelwright.records.answer import figure, sentence
from kernelwright.records.attempt import Attempt
from kernelwright.records.brief import briefs, numbered
from kernelwright.records.evaluation import Evaluation, Measured
from kernelwright.records.measure import BaselineName, Verdict
from kernelwright.records.run import Message, Outcome, RunCard, Spending, spending
from kernelwright.report import tally, words
from kernelwright.report.dialogues import is_drill
from kernelwright.report.headline import Headline, headline, left_out
from kernelwright.report.tally import reason

VERDICT_STYLE: dict[Verdict, str] = {
    "faster": "bold green",
    "slower": "bold red",
    "inconclusive": "bold",
    "disturbed": "bold",
}
ORDER = "The search's figures, by the lower end of the speedup over eager, which is timed beside each at the same time:"
FINAL_FIRST = f"First the final measurement, which counts. {ORDER}"
SHOWN = 8
"""Attempts in the table; the HTML report has them all."""
WORDS, EXPLANATION = 400, 4000
"""Characters of a line that may hold words from outside; of the explanation, which is ours but for why the run stopped."""
NOTE = 120
"""Characters of a note; they go over two or three lines of a narrow terminal."""


def render(
    card: RunCard, attempts: Sequence[Attempt], outcome: Outcome | None, messages: Iterable[Message] = ()
) -> RenderableType:
    """The whole summary; print it on any console."""
    text = headline(card, attempts, outcome)
    parts: list[RenderableType] = [*_claim(card, text)]
    off = tally.disabled(attempts, text.attempt)
    if off:
        parts.append(_text(f"Defences switched off: {', '.join(off)}. No figure here can be trusted.", "bold red"))
    parts += [_text(f"Denied by this host: {part}", "yellow") for part in card.environment.denied]
    if doubtful := tally.other_work(attempts):
        parts.append(_text(doubtful, "yellow"))
    if attempts:
        final = text.attempt if text.standing == "final" else None
        order = FINAL_FIRST if final is not None else ORDER
        parts += [Text(""), _text(order, "dim"), _best(attempts, final), Text(""), _sums(attempts)]
    spent = spending(messages)
    parts += [_text(_role(one), "dim") for one in spent]
    if is_drill(spent):
        parts.append(_text("A drill: the answers are a public fake's, and nothing here is a model's result.", "yellow"))
    return Group(*parts)


def _role(spent: Spending) -> str:
    tokens = f"{spent.prompt_tokens:,} + {spent.completion_tokens:,} tokens"
    price = "price unknown" if spent.usd is None else f"${spent.usd:.4f}"
    calls = "1 call" if spent.calls == 1 else f"{spent.calls} calls"
    return f"{spent.role} ({spent.model}): {calls}, {tokens}, {price}, waited {words.seconds(spent.seconds)}"


def _claim(card: RunCard, told: Headline) -> list[RenderableType]:
    where = f"{card.task.name} on {card.environment.device.name}, target {card.task.target.name}"
    parts: list[RenderableType] = [_text(told.title, "bold"), _text(where, "dim")]
    parts.append(_text(told.explanation, most=EXPLANATION))
    if told.measured:
        for versus in told.measured.timing.versus:
            parts.append(Text.assemble("  ", _text(sentence(versus), VERDICT_STYLE[versus.verdict])))
        parts += [_text(f"  {lacks}", "dim") for lacks in left_out(told.measured.timing)]
        if told.measured.numerics is not None:
            parts.append(_text(f"numerics {told.measured.numerics.words}", "dim"))
    return parts


def _best(attempts: Sequence[Attempt], final: Attempt | None) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    for name in ("attempt", "outcome", "call", "eager", "compile"):
        table.add_column(name, justify="left" if name == "outcome" else "right", no_wrap=True)
    # Alone in having a ratio: it gets the room that the figures leave, and goes on below where that is little.
    table.add_column("note", overflow="fold", ratio=1)
    if final is not None:
        table.add_row(*_cells(final, f"final {final.number}"), style="bold")
    order = sorted(briefs(attempts), key=lambda a: (-a.sure_speedup, -a.speedup, a.number))
    for attempt in (numbered(attempts, each.number) for each in order[:SHOWN]):
        if attempt is not None:
            table.add_row(*_cells(attempt, str(attempt.number)))
    return table


def _cells(attempt: Attempt, name: str) -> list[Text]:
    found = attempt.evaluation
    timed = isinstance(found, Measured)
    return [
        Text(name),
        Text(words.outcome(found.outcome), style="green" if timed else ""),
        Text(words.microseconds(attempt.latency_us) if attempt.latency_us is not None else ""),
        *(Text(_against(found, baseline)) for baseline in ("eager", "compile")),
        Text(words.line(_note(attempt), NOTE), style="dim"),
    ]


def _note(attempt: Attempt) -> str:
    """Which of several proposers wrote it, and what it says."""
    by = f"{attempt.proposal.writer}: " if attempt.proposal.writer else ""
    return by + (attempt.proposal.note or reason(attempt))


def _against(found: Evaluation, baseline: BaselineName) -> str:
    versus = found.timing.against(baseline) if isinstance(found, Measured) else None
    return figure(versus.speedup) if versus and not versus.speedup.wild else "?" if versus else ""


def _sums(attempts: Sequence[Attempt]) -> Text:
    counted = ", ".join(f"{n} {words.outcome(name)}" for name, n in tally.counts(attempts).items())
    spent = tally.cost(attempts)
    text = f"{words.attempts(len(attempts))}: {counted}. {words.seconds(spent.device_s)} of device time"
    money = f", {spent.tokens:,} tokens, ${spent.usd:.2f}" if spent.tokens or spent.usd else ""
    return _text(text + money + ".", "dim")


def _text(untrusted: str, style: str = "", most: int = WORDS) -> Text:
    return Text(words.line(untrusted, most), style=style)
