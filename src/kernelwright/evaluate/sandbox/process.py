"""A sandboxed child as the grader asks it: typed questions under a limit, and what its failures mean.

What it says comes from a process that may lie: the time that counts is the grader's own, and where its failure is the
referee's fault is settled here, once for all kinds of process.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from kernelwright.errors import RefereeError
from kernelwright.evaluate.sandbox.child import (
    Child,
    ChildGoneError,
    ChildMovedError,
    ChildSlowError,
    Meanwhile,
    Response,
)
from kernelwright.evaluate.sandbox.messages.base import Answer, Command, MalformedError, R
from kernelwright.evaluate.sandbox.messages.calls import LIBRARY_FULL

ERROR = 200
"""Most characters of an error's name that are kept: it is the child's own word."""
OUT_OF_MEMORY = ("OutOfMemoryError", "CUDAOutOfMemoryError")
"""What torch raises where the device's memory is full."""
LOG = 20000
COMPILED = ("compile", "compile_max", "freeze", "graph")
"""Variants of a reference that PyTorch makes of it for comparison: a fault in one of them says nothing of the reference."""
"""Most characters of a traceback that are kept."""


class ChildRaisedError(Exception):
    """Untrusted code raised; `log` is its traceback."""

    def __init__(self, name: str, log: str) -> None:
        super().__init__(f"{name}: {log[-1500:]}")
        self.name, self.log = name, log

    @property
    def full(self) -> bool:
        """Whether the device's memory was full, for PyTorch's allocator or for a library that has its own."""
        return self.name in OUT_OF_MEMORY or any(word in self.log for word in LIBRARY_FULL)


class ReferenceRaisedError(RefereeError):
    """An admitted reference raised: what the referee gave it does not suit the task."""


class ReferenceEndedError(RefereeError):
    """An admitted reference's process ended, or hung, at a `variant` that PyTorch's compiler made: it can be done without."""

    def __init__(self, variant: str, told: str, reason: str) -> None:
        super().__init__(told)
        self.variant, self.reason = variant, reason


class DeviceFullError(Exception):
    """A trusted side ran out of device memory, and again after what could be freed had been; `part` says at what."""

    def __init__(self, part: str, log: str) -> None:
        super().__init__(f"{part}: {log.strip().splitlines()[-1] if log.strip() else 'out of memory'}")
        self.part = part


class TamperedError(Exception):
    """The answer is not one that our own code in the child gives."""


@dataclass(frozen=True)
class ProcessOptions:
    """How a process is asked: settled before its first question."""

    freeze: bool = True
    """It stands still between two questions."""
    serials: bool = True
    """An answer must name its question; only a test of the defence lets another pass."""
    runs_reference: bool = False
    """It runs the task's own code: its lack of memory is nobody's fault."""
    relieve: Callable[[], None] | None = None
    """Frees what device memory it can, after a question ran out of it; the question is then put once more."""
    aside: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered around each question: where a reference computes on the host, others may have the device meanwhile."""


USUAL = ProcessOptions()


class Process:
    """One sandboxed child: questions, their limit, and whose fault its failures are."""

    def __init__(self, child: Child, limit_s: float, options: ProcessOptions = USUAL) -> None:
        self.child, self.limit_s, self.options = child, limit_s, options
        self._trusted = ""

    def trust(self, name: str) -> None:
        """From now on it is an admitted reference: its failure is the referee's own, and is told under this name."""
        self._trusted = name

    def limit(self, limit_s: float) -> None:
        """From now on a question may take so many seconds."""
        self.limit_s = limit_s

    @contextmanager
    def limited(self, limit_s: float) -> Iterator[None]:
        """Meanwhile a question may take so many seconds."""
        usual, self.limit_s = self.limit_s, limit_s
        try:
            yield
        finally:
            self.limit_s = usual

    def ask(self, command: Command[R], limit_s: float | None = None) -> R:
        """Put a question.

        Raises:
            ChildGoneError, ChildSlowError: as `Child.ask`.
            ChildRaisedError: untrusted code raised.
            TamperedError: the answer belongs to no question of ours, or is none of our code's.
            RefereeError: any of these, of a trusted side; or a side that takes no such command.
        """
        return self.put(command, limit_s)[0]

    def put(
        self, command: Command[R], limit_s: float | None = None, meanwhile: Meanwhile | None = None, aside: bool = True
    ) -> tuple[R, Response[R]]:
        """As `ask`, with what the clock says; `aside` is False where the device is needed whatever the side computes on."""
        try:
            return self._put_once(command, limit_s, meanwhile, aside)
        except ChildRaisedError as error:
            if not error.full or self.options.relieve is None:
                raise
        self.options.relieve()
        try:
            return self._put_once(command, limit_s, meanwhile, aside)
        except ChildRaisedError as error:
            if error.full and self.options.runs_reference:
                raise DeviceFullError(f"{command.name} {getattr(command, 'variant', '')}".strip(), error.log) from None
            raise

    def must_have_stood_still(self) -> None:
        """The last question has been put: it must still be as the last answer left it.

        Raises:
            TamperedError: it ran since then.
        """
        try:
            self.child.must_have_stood_still()
        except ChildMovedError as error:
            raise TamperedError(str(error)) from None

    def close(self) -> None:
        """End the child."""
        self.child.close()

    def _believed(self, told_ns: int) -> int:
        """A time that only a trusted side's word tells."""
        return told_ns if self._trusted else 0

    def _put_once(
        self, command: Command[R], limit_s: float | None, meanwhile: Meanwhile | None, aside: bool
    ) -> tuple[R, Response[R]]:
        try:
            with self.options.aside() if aside else nullcontext():
                response = self.child.ask(command, limit_s or self.limit_s, self.options.freeze, meanwhile)
            return self._reply(response.answer), response
        except ChildMovedError as error:
            raise TamperedError(str(error)) from None
        except (ChildGoneError, ChildSlowError, ChildRaisedError, TamperedError, MalformedError) as error:
            if self._trusted and not (isinstance(error, ChildRaisedError) and error.full):
                told = f"{self._trusted} failed: {error!r} {getattr(error, 'log', '')[-2000:]}"
                variant = getattr(command, "variant", "")
                if isinstance(error, ChildGoneError | ChildSlowError) and variant in COMPILED:
                    raise ReferenceEndedError(variant, told, str(error)) from error
                raise (ReferenceRaisedError if isinstance(error, ChildRaisedError) else RefereeError)(told) from error
            if isinstance(error, MalformedError):
                raise TamperedError(f"malformed answer: {error}") from None
            raise

    def _reply(self, answer: Answer[R]) -> R:
        if self.options.serials and answer.serial != self.child.serial:
            raise TamperedError(f"answer {answer.serial} came for another question than ours")
        if answer.reply is None:
            assert answer.raised is not None, "an answer has one of them"
            name = answer.raised.error[:ERROR]
            # A class may be called anything, and lines of its own would look like ours.
            raise ChildRaisedError(name if name.isprintable() else repr(name), answer.raised.log[-LOG:])
        return answer.reply
