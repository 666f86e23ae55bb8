"""The headline: which figure of a run may be claimed, and in which words.

Only a final measurement is claimed. A search figure, a kernel that was only verified or compiled, and a
final that did not hold up are each called what they are. Knows neither HTML nor terminals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernelwright.languages import language
from kernelwright.records.answer import (
    FULL_NAME,
    AnswerWord,
    answer_of,
    busy,
    figure,
    times,
    uncounted,
    why_missing,
    worth,
)
from kernelwright.records.attempt import Attempt
from kernelwright.records.brief import briefs, numbered
from kernelwright.records.evaluation import OUTCOMES, Compiled, Measured, Suspect, Verified, speedup_over_eager
from kernelwright.records.measure import Timing
from kernelwright.records.run import Outcome, RunCard, least_speedup
from kernelwright.report import tally, words
from kernelwright.report.tally import writer

AGAIN = "`kernelwright resume` with this run's folder measures it again; do so when the machine is quiet."
REASONS, REASON = 3, 400
"""How many of the reasons for which attempts were not right stand in the headline, and characters of each."""
Standing = Literal["final", "search", "untimed", "failed", "nothing"]


@dataclass(frozen=True)
class Headline:
    """What the run may say of itself."""

    standing: Standing
    """`final`: measured anew · `search`: timed, not confirmed · `untimed`: right or built, never timed ·
    `failed`: the final did not confirm the best · `nothing`: no right kernel."""
    title: str
    explanation: str
    attempt: Attempt | None
    """The attempt that is shown as the best; the final one where there is one."""

    @property
    def answer(self) -> AnswerWord:
        """The claim in one word."""
        if self.attempt is None:
            return "nothing"
        found = answer_of(self.attempt.evaluation)
        return found if self.standing != "failed" or found == "disturbed" else "nothing"

    @property
    def measured(self) -> Measured | None:
        """The measurement behind the figures, final or not."""
        found = self.attempt.evaluation if self.attempt and self.standing != "failed" else None
        return found if isinstance(found, Measured) else None


def headline(card: RunCard, attempts: Sequence[Attempt], outcome: Outcome | None) -> Headline:
    """The strongest claim that the records allow."""
    if outcome is not None and outcome.final is not None:
        return _of_final(card, outcome.final)
    best = _best(attempts, outcome)
    if best is None:
        return _nothing(attempts, outcome)
    if isinstance(best.evaluation, Measured):
        return _of_search(best, outcome)
    return _untimed(card, best)


def left_out(timing: Timing) -> list[str]:
    """A sentence for each baseline that it was not compared with."""
    found = why_missing(timing).items()
    return [f"Not compared with {FULL_NAME[name]}: {why}." for name, why in found if name in FULL_NAME]


def _of_search(best: Attempt, outcome: Outcome | None) -> Headline:
    assert isinstance(best.evaluation, Measured)
    why = _stopped(outcome)
    if outcome is not None and outcome.best is None:
        text = f"{why} What the search saw of it is no result."
        return Headline("failed", "The best kernel did not hold up", text, best)
    text = f"{why} This is a figure of the search, from a short measurement; it was not measured anew and is no result."
    text += _beside(best)
    return Headline("search", f"Best so far: {_gain(best.evaluation)}", text, best)


def _of_final(card: RunCard, final: Attempt) -> Headline:
    found = final.evaluation
    if isinstance(found, Measured):
        side = next((s for s in found.timing.arms if s.name == "candidate"), None)
        blocks = f" in {len(side.samples_us)} paired blocks" if side else ""
        explanation = (
            f"The best kernel of the search{_by(card, final)} was measured anew against its baselines{blocks}, with fresh "
            "inputs, and every verification case passed against fp64."
        ) + _beside(final)
        disturbed = answer_of(found) == "disturbed"
        if _stays(card, final):
            title = f"{'Disturbed' if disturbed else 'PyTorch stays'}: {_gain(found)}"
            why = f"{explanation} {_why(card, final)}" + (f" {AGAIN}" if disturbed else "")
            return Headline("final", title, why, final)
        return Headline("final", _sentence_case(_gain(found)), explanation, final)
    if isinstance(found, Verified | Compiled):
        return _untimed(card, final)
    if isinstance(found, Suspect) and answer_of(found) == "disturbed":
        told = f"Judged anew, the best kernel came out right, and its time cannot be believed: {found.evidence}."
        return Headline("failed", "Right, and its final measurement was disturbed", f"{told} {AGAIN}", final)
    return Headline(
        "failed",
        "The best kernel did not hold up",
        f"Measured anew, it came out {words.outcome(found.outcome)}. No speedup is claimed.",
        final,
    )


def _beside(attempt: Attempt) -> str:
    """What the machine did beside the measurement, where that makes the figures doubtful."""
    load = busy(attempt.evaluation)
    return f" This machine was busy meanwhile, so the figures are doubtful: {load.words}." if load is not None else ""


def _by(card: RunCard, attempt: Attempt) -> str:
    name = writer(card, attempt)
    return f", written by {name}," if name else ""


def _why(card: RunCard, final: Attempt) -> str:
    """Why PyTorch stays."""
    eager = speedup_over_eager(final.evaluation)
    assert eager is not None  # what was not compared with eager is kept
    return (
        f"A drop-in is written where the lower end of the speedup over eager is above {least_speedup(card.config):g}; "
        f"here it is {times(eager.low)}, so none was written."
    )


def _stays(card: RunCard, best: Attempt) -> bool:
    """Whether the best kernel is not faster by as much as the run asked for."""
    return not worth(best.evaluation, least_speedup(card.config))


def _untimed(card: RunCard, attempt: Attempt) -> Headline:
    found = attempt.evaluation
    target = card.task.target.name
    title = language(attempt.proposal.candidate.language).title
    if isinstance(found, Verified):
        explanation = f"Built for {target} and found right ({found.how}). It never ran there; no time is claimed."
        return Headline("untimed", f"{title} kernel for {target}: verified, not timed", explanation, attempt)
    explanation = f"Built for {target}, which is not here. It never ran; neither correctness nor time is claimed."
    if isinstance(found, Compiled) and found.why:
        explanation += f" Why: {found.why}."
    return Headline("untimed", f"{title} kernel for {target}: compiled, not run", explanation, attempt)


def _nothing(attempts: Sequence[Attempt], outcome: Outcome | None) -> Headline:
    tried = {0: "No attempt was judged to the end.", 1: "One attempt was made, and it did not come out right."}.get(
        len(attempts), f"None of {len(attempts)} attempts came out right."
    )
    title = "No right kernel yet" if outcome is None else "No right kernel was found"
    found = [f"Attempt {n}: {words.line(why, REASON)}." for n, why in list(tally.reasons(attempts).items())[:REASONS]]
    return Headline("nothing", title, " ".join([tried, *found, _stopped(outcome)]), None)


def _stopped(outcome: Outcome | None) -> str:
    return f"Stopped: {outcome.stopped.rstrip('.')}." if outcome else "The run has not ended."


def _best(attempts: Sequence[Attempt], outcome: Outcome | None) -> Attempt | None:
    """The search's best; where nothing was measured, what came nearest to it."""
    if outcome is not None and outcome.best is not None:
        return numbered(attempts, outcome.best)
    right = [a for a in briefs(attempts) if a.outcome in ("measured", "verified", "compiled")]
    found = min(right, key=lambda a: (OUTCOMES.index(a.outcome), -a.sure_speedup), default=None)
    return numbered(attempts, found.number) if found is not None else None


def _sentence_case(phrase: str) -> str:
    return phrase[:1].upper() + phrase[1:]


def _gain(found: Measured) -> str:
    versus = found.timing.against("eager")
    if versus is None:
        return f"{words.microseconds(found.timing.latency_us)} a call, compared with nothing"
    ratio, said = versus.speedup, answer_of(found)
    if said in ("uncertain", "disturbed"):
        return f"no figure can be claimed ({figure(ratio)})"
    if said == "even":
        why = uncounted(ratio)
        return "no difference from eager PyTorch can be claimed" + (f" ({why})" if why else "")
    if ratio.blurred:
        return f"{said} than eager PyTorch, by how much is uncertain ({figure(ratio)})"
    if said == "faster":
        return f"{times(ratio.median)} as fast as eager PyTorch"
    return f"slower than eager PyTorch, at {times(ratio.median)} its speed"
