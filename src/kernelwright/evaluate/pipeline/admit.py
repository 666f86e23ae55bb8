"""Admission: may this task be judged at all, and what is it as data.

Decides what is refused: a reference that fails, changes its inputs or its state, is random, is not finite, ignores an
input, or is met by a trivial answer (zeros, ones, a constant, a slice of an input, the input itself, its mean).
"""

import os
from pathlib import Path

import torch

from kernelwright.errors import TaskError
from kernelwright.evaluate.pipeline.session import Presented, Session
from kernelwright.evaluate.pipeline.session_cuda import CudaContestant, CudaSession
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, Contestant
from kernelwright.evaluate.sandbox.jail import NOBODY, Jail
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.triton.reduce import Reduction
from kernelwright.evaluate.verify import compare
from kernelwright.execution import job
from kernelwright.records.graph import OpGraph
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import Scalar, TensorSpec

COPIES = ("clone", "view", "contiguous", "alias", "detach", "reshape", "permute", "transpose", "_to_copy", "to.")
LIMIT_S = 180.0


def open_session(warm: Warm, source: TaskSource, target: Target, policy: Policy, threads: int) -> Session:
    """Run the reference, describe it, and admit it.

    Raises:
        TaskError: it cannot be judged, with the reason and the cure.
    """
    reference = _reference(warm, target, policy)
    try:
        task, init = _describe(reference, source, target, threads)
        session = _session(task, init, reference, policy)
        _refuse_independent(session)
        _refuse_trivial(session)
        reference.trusted = f"the reference of {source.name!r}"
        job.kept(reference.child)
    except ChildRaisedError as error:
        reference.close()
        raise TaskError(f"the reference of {source.name!r} raised:\n{_last_lines(error.log)}") from None
    except ChildGoneError as error:
        reference.close()
        raise TaskError(
            f"the reference of {source.name!r} {error.reason}. A reference may not write to its inputs, which are "
            f"read-only, nor need more memory than the policy's limit. {_last_lines(error.log)}"
        ) from None
    except ChildSlowError:
        raise TaskError(
            f"the reference of {source.name!r} took longer than {LIMIT_S:.0f} s; make its inputs smaller"
        ) from None
    except TaskError:
        reference.close()
        raise
    return session


def _reference(warm: Warm, target: Target, policy: Policy) -> Contestant:
    on_gpu = target.kind == "cuda" and target.present
    jail = reference_jail(policy, on_gpu)
    if on_gpu:
        return CudaContestant(warm.spawn("reference_cuda", jail), LIMIT_S)
    return Contestant(warm.spawn("reference", jail), LIMIT_S)


def _session(task: Task, init: str | None, reference: Contestant, policy: Policy) -> Session:
    if task.target.present and task.target.kind == "cuda":
        return CudaSession(task, reference, policy, Presented(task, init, ""))
    if task.target.present:
        return Session(task, reference, policy, Presented(task, init, ""))
    answer = reference.ask({"do": "reduce", "workload": task.workload.model_dump(mode="json")})
    reduction = Reduction.model_validate(answer["reduction"])
    small = task.model_copy(update={"workload": reduction.workload})
    return Session(small, reference, policy, Presented(task, answer["init"], reduction.description))


def reference_jail(policy: Policy, on_gpu: bool) -> Jail:
    """The reference may start a compiler and keep what torch.compile built; otherwise it is confined as a candidate."""
    cache = cache_directory()
    if cache.stat().st_uid == 0:
        os.chown(cache, NOBODY, NOBODY)
    environment = {
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        # Its own probing of instruction sets takes ten seconds and finds what the compiler's -march=native knows.
        "TORCHINDUCTOR_VEC_ISA_OK": "1",
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "USER": "kernelwright",
    }
    return Jail(
        directory="/",
        writable=(str(cache),),
        may_execute=True,
        # The CUDA driver reserves address space for all of the memory that it could ever see.
        memory_bytes=1 << 40 if on_gpu else policy.memory_bytes * 2,
        tmpfs_bytes=1 << 30,
        environment=environment,
    )


def cache_directory() -> Path:
    """Where compiled baselines are kept between runs; only references' processes write there."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelwright" / "inductor"
    base.mkdir(parents=True, exist_ok=True)
    return base


def _describe(reference: Contestant, source: TaskSource, target: Target, threads: int) -> tuple[Task, str | None]:
    answer = reference.ask({"do": "load", "source": source.source, "threads": threads})
    _refuse_unfit(answer, source.name)
    workload = Workload(
        inputs=tuple(_input(i, d) for i, d in enumerate(answer["inputs"])),
        parameters=tuple(TensorSpec.model_validate(p) for p in answer["parameters"]),
        outputs=tuple(TensorSpec.model_validate(o) for o in answer["outputs"]),
    )
    declared = {d.position: d for d in source.domains}
    inputs = tuple(
        i.model_copy(update={"domain": declared[n].domain, "bound": declared[n].bound or i.bound})
        if isinstance(i, TensorSpec) and n in declared
        else i
        for n, i in enumerate(workload.inputs)
    )
    graph = OpGraph.model_validate_json(reference.ask({"do": "graph"})["graph"])
    workload = workload.model_copy(update={"inputs": inputs})
    return Task(source=source, target=target, workload=workload, graph=graph), answer["init"]


def _input(position: int, data: Message) -> TensorSpec | Scalar:
    return Scalar.model_validate(data) if "value" in data else TensorSpec.model_validate(data)


def _refuse_unfit(answer: Message, name: str) -> None:
    if answer["mutates_inputs"]:
        raise TaskError(f"the reference of {name!r} writes to its inputs: have forward work on a clone of them")
    if answer["mutates_state"]:
        raise TaskError(f"the reference of {name!r} changes its own parameters or buffers; call .eval() in __init__")
    if not answer["deterministic"]:
        raise TaskError(
            f"the reference of {name!r} is not deterministic: two calls on the same inputs differ. Remove randomness "
            "such as dropout in training mode; no kernel could be told right from wrong."
        )
    if not answer["finite"]:
        raise TaskError(f"the reference of {name!r} gives NaN or infinity on its own inputs")


def _refuse_independent(session: Session) -> None:
    """Every input must matter: with other values for it alone, the result changes beyond what is allowed."""
    # The mean of a billion elements hardly moves between two draws, so that every value there is counts: other draws
    # and, where the domain admits them, other regimes.
    for index, spec in enumerate(session.inputs):
        given = session.cases[0].offsets[index]
        others = {c.offsets[index] for c in session.cases} - {given}
        if others and spec.numel and all(_same_with(session, index, offset) for offset in others):
            raise TaskError(f"the result of {session.task.name!r} does not depend on input {spec.name!r}; remove it")


def _same_with(session: Session, index: int, offset: int) -> bool:
    given = session.cases[0]
    changed = (*given.offsets[:index], offset, *given.offsets[index + 1 :])
    results = session.results("eager", changed)
    return all(compare.judge(r, e)[1] is None for r, e in zip(results, given.expected, strict=True))


def _refuse_trivial(session: Session) -> None:
    nodes = [n.op.removeprefix("aten.") for n in session.task.graph.nodes]
    if all(op.startswith(COPIES) for op in nodes):
        return
    for name in ("zeros", "ones", "a constant", "an input's slice", "the input itself", "an input's mean"):
        if all(_answers(session, name, c) for c in range(len(session.cases))):
            raise TaskError(
                f"{session.task.name!r} cannot be judged: {name} would pass as the result in every case. Give it inputs "
                "of both signs, or more of them."
            )


def _answers(session: Session, probe: str, case_number: int) -> bool:
    case = session.cases[case_number]
    inputs = [session.view(i, case.offsets[i]) for i, t in enumerate(session.inputs) if t.floating]
    for spec, expected in zip(session.task.workload.outputs, case.expected, strict=True):
        guesses = _guesses(probe, expected.value, inputs)
        dtype = getattr(torch, spec.dtype)
        if not any(compare.judge(g.to(dtype), expected)[1] is None for g in guesses):
            return False
    return True


def _guesses(probe: str, wanted: torch.Tensor, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    if probe == "zeros":
        return [torch.zeros_like(wanted)]
    if probe == "ones":
        return [torch.ones_like(wanted)]
    if probe == "a constant":
        return [wanted.double().mean().expand_as(wanted)] if wanted.numel() > 1 else []
    if probe == "an input's mean":
        return [x.double().mean().expand_as(wanted) for x in inputs]
    if probe == "the input itself":
        return [x for x in inputs if x.shape == wanted.shape]
    return [x.flatten()[: wanted.numel()].view(wanted.shape) for x in inputs if x.numel() > wanted.numel()]


def _last_lines(log: str, count: int = 6) -> str:
    return "\n".join(log.strip().splitlines()[-count:])
