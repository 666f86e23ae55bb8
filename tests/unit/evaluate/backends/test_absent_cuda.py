"""CUDA C++ for a device that is not here: compiled with facts, in the author's words where it fails, refused on a CPU."""

import re
from pathlib import Path

import pytest

from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.records.evaluation import BuildFailed, Compiled, Refused
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource
from kernelwright.tasks.kernel_file import parse_text, read_kernel
from lanes import sampled

KERNELS = Path(__file__).parents[1] / "languages" / "cuda_kernels"
SOURCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(64, 1000)]
"""
POLICY = Policy(seeds=2)


@pytest.fixture(scope="module")
def service():
    """A service, with a task for every target that a test asks for."""
    service = EvaluationService(note=lambda _: None)
    yield service
    service.close()


def judged(service, kernel, target):
    task = service.admit(TaskSource(name="relu", format="kernelbench", source=SOURCE), target, POLICY)
    return service.evaluate(task, read_kernel(KERNELS / kernel), POLICY, "search")


def absent(arch):
    return Target(kind="cuda", arch=arch, present=False)


def test_a_kernel_is_compiled_for_the_architecture_that_was_asked_for(service):
    found = judged(service, "relu.cu", absent("sm_120"))
    assert isinstance(found, Compiled)
    assert found.build.compiler.endswith("for sm_120a")
    assert found.build.kernels[0].registers > 0
    assert [s.stage for s in found.seconds] == ["compile"]


def test_a_plan_that_does_not_fit_the_task_is_a_failed_build(service):
    found = judged(service, "mse.cu", absent("sm_75"))
    assert isinstance(found, BuildFailed)
    assert "there is no in1" in found.log


def test_a_cpu_takes_no_cuda(service):
    found = judged(service, "relu.cu", Target(kind="cpu", arch="native", present=True))
    assert isinstance(found, Refused)
    assert found.reason == "target cpu takes cpp or python candidates, not cuda"


TRITON = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, count, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    values = tl.load(x + at, mask=at < count)
    tl.store(y + at, tl.maximum(values, 0.0), mask=at < count)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](READ, y, x.numel(), SIZE=1024)
        return RESULT
"""


ENDS = [
    ("x", "y", "verified"),
    ("x", "torch.relu(x)", "suspect"),
    ("torch.relu(x)", "y", "suspect"),
    ("x.clone()", "y", "verified"),
    ("x", "y.relu()", "verified"),
]
"""What the kernel reads, what is returned, and how it ends."""


@pytest.mark.parametrize(
    ("read", "result", "outcome"), sampled(ENDS, lambda read, result, outcome: outcome == "suspect" and read == "x")
)
def test_kernels_that_do_none_of_the_work_are_decoration(service, read, result, outcome):
    target = absent("sm_90")
    task = service.admit(TaskSource(name="relu", format="kernelbench", source=SOURCE), target, POLICY)
    found = service.evaluate(
        task, parse_text(TRITON.replace("RESULT", result).replace("READ", read), "cuda"), POLICY, "search"
    )
    assert found.outcome == outcome, found
    assert outcome == "verified" or found.because == "decoration"


DISGUISED = """
def disguised(result):
    result.base = result.view(torch.int32)
    return result
"""


def test_what_a_candidate_hangs_on_a_tensor_hides_nothing(service):
    """A descriptor has its tensor as `base`; a tensor takes any attribute."""
    task = service.admit(TaskSource(name="relu", format="kernelbench", source=SOURCE), absent("sm_90"), POLICY)
    source = TRITON.replace("READ", "disguised(torch.relu(x))").replace("RESULT", "y") + DISGUISED
    found = service.evaluate(task, parse_text(source, "cuda"), POLICY, "search")
    assert (found.outcome, found.because) == ("suspect", "decoration"), found


IN_A_TUPLE = TRITON.replace("def kernel(x, y, count", "def kernel(both, count").replace(
    "(READ, y, x.numel()", "((READ, y), x.numel()"
)
IN_A_TUPLE = IN_A_TUPLE.replace("tl.load(x +", "tl.load(both[0] +").replace("tl.store(y +", "tl.store(both[1] +")


@pytest.mark.parametrize(("read", "outcome"), [("x", "verified"), ("torch.relu(x)", "suspect")])
def test_tensors_in_a_tuple_are_seen_as_others_are(service, read, outcome):
    task = service.admit(TaskSource(name="relu", format="kernelbench", source=SOURCE), absent("sm_90"), POLICY)
    source = IN_A_TUPLE.replace("READ", read).replace("RESULT", "y")
    assert service.evaluate(task, parse_text(source, "cuda"), POLICY, "search").outcome == outcome


AT_ITS_OWN_SHAPE = TRITON.replace(
    "        y = ", "        if x.shape[0] != ROWS:\n            return torch.relu(x)\n        y = "
)


def at_its_own_shape(service, rows, *sources, policy=POLICY):
    large = SOURCE.replace("64, 1000", f"{rows}, 1000")
    task = service.admit(TaskSource(name="relu", format="kernelbench", source=large), absent("sm_90"), policy)
    sources = [s.replace("READ", "x").replace("RESULT", "y").replace("ROWS", str(rows)) for s in sources]
    return [service.evaluate(task, parse_text(source, "cuda"), policy, "search") for source in sources]


@pytest.mark.matrix
def test_a_kernel_for_its_own_shape_alone_is_verified_there(service):
    """What serves the shapes that an interpreter can bear says nothing about it, for or against."""
    wrong = AT_ITS_OWN_SHAPE.replace("mask=at < count)\n\n", "mask=at < count - 1)\n\n")
    found, refuted = at_its_own_shape(service, 600, AT_ITS_OWN_SHAPE, wrong)
    assert found.outcome == "verified", found
    assert found.how == "Triton's interpreter on full shapes"
    assert refuted.outcome == "incorrect", refuted


def test_one_for_shapes_that_are_too_large_is_compiled_and_nothing_is_claimed(service):
    (found,) = at_its_own_shape(service, 40000, AT_ITS_OWN_SHAPE)
    assert isinstance(found, Compiled)
    assert "for its task's shapes alone" in found.why and found.why.endswith("of 40000x1000 it launches no kernel")


SLOW = TRITON.replace("SIZE=1024", "SIZE=4").replace(", 1024)", ", 4)")
IMPATIENT = POLICY.model_copy(update={"run_limit_s": 1.0})


@pytest.mark.matrix
def test_a_slow_kernel_is_judged_at_a_smaller_size_and_is_no_failure(service):
    (found,) = at_its_own_shape(service, 1500, SLOW, policy=IMPATIENT)
    assert found.outcome == "verified", found
    assert re.match(r"Triton's interpreter on (13x1000|3x1000|3x113) of 1500x1000", found.how)


@pytest.mark.matrix
def test_of_one_that_is_slow_at_each_size_nothing_is_known(service):
    never = SLOW.replace("    values", "    for _ in range(1 << 30):\n        at = at + 0\n    values")
    (unknown,) = at_its_own_shape(service, 1500, never, policy=IMPATIENT)
    assert isinstance(unknown, Compiled)
    assert "had not finished a call on 3x113 of 1500x1000 after 4 s of its own time" in unknown.why


@pytest.mark.matrix
def test_one_that_is_slow_at_any_size_is_judged_at_one_that_it_bears(service):
    """A task of few elements, of which each makes much work: no program of the full size ends."""
    body = "    for i in range(count * count // 1000 * count // 150):\n        values = values + 0 * i\n"
    slow = TRITON.replace("    tl.store", f"{body}    tl.store", 1)
    (found,) = at_its_own_shape(service, 3, slow, policy=POLICY.model_copy(update={"run_limit_s": 1.0}))
    assert found.outcome == "verified", found
    assert found.how == "Triton's interpreter on 3x113 of 3x1000; at full size nothing: " + (
        "an interpreter had not finished some programs after 4 s of its own time"
    )
