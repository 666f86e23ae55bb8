"""From a brief to the values of a prompt: what each section shows, or None where it has nothing to show.

The prompt files have the wording around the values. Where feedback is withheld, nothing of a parent's fate is shown.
"""

import json
import re
from dataclasses import dataclass

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.knowledge.search import card_words
from kernelwright.knowledge.techniques.library import techniques
from kernelwright.languages import language
from kernelwright.propose.llm.clip import clip, last_lines
from kernelwright.propose.llm.describe_task import describe_hardware, describe_host, describe_task
from kernelwright.propose.llm.render import Value
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, sure_speedup
from kernelwright.records.base import Record
from kernelwright.records.evaluation import BuildFailed, Crashed, Evaluation, Measured, Refused, TimedOut
from kernelwright.records.feedback import Feedback
from kernelwright.records.names import LanguageName
from kernelwright.records.profile import Profile
from kernelwright.records.tools import FoundCard

MOST_PAST = 5
"""Earlier attempts that are shown, as GEAK does."""
_FIGURE = re.compile(r'\b([A-Za-z_]\w*)"?\s*:\s*(?:\[\s*)?-?\d')
"""A name with a number or a shape behind it."""


class Shown(Record):
    """A candidate as a prompt shows it."""

    number: int
    language: LanguageName
    tag: str
    source: str
    at: str = ""
    """Values that its tunables were fixed at."""
    words: str = ""
    """What became of it."""


class ProfileWords(Record):
    """What holds the first parent back."""

    bottleneck: str
    words: str
    metrics: str = ""
    """JSON; empty without a profile."""
    tier: str = ""


class TechniqueWords(Record):
    """A technique by name, with its card where it is known."""

    name: str
    card: str = ""


@dataclass(frozen=True)
class Facts:
    """What is known when a prompt is written."""

    brief: Brief
    language: LanguageName
    profile: Profile | None = None
    """Of the first parent."""
    advice: str = ""
    """JSON or text of the adviser."""
    cards: tuple[FoundCard, ...] = ()
    """Techniques that were looked up."""
    kept: bool = False
    """The conversation goes on: what does not change was said."""
    judging: bool = False
    """For an adviser: the end of a log is what is shown of it."""


def known(facts: Facts) -> dict[str, Value]:
    """What does not change during a run: task, host context, reference, hardware."""
    if facts.kept:
        return dict.fromkeys(("task", "host", "reference", "hardware"))
    brief = facts.brief
    return {
        "task": describe_task(brief.task),
        "host": describe_host(brief.task, facts.language),
        "reference": brief.task.source.source,
        "hardware": describe_hardware(brief.task, brief.parents if brief.feedback else ()),
    }


def evidence(facts: Facts) -> dict[str, Value]:
    """The first parent and what became of it."""
    return {
        "candidate": _shown(facts.brief.parents[0]) if facts.brief.parents else None,
        "log": _log(facts),
        "mismatch": _mismatch(facts),
        "profile": _profile(facts),
        "hint": _hint(facts.brief),
    }


def metrics_shown(facts: Facts) -> tuple[str, ...]:
    """Names of the figures that the profile's section shows, in its words and in its JSON."""
    shown = _profile(facts)
    return tuple(dict.fromkeys(_FIGURE.findall(f"{shown.words}\n{shown.metrics}"))) if shown else ()


def past(facts: Facts) -> dict[str, Value]:
    """Other parents, the technique, what was looked up, and what the adviser said."""
    return {
        "history": _history(facts.brief),
        "technique": _technique(facts.brief),
        "cards": facts.cards or None,
        "advice": facts.advice or None,
    }


def values(facts: Facts, contract: str) -> dict[str, Value]:
    """What the prompt of a writer or an agent shows. With advice, the adviser has read the profile for it."""
    shown = {**known(facts), "contract": contract, "language": facts.language}
    if facts.brief.expansion.intent == "seed":
        return shown
    return {**shown, **evidence(facts), **past(facts), **({"profile": None} if facts.advice else {})}


def _shown(attempt: Attempt, words: str = "") -> Shown:
    candidate = attempt.proposal.candidate
    at = ", ".join(f"{d.name} = {d.value}" for d in candidate.defines)
    tag = language(candidate.language).fence
    return Shown(
        number=attempt.number, language=candidate.language, tag=tag, source=candidate.source, at=at, words=words
    )


def _told(brief: Brief) -> tuple[Attempt, Feedback] | None:
    """The first parent with its feedback; None where there is none, or its fate is withheld."""
    return (brief.parents[0], brief.feedback[0]) if brief.parents and brief.feedback else None


def _log(facts: Facts) -> str | None:
    told = _told(facts.brief)
    log = _compile_log(told[0].evaluation) if told else None
    if log is None:
        return None
    return last_lines(log) if facts.judging else clip(log)


def _compile_log(found: Evaluation) -> str | None:
    match found:
        case Refused(reason=reason):
            return f"Refused before it was built: {reason}"
        case BuildFailed(log=log):
            return log
        case Crashed(stage="compile", reason=reason, log=log):
            return f"The compiler ended: {reason}\n{log}"
        case TimedOut(stage="compile", limit_s=limit):
            return f"The compiler was stopped after {limit:g} s."
    return None


def _mismatch(facts: Facts) -> str | None:
    told = _told(facts.brief)
    if told is None or told[1].works or _compile_log(told[0].evaluation) is not None:
        return None
    found = told[0].evaluation
    if found.outcome == "compiled":
        return None
    log = f"\n{found.log}" if isinstance(found, Crashed) and found.log else ""
    words = told[1].words + log
    return last_lines(words) if facts.judging else clip(words)


def _profile(facts: Facts) -> ProfileWords | None:
    told = _told(facts.brief)
    if told is None or _mismatch(facts) is not None or _log(facts) is not None:
        return None
    attempt, feedback = told
    measured = attempt.evaluation if isinstance(attempt.evaluation, Measured) else None
    if facts.profile is None and measured is None:
        return ProfileWords(bottleneck=feedback.bottleneck, words=feedback.words)
    statement = diagnose(facts.profile, measured)
    profile = facts.profile
    return ProfileWords(
        bottleneck=statement.bottleneck,
        words=f"{feedback.words}\n{statement.words}",
        metrics=_metrics(profile) if profile else "",
        tier=profile.tier if profile else "",
    )


def _metrics(profile: Profile) -> str:
    """Every figure that is known, by docs/profile.md's names, keyed by kernel."""
    table = {kernel.name: kernel.figures() for kernel in profile.kernels}
    call = profile.model_dump(
        mode="json", exclude_none=True, include={"device", "device_us", "bytes", "flops", "ceilings"}
    )
    return json.dumps({"call": call, "kernels": table}, indent=1)


def _history(brief: Brief) -> tuple[Shown, ...] | None:
    """The other parents, the slowest first; nothing of them where feedback is withheld."""
    others = list(zip(brief.parents, brief.feedback, strict=False))[1:][:MOST_PAST]
    ordered = sorted(others, key=lambda pair: (sure_speedup(pair[0]), pair[0].number))
    return tuple(_shown(attempt, clip(feedback.words)) for attempt, feedback in ordered) or None


def _technique(brief: Brief) -> TechniqueWords | None:
    """The technique by name, with its card where the knowledge base has one."""
    expansion = brief.expansion
    if expansion.intent != "apply-technique" or not expansion.hint:
        return None
    card = next((card_words(known) for known in techniques() if known.name == expansion.hint), "")
    return TechniqueWords(name=expansion.hint, card=card)


def _hint(brief: Brief) -> str | None:
    expansion = brief.expansion
    return clip(expansion.hint) if expansion.hint and expansion.intent != "apply-technique" else None
