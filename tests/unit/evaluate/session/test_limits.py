"""A task's limits tighten; what cannot be told to keep them is refused."""

import pytest

from kernelwright.errors import TaskError
from kernelwright.evaluate.languages.builder import Program
from kernelwright.evaluate.session.limits import of_facts, of_host_code, of_program, refuse_elsewhere, tightened
from kernelwright.records.candidate import Candidate
from kernelwright.records.launch import Launch, LaunchPlan, Workspace
from kernelwright.records.measure import BuildFacts, KernelFacts
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskLimits, TaskSource

ONE = (1, 1, 1)
FACTS = BuildFacts(compiler="nvcc", seconds=1.0, kernels=(KernelFacts(name="k", registers=40, shared_bytes=1024),))
PROGRAM = Program(
    modules=(b"",),
    plans=(
        LaunchPlan(
            launches=(Launch(kernel="k", grid=ONE, block=ONE, shared_bytes=2048),),
            workspaces=(Workspace(nbytes=64), Workspace(nbytes=36)),
        ),
    ),
    facts=FACTS,
)
HERE = Target(kind="cuda", arch="sm_90", present=True)
CPU = Target(kind="cpu", arch="native", present=True)


def source(**limits):
    return TaskSource(name="t", format="text", source="", limits=TaskLimits(**limits))


def candidate(language):
    return Candidate(language=language, source="x")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"workspace_bytes": 99}, "workspace_bytes of the task: it needs 100, and 99"),
        ({"shared_bytes": 2047}, "a launch asks for 2048"),
        ({"registers": 39}, "kernel k needs 40"),
    ],
)
def test_a_program_over_a_limit_is_refused(limits, words):
    assert words in of_program(TaskLimits(**limits), PROGRAM).reason


@pytest.mark.parametrize("limits", [{}, {"workspace_bytes": 100}, {"shared_bytes": 2048}, {"registers": 40}])
def test_a_program_within_its_limits_is_not(limits):
    assert of_program(TaskLimits(**limits), PROGRAM) is None


@pytest.mark.parametrize("limit", ["workspace_bytes", "shared_bytes"])
@pytest.mark.parametrize("language", ["cuda_host", "python", "triton"])
def test_host_code_of_its_own_is_refused_where_nobody_could_hold_the_limit(language, limit):
    refused = of_host_code(TaskLimits(**{limit: 1 << 40}), candidate(language), FACTS)
    assert limit in refused.reason


def test_registers_of_host_code_are_known_where_it_was_compiled_apart():
    assert of_host_code(TaskLimits(registers=40), candidate("cuda_host"), FACTS) is None
    assert "needs 40" in of_host_code(TaskLimits(registers=39), candidate("cuda_host"), FACTS).reason
    assert "at run time" in of_host_code(TaskLimits(registers=40), candidate("python"), None).reason


def test_without_limits_host_code_is_welcome():
    assert of_host_code(TaskLimits(notes=("quick",)), candidate("python"), None) is None


def test_where_the_device_is_not_here_the_compiler_is_asked():
    assert "needs 1024" in of_facts(TaskLimits(shared_bytes=1023), candidate("triton"), FACTS, False).reason
    assert of_facts(TaskLimits(shared_bytes=1024), candidate("triton"), FACTS, False) is None
    assert "shared_bytes" in of_facts(TaskLimits(shared_bytes=1024), candidate("cuda_host"), FACTS, True).reason


def test_a_task_is_judged_on_its_own_architecture_only():
    refuse_elsewhere(source(arch="sm_90"), HERE, True)
    refuse_elsewhere(source(target_us=1.0, notes=("n",)), CPU, False)
    with pytest.raises(TaskError, match="for sm_86 and the target is sm_90"):
        refuse_elsewhere(source(arch="sm_86"), HERE, True)


@pytest.mark.parametrize(
    "limits",
    [{"arch": "sm_90"}, {"workspace_bytes": 0}, {"shared_bytes": 0}, {"registers": 9}, {"library_calls": "forbid"}],
)
def test_limits_of_a_gpu_are_not_passed_over_on_a_cpu(limits):
    with pytest.raises(TaskError, match=f"on a GPU only \\({next(iter(limits))}\\)"):
        refuse_elsewhere(source(**limits), CPU, False)


def test_a_task_forbids_library_calls_and_never_allows_them():
    lax, hard = Policy(), Policy(library_calls="forbid")
    assert tightened(lax, source(library_calls="forbid")) == hard
    assert tightened(hard, source()) == hard
    assert tightened(lax, source()) == lax
