"""RunCard, Message and Outcome: what a run is, what was said in it and what that cost, how it ended, and on which machine.

An unknown price stays unknown in every sum.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import JsonValue

from kernelwright.records.attempt import Attempt, Cost
from kernelwright.records.base import Record, identity
from kernelwright.records.chat import ChatReply
from kernelwright.records.measure import Yardstick
from kernelwright.records.names import KindName
from kernelwright.records.task import Task


class TuningKey(Record):
    """What a schedule is good for; the device stands beside it."""

    language: str
    family: str
    """Of the kernels that do the task, such as `rows` or `product+strided`."""
    shape_class: str
    """Dtype, and the sizes that matter as powers of two."""


class TuningEntry(Record):
    """A schedule that won, and where."""

    key: TuningKey
    device: str
    schedule: dict[str, JsonValue]
    speedup: float
    """Over eager, its lower bound, in that run."""
    task: str
    run: str


class Device(Record):
    """The device that was measured, and its ceilings, measured by the referee in the same run."""

    kind: KindName
    name: str
    cores: int
    """Hardware threads of a CPU, multiprocessors of a GPU."""
    memory_gbps: float | None = None
    """Read bandwidth measured over data larger than the last cache; None when it was not measured."""
    cache_bytes: int = 0
    """Last-level cache."""
    caches: tuple[int, ...] = ()
    """Bytes of a CPU's levels of cache, the first level first, on all cores together."""
    vector_bits: int = 0
    """Widest vector registers of a CPU; 0: not known, or a GPU."""


class Environment(Record):
    """The circumstances of a run's measurements."""

    device: Device
    versions: dict[str, str]
    """Versions of python, torch, triton, compilers, driver, kernelwright."""
    isolation: tuple[str, ...]
    """Parts of the sandbox in force."""
    denied: tuple[str, ...] = ()
    """Parts that the host denies, each with what is lost."""


MessageKind = Literal["prompt", "reply", "lost", "diagnosis", "call", "result", "profile", "no_room"]
BILLED: tuple[MessageKind, ...] = ("reply", "lost")
"""Turns whose text is a reply that was paid for."""


class Message(Record):
    """A message to or from a model, a diagnosis or a tool call; journaled before it is acted on."""

    number: int
    """Position in the run's journal. Threads run side by side, so it is no position in a dialogue."""
    proposal_request: int
    sibling: int = 0
    """Place of the candidate, among the proposal request's, that this dialogue is about."""
    step: int = 0
    """Position in that dialogue."""
    role: str
    kind: MessageKind
    """`lost`: no reply came, and it was billed all the same; `call` and `result` are a tool's; `no_room`: the budget did
    not pay for the prompt that would have followed."""
    text: str
    """A request, a reply, a call or a profile as JSON; a result and a diagnosis as they are."""
    prompt: str = ""
    """For a prompt: the id of the request as its writer asked it."""
    device_s: float = 0.0
    """Device seconds that a profile or a tool took."""


class RunCard(Record):
    """What a run is, written once at its start and checked on resume."""

    id: str
    created: str
    """ISO 8601, UTC."""
    task: Task
    environment: Environment
    config: dict[str, JsonValue]
    """The resolved configuration."""
    tuned: TuningEntry | None = None
    """The schedule of an earlier run that is tried first; None: none is known."""
    state: str = ""
    """Hash of what its strategy had learned in earlier runs; empty: nothing."""
    yardstick: Yardstick | None = None
    """What kernels are held against, measured before the first was written; None: its proposer does not read it."""


def state_id(state: JsonValue) -> str:
    """The hash of a strategy's state; empty for None."""
    return "" if state is None else identity("strategy state", {"state": state})


def least_speedup(config: dict[str, JsonValue]) -> float:
    """What the lower end of a speedup must exceed for the kernel to be kept; 0 where a slower one is wanted too."""
    remeasurement = config.get("remeasurement")
    wanted = remeasurement if isinstance(remeasurement, dict) else {}
    return 0.0 if wanted.get("keep_slower") else float(str(wanted.get("min_speedup", 1.0)))


class Outcome(Record):
    """How a run ended: the best attempt of the search, its final measurement, and why it stopped."""

    best: int | None
    """Attempt number; None with the reason in `stopped` when nothing was right."""
    final: Attempt | None = None
    """The best, measured anew, head to head with fresh inputs."""
    stopped: str
    complete: bool = True
    """False after an interruption or an error: `resume` goes on where the run stopped."""


class Spending(Record):
    """What one role's calls to one model cost."""

    role: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    """None: the price of a call is not known."""
    seconds: float
    """Seconds of waiting for the model, summed over calls."""


def spending(messages: Iterable[Message]) -> tuple[Spending, ...]:
    """Every role's calls, in the order in which roles first spoke. No text is held on to: there may be millions."""
    found: dict[tuple[str, str], Spending] = {}
    for message in messages:
        if message.kind in BILLED:
            reply = ChatReply.model_validate_json(message.text)
            found[message.role, reply.model] = _with(found.get((message.role, reply.model)), message.role, reply)
    return tuple(found.values())


def _with(so_far: Spending | None, role: str, reply: ChatReply) -> Spending:
    before = so_far or Spending(
        role=role, model=reply.model, calls=0, prompt_tokens=0, completion_tokens=0, usd=0.0, seconds=0.0
    )
    return before.model_copy(
        update={
            "calls": before.calls + 1,
            "prompt_tokens": before.prompt_tokens + reply.usage.prompt,
            "completion_tokens": before.completion_tokens + reply.usage.completion,
            "usd": None if before.usd is None or reply.usd is None else before.usd + reply.usd,
            "seconds": before.seconds + reply.seconds,
        }
    )


def unbooked(said: Sequence[Message], booked: Sequence[Cost]) -> Cost:
    """What a proposal request's dialogues cost beyond what its attempts carry: lost replies, profiles and tools."""
    replies = [ChatReply.model_validate_json(message.text) for message in said if message.kind in BILLED]
    return Cost(
        proposals=0,
        device_s=sum(message.device_s for message in said),
        tokens=sum(reply.usage.total for reply in replies) - sum(cost.tokens for cost in booked),
        usd=max(0.0, sum(reply.usd or 0.0 for reply in replies) - sum(cost.usd for cost in booked)),
    )


class Check(Record):
    """One line of `doctor`: what this machine can do, and the fix for what it cannot."""

    name: str
    status: Literal["ok", "lost", "missing"]
    """`lost`: works with less protection or fewer features; `missing`: something needed is not here."""
    detail: str
    fix: str = ""
    """What to do about it; empty where nothing needs doing."""
