"""The grader's view of a child that computes results: put calls to it, read what it left in its own memory.

Addresses, shapes and times come from a process that may lie: an address is only read, a shape only compared, and the
time that counts is the grader's own.
"""

import ctypes
import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.child import (
    Child,
    ChildGoneError,
    ChildMovedError,
    ChildSlowError,
    Meanwhile,
    Response,
)
from kernelwright.evaluate.sandbox.handover import Handover, WatchedHandover
from kernelwright.evaluate.sandbox.messages.base import Answer, Command, MalformedError, R
from kernelwright.evaluate.sandbox.messages.calls import LIBRARY_FULL, Found, RanInTurn, Run, RunInTurn
from kernelwright.records.tensor import TensorSpec

GUARD = 4096
"""Bytes of the zone before and behind a result that nobody may write to."""
GUARD_BYTE = 0xA5
ERROR = 200
"""Most characters of an error's name that are kept: it is the child's own word."""
OUT_OF_MEMORY = ("OutOfMemoryError", "CUDAOutOfMemoryError")
"""What torch raises where the device's memory is full."""
LOG = 20000
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


class DeviceFullError(Exception):
    """A trusted side ran out of device memory, and again after what could be freed had been; `part` says at what."""

    def __init__(self, part: str, log: str) -> None:
        super().__init__(f"{part}: {log.strip().splitlines()[-1] if log.strip() else 'out of memory'}")
        self.part = part


class TamperedError(Exception):
    """The answer is not one that our own code in the child gives."""


@dataclass(frozen=True)
class Ran:
    """Results of one sample, one list a call, and both clocks."""

    results: tuple[tuple[Found, ...], ...]
    outside_ns: int
    inside_ns: int
    cpu_ns: int = 0
    """Processor time of all its threads for this sample, from the kernel."""
    each_ns: tuple[int, ...] = ()
    """Time of each call on the device, where every call is timed by itself."""
    queued_ns: int = 0
    """Longest that the child says it took to put one call on the device's queue."""
    exported_ns: int = 0
    """Time outside for handing over the results, where that is a question of its own."""
    beside_ns: int = 0
    """Time outside in which a trusted side was given the parameters of each call."""
    given_ns: int = 0
    """Time outside in which it was given the parameters of its calls, where that is a question of its own; of a trusted side,
    what such a question would have taken it."""

    @property
    def hidden_ns(self) -> int:
        """Time that passed outside and that the child's own clock does not admit to."""
        return self.outside_ns - self.inside_ns

    def must_be_disjoint(self) -> None:
        """Every result has memory of its own, as a new result has in eager.

        Raises:
            TamperedError: two of them share some.
        """
        spans = sorted((f.address, f.address + f.nbytes) for call in self.results for f in call if f.nbytes)
        for (_, end), (start, _) in itertools.pairwise(spans):
            if start < end:
                raise TamperedError(f"two results of one sample share the memory at {start:#x}")


def of_all(results: tuple[tuple[Found, ...], ...], calls: int) -> tuple[tuple[Found, ...], ...]:
    """The results, which must be those of so many calls.

    Raises:
        TamperedError: they are not.
    """
    if len(results) != calls:
        raise TamperedError(f"malformed answer: {calls} calls were asked for and {len(results)} answered")
    return results


def _name(told: str) -> str:
    """An error's name, as a child tells it: a class may be called anything, and lines of its own would look like ours."""
    return told if told.isprintable() else repr(told)


class CandidateProcess:
    """A child with results to read. `limit_s` bounds each question."""

    def __init__(self, child: Child, limit_s: float) -> None:
        self.child, self.limit_s = child, limit_s
        self.freeze = True
        self.serials = True
        """Whether an answer must name its question; only a test of the defence lets another pass."""
        self.busy_ns = 0
        """How long its device is kept busy before a timed call, so that host work does not show; a CPU has none."""
        self.watched = False
        """Whether the device's clock looks for work on other streams; for all sides of a benchmark alike."""
        self.guarded_in_time = True
        """Whether there are guards around results that are timed, and time to look at them."""
        self.relieve: Callable[[], None] | None = None
        """Frees what device memory it can, after a question ran out of it; the question is then put once more."""
        self.calls = 0
        """How often it has been asked to compute."""
        self.calls_at_once: int | None = None
        """Calls that one sample may hold at most; None: as many as there is room for."""
        self.before_ns = 0
        """Processor time that it had used when it was ready: for imports and compilers."""
        self.is_reference = False
        """Whether it runs the task's own code: its lack of memory is nobody's fault."""
        self.aside: Callable[[], AbstractContextManager[None]] = nullcontext
        """Entered around each question: where a reference computes on the host, others may have the device meanwhile."""
        self.trusted = ""
        """Set for an admitted reference: what it is called when its failure is the referee's own."""

    def ask(self, command: Command[R], limit_s: float | None = None) -> R:
        """Put a question.

        Raises:
            ChildGoneError, ChildSlowError: as `Child.ask`.
            ChildRaisedError: untrusted code raised.
            TamperedError: the answer belongs to no question of ours, or is none of our code's.
            RefereeError: any of these, of a trusted side; or a side that takes no such command.
        """
        return self._put(command, limit_s)[0]

    def has_room(self, outputs: Sequence[TensorSpec], calls: int) -> bool:
        """Whether the results of so many calls can be kept at once: a CPU's outbox holds two in any case."""
        return True

    def ready(self, calls: int) -> None:
        """Prepare for this many calls before there are inputs: a side whose results it allocates itself does nothing."""

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> Ran:
        """Have it compute once for every list of byte offsets; `checked` says that the results will be looked at.

        Raises:
            as `ask`.
        """
        self.calls += len(calls)
        ran, response = self._put(Run(calls=calls, variant=variant))
        outside_ns, inside_ns = max(1, response.outside_ns - self._believed(ran.beside_ns)), max(1, ran.ns)
        # Waking and answering are part of any question.
        given_ns = self._believed(ran.taken_ns) + outside_ns - inside_ns if self.trusted else 0
        return Ran(of_all(ran.results, len(calls)), outside_ns, inside_ns, response.cpu_ns, given_ns=given_ns)

    def compute(self, calls: Sequence[Sequence[int]], variant: str, limit_s: float) -> None:
        """Have it compute a variant for the first time, which may take as long as its compiler does.

        Raises:
            as `ask`.
        """
        self.ask(Run(calls=calls, variant=variant), limit_s)

    def take_parameters(self, offsets: Sequence[int]) -> None:
        """Make it ready for calls with the parameters at these offsets, where it does not read them there."""

    def take_ahead(self, calls: Sequence[Sequence[int]]) -> None:
        """Take the parameters of these calls, whose inputs are not there yet, where that is a question of its own."""

    def overhead_us(self, offsets: Sequence[int]) -> float:
        """What its clock says of a kernel that does nothing; a CPU's clock is outside."""
        return 0.0

    def run_in_turn(self, calls: Sequence[Sequence[int]], variant: str = "", idle: bool = False) -> Ran:
        """As `run`, with the calls handed over one by one: a call is told only when the one before is done.

        Nothing stands still in between: all of it is one stretch of the clock. `idle` has nothing computed.

        Raises:
            as `ask`.
        """
        self.calls += len(calls)
        turns = Handover(self.child.pid, calls)
        command = RunInTurn(count=len(calls), variant=variant, idle=idle)
        ran, response = self._put(command, meanwhile=turns.hand_over)
        results = () if idle else of_all(ran.results, len(calls))
        return Ran(results, max(1, response.outside_ns - self._believed(ran.beside_ns)), 1, response.cpu_ns)

    def _watched(self, turns: WatchedHandover) -> tuple[RanInTurn, Response[RanInTurn]]:
        """Hand calls over to a side whose word is not taken: a result must be there when its call is said to be done.

        Raises:
            TamperedError: one was not.
            as `ask`.
        """
        self.calls += turns.count
        said, response = self._put(RunInTurn(count=turns.count), meanwhile=turns.hand_over)
        try:
            late = turns.changed()
        except ValueError as error:
            raise TamperedError(str(error)) from None
        if late or turns.done < turns.count:
            raise TamperedError(f"{late} of {turns.done} calls were said to be done before they were")
        return said, response

    def run_waiting(self, calls: Sequence[Sequence[int]], variant: str = "") -> Ran:
        """As `run`, with every result waited for before the next call: on a CPU there is no other way."""
        return self.run(calls, checked=False, variant=variant)

    def _put(
        self, command: Command[R], limit_s: float | None = None, meanwhile: Meanwhile | None = None
    ) -> tuple[R, Response[R]]:
        try:
            return self._put_once(command, limit_s, meanwhile)
        except ChildRaisedError as error:
            if not error.full or self.relieve is None:
                raise
        self.relieve()
        try:
            return self._put_once(command, limit_s, meanwhile)
        except ChildRaisedError as error:
            if error.full and self.is_reference:
                raise DeviceFullError(f"{command.name} {getattr(command, 'variant', '')}".strip(), error.log) from None
            raise

    def _put_once(
        self, command: Command[R], limit_s: float | None, meanwhile: Meanwhile | None
    ) -> tuple[R, Response[R]]:
        try:
            with self.aside():
                response = self.child.ask(command, limit_s or self.limit_s, self.freeze, meanwhile)
            return self._checked(response.answer), response
        except ChildMovedError as error:
            raise TamperedError(str(error)) from None
        except (ChildGoneError, ChildSlowError, ChildRaisedError, TamperedError, MalformedError) as error:
            full = isinstance(error, ChildRaisedError) and error.full
            if self.trusted and isinstance(error, ChildRaisedError) and not full:
                raise ReferenceRaisedError(f"{self.trusted} failed: {error!r} {error.log[-2000:]}") from error
            if self.trusted and not full:
                log = getattr(error, "log", "")
                raise RefereeError(f"{self.trusted} failed: {error!r} {log[-2000:]}") from error
            if isinstance(error, MalformedError):
                raise TamperedError(f"malformed answer: {error}") from None
            raise

    def read(self, found: Found) -> torch.Tensor:
        """Copy a result from the frozen child.

        Raises:
            TamperedError: there is no such memory.
        """
        return self.read_parts(found, ((0, found.numel),)).view(found.shape)

    def read_parts(self, found: Found, parts: Sequence[tuple[int, int]]) -> torch.Tensor:
        """Copy some elements of a result, stretches of (first, count), one behind the other: flat.

        Raises:
            TamperedError: there is no such memory.
        """
        result = torch.empty(sum(count for _, count in parts), dtype=getattr(torch, found.dtype))
        item = found.item_bytes
        self._copy([(found.address + first * item, count * item) for first, count in parts], result.data_ptr())
        return result

    def guards_intact(self, found: Found) -> bool:
        """Whether nothing was written directly before or behind a result."""
        zones = (ctypes.c_ubyte * (2 * GUARD))()
        self._copy([(found.address - GUARD, GUARD), (found.address + found.nbytes, GUARD)], ctypes.addressof(zones))
        return bytes(zones) == bytes([GUARD_BYTE]) * (2 * GUARD)

    def rest(self) -> None:
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

    def _believed(self, beside_ns: int) -> int:
        """How long a trusted side took to be given the parameters of its calls, which others read where they lie."""
        return beside_ns if self.trusted else 0

    def _checked(self, answer: Answer[R]) -> R:
        if self.serials and answer.serial != self.child.serial:
            raise TamperedError(f"answer {answer.serial} came for another question than ours")
        if answer.reply is None:
            assert answer.raised is not None, "an answer has one of them"
            raise ChildRaisedError(_name(answer.raised.error[:ERROR]), answer.raised.log[-LOG:])
        return answer.reply

    def _copy(self, pieces: Sequence[tuple[int, int]], into: int) -> None:
        try:
            kernel.read_process(self.child.pid, pieces, into)
        except OSError as error:
            size = sum(length for _, length in pieces)
            raise TamperedError(f"no result of {size} bytes from {pieces[0][0]:#x} on: {error}") from None
