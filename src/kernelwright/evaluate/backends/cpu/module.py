"""A candidate that is a Python module, on this machine's cores: how it is loaded, and its process as the grader sees it.

Parameters are given in a question of their own before each sample, so that a sample of a task that has parameters holds one
call: what is worked out of them alone serves no second one. While they are given the sample's inputs are not there yet, and
what that takes longer than it takes eager is added to the sample's time (`PairedBenchmark`): nothing can be worked out of
either beside the clock. With constant weights a sample holds as many calls as any other, and parameters are given once.

A result belongs to whom it was handed to. Before a sample the grader fills the last ones with poison, from outside: what a
module keeps of them holds nothing, and no question outside of the clock is asked for it, in which the module's own code
could run. No question leaves a process behind: one that was begun in it would not stand still while others are timed.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from kernelwright.evaluate.backends.backend import BESIDE_EAGER, NO_KERNELS, Loaded
from kernelwright.evaluate.backends.cpu.held import HeldParameters
from kernelwright.evaluate.backends.cpu.process import must_be_own
from kernelwright.evaluate.backends.first_call import FirstCall
from kernelwright.evaluate.backends.host import Host, headers
from kernelwright.evaluate.backends.instruments import Instruments
from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess, Ran, TamperedError
from kernelwright.evaluate.sandbox.child import Child, Meanwhile, Response
from kernelwright.evaluate.sandbox.handover import ToldHandover
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.base import Command, R
from kernelwright.evaluate.sandbox.messages.calls import (
    Clear,
    Found,
    LoadModule,
    ModelLoaded,
    TakeParameters,
    TellLibraryShare,
    TellParameters,
    TellPrecision,
)
from kernelwright.evaluate.session.binding import bound
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.evaluate.verify.compare import POISON_BYTE
from kernelwright.languages import language, python_code
from kernelwright.records.evaluation import Refused
from kernelwright.records.measure import BuildFacts
from kernelwright.records.task import Workload
from kernelwright.records.tensor import ITEM_BYTES

BUILDS = re.compile(r"\b(?:load_inline|cpp_extension)\b")
COMPILES = re.compile(r"\btorch\.(?:compile|_inductor)\b|\bfrom torch import\b.*\b(?:compile|_inductor)\b")
"""What of a text's code says that it starts compilers: to build an extension, or behind torch.compile."""
FIRST = FirstCall(
    "python", "load", frozenset({"BuildError", "SyntaxError", "ImportError", "ModuleNotFoundError", "ExtensionError"})
)
ENVIRONMENT = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_VEC_ISA_OK": "1", "USER": "kernelwright"}


class ModuleProcess(CandidateProcess):
    """A child whose results are its own memory, and whose parameters are given before a sample."""

    def __init__(
        self,
        child: Child,
        limit_s: float,
        workload: Workload,
        constant: bool,
        view: Callable[[int, int], torch.Tensor],
    ) -> None:
        super().__init__(child, limit_s)
        self._held = HeldParameters(child.pid, lambda: self.ask(TellParameters()).tensors, view)
        self.guarded_in_time = False
        self.may_begin = False
        """Whether it may begin processes of its own, which must have ended with every answer."""
        self._workload, self._constant = workload, constant
        self._inputs = len(workload.tensors)
        self._given: tuple[int, ...] | None = ()
        self._given_ns = 0
        self._last: list[tuple[Found, ...]] = []
        """Its last results that have the form they should."""
        if workload.parameters and not constant:
            self.calls_at_once = 1

    def ready(self, calls: int) -> None:
        """Fill its last results with poison, while it stands still.

        Raises:
            TamperedError: they are not there any more.
        """
        areas = [(f.address, f.nbytes, POISON_BYTE) for call in self._last for f in call if f.nbytes]
        self._last = []
        try:
            kernel.fill_process(self.child.pid, areas)
        except OSError as error:
            raise TamperedError(f"its last results are not there any more: {os.strerror(error.errno or 0)}") from None

    def take_parameters(self, offsets: Sequence[int]) -> None:
        """Give it the parameters at these offsets.

        Raises:
            TamperedError: it has not taken them.
            as `ask`.
        """
        if not offsets:
            return
        self._given, self._given_ns = tuple(offsets), self._put(TakeParameters(offsets=offsets))[1].outside_ns
        if not self._constant:
            self._held.check(self._inputs, offsets)

    def take_ahead(self, calls: Sequence[Sequence[int]]) -> None:
        """See `CandidateProcess.take_ahead`."""
        if self.calls_at_once == 1 and len(calls) == 1:
            self.take_parameters(self._common(calls))

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> Ran:
        """As `CandidateProcess.run`.

        Raises:
            TamperedError: a result is memory of somebody else's, or it has processes of its own.
            as `ask` and `ready`.
        """
        given_ns = self._give(self._common(calls))
        if checked:
            self.ready(len(calls))
            self.ask(Clear(count=len(calls)))
        ran = super().run([offsets[: self._inputs] for offsets in calls], checked, variant)
        self._must_be_honest(ran)
        return replace(ran, given_ns=given_ns)

    def library_share(self, offsets: Sequence[int]) -> float | None:
        """See `Loaded.library_share`."""
        self.take_parameters(offsets[self._inputs :])
        return self.ask(TellLibraryShare(call=offsets[: self._inputs])).share

    def run_in_turn(self, calls: Sequence[Sequence[int]], variant: str = "", idle: bool = False) -> Ran:
        """As `CandidateProcess.run_in_turn`; a result must be there when its call is said to be done.

        Raises:
            TamperedError: one was not.
        """
        self._give(self._common(calls))
        sizes = [(o.numel, ITEM_BYTES[o.dtype]) for o in self._workload.outputs if o.numel]
        turns = ToldHandover(self.child.pid, [c[: self._inputs] for c in calls], sizes)
        said, response = self._watched(turns)
        ran = Ran(said.results, response.outside_ns, 1, response.cpu_ns)
        self._must_be_honest(ran)
        return ran

    def _give(self, wanted: tuple[int, ...]) -> int:
        """Nanoseconds outside in which it was given the parameters at these offsets: now, or while inputs were not there."""
        if self._given != wanted:
            self.take_parameters(wanted)
        # Others may come to lie at the same place.
        self._given = self._given if self._constant else None
        return self._given_ns if wanted and not self._constant else 0

    def _common(self, calls: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The parameters of these calls, which are the same of all."""
        wanted = {tuple(offsets[self._inputs :]) for offsets in calls}
        assert len(wanted) == 1, "a sample of a module has one set of parameters"
        return wanted.pop()

    def _must_be_honest(self, ran: Ran) -> None:
        # A result of another form is wrong whatever its pages are, and a lie about its shape would have us read many.
        wanted = [(o.dtype, o.shape) for o in self._workload.outputs]
        self._last = [call for call in ran.results if [(f.dtype, f.shape) for f in call] == wanted]
        must_be_own(self.child.pid, self._last)

    def _put(
        self, command: Command[R], limit_s: float | None = None, meanwhile: Meanwhile | None = None
    ) -> tuple[R, Response[R]]:
        found = super()._put(command, limit_s, meanwhile)
        if self.may_begin and self.child.has_strays():
            raise TamperedError("it has processes of its own while it stands still")
        return found


@contextmanager
def loaded_module(trial: Trial, host: Host, instruments: Callable[[], Instruments]) -> Iterator[Loaded]:
    """A module in its process, with its first call made.

    Raises:
        OutcomeReached: it cannot be built, leaves all to PyTorch where that is forbidden, or its parameters are none of
            the reference's.
        as `CandidateProcess.run`.
    """
    if trial.policy.library_calls == "forbid" and language(trial.candidate.language).leaves_all(trial.candidate.source):
        raise OutcomeReached(Refused(reason=NO_KERNELS))
    with trial.timed("load"):
        process, told = _process(trial, host)
    try:
        bound(trial, told.binding)
        with trial.timed("compile"):
            trial.stage = "load"
            facts = _first_call(trial, process)
        process.limit_s = trial.policy.run_limit_s
        yield Loaded(
            process,
            facts,
            again=lambda case: _process(trial, host, private=True)[0],
            eager_again=lambda: eager_again(trial, host),
            anew=lambda: _once_more(trial.once_more(BESIDE_EAGER), host, instruments),
            instruments=instruments,
            guarded=False,
            flags=lambda: process.ask(TellPrecision()).flags,
            library_share=lambda: process.library_share(trial.session.cases[0].offsets),
        )
    finally:
        process.close()


@contextmanager
def _once_more(own: Trial, host: Host, instruments: Callable[[], Instruments]) -> Iterator[tuple[Trial, Loaded]]:
    """The module in one more process, of its own trial, and ended again."""
    with loaded_module(own, host, instruments) as loaded:
        yield own, loaded


def eager_again(trial: Trial, host: Host) -> ModuleProcess:
    """The task's own program in a process like a candidate's.

    Raises:
        OutcomeReached: this host cannot confine it as strictly as the policy wants.
        as `CandidateProcess.run`.
    """
    return _process(trial.of_eager("python", {}), host)[0]


def builds(source: str) -> bool:
    """Whether the code of a text builds an extension; what its comments and strings say gives it no right."""
    return BUILDS.search(python_code(source)) is not None


def compiles(source: str) -> bool:
    """Whether the code of a text calls PyTorch's compiler, likewise."""
    return COMPILES.search(python_code(source)) is not None


def _process(trial: Trial, host: Host, private: bool = False) -> tuple[ModuleProcess, ModelLoaded]:
    session, workload = trial.session, trial.session.task.workload
    source, constant = trial.candidate.source, session.weights != "fresh"
    made = str(headers()) if builds(source) else None
    jail = _jail(trial, made)
    child = host.warm.spawn("module", jail)
    process = ModuleProcess(child, trial.policy.compile_limit_s, workload, constant, session.view)
    # Where the host denies the filter, anybody may.
    process.may_begin = jail.may_execute or bool(child.denied)
    starts, descriptors = session.share()
    command = LoadModule(
        starts=starts,
        candidate=trial.candidate,
        workload=workload,
        init=session.original.init_source(),
        threads=host.device.cores,
        headers=made,
        private=private,
        constant=constant,
        flags=session.task.numerics.flags,
        files=descriptors,
    )
    try:
        if process.child.denied and trial.policy.isolation == "strict":
            reason = f"the host denies {', '.join(process.child.denied)}, and isolation is strict"
            raise OutcomeReached(Refused(reason=reason))
        return process, process.ask(command)
    except BaseException:
        process.close()
        raise


def _jail(trial: Trial, made: str | None) -> Jail:
    """That of any candidate; one that starts compilers may start programs, and sees torch's headers."""
    jail = trial.jail()
    if made is None and not compiles(trial.candidate.source):
        return jail
    update = {"may_execute": True, "tmpfs_bytes": 1 << 30, "environment": ENVIRONMENT}
    return jail.model_copy(update={**update, "readable": (made,) if made else ()})


def _first_call(trial: Trial, process: ModuleProcess) -> BuildFacts:
    case = trial.session.present(trial.session.cases[0])
    facts = FIRST.of(process, lambda: process.run([case.offsets], checked=False))
    process.before_ns = process.child.cpu_ns
    return facts
