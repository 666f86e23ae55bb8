"""The ModelGateway protocol: what the engine lends to a proposer for one proposal request.

Whoever asks a model or a tool asks here, so that every message is journaled before it is acted on, counted against the
run's budget, and played back when the run is resumed.

A *thread* is the dialogue behind one candidate: the proposal request's number and the candidate's place among its siblings.
Within a thread calls are made one after another; threads run side by side.
"""

from typing import NamedTuple, Protocol

from kernelwright.errors import ProposeError
from kernelwright.records.chat import ChatReply, ChatRequest, ToolCall
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.profile import Profile
from kernelwright.records.run import Message


class Thread(NamedTuple):
    """The dialogue behind one candidate."""

    proposal_request: int
    sibling: int


class NoRoom(Exception):  # noqa: N818  no error: the budget did what it is for
    """The run's budget pays for no further call. A proposer returns what it has."""


class ModelGateway(Protocol):
    """Models and tools, journaled and metered."""

    async def ask(self, role: str, request: ChatRequest, sibling: int = 0) -> ChatReply:
        """A reply of the model that serves `role`: the recorded one, or a new one.

        Raises:
            NoRoom: the budget does not pay for the call.
            ModelError: the model cannot be had; the run ends and can be resumed.
            ProposeError: the run names no model for this role.
        """
        ...

    async def use(self, role: str, call: ToolCall, sibling: int = 0) -> str:
        """A tool's answer, JSON: `compile`, `verify`, `profile`, `search` (`records.tools`). Wrong arguments are an answer."""
        ...

    def log(self, role: str, call: ToolCall, answer: str, sibling: int = 0) -> None:
        """Journal a call that the proposer answers itself; an empty answer: what is handed over will be judged first."""
        ...

    async def profile(self, attempt: int, sibling: int = 0) -> Profile | None:
        """Where an attempt's time goes; None when that is withheld or it was never built.

        Raises:
            RefereeError: the referee broke.
        """
        ...

    async def lower(self, options: Options) -> Lowering:
        """What `torch.compile` writes for the run's task under settings of its own, or why it writes nothing.

        It follows from the task and from versions that a resumed run must share, so it is not journaled.

        Raises:
            RefereeError: the referee broke.
        """
        ...

    def note(self, role: str, text: str, sibling: int = 0) -> None:
        """Journal a diagnosis, before it is acted on."""
        ...

    def recall(self, thread: Thread) -> tuple[Message, ...]:
        """What was said behind an earlier candidate, in order."""
        ...


class BareGateway:
    """A gateway with nothing behind it: for proposers that ask nobody."""

    async def ask(self, role: str, request: ChatRequest, sibling: int = 0) -> ChatReply:
        """See `ModelGateway.ask`."""
        raise ProposeError(f"no model serves the role {role!r}: name one with --model")

    async def use(self, role: str, call: ToolCall, sibling: int = 0) -> str:
        """See `ModelGateway.use`."""
        raise ProposeError(f"the tool {call.name!r} is not to be had here")

    def log(self, role: str, call: ToolCall, answer: str, sibling: int = 0) -> None:
        """See `ModelGateway.log`."""

    async def profile(self, attempt: int, sibling: int = 0) -> Profile | None:
        """See `ModelGateway.profile`."""
        return None

    async def lower(self, options: Options) -> Lowering:
        """See `ModelGateway.lower`."""
        return Lowering(missing="nobody here asks PyTorch's compiler")

    def note(self, role: str, text: str, sibling: int = 0) -> None:
        """See `ModelGateway.note`."""

    def recall(self, thread: Thread) -> tuple[Message, ...]:
        """See `ModelGateway.recall`."""
        return ()
