"""Candidates in their processes on this machine's cores: libraries, and Python modules.

A difference between two processes of one program may last for as long as they live, and several find room beside each other:
either can begin the task's own program as a candidate.
"""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager

from kernelwright.evaluate.backends.backend import NO_KERNELS, FirstCall
from kernelwright.evaluate.backends.cpu.module import ModuleProcess, ModuleTraits
from kernelwright.evaluate.backends.cpu.process import LibraryProcess, Loading
from kernelwright.evaluate.backends.host import Host, headers
from kernelwright.evaluate.languages.builder import Library
from kernelwright.evaluate.sandbox.child import Child
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.calls import TellPrecision
from kernelwright.evaluate.sandbox.messages.candidates import LoadModule, TellLibraryShare
from kernelwright.evaluate.session.binding import bound
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.loaded import BESIDE_EAGER, Instruments, LoadedCandidate, Respawn
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.languages import language, python_code
from kernelwright.records.evaluation import Refused
from kernelwright.records.measure import BuildFacts
from kernelwright.records.numerics import Flags

BUILDS = re.compile(r"\b(?:load_inline|cpp_extension)\b")
COMPILES = re.compile(r"\btorch\.(?:compile|_inductor)\b|\bfrom torch import\b.*\b(?:compile|_inductor)\b")
"""What of a text's code says that it starts compilers: to build an extension, or behind torch.compile."""
FIRST = FirstCall(
    "python", "load", frozenset({"BuildError", "SyntaxError", "ImportError", "ModuleNotFoundError", "ExtensionError"})
)
ENVIRONMENT = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_VEC_ISA_OK": "1", "USER": "kernelwright"}
NOT_RUN_YET = BuildFacts(compiler="python", seconds=0.0)
ABSENT = dict.fromkeys(("ablation", "own_share", "memcheck", "racecheck"), "it runs on no device of its own")
ABSENT_OF_LIBRARY = {
    "ablation": "a C++ candidate is one function: it has no launches to leave out",
    "own_share": "a C++ candidate runs on no device of its own",
    "memcheck": "compute-sanitizer looks at GPUs",
    "racecheck": "compute-sanitizer looks at GPUs",
}


class LoadedLibrary(LoadedCandidate):
    """A function of a shared object."""

    respawns = frozenset[Respawn]({"private", "eager"})

    def __init__(self, trial: Trial, host: Host, library: Library, private: bool = False) -> None:
        """Load it, with inputs that it may write to if they are private.

        Raises:
            OutcomeReached: this host cannot confine it as strictly as the policy wants.
            as `ComputeProcess.ask`.
        """
        self.trial, self._host, self._library, self.facts = trial, host, library, library.facts
        session, policy, candidate = trial.session, trial.policy, trial.candidate
        child = _confined(trial, host.warm.spawn("cpp", trial.jail()))
        outputs, own_memory = session.task.workload.outputs, policy.defences.own_memory
        process = LibraryProcess(child, policy.run_limit_s, outputs, trial.process_options(), own_memory)
        try:
            how = Loading(candidate.entry, host.device.cores, candidate.workspace_bytes, private)
            process.load(session.share(), library.descriptor, how)
        except BaseException:
            process.close()
            raise
        self.process = process

    @contextmanager
    def respawn(self, kind: Respawn, case: Case | None = None) -> Iterator[LoadedCandidate]:
        """See `LoadedCandidate.respawn`."""
        private = kind == "private"
        other = (
            LoadedLibrary(self.trial, self._host, self._library, private) if private else _eager(self.trial, self._host)
        )
        with closing(other.process):
            yield other

    def instruments(self) -> Instruments:
        """See `LoadedCandidate.instruments`."""
        return Instruments(absent=ABSENT_OF_LIBRARY)


class LoadedModule(LoadedCandidate):
    """A Python module."""

    process: ModuleProcess
    respawns = frozenset[Respawn]({"private", "again", "eager"})
    guarded = False

    def __init__(self, trial: Trial, host: Host, private: bool = False) -> None:
        """Import it, with inputs that it may write to if they are private.

        Raises:
            OutcomeReached: this host cannot confine it as strictly as the policy wants.
            as `ComputeProcess.ask`.
        """
        self.trial, self._host, self.facts = trial, host, NOT_RUN_YET
        session, policy, workload = trial.session, trial.policy, trial.session.task.workload
        made, constant = str(headers()) if builds(trial.candidate.source) else None, session.weights != "fresh"
        jail = _jail(trial, made)
        child = _confined(trial, host.warm.spawn("module", jail))
        # Where the host denies the filter, anybody may.
        traits = ModuleTraits(workload, session.view, constant, may_begin=jail.may_execute or bool(child.denied))
        self.process = process = ModuleProcess(child, policy.compile_limit_s, traits, trial.process_options())
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
            self.binding = process.ask(command).binding
        except BaseException:
            process.close()
            raise

    @contextmanager
    def respawn(self, kind: Respawn, case: Case | None = None) -> Iterator[LoadedCandidate]:
        """See `LoadedCandidate.respawn`."""
        if kind == "again":
            with load_module(self.trial.once_more(BESIDE_EAGER), self._host) as again:
                yield again
            return
        private = kind == "private"
        other = LoadedModule(self.trial, self._host, private) if private else _eager(self.trial, self._host)
        with closing(other.process):
            yield other

    def first_call(self) -> None:
        """Make it, and note what it took.

        Raises:
            OutcomeReached: it fails.
        """
        case = self.trial.session.present(self.trial.session.cases[0])
        self.facts = FIRST.of(lambda: self.process.run([case.offsets], checked=False))
        self.process.start_is_over()

    def instruments(self) -> Instruments:
        """See `LoadedCandidate.instruments`."""
        return Instruments(absent=ABSENT)

    def flags(self) -> Flags:
        """See `LoadedCandidate.flags`."""
        return self.process.ask(TellPrecision()).flags

    def library_share(self) -> float | None:
        """See `LoadedCandidate.library_share`."""
        offsets, inputs = self.trial.session.cases[0].offsets, len(self.trial.session.inputs)
        self.process.take_parameters(offsets[inputs:])
        return self.process.ask(TellLibraryShare(call=offsets[:inputs])).share


@contextmanager
def load_library(trial: Trial, host: Host, library: Library) -> Iterator[LoadedCandidate]:
    """A library in its process."""
    with trial.timed("load"):
        loaded = LoadedLibrary(trial, host, library)
    with closing(loaded.process):
        yield loaded


@contextmanager
def load_module(trial: Trial, host: Host) -> Iterator[LoadedCandidate]:
    """A module in its process, with its first call made.

    Raises:
        OutcomeReached: it cannot be built, leaves all to PyTorch where that is forbidden, or its parameters are none of
            the reference's.
        as `ComputeProcess.run`.
    """
    if trial.policy.library_calls == "forbid" and language(trial.candidate.language).leaves_all(trial.candidate.source):
        raise OutcomeReached(Refused(reason=NO_KERNELS))
    with trial.timed("load"):
        loaded = LoadedModule(trial, host)
    with closing(loaded.process):
        bound(trial, loaded.binding)
        with trial.timed("compile"):
            trial.found.stage = "load"
            loaded.first_call()
        loaded.process.limit(trial.policy.run_limit_s)
        yield loaded


def _eager(trial: Trial, host: Host) -> LoadedModule:
    """The task's own program in a process like a candidate's."""
    return LoadedModule(trial.of_eager("python", {}), host)


def builds(source: str) -> bool:
    """Whether the code of a text builds an extension; what its comments and strings say gives it no right."""
    return BUILDS.search(python_code(source)) is not None


def compiles(source: str) -> bool:
    """Whether the code of a text calls PyTorch's compiler, likewise."""
    return COMPILES.search(python_code(source)) is not None


def _confined(trial: Trial, child: Child) -> Child:
    """The child, if it is confined as strictly as the policy wants.

    Raises:
        OutcomeReached: this host denies a part of it.
    """
    if child.denied and trial.policy.isolation == "strict":
        child.close()
        reason = f"the host denies {', '.join(child.denied)}, and isolation is strict"
        raise OutcomeReached(Refused(reason=reason))
    return child


def _jail(trial: Trial, made: str | None) -> Jail:
    """That of any candidate; one that starts compilers may start programs, and sees torch's headers."""
    jail = trial.jail()
    if made is None and not compiles(trial.candidate.source):
        return jail
    update = {"may_execute": True, "tmpfs_bytes": 1 << 30, "environment": ENVIRONMENT}
    return jail.model_copy(update={**update, "readable": (made,) if made else ()})
