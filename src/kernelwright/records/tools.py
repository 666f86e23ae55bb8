"""Tools: what a model may call, with the JSON Schema of its arguments and of its answers.

`compile`, `verify`, `profile` and `search` are answered at once (`engine/gateway/toolbox.py`); `evaluate` and `submit` are
attempts of a run.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError

from kernelwright.errors import UsageError
from kernelwright.languages import names
from kernelwright.records.attempt import Attempt, Setting
from kernelwright.records.base import Record, complaint
from kernelwright.records.chat import ToolCall, ToolSpec
from kernelwright.records.evaluation import OUTCOMES, Measured
from kernelwright.records.feedback import Bottleneck, Feedback, Finding
from kernelwright.records.measure import CaseError, KernelFacts, Versus
from kernelwright.records.names import LanguageName, OneOf
from kernelwright.records.profile import LoopProfile, Tier

CODE_CHARACTERS = 200_000
"""Longer than any kernel worth reading."""
ARGUMENTS_CHARACTERS = 8 * CODE_CHARACTERS
"""The longest arguments of a call as JSON: a code with every character escaped, and no more."""
QUERY_CHARACTERS = 500
MOST_CARDS = 10

ToolName = Literal["compile", "verify", "evaluate", "profile", "search", "submit"]


LanguageChoice = Annotated[
    str,
    OneOf("auto", *names()),
    Field(description="Which contract the source follows; auto: told by the source and the target."),
]


def named(choice: LanguageChoice) -> LanguageName | None:
    """The language, where the caller named one."""
    return None if choice == "auto" else choice


class CodeArguments(Record):
    """Arguments of every tool that takes a kernel."""

    code: str = Field(max_length=CODE_CHARACTERS, description="The whole source of the kernel, never a part or a diff.")
    language: LanguageChoice = "auto"


class SearchArguments(Record):
    """Arguments of a look into the knowledge base."""

    query: str = Field(
        max_length=QUERY_CHARACTERS, description="What to look for: an operation, a bottleneck, a technique."
    )
    bottleneck: Bottleneck = Field(
        default="unknown", description="What a profile named; only cards that ease it are found. unknown: all cards."
    )
    limit: int = Field(default=3, ge=1, le=MOST_CARDS, description="Most cards in the answer.")


class ToolFault(Record):
    """The answer to a call that cannot be answered: what was wrong with it, and what to do instead."""

    error: str


class CompileResult(Record):
    """Whether the kernel builds."""

    ok: bool
    log: str = ""
    """What the compiler or the policy said against it; empty when it builds."""
    kernels: tuple[KernelFacts, ...] = ()
    """The compiler's own facts of each device kernel."""


class VerifyResult(Record):
    """Whether the kernel is right, on fresh inputs that nobody has seen. No time is taken."""

    ok: bool
    outcome: str
    words: str
    """For a reader: what was found, with the evidence."""
    cases: tuple[CaseError, ...] = ()
    """Each case against fp64, up to the wrong one."""


class EvaluateResult(Record):
    """The verdict on an attempt: right or wrong, and how fast."""

    attempt: int
    """Its number in the run, to refer to it later."""
    ok: bool
    """Right, and timed where the device is here."""
    outcome: str
    words: str
    """For a reader: outcome, numbers, evidence, and what limits the kernel."""
    latency_us: float | None = None
    versus: tuple[Versus, ...] = ()
    """Speedup over each baseline with its interval and verdict; above one: the kernel is faster."""
    roofline: float | None = None
    """Share of the measured memory bandwidth, 0 to 1."""
    bottleneck: Bottleneck = "unknown"
    reward: float | None = None
    """None where it is not told."""
    best: int | None = None
    """The attempt that is the best so far, this one included."""
    known: int | None = None
    """The attempt whose verdict this is, when the same kernel was tried before."""
    trials_left: int | None = None
    chosen: dict[str, int] = Field(default_factory=dict)
    """Values of its tunables with which it was judged: the sweep's winner."""
    settings: tuple[Setting, ...] = ()
    """What each setting of the sweep measured; empty where nothing was swept."""

    @classmethod
    def of(cls, attempt: Attempt, feedback: Feedback, *, best: int | None, trials_left: int) -> "EvaluateResult":
        """The verdict on an attempt. The best attempt and the trials left are its run's."""
        found = attempt.evaluation
        return cls(
            attempt=attempt.number,
            ok=feedback.works,
            outcome=found.outcome,
            words=feedback.words,
            latency_us=attempt.latency_us,
            versus=found.timing.versus if isinstance(found, Measured) else (),
            roofline=feedback.roofline,
            bottleneck=feedback.bottleneck,
            reward=feedback.reward,
            best=best,
            known=attempt.known,
            trials_left=trials_left,
            chosen={define.name: define.value for define in attempt.proposal.candidate.defines},
            settings=attempt.settings,
        )


class KernelMetrics(Record):
    """What is known of one device kernel, by the names of docs/profile.md."""

    name: str
    own: bool | None = None
    """The candidate's own device code; None: not known."""
    metrics: dict[str, float]


class ProfileResult(Record):
    """Where the kernel's time goes and what holds it back, the most to gain first."""

    bottleneck: Bottleneck
    words: str
    findings: tuple[Finding, ...] = ()
    tier: Tier
    device_us: float | None = None
    """Device time of one call under the profiler; it disturbs, and is not the clock."""
    kernels: tuple[KernelMetrics, ...] = ()
    loops: tuple[LoopProfile, ...] = ()
    """Of a CPU's code: its innermost loops, instructions of one turn counted."""
    notes: tuple[str, ...] = ()
    """Why nothing better can be had, what a figure leaves out."""


class FoundCard(Record):
    """One entry of the knowledge base."""

    name: str
    """What a proposal request's hint may name."""
    title: str
    text: str
    """The whole card: when it applies, what it should change, pitfalls, before and after."""


class SearchResult(Record):
    """What was found, the best match first."""

    cards: tuple[FoundCard, ...]


def _schema(record: type[Record]) -> dict[str, JsonValue]:
    """JSON Schema without pydantic's titles: endpoints differ in what they take beside the essentials."""
    found: dict[str, JsonValue] = record.model_json_schema(mode="validation")
    cleaned = _without_titles(found)
    assert isinstance(cleaned, dict)
    return cleaned


def _without_titles(node: JsonValue, names: bool = False) -> JsonValue:
    """`names`: the keys of this object are names of fields, and one of them may be `title`."""
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_titles(value, not names and key in ("properties", "$defs"))
        for key, value in node.items()
        if names or key != "title"
    }


def _tool(name: ToolName, description: str) -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters=_schema(ARGUMENTS[name]))


ARGUMENTS: Mapping[str, type[CodeArguments] | type[SearchArguments]] = {
    "compile": CodeArguments,
    "verify": CodeArguments,
    "evaluate": CodeArguments,
    "profile": CodeArguments,
    "search": SearchArguments,
    "submit": CodeArguments,
}
"""What each tool takes."""

RESULTS: Mapping[str, type[Record]] = {
    "compile": CompileResult,
    "verify": VerifyResult,
    "evaluate": EvaluateResult,
    "profile": ProfileResult,
    "search": SearchResult,
    "submit": EvaluateResult,
}
"""What each tool answers, unless it is a ToolFault."""

TOOLS: tuple[ToolSpec, ...] = (
    _tool("compile", "Build a kernel. Answers whether it builds, and the compiler's log. Not a trial."),
    _tool(
        "verify",
        "Build a kernel and compare its results with the reference on fresh secret inputs. Answers right or wrong with "
        "evidence; takes no time. Not a trial.",
    ),
    _tool(
        "evaluate",
        "The full verdict on a kernel: right or wrong, latency, speedup over eager and torch.compile, reward, "
        f"what limits it. Outcomes, best first: {', '.join(OUTCOMES)}. Costs one trial.",
    ),
    _tool(
        "profile",
        "Where a kernel's time goes: bottleneck, findings with evidence and suggestion, metrics. Not a trial.",
    ),
    _tool("search", "Look up optimisation techniques: when each applies, pitfalls, before and after."),
    _tool("submit", "Hand in the final kernel. It is judged like evaluate, and the work ends with it."),
)
"""Every tool, as a model is offered them."""

ANSWERS: Mapping[str, dict[str, JsonValue]] = {name: _schema(record) for name, record in RESULTS.items()}
"""JSON Schema of each tool's answer."""


def read_arguments(call: ToolCall) -> CodeArguments | SearchArguments:
    """The arguments of a call.

    Raises:
        UsageError: there is no such tool, or the arguments are not what its schema says.
    """
    if call.name not in ARGUMENTS:
        raise UsageError(f"there is no tool {call.name[:40]!r}; there are {', '.join(ARGUMENTS)}")
    if len(call.arguments) > ARGUMENTS_CHARACTERS:
        raise UsageError(f"the arguments are longer than {ARGUMENTS_CHARACTERS} characters: send less")
    try:
        return ARGUMENTS[call.name].model_validate_json(call.arguments.encode("utf-8", "replace"))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, f['loc']))}: {complaint(f)}".lstrip(": ") for f in error.errors()[:5])
        raise UsageError(f"the arguments of {call.name} do not fit its schema: {faults}") from None
