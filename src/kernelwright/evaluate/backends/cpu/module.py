"""The process of a candidate that is a Python module, on this machine's cores, as the grader sees it.

Parameters are given in a question of their own before each sample, so that a sample of a task that has parameters holds one
call: what is worked out of them alone serves no second one. While they are given the sample's inputs are not there yet, and
what that takes longer than it takes eager is added to the sample's time (`PairedBenchmark`): nothing can be worked out of
either beside the clock. With constant weights a sample holds as many calls as any other, and parameters are given once.

A result belongs to whom it was handed to. Before a sample the grader fills the last ones with poison, from outside: what a
module keeps of them holds nothing, and no question outside of the clock is asked for it, in which the module's own code
could run. No question leaves a process behind: one that was begun in it would not stand still while others are timed.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from pydantic import ValidationError

from kernelwright.evaluate.backends.cpu.process import fill, must_be_own, watch_pages
from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.child import Child, Meanwhile, Response
from kernelwright.evaluate.sandbox.compute_process import POISON_BYTE, ChildMemory, ComputeProcess, TimedRun, of_all
from kernelwright.evaluate.sandbox.handover import ToldHandover
from kernelwright.evaluate.sandbox.messages.base import Command, R
from kernelwright.evaluate.sandbox.messages.calls import Found, Run, TakeParameters
from kernelwright.evaluate.sandbox.messages.candidates import Clear, Held, TellParameters
from kernelwright.evaluate.sandbox.process import ProcessOptions, TamperedError
from kernelwright.records.task import Workload
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

TENSORS, ELEMENTS, ONE_IN = 8, 4, 4
"""Most tensors that are looked at, and elements of each; and how often that is, by lot: while it takes, what was copied cools
down, and a sample is the fastest of several rounds."""


@dataclass(frozen=True)
class ModuleTraits:
    """What the grader knows of a module when its process begins."""

    workload: Workload
    view: Callable[[int, int], torch.Tensor]
    """A tensor's window in the grader's arena."""
    constant: bool
    """Its parameters are given once."""
    may_begin: bool = False
    """It may begin processes of its own, which must have ended with every answer."""


class KeptResults(ChildMemory):
    """The module's own memory, with the last results in it that had the form they should."""

    def __init__(self, pid: int, outputs: Sequence[TensorSpec]) -> None:
        super().__init__(pid)
        watch_pages(pid)
        self._form = [(o.dtype, o.shape) for o in outputs]
        self._last: list[tuple[Found, ...]] = []

    def poison(self) -> None:
        """Fill them with poison, while the process stands still.

        Raises:
            TamperedError: they are not there any more.
        """
        areas = [(f.address, f.nbytes, POISON_BYTE) for call in self._last for f in call if f.nbytes]
        self._last = []
        fill(self._pid, areas, "its last results are not there any more")

    def keep(self, ran: TimedRun) -> None:
        """These are the last ones, which must lie in pages of the process's own.

        Raises:
            TamperedError: they do not.
        """
        # A result of another form is wrong whatever its pages are, and a lie about its shape would have us read many.
        self._last = [call for call in ran.results if [(f.dtype, f.shape) for f in call] == self._form]
        must_be_own(self._pid, self._last)


class ModuleProcess(ComputeProcess):
    """A child whose results are its own memory, and whose parameters are given before a sample."""

    def __init__(self, child: Child, limit_s: float, traits: ModuleTraits, options: ProcessOptions) -> None:
        self._results = KeptResults(child.pid, traits.workload.outputs)
        super().__init__(child, limit_s, options, self._results)
        self._traits, self._inputs = traits, len(traits.workload.tensors)
        self._check = ParameterCheck(child.pid, lambda: self.ask(TellParameters()).tensors, traits.view)
        self._given: tuple[int, ...] | None = ()
        self._given_ns = 0
        if traits.workload.parameters and not traits.constant:
            self.calls_at_once = 1

    def ready(self, calls: int) -> None:
        """Fill its last results with poison, while it stands still.

        Raises:
            TamperedError: they are not there any more.
        """
        self._results.poison()

    def take_parameters(self, offsets: Sequence[int]) -> None:
        """Give it the parameters at these offsets.

        Raises:
            TamperedError: it has not taken them.
            as `ask`.
        """
        if not offsets:
            return
        self._given, self._given_ns = tuple(offsets), self.put(TakeParameters(offsets=offsets))[1].outside_ns
        if not self._traits.constant:
            self._check(self._inputs, offsets)

    def take_ahead(self, calls: Sequence[Sequence[int]]) -> None:
        """See `ComputeProcess.take_ahead`."""
        if self.calls_at_once == 1 and len(calls) == 1:
            self.take_parameters(self._common(calls))

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> TimedRun:
        """See `ComputeProcess.run`.

        Raises:
            TamperedError: a result is memory of somebody else's, or it has processes of its own.
            as `ask` and `ready`.
        """
        given_ns = self._give(self._common(calls))
        if checked:
            self.ready(len(calls))
            self.ask(Clear(count=len(calls)))
        self.calls += len(calls)
        ran, response = self.put(Run(calls=[offsets[: self._inputs] for offsets in calls], variant=variant))
        results, inside_ns = of_all(ran.results, len(calls)), max(1, ran.ns)
        found = TimedRun(results, max(1, response.outside_ns), inside_ns, response.cpu_ns, given_ns=given_ns)
        self._results.keep(found)
        return found

    def run_in_turn(self, calls: Sequence[Sequence[int]], variant: str = "", idle: bool = False) -> TimedRun:
        """See `ComputeProcess.run_in_turn`; a result must be there when its call is said to be done.

        Raises:
            TamperedError: one was not.
        """
        self._give(self._common(calls))
        sizes = [(o.numel, ITEM_BYTES[o.dtype]) for o in self._traits.workload.outputs if o.numel]
        said, response = self.hand_over(ToldHandover(self.child.pid, [c[: self._inputs] for c in calls], sizes))
        ran = TimedRun(said.results, response.outside_ns, 1, response.cpu_ns)
        self._results.keep(ran)
        return ran

    def put(
        self, command: Command[R], limit_s: float | None = None, meanwhile: Meanwhile | None = None, aside: bool = True
    ) -> tuple[R, Response[R]]:
        """See `Process.put`.

        Raises:
            TamperedError: it has processes of its own while it stands still.
        """
        found = super().put(command, limit_s, meanwhile, aside)
        if self._traits.may_begin and self.child.has_strays():
            raise TamperedError("it has processes of its own while it stands still")
        return found

    def _give(self, wanted: tuple[int, ...]) -> int:
        """Nanoseconds outside in which it was given the parameters at these offsets: now, or while inputs were not there."""
        if self._given != wanted:
            self.take_parameters(wanted)
        # Others may come to lie at the same place.
        self._given = self._given if self._traits.constant else None
        return self._given_ns if wanted and not self._traits.constant else 0

    def _common(self, calls: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The parameters of these calls, which are the same of all."""
        wanted = {tuple(offsets[self._inputs :]) for offsets in calls}
        assert len(wanted) == 1, "a sample of a module has one set of parameters"
        return wanted.pop()


class ParameterCheck:
    """Whether a module holds the parameters that it was given, after it says so: copying costs time that eager spends too.

    A few elements of each tensor, drawn after the process has been stopped, are read from its memory and compared with what
    lies in the arena. Where its tensors lie is the process's own word; that what lies there is right is not, nor that the
    pages are its own: the arena, which is mapped there too, is somebody else's.

    `tell` asks the process where they lie, `view` is a tensor's window in the grader's arena.
    """

    def __init__(
        self, pid: int, tell: Callable[[], Sequence[Held | None]], view: Callable[[int, int], torch.Tensor]
    ) -> None:
        self._pid, self._tell, self._view = pid, tell, view
        self._tensors: Sequence[Held | None] | None = None

    def __call__(self, first: int, offsets: Sequence[int]) -> None:
        """Look at some of what was given; `first` is the place of the first parameter among all tensors.

        A module may have moved its tensors since it told where they are: it is asked once more.

        Raises:
            TamperedError: it holds something else.
        """
        if self._tensors is not None and (secrets.randbelow(ONE_IN) or self._agree(first, offsets)):
            return
        self._tensors = self._tell()
        if len(self._tensors) != len(offsets) or not self._agree(first, offsets):
            raise TamperedError("it does not hold the parameters that it was given")

    def _agree(self, first: int, offsets: Sequence[int]) -> bool:
        assert self._tensors is not None
        # Of tied ones the last is copied last, to the same place.
        known = {one.address: (one, i) for i, one in enumerate(self._tensors) if one is not None}
        some = secrets.SystemRandom().sample(list(known.values()), min(TENSORS, len(known)))
        return all(self._holds(one, self._view(first + i, offsets[i])) for one, i in some)

    def _holds(self, held: Held, wanted: torch.Tensor) -> bool:
        if not wanted.numel():
            return True
        if len(held.strides) != wanted.dim() or held.dtype not in ITEM_BYTES:
            return False
        at = [secrets.randbelow(wanted.numel()) for _ in range(ELEMENTS)]
        got = self._read(held, [_element(number, wanted.shape, held.strides) for number in at])
        right = wanted.reshape(-1)[torch.tensor(at)].to(got.dtype)
        # By their bits: not all dtypes can be compared.
        return bool(torch.equal(got.view(torch.uint8), right.view(torch.uint8)))

    def _read(self, held: Held, places: Sequence[int]) -> torch.Tensor:
        """These elements, counted from the first, each from a page of the process's own."""
        size = next(size for dtype, size in ITEM_BYTES.items() if dtype == held.dtype)
        try:
            items = [Found(address=held.address + place * size, dtype=held.dtype, shape=(1,)) for place in places]
        except ValidationError:
            raise TamperedError("its parameters lie where no memory is") from None
        must_be_own(self._pid, [items], "parameters")
        got = torch.empty(len(items), dtype=getattr(torch, held.dtype))
        try:
            kernel.read_process(self._pid, [(f.address, f.nbytes) for f in items], got.data_ptr())
        except OSError as error:
            raise TamperedError(f"its parameters do not lie where it says: {error}") from None
        return got


def _element(number: int, shape: Sequence[int], strides: Sequence[int]) -> int:
    """Where an element lies, counted in elements from the first; `number` counts them row by row."""
    place = 0
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        number, index = divmod(number, size)
        place += index * stride
    return place
