"""The run's gateway: models, tools and profiles, journaled before anything is acted on.

What a dialogue's step said is looked up first, and only what was never answered is really asked. So a run that was
killed in the middle of a dialogue continues with its next message. In the control arm, profiles and tools are withheld
here.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from kernelwright.engine.events import Writing
from kernelwright.engine.gateway.models import Hold, Meter, ModelRouter
from kernelwright.engine.gateway.toolbox import ToolAnswer
from kernelwright.engine.journal import Journal
from kernelwright.errors import ModelError
from kernelwright.models.config import ModelConfig
from kernelwright.models.stream import HEARD
from kernelwright.propose.proposer import NoRoom, Thread
from kernelwright.records.chat import ChatReply, ChatRequest, ToolCall, Usage
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.profile import Profile
from kernelwright.records.run import Message, MessageKind

WITHHELD = '{"withheld": true}'
"""A tool's answer in the control arm."""

Tool = Callable[[ToolCall], Awaitable[ToolAnswer]]
Lower = Callable[[Options], Awaitable[Lowering]]


async def no_compiler(options: Options) -> Lowering:
    """Where nobody lends PyTorch's compiler."""
    return Lowering(missing="nobody here asks PyTorch's compiler")


@dataclass(frozen=True)
class GatewayParts:
    """What every gateway of a run shares."""

    journal: Journal
    router: ModelRouter
    meter: Meter
    profiler: Callable[[int], Awaitable[ToolAnswer]]
    """An attempt's profile as JSON, by its number; empty where it has none."""
    tool: Tool
    withheld: bool = False
    """The control arm."""
    lower: Lower = no_compiler
    """Asks PyTorch's compiler."""


TICK_S = 1.0
"""Between two words about one reply that is coming."""


class _Ticker:
    """Tells of a reply that is coming, now and then."""

    def __init__(self, journal: Journal, proposal_request: int, role: str) -> None:
        self._journal, self._proposal_request, self._role = journal, proposal_request, role
        self._next = monotonic() + TICK_S

    def __call__(self, tokens: int) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + TICK_S
            self._journal.tell(Writing(proposal_request=self._proposal_request, role=self._role, tokens=tokens))


class RunGateway:
    """The gateway of one proposal request."""

    def __init__(self, gateway_parts: GatewayParts, proposal_request: int) -> None:
        self._parts = gateway_parts
        self._proposal_request = proposal_request
        self._steps: Counter[int] = Counter()
        """The next step of each sibling's dialogue."""

    async def ask(self, role: str, request: ChatRequest, sibling: int = 0) -> ChatReply:
        """See `ModelGateway.ask`."""
        config = self._parts.router.config(role)
        recorded = self._recorded_prompt(request, sibling)
        answered = self._step(sibling, "reply") if recorded else None
        if answered is not None:
            return ChatReply.model_validate_json(answered.text)
        if recorded is not None and self._sent(sibling):
            self._lost(role, self._parts.meter.most(recorded, config), config, sibling)
        asked, hold = await self._fit(role, recorded or config.within(request), config, sibling)
        try:
            self._say(role, "prompt", asked.model_dump_json(), sibling, prompt=request.id)
            reply = await self._reply(role, asked)
            self._parts.meter.count(reply)
        except ModelError as error:
            known = Usage(prompt=error.prompt, completion=error.completion, estimated=True)
            self._lost(role, (known, error.usd), config, sibling)
            raise
        except asyncio.CancelledError:
            self._lost(role, self._parts.meter.most(asked, config), config, sibling)
            raise
        finally:
            self._parts.meter.release(hold)
        self._say(role, "reply", reply.model_dump_json(), sibling)
        return reply

    async def _reply(self, role: str, asked: ChatRequest) -> ChatReply:
        """The model's answer; whoever listens is told how much of it has come."""
        token = HEARD.set(_Ticker(self._parts.journal, self._proposal_request, role))
        try:
            return await self._parts.router.model(role).reply(asked)
        finally:
            HEARD.reset(token)

    async def use(self, role: str, call: ToolCall, sibling: int = 0) -> str:
        """See `ModelGateway.use`."""
        if self._parts.withheld:
            self.log(role, call, WITHHELD, sibling)
            return WITHHELD
        self._record(role, "call", call.model_dump_json(), sibling)
        return await self._once(sibling, role, "result", lambda: self._parts.tool(call))

    def log(self, role: str, call: ToolCall, answer: str, sibling: int = 0) -> None:
        """See `ModelGateway.log`."""
        self._record(role, "call", call.model_dump_json(), sibling)
        if answer:
            self._record(role, "result", answer, sibling)

    async def profile(self, attempt: int, sibling: int = 0) -> Profile | None:
        """See `ModelGateway.profile`."""
        if self._parts.withheld:
            return None

        text = await self._once(sibling, "profiler", "profile", lambda: self._parts.profiler(attempt))
        return Profile.model_validate_json(text) if text else None

    async def lower(self, options: Options) -> Lowering:
        """See `ModelGateway.lower`."""
        return await self._parts.lower(options)

    def note(self, role: str, text: str, sibling: int = 0) -> None:
        """See `ModelGateway.note`."""
        self._record(role, "diagnosis", text, sibling)

    def recall(self, thread: Thread) -> tuple[Message, ...]:
        """See `ModelGateway.recall`."""
        return self._parts.journal.dialogue(thread)

    def _record(self, role: str, kind: MessageKind, text: str, sibling: int) -> None:
        """Journal a turn; when it was recorded already, its text must be the same."""
        if self._step(sibling, kind, lambda message: message.text == text) is None:
            self._say(role, kind, text, sibling)

    async def _once(
        self, sibling: int, role: str, kind: MessageKind, answer: Callable[[], Awaitable[ToolAnswer]]
    ) -> str:
        """What was answered before, or the answer and the device's time that it took, journaled."""
        known = self._step(sibling, kind)
        if known is not None:
            return known.text
        text, seconds = await answer()
        self._say(role, kind, text, sibling, device_s=seconds)
        return text

    def _recorded_prompt(self, request: ChatRequest, sibling: int) -> ChatRequest | None:
        """The recorded question of this step as it was sent last; None where it never was.

        A question without an answer may have been asked again, with less room; what came of none is passed over.
        """
        message = self._step(sibling, "prompt", lambda message: message.prompt == request.id)
        while (
            message is not None and (later := self._recorded(sibling)) is not None and later.kind in ("prompt", "lost")
        ):
            self._step(sibling, later.kind, lambda message: message.kind == "lost" or message.prompt == request.id)
            message = later if later.kind == "prompt" else message
        return ChatRequest.model_validate_json(message.text) if message else None

    def _sent(self, sibling: int) -> bool:
        """Whether the last that was recorded is a question: whoever asked it was killed before the answer came."""
        said = self._parts.journal.message(Thread(self._proposal_request, sibling), self._steps[sibling] - 1)
        return said is not None and said.kind == "prompt"

    def _lost(self, role: str, billed: tuple[Usage, float | None], config: ModelConfig, sibling: int) -> None:
        """Count and record what was, or may have been, billed for no answer: nothing of a call that never began."""
        usage, usd = billed
        nothing = ChatReply(text="", finish="other", model=config.name, usage=usage, usd=usd)
        self._parts.meter.count(nothing)
        self._say(role, "lost", nothing.model_dump_json(), sibling)

    async def _fit(self, role: str, asked: ChatRequest, config: ModelConfig, sibling: int) -> tuple[ChatRequest, Hold]:
        try:
            return await self._parts.meter.fit(asked, config)
        except NoRoom:
            self._say(role, "no_room", "", sibling)
            raise

    def _step(
        self, sibling: int, kind: MessageKind, same: Callable[[Message], bool] = lambda message: True
    ) -> Message | None:
        """The recorded turn that this step must be again; None where the dialogue had not come so far."""
        message = self._recorded(sibling)
        if message is None:
            return None
        if message.kind == "no_room":
            raise NoRoom
        self._parts.journal.agree("turn", message.number, message.kind == kind and same(message))
        self._steps[sibling] += 1
        return message

    def _recorded(self, sibling: int) -> Message | None:
        return self._parts.journal.message(Thread(self._proposal_request, sibling), self._steps[sibling])

    def _say(
        self, role: str, kind: MessageKind, text: str, sibling: int, *, prompt: str = "", device_s: float = 0.0
    ) -> None:
        step = self._steps[sibling]
        self._steps[sibling] += 1
        number = self._parts.journal.messages
        self._parts.journal.say(
            Message(
                number=number,
                proposal_request=self._proposal_request,
                sibling=sibling,
                step=step,
                role=role,
                kind=kind,
                text=text,
                prompt=prompt,
                device_s=device_s,
            )
        )
