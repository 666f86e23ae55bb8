"""From a brief to the values of a prompt: what each section shows, or None where it has nothing to show.

The prompt files have the wording around the values. Where feedback is withheld, nothing of a parent's fate is shown.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.knowledge.library import card_words, nearest_pair, rules, techniques
from kernelwright.languages import Language, language
from kernelwright.propose.llm.hardware import describe_hardware
from kernelwright.propose.llm.metrics import explained, figures, table
from kernelwright.propose.llm.render import Value, clip, last_lines
from kernelwright.propose.proposer import Brief
from kernelwright.records.answer import busy
from kernelwright.records.attempt import Attempt, WorkedStep, sure_speedup
from kernelwright.records.base import Record
from kernelwright.records.comparator import Calibrated, Comparator, Exact, Statistical
from kernelwright.records.evaluation import (
    BuildFailed,
    Crashed,
    Evaluation,
    Incorrect,
    Measured,
    Refused,
    Suspect,
    TimedOut,
)
from kernelwright.records.expression import worth
from kernelwright.records.feedback import Feedback
from kernelwright.records.measure import Yardstick
from kernelwright.records.names import LanguageName
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment
from kernelwright.records.task import Task
from kernelwright.records.tensor import Domain, TensorSpec
from kernelwright.records.tools import FoundCard

MOST_SETTINGS = 16
"""Settings of tunables that are shown."""
SAID_ABOVE = "as the mismatch above says"
"""Stands in a hint for evidence that has a section of its own."""
RECOGNISED = 60
"""Characters of evidence by which it is found in a hint."""
LEAST_ALLOWED = 1e-29
"""What is recorded for results that must be exact is smaller: it is no tolerance to tell."""
_BASELINES = {"compile": "torch.compile", "compile_max": "torch.compile, max-autotune"}
"""Baselines whose own names say too little."""
MOST_PAST = 5
"""Earlier attempts that are shown, as GEAK does."""
_FIGURE = re.compile(r'\b([A-Za-z_]\w*)"?\s*:\s*(?:\[\s*)?-?\d')
"""A name with a number or a shape behind it."""


class TaskWords(Record):
    """What the author of a task says, beside the reference."""

    name: str
    description: str = ""
    """The task in a sentence or more; empty: only the reference says it."""
    workload: str
    """Tensors, comparators and the least work, a line each."""


class HostWords(Record):
    """How the kernel is called."""

    calling: str
    signature: str = ""
    code: str = ""


OF_SEVERAL = (
    "The shapes above are those of one workload. One kernel must be right on all of these, and at sizes between and beyond "
    "that nobody is told; it is timed by weight, and the geometric mean counts. Take sizes from the tensors; a source that is "
    "no module has each axis as a macro, AXIS_ and its name in capitals, and must not name a size otherwise:"
)


def describe_task(task: Task) -> TaskWords:
    """The task's own words."""
    return TaskWords(name=task.name, description=task.source.description, workload=_workload(task))


def describe_host(task: Task, name: LanguageName) -> HostWords:
    """How the referee calls a kernel of this language for this task."""
    written = language(name)
    spell = {"plan": _buffers, "function": _signature}.get(written.form)
    signature = spell(task, written) if spell else ""
    return HostWords(calling=written.calling, signature=signature, code=task.source.host)


def _workload(task: Task) -> str:
    load = task.workload
    lines = [
        f"input  {_tensor(i) if isinstance(i, TensorSpec) else f'{i.name} = {i.value!r} (a constant)'}"
        for i in load.inputs
    ]
    lines += [f"param  {_tensor(p)}" for p in load.parameters]
    for position, output in enumerate(load.outputs):
        lines.append(f"output {_tensor(output)}; {_comparator(task.comparator(position), output.dtype)}")
    lines.append(f"compulsory traffic: {load.compulsory_bytes} bytes; arithmetic: {task.graph.flops} operations")
    if task.source.workloads is not None:
        lines += ["", OF_SEVERAL, task.source.workloads.words]
    return "\n".join(lines)


def _tensor(spec: TensorSpec) -> str:
    domain = "" if spec.domain is Domain.REAL else f", values: {spec.domain.value}"
    bound = "" if spec.bound is None else f" below {spec.bound}"
    return f"{spec.name}: {spec.dtype}[{', '.join(map(str, spec.shape))}]{domain}{bound}"


def _comparator(comparator: Comparator, dtype: str) -> str:
    match comparator:
        case Calibrated() if "float" not in dtype and "complex" not in dtype:
            return "equal, but for what rounding decides in the reference itself"
        case Calibrated(k=k):
            return f"error against fp64 at most {k:g} times the reference's own"
        case Exact():
            return "the very bits of the reference"
        case Statistical():
            return "random on purpose: the distribution is compared"
    return "several answers are right, such as the order of ties"


def _signature(task: Task, written: Language) -> str:
    load, types = task.workload, written.types
    rows = [(f"const {types[t.dtype]}* in{i}", t) for i, t in enumerate(load.tensors)]
    rows += [(f"const {types[t.dtype]}* param{i}", t) for i, t in enumerate(load.parameters)]
    rows += [(f"{types[t.dtype]}* out{i}", t) for i, t in enumerate(load.outputs)]
    lines = [f"    {text},  // {_tensor(spec)}" for text, spec in rows]
    lines += [f"    {written.last_argument},"] if written.last_argument else []
    lines[-1] = lines[-1].replace(",", ");", 1)
    return "\n".join([f"{written.linkage} void kernel(".strip(), *lines])


def _buffers(task: Task, written: Language) -> str:
    load, types = task.workload, written.types
    named = (("in", load.tensors), ("param", load.parameters), ("out", load.outputs))
    rows = [f"{types[t.dtype]}* {kind}{i}  // {_tensor(t)}" for kind, group in named for i, t in enumerate(group)]
    return "\n".join(rows)


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
    """JSON."""
    tier: str = ""
    """Where the metrics come from."""
    names: tuple[str, ...] = ()
    """What each metric means."""


class ExampleWords(Record):
    """A module, and a right kernel for it in the language that is wanted."""

    module: str
    kernel: str
    tag: str


class AdviceWords(Record):
    """What the adviser said."""

    steps: tuple[tuple[str, str], ...] = ()
    """A judge's fields, by name."""
    text: str = ""
    """A reflection, where there are no fields."""


class SerialWords(Record):
    """A serial function, which is what must be computed."""

    code: str
    tag: str
    given: tuple[str, ...] = ()
    """What is passed by value."""
    results: str
    """Its pointers that are outputs, in their order."""
    at_hand: bool = False
    """It is the candidate too: nobody has written a kernel yet."""


class TechniqueWords(Record):
    """A technique by name, with its card where it is known."""

    name: str
    card: str = ""
    step: str = ""
    """How it was applied elsewhere, or here."""
    here: bool = False
    """The step begins with the code at hand."""


@dataclass(frozen=True)
class Facts:
    """What is known when a prompt is written."""

    brief: Brief
    language: LanguageName
    profile: Profile | None = None
    """The first parent's profile."""
    advice: str = ""
    """JSON or text of the adviser."""
    cards: tuple[FoundCard, ...] = ()
    """Techniques that were looked up."""
    kept: bool = False
    """The conversation goes on: what does not change was said."""
    direction: str = ""
    """Which way this candidate of several is to go; empty: the writer's choice."""
    trained: bool = False
    """For a model that learns from thousands of kernels: it needs no example, each token of one costs, and where it learns
    nothing was timed and no device measured beforehand."""
    judging: bool = False
    """For an adviser: the end of a log is what is shown of it."""

    def shorten(self, log: str) -> str:
        """What is shown of a log."""
        return last_lines(log) if self.judging else clip(log)


def known(facts: Facts) -> dict[str, Value]:
    """What does not change during a run: task, host context, reference, hardware."""
    if facts.kept:
        return dict.fromkeys(("task", "host", "reference", "serial", "hardware"))
    brief = facts.brief
    serial = serial_words(brief)
    return {
        "task": describe_task(brief.task),
        "host": describe_host(brief.task, facts.language),
        "reference": brief.task.source.source if serial is None else None,
        "serial": serial,
        "hardware": describe_hardware(brief.task, None if facts.trained else _here(brief)),
    }


def serial_words(brief: Brief) -> SerialWords | None:
    """The serial function; None: the task is a module."""
    source, spec = brief.task.source, brief.task.source.spec
    if spec is None:
        return None
    plain = [a for a in spec.arguments if not a.pointer]
    given = tuple(f"{a.name} = {a.value if isinstance(a.value, float) else worth(a.value, spec.sizes)}" for a in plain)
    at_hand = brief.proposal_request.intent == "apply-technique" and not brief.parents
    begins = " (which begins as the input of that name)"
    results = ", ".join(f"`{a.name}`{begins if a.inout else ''}" for a in spec.outputs)
    return SerialWords(code=source.serial, tag=spec.dialect, given=given, results=results, at_hand=at_hand)


def _here(brief: Brief) -> Environment | None:
    """The machine, with the bandwidth that the referee holds the first parent against: one figure a prompt."""
    found, here = _first(brief)[0], brief.environment
    if here is None or not isinstance(found, Measured):
        return here
    device = here.device.model_copy(update={"memory_gbps": found.roofline.ceiling_gbps})
    return here.model_copy(update={"device": device})


def judged(facts: Facts) -> dict[str, Value]:
    """How kernels are judged; what they are held against, and what the first parent's tunables measured."""
    found = facts.brief.run.yardstick
    lines = held_against(found) if found is not None and not facts.trained else []
    lines += _doubts(facts.brief)
    return {"rules": None if facts.kept else rules(), "figures": (*lines, *_settings(facts.brief)) or None}


def _doubts(brief: Brief) -> list[str]:
    """What makes the first parent's times doubtful."""
    found = _first(brief)[0]
    load = busy(found) if found is not None else None
    return (
        [f"this machine was busy while the candidate was timed, so its times are doubtful: {load.words}"]
        if load
        else []
    )


def evidence(facts: Facts) -> dict[str, Value]:
    """The first parent and what became of it."""
    return {
        "candidate": _shown(facts.brief.parents[0]) if facts.brief.parents else None,
        "log": _log(facts),
        "mismatch": _mismatch(facts),
        "profile": _profile(facts),
        "order": _order(facts),
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
        "advice": _advice(facts.advice),
    }


def _advice(advice: str) -> AdviceWords | None:
    if not advice.startswith("{"):
        return AdviceWords(text=advice) if advice else None
    fields: dict[str, str | list[str]] = json.loads(advice)
    texts = {name: text if isinstance(text, str) else ", ".join(text) for name, text in fields.items()}
    return AdviceWords(steps=tuple((name.replace("_", " "), text) for name, text in texts.items() if text))


def held_against(found: Yardstick) -> list[str]:
    """Baselines' times, the floor and the tolerance, a line each; nothing of what was not measured."""
    lines = [f"{_BASELINES.get(name, name)}: {time:.2f} us a call" for name, time in found.times_us.items()]
    if found.floor_us is not None:
        lines.append(f"a call of less than {found.floor_us:.2f} us is taken for a fault of the measurement")
    if found.strictest is not None and found.strictest.allowed > LEAST_ALLOWED:
        case = found.strictest
        lines.append(
            f"largest relative error against fp64 that is allowed, in the strictest case ({case.distribution}): "
            f"{case.allowed:.2g}; the reference itself errs by {case.reference_error:.2g}"
        )
    return lines


def _settings(brief: Brief) -> Iterator[str]:
    """The settings of the first parent that were tried, the fastest first."""
    tried = brief.parents[0].settings if brief.parents and brief.feedback else ()
    for one in sorted(tried, key=lambda s: (s.latency_us is None, s.latency_us or 0.0))[:MOST_SETTINGS]:
        values = ", ".join(f"{name} = {value}" for name, value in one.values.items()) or "as it stands"
        why = f" ({one.why})" if one.why else ""
        yield f"candidate with {values}: {one.outcome if one.latency_us is None else f'{one.latency_us:.2f} us'}{why}"


def values(facts: Facts, contract: str) -> dict[str, Value]:
    """What the prompt of a writer or an agent shows. With advice, the adviser has read the profile for it."""
    shown = {**known(facts), **judged(facts), "contract": contract, "language": facts.language}
    if facts.brief.proposal_request.intent == "seed":
        return {**shown, "example": None if facts.trained else _example(facts), "order": _order(facts), "hint": None}
    return {**shown, **evidence(facts), **past(facts), **({"profile": None} if facts.advice else {})}


def _example(facts: Facts) -> ExampleWords | None:
    """The nearest pair of the language; never one for the very module that is asked for."""
    task = facts.brief.task
    found = nearest_pair(task.graph.family, facts.language)
    if found is None or found.module.strip() == task.source.source.strip():
        return None
    tag = language(facts.language).fence
    return ExampleWords(module=found.module.strip(), kernel=found.kernel.strip(), tag=tag)


def _shown(attempt: Attempt, words: str = "") -> Shown:
    candidate = attempt.proposal.candidate
    return Shown(
        number=attempt.number,
        language=candidate.language,
        tag=language(candidate.language).fence,
        source=candidate.source,
        at=", ".join(f"{d.name} = {d.value}" for d in candidate.defines),
        words=words,
    )


def _first(brief: Brief) -> tuple[Evaluation, Feedback] | tuple[None, None]:
    """What was found of the first parent, with its feedback; None where there is none, or its fate is withheld."""
    return (brief.parents[0].evaluation, brief.feedback[0]) if brief.parents and brief.feedback else (None, None)


def _log(facts: Facts) -> str | None:
    log = _compile_log(_first(facts.brief)[0])
    return None if log is None else facts.shorten(log)


def _compile_log(found: Evaluation | None) -> str | None:
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
    found, feedback = _first(facts.brief)
    if (
        found is None
        or feedback is None
        or feedback.works
        or _compile_log(found) is not None
        or found.outcome == "compiled"
    ):
        return None
    log = found.log if isinstance(found, Crashed) else ""
    words = feedback.words.partition(log[:RECOGNISED])[0].rstrip() if log else feedback.words
    return facts.shorten(f"{words}\n{log}".rstrip())


def _profile(facts: Facts) -> ProfileWords | None:
    found, feedback = _first(facts.brief)
    if found is None or feedback is None or _mismatch(facts) is not None or _log(facts) is not None:
        return None
    measured = found if isinstance(found, Measured) else None
    if facts.profile is None and measured is None:
        return ProfileWords(bottleneck=feedback.bottleneck, words=feedback.words)
    statement = diagnose(facts.profile, measured)
    shown = figures(facts.profile, measured, facts.brief.environment.device if facts.brief.environment else None)
    return ProfileWords(
        bottleneck=statement.bottleneck,
        words=f"{feedback.words}\n{statement.words}",
        metrics=table(shown),
        tier=facts.profile.tier if facts.profile else "clock",
        names=explained(shown),
    )


def _history(brief: Brief) -> tuple[Shown, ...] | None:
    """The other parents, the slowest first; nothing of them where feedback is withheld."""
    others = list(zip(brief.parents, brief.feedback, strict=False))[1:][:MOST_PAST]
    ordered = sorted(others, key=lambda pair: (sure_speedup(pair[0]), pair[0].number))
    return tuple(_shown(attempt, clip(feedback.words)) for attempt, feedback in ordered) or None


def _technique(brief: Brief) -> TechniqueWords | None:
    """The technique by name, with its card where the knowledge base has one."""
    request = brief.proposal_request
    if request.intent != "apply-technique" or not request.hint:
        return None
    if request.steps and request.steps[0].before:
        at_hand = brief.parents[0].proposal.candidate.source if brief.parents else brief.task.source.origin
        step = request.steps[0]
        return TechniqueWords(name=request.hint, step=_step_words(step, brief), here=step.before == at_hand)
    card = next((card_words(known) for known in techniques() if known.name == request.hint), "")
    return TechniqueWords(name=request.hint, card=card)


def _step_words(step: WorkedStep, brief: Brief) -> str:
    """A worked step as a model reads it."""
    fence, spec = language(step.language).fence, brief.task.source.spec
    serial = spec is not None and step.before == brief.task.source.origin
    parts = [
        f"Why: {step.think}",
        f"How: {step.detail}" if step.detail else "",
        f"Measured: {step.effect}" if step.effect else "",
        f"Before:\n\n```{spec.dialect if serial and spec else fence}\n{clip(step.before).strip()}\n```",
        f"After:\n\n```{fence}\n{clip(step.after).strip()}\n```",
    ]
    return "\n\n".join(filter(None, parts))


def _order(facts: Facts) -> str | None:
    """The search's order, and the direction of this candidate."""
    return " ".join(filter(None, (facts.brief.proposal_request.order, facts.direction))) or None


def _hint(brief: Brief) -> str | None:
    """The search's words; what the mismatch already says of the first parent is said once."""
    request, found = brief.proposal_request, _first(brief)[0]
    if not request.hint or request.intent == "apply-technique":
        return None
    if isinstance(found, Incorrect | Suspect):
        return clip(_without(request.hint, " ".join(found.evidence.split())))
    return clip(request.hint)


def _without(hint: str, evidence: str) -> str:
    """A hint whose evidence stands above; the hint may have cut it."""
    start = hint.find(evidence[:RECOGNISED])
    if start < 0:
        return hint
    cut = hint.find("…", start) + 1
    end = start + len(evidence) if evidence in hint else cut or len(hint)
    return f"{hint[:start]}{SAID_ABOVE}{hint[end:]}"
