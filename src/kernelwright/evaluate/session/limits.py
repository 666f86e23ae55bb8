"""Checks a task's limits (`records/task.py`) against a target, a policy and what was built.

If nothing could tell whether a limit is kept, the candidate is refused as well. The words of a task, and its goal, play
no part.
"""

from collections.abc import Iterable

from kernelwright.errors import TaskError
from kernelwright.evaluate.languages.builder import Program
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Refused
from kernelwright.records.measure import BuildFacts, KernelFacts
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskLimits, TaskSource

OF_A_GPU = ("arch", "workspace_bytes", "shared_bytes", "registers", "library_calls")
OF_A_BUILD = ("workspace_bytes", "shared_bytes", "registers")


def refuse_elsewhere(source: TaskSource, target: Target, on_a_gpu: bool) -> None:
    """A task may be for one GPU only; `on_a_gpu` says whether the target is any.

    Raises:
        TaskError: the target is another one, or one on which nothing holds the task's limits.
    """
    limits = source.limits
    given = _given(limits, OF_A_GPU)
    if given and not on_a_gpu:
        raise TaskError(
            f"task {source.name!r} has limits that mean something on a GPU only ({', '.join(given)}): judge it with "
            "--target sm_90 or the like, or leave them out"
        )
    if limits.arch and target.arch != limits.arch:
        raise TaskError(
            f"task {source.name!r} is for {limits.arch} and the target is {target.arch}: leave --target out, or change "
            "the limit arch"
        )


def tightened(policy: Policy, source: TaskSource) -> Policy:
    """The policy with what the task forbids beside; a task allows nothing that the policy does not.

    One of several workloads has its share of the time: what all of them may take grows with the root of their number.
    """
    forbidden = {"library_calls": "forbid"} if source.limits.library_calls == "forbid" else {}
    share = {}
    if source.part is not None and source.part.among > 1:
        part = source.part.among**-0.5
        share = {"search_seconds": policy.search_seconds * part, "final_seconds": policy.final_seconds * part}
    return policy.model_copy(update={**forbidden, **share}) if forbidden or share else policy


def of_program(limits: TaskLimits, program: Program) -> Refused | None:
    """Why a program of the referee's launcher breaks a limit; None: it keeps them all."""
    plans = (*program.plans, *program.unaligned_plans)
    scratch = max(sum(w.nbytes for w in plan.workspaces) for plan in plans)
    if limits.workspace_bytes is not None and scratch > limits.workspace_bytes:
        return _over("workspace_bytes", "it needs", scratch, limits.workspace_bytes)
    shared = max(launch.shared_bytes for plan in plans for launch in plan.launches)
    if limits.shared_bytes is not None and shared > limits.shared_bytes:
        return _over("shared_bytes", "a launch asks for", shared, limits.shared_bytes)
    return of_kernels(limits, program.facts.kernels)


def of_host_code(limits: TaskLimits, candidate: Candidate, facts: BuildFacts | None) -> Refused | None:
    """The same of a candidate whose own host code runs; `facts` where that was compiled apart."""
    unknown = [name for name in _given(limits, OF_A_BUILD) if name != "registers" or facts is None or not facts.kernels]
    if unknown:
        return Refused(
            reason=f"the task limits {', '.join(unknown)}, and host code of a candidate's own ({candidate.language}) takes "
            "what it likes at run time: write Triton with static host code, or cuda with a launch plan"
        )
    return of_kernels(limits, facts.kernels) if facts is not None else None


def of_facts(limits: TaskLimits, candidate: Candidate, facts: BuildFacts, own_host: bool) -> Refused | None:
    """The same where the device is not here, by what the compiler says; `own_host`: as `Builder.OWN_HOST`."""
    if own_host:
        return of_host_code(limits, candidate, facts)
    return of_kernels(limits, facts.kernels)


def of_kernels(limits: TaskLimits, kernels: Iterable[KernelFacts]) -> Refused | None:
    """Why one of the kernels breaks a limit."""
    for kernel in kernels:
        for name, found in (("shared_bytes", kernel.shared_bytes), ("registers", kernel.registers)):
            allowed = getattr(limits, name)
            if allowed is not None and found is not None and found > allowed:
                return _over(name, f"kernel {kernel.name} needs", found, allowed)
    return None


def _given(limits: TaskLimits, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if getattr(limits, name) not in ("", None)]


def _over(name: str, what: str, found: int, allowed: int) -> Refused:
    return Refused(reason=f"limit {name} of the task: {what} {found}, and {allowed} are allowed")
