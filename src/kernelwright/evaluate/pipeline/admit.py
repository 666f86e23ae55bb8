"""Admission: can this task be judged at all, and what is it as data?

A reference is refused if it fails, is random beyond dropout, is not finite, ignores an input, or is met by a trivial
answer (zeros, ones, a constant, a slice of an input, the input itself, its mean) wherever it is defined.
"""

import os
import re
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from itertools import product

import torch

from kernelwright.errors import TaskError
from kernelwright.evaluate import float8, pieces
from kernelwright.evaluate.backends.backend import Backend, CloseOldest
from kernelwright.evaluate.backends.host import LIMIT_S
from kernelwright.evaluate.backends.table import may_use_tf32
from kernelwright.evaluate.pipeline import machine
from kernelwright.evaluate.pipeline.rules import comparators
from kernelwright.evaluate.pipeline.untraced import LAST_LINES, exception_of, place_of, untraced_words, with_reason
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess
from kernelwright.evaluate.sandbox.messages.calls import ExportGraph
from kernelwright.evaluate.sandbox.messages.tasks import LoadTask, TaskLoaded, Widen
from kernelwright.evaluate.sandbox.process import ChildRaisedError, DeviceFullError, TamperedError
from kernelwright.evaluate.session.cases import NO_ROOM, Case, OriginalTask
from kernelwright.evaluate.session.expectations import draws_of
from kernelwright.evaluate.session.limits import refuse_elsewhere
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.verify import compare
from kernelwright.evaluate.verify.distributions import ALIKE, AS_GIVEN
from kernelwright.execution import job
from kernelwright.records.comparator import Statistical
from kernelwright.records.free_sizes import FreeSizes
from kernelwright.records.graph import OpGraph
from kernelwright.records.numerics import Numerics
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

COPIES = ("clone", "view", "contiguous", "alias", "detach", "reshape", "permute", "transpose", "_to_copy", "to.")
SMALL = 16
"""Share of what a call reads and writes below which an input may matter less than rounding: not to read it gains nothing."""
NOTHING = 1e-13
"""Relative difference of two results in double precision that are one."""
PROBES = ("zeros", "ones", "a constant", "an input's slice", "the input itself", "an input's mean")
"""Trivial answers that must fail."""

_MISSING = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_ALLOCATION = re.compile(r"can't allocate memory|MemoryError|std::bad_alloc|Cannot allocate memory")
_NO_ARGUMENTS = re.compile(r"^TypeError: Model\.__init__\(\) missing \d+ required ", re.MULTILINE)


def open_session(
    backend: Backend, source: TaskSource, target: Target, policy: Policy, close_oldest: CloseOldest
) -> Session:
    """Run the reference, describe it, and admit it.

    Raises:
        TaskError: it cannot be judged, with the reason and the fix.
    """
    refuse_elsewhere(source, target, backend.is_gpu)
    try:
        with ExitStack() as undone:
            process = backend.reference(source, policy, close_oldest)
            undone.callback(process.close)
            # Where no time is taken, workers share the cores, and their children what threads one user may have.
            threads = len(os.sched_getaffinity(0)) if backend.clock else 1
            command = LoadTask(
                source=source.source,
                threads=threads,
                numerics=policy.numerics,
                state=policy.state,
                most_bytes=backend.most_bytes,
            )
            original = _describe(process, source, target, command)
            job.note("computing the right answers in fp64, for every kind of input")
            session = backend.session(original, process, policy, close_oldest)
            undone.callback(session.close)
            _must_be_fit(session)
            undone.pop_all()
    except ChildRaisedError as error:
        raise _raised(source, error, policy) from None
    except ChildGoneError as error:
        raise _gone(source, error, policy) from None
    except TamperedError as error:
        raise TaskError(f"the reference of {source.name!r} tampers with its process: {error}", "dies") from None
    except ChildSlowError:
        raise TaskError(
            f"the reference of {source.name!r} took longer than {LIMIT_S:.0f} s; make its inputs smaller",
            "slow",
        ) from None
    process.trust(f"the reference of {source.name!r}")
    job.kept(process.child)
    return session


def _must_be_fit(session: Session) -> None:
    if session.unfit:
        raise TaskError(
            f"{session.task.name!r} cannot be judged on its own inputs: {session.unfit}. Infinities are compared where eager "
            "and the reference in fp64 have the same ones",
            "not_finite",
        )
    if session.policy.defences.admission and not _is_beside_others(session.task.source):
        job.note("trying answers that must not pass")
        _refuse_independent(session)
        _refuse_trivial(session)


def _is_beside_others(source: TaskSource) -> bool:
    """Whether it is one workload of several, and not the main one: no kernel is judged there alone, so it may be trivial."""
    return source.part is not None and not source.part.main


def may_round(target: Target, workload: Workload, graph: OpGraph, numerics: Numerics) -> bool:
    """Whether flags let products of float32 that this task has round their factors to TF32, where its device can.

    Whether eager did is no matter: cuDNN and cuBLAS decide by shapes and layouts, and of terms of one sign the errors cancel.
    """
    # A counter among the state says nothing about the precision of the rest.
    single = {spec.dtype for spec in workload.outputs if spec.floating} == {"float32"}
    allowed = any(
        numerics.allows_tf32(convolution=kind) and graph.has_products(convolution=kind) for kind in (True, False)
    )
    return single and may_use_tf32(target) and allowed


def _describe(reference: ComputeProcess, source: TaskSource, target: Target, command: LoadTask) -> OriginalTask:
    loaded = reference.ask(command)
    _refuse_unfit(loaded, source)
    workload = Workload(
        inputs=loaded.inputs,
        parameters=loaded.parameters,
        outputs=loaded.outputs,
        tree=loaded.tree,
        result=loaded.result,
        changes=loaded.changes,
        state=loaded.state,
        constants=loaded.constants,
    )
    declared = {d.position: d for d in source.domains}
    inputs = tuple(
        i.model_copy(update={"domain": declared[n].domain, "bound": declared[n].bound or i.bound})
        if isinstance(i, TensorSpec) and n in declared
        else i
        for n, i in enumerate(workload.inputs)
    )
    job.note("tracing the reference with torch.export")
    graph, free = _traced(reference, source)
    inputs, parameters = _widened(reference, inputs, workload, {*declared, *_stated(source)})
    workload = workload.model_copy(update={"inputs": inputs, "parameters": parameters})
    random = tuple(i for i, differs in enumerate(loaded.random) if differs)
    rules = comparators(source, workload, graph, random)
    flags = Numerics(mode=command.numerics, flags=loaded.flags)
    flags = flags.model_copy(update={"tf32": may_round(target, workload, graph, flags)})
    task = Task(
        source=source, target=target, workload=workload, graph=graph, comparators=rules, numerics=flags, free=free
    )
    return OriginalTask(
        task,
        loaded.init,
        "",
        loaded.spread,
        loaded.scratch_bytes,
        loaded.rows_apart,
        dict(loaded.tied),
        loaded.infinite,
    )


def _traced(reference: ComputeProcess, source: TaskSource) -> tuple[OpGraph, FreeSizes | None]:
    """The graph, and which sizes are free; where torch.export cannot trace the reference, one operation that says why."""
    told = reference.ask(ExportGraph(sizes=not _is_beside_others(source)))
    if told.fault:
        return with_reason(told.graph, untraced_words(source, told.fault, told.log)), None
    return told.graph, told.free


def _stated(source: TaskSource) -> set[int]:
    """Inputs of a serial function whose values its specification says to be of one sign."""
    inputs = source.spec.inputs if source.spec else ()
    return {n for n, one in enumerate(inputs) if one.values in ("uniform", "positive")}


def _widened(
    reference: ComputeProcess, inputs: tuple[TensorSpec | Scalar, ...], workload: Workload, declared: Collection[int]
) -> tuple[tuple[TensorSpec | Scalar, ...], tuple[TensorSpec, ...]]:
    """What came without signs is evidence and no limit: inputs and parameters have them where the reference is defined so."""
    tried = [n for n in _unsigned(inputs) if n not in declared]
    own = [n for n in _unsigned(workload.parameters) if workload.parameters[n].name not in workload.constants]
    if not tried and not own:
        return inputs, workload.parameters
    found = reference.ask(Widen(inputs=tried, parameters=own))
    signed, signed_own = {*found.inputs} & {*tried}, {*found.parameters} & {*own}
    return (
        tuple(_real(i) if isinstance(i, TensorSpec) and n in signed else i for n, i in enumerate(inputs)),
        tuple(_real(p) if n in signed_own else p for n, p in enumerate(workload.parameters)),
    )


def _unsigned(specs: Sequence[TensorSpec | Scalar]) -> list[int]:
    return [
        n for n, one in enumerate(specs)
        if isinstance(one, TensorSpec) and one.numel and one.domain is Domain.NON_NEGATIVE
    ]  # fmt: skip


def _real(spec: TensorSpec) -> TensorSpec:
    return spec.model_copy(update={"domain": Domain.REAL})


def _refuse_unfit(loaded: TaskLoaded, source: TaskSource) -> None:
    name = source.name
    if loaded.grown:
        raise TaskError(
            f"the reference of {name!r} adds parameters or buffers in forward: register them in __init__",
            "mutates_state",
        )
    declared = {d.position for d in source.comparators if isinstance(d.comparator, Statistical)}
    random = {i for i, differs in enumerate(loaded.random) if differs}
    if declared - random:
        raise TaskError(
            f"COMPARATORS of {name!r} declares output {min(declared - random)} statistical, and two calls on the same "
            "inputs give the same: leave it out, and the output is compared value by value"
        )
    if loaded.broken:
        raise TaskError(f"the reference of {name!r} gives NaN on its own inputs: {loaded.broken}", "not_finite")
    if not any(output.numel for output in loaded.outputs) and not _is_beside_others(source):
        raise TaskError(
            f"{name!r} cannot be judged: its result has no elements, or is no tensor, so that every answer would pass. "
            "Give it inputs that are not empty",
            "trivial",
        )


def _refuse_independent(session: Session) -> None:
    """Every input must matter: with other values for it alone, the result changes beyond what is allowed.

    Memory that a serial function both reads and writes need not: it may be scratch, such as the second of two fields that take
    turns.
    """
    # The mean of a billion elements hardly moves between two draws, so that every value there is counts: other draws
    # and, where the domain admits them, other input distributions.
    serial = session.task.source.spec
    written = {n for n, one in enumerate(serial.inputs) if one.inout} if serial else set()
    for index, spec in enumerate(session.inputs):
        if index in written:
            continue
        pairs = [p for p in exchanges(session, index) if _other_values(session, index, *p)] if spec.numel else []
        if not pairs or not all(_same_with(session, index, *pair) for pair in pairs):
            continue
        if not any(_moves_with(session, index, *pair) for pair in pairs):
            raise TaskError(
                f"the result of {session.task.name!r} does not depend on input {spec.name!r}; remove it",
                "ignores_input",
            )
        if SMALL * spec.nbytes > session.task.workload.compulsory_bytes:
            raise TaskError(
                f"{session.task.name!r} cannot be judged: other values for input {spec.name!r} change its result in no case "
                "by more than rounding may, so that a kernel that does not read it would pass. Give it inputs on which it "
                "matters more",
                "trivial",
            )


def exchanges(session: Session, index: int) -> list[tuple[Case, Case]]:
    """Cases in which an input can be exchanged for another case's.

    The first one's for any other's, and any other's for the first one's: a loss of what was drawn may be the same for
    every target. And where it matters which positions were chosen, for what was drawn, which lies in no other case's place.
    """
    first, *others = session.cases
    alike = [case for case in others if case.distribution == ALIKE.name]
    drawn = [case for case in session.cases if case.distribution == AS_GIVEN.name]
    pairs = [*((first, other) for other in others), *((other, first) for other in others), *product(alike, drawn)]
    return [(given, other) for given, other in pairs if given.offsets[index] != other.offsets[index]]


def _other_values(session: Session, index: int, given: Case, other: Case) -> bool:
    """Whether an input has other values in the second case: position ids and masks may be the same in all of them."""
    here, there = (session.view(index, session.present(case).offsets[index]) for case in (given, other))
    return not pieces.equal(float8.bits(here), float8.bits(there))


def _moves_with(session: Session, index: int, given: Case, other: Case) -> bool:
    """Whether the reference's result in double precision is another one with another case's values for one input."""
    session.present(given)
    before = [r.clone() for r in session.results("fp64", given.offsets)]
    offset = session.present(other).offsets[index]
    after = session.results("fp64", (*given.offsets[:index], offset, *given.offsets[index + 1 :]))
    pairs = (compare.beside_infinities(a.double(), b.double()) for a, b in zip(after, before, strict=True))
    return any(compare.largest_error(a, b, compare.scale_of(b)) > NOTHING for a, b in pairs)


def _same_with(session: Session, index: int, given: Case, other: Case) -> bool:
    found = results_with(session, index, given, other)
    return all(e.judge(f)[1] is None for f, e in zip(found, given.expected, strict=True))


def results_with(session: Session, index: int, given: Case, other: Case) -> list[list[torch.Tensor]]:
    """Eager's results of a case with another case's values for one input: as many as each comparison needs."""
    session.present(given)
    offset = session.present(other).offsets[index]
    changed = (*given.offsets[:index], offset, *given.offsets[index + 1 :])
    results = session.results("eager", changed)
    return [
        _draws(session, changed, i) if e.draws > 1 else [r]
        for i, (r, e) in enumerate(zip(results, given.expected, strict=True))
    ]


def _draws(session: Session, offsets: tuple[int, ...], output: int) -> list[torch.Tensor]:
    """As many draws of a random output as its comparison needs."""
    spec, rule = session.task.workload.outputs[output], session.task.comparator(output)
    assert isinstance(rule, Statistical)
    whole = draws_of(session, output, offsets, rule.draws, ((0, spec.numel),))
    return [draw.view(spec.shape) for draw in whole]


def _refuse_trivial(session: Session) -> None:
    nodes = [n.op.removeprefix("aten.") for n in session.task.graph.nodes]
    if all(op.startswith(COPIES) for op in nodes):
        return
    # Where the mean is what is asked for, it is no shortcut.
    whole = any(op.startswith("mean") for op in nodes) and all(op.startswith((*COPIES, "mean")) for op in nodes)
    for name in PROBES[:-1] if whole else PROBES:
        if all(_answers(session, name, c) for c in range(len(session.cases))):
            if any(told.endswith(NO_ROOM) for told in session.dropped):  # those that are missing may tell
                raise DeviceFullError("cases that tell it from a trivial answer", f"{name} would pass in all others")
            raise TaskError(
                f"{session.task.name!r} cannot be judged: {name} would pass as the result in every case. Give it inputs "
                "on which its result varies by more than rounding does: of both signs, of other sizes, or more of them",
                "trivial",
            )


def _answers(session: Session, probe: str, case_number: int) -> bool:
    case = session.present(session.cases[case_number])
    inputs = [session.view(i, case.offsets[i]) for i, t in enumerate(session.inputs) if t.floating]
    for spec, expected in zip(session.task.workload.outputs, case.expected, strict=True):
        dtype = getattr(torch, spec.dtype)
        tried = guesses(probe, expected.value, inputs, dtype)
        if not any(expected.judge([g.to(dtype)] * expected.draws)[1] is None for g in tried):
            return False
    return True


def guesses(probe: str, wanted: torch.Tensor, inputs: list[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    """What a trivial answer could be for one output of this dtype; none where it has no such form."""
    if probe == "zeros":
        return [wanted.new_zeros(()).expand_as(wanted)]
    if probe == "ones":
        return [wanted.new_ones(()).expand_as(wanted)]
    if probe == "a constant":
        return [_mean(wanted).to(dtype).expand_as(wanted)] if wanted.numel() > 1 else []
    if probe == "an input's mean":
        return [_mean(x).to(dtype).expand_as(wanted) for x in inputs]
    if probe == "the input itself":
        return [x for x in inputs if x.shape == wanted.shape]
    return [x.flatten()[: wanted.numel()].view(wanted.shape) for x in inputs if x.numel() > wanted.numel()]


def _mean(values: torch.Tensor) -> torch.Tensor:
    """In double precision, piece by piece: a copy of all could be too large."""
    parts = [part.double().sum() for part in pieces.of(values)]
    return torch.stack(parts).sum() / values.numel()


def _raised(source: TaskSource, error: ChildRaisedError, policy: Policy) -> TaskError:
    """The reference raised an exception."""
    whose = f"the reference of {source.name!r}"
    missing = _MISSING.search(error.log)
    if missing is not None:
        package = missing[1].partition(".")[0]
        return TaskError(
            f"{whose} imports {missing[1]!r}, which is not installed for this Python: pip install {package}, or leave "
            "the import out",
            "raises",
        )
    told = f"{whose} raised{place_of(source, error.log)}: {exception_of(error.name, error.log)}"
    cure = f" {_memory_words(policy)}" if _ALLOCATION.search(error.log) else ""
    if error.name in ("PermissionError", "FileNotFoundError"):
        cure = (
            ". It runs in a sandbox that sees no files but Python's own. A task is one file, which imports names from files "
            "beside it at its top; or hand the module itself to kernelwright.optimize(module, inputs)"
        )
    if _NO_ARGUMENTS.search(error.log):
        cure = ". Return them, in a list, from a function get_init_inputs() in the task's file"
    return TaskError(f"{told}{cure}", "raises")


def _gone(source: TaskSource, error: ChildGoneError, policy: Policy) -> TaskError:
    """The reference's process ended by itself, or was ended by the system."""
    whose, log = f"the reference of {source.name!r}", "\n".join(error.log.strip().splitlines()[-LAST_LINES:])
    if "SIGKILL" in error.reason:
        return TaskError(
            f"{whose} ended ({error.reason}), as processes do where memory runs out. {_memory_words(policy)}", "dies"
        )
    return TaskError(
        f"{whose} ended ({error.reason}). A reference may not write to its inputs, which are read-only. {log}".rstrip(),
        "dies",
    )


def _memory_words(policy: Policy) -> str:
    allowed = f"{policy.memory_bytes / 2**30:.0f} GiB"
    return (
        f"It may take {allowed} (memory_bytes under [policy] in the file that --config names), and this machine has "
        f"{machine.words(machine.memory())}. The referee holds the inputs several times over, and fp64 results: make the "
        "inputs smaller"
    )
