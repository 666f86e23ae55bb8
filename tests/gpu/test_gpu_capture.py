"""Captured plans under a launcher of ours give what the candidates' own host code gives, bit by bit."""

from pathlib import Path

import pytest

from kernelwright.evaluate.languages.builder import Program
from kernelwright.evaluate.languages.triton.build import capture
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.triton.binding import loaded
from kernelwright.evaluate.triton.model import construct, flatten, load_module, private_path
from kernelwright.knowledge.hardware import hardware
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import triton_default
from kernelwright.propose.author.families.rows.triton import write_triton
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import TaskSource, Workload
from kernelwright.records.tensor import TensorSpec

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
DESCRIPTORS = (
    HEAD
    + """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def copy(source, target, width, B: tl.constexpr):
    row = tl.program_id(0) * B
    for column in range(0, width, B):
        target.store([row, column], source.load([row, column]) * 2)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        source, target = (TensorDescriptor.from_tensor(t, [64, 64]) for t in (x, out))
        copy[(x.shape[0] // 64,)](source, target, x.shape[1], B=64)
        return out
"""
)
SCRATCH = (
    HEAD
    + """
triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))

@triton.jit
def copy(x, out, rows, width, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, width], [width, 1], [B, B])
    target = tl.make_tensor_descriptor(out, [rows, width], [width, 1], [B, B])
    row = tl.program_id(0) * B
    for column in range(0, width, B):
        target.store([row, column], source.load([row, column]) * 2)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        copy[(x.shape[0] // 64,)](x, out, x.shape[0], x.shape[1], B=64)
        return out
"""
)
TUNED = (
    HEAD
    + """
@triton.autotune([triton.Config({"B": b}, num_warps=w) for b, w in ((256, 2), (1024, 4), (4096, 8))], key=["n"])
@triton.heuristics({"EVEN": lambda named: named["n"] % named["B"] == 0})
@triton.jit
def scale(x, count, out, n, factor, B: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = None if EVEN else at < n
    tl.store(out + at, tl.load(x + at, mask=mask) * factor + tl.load(count), mask=mask)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        count = torch.zeros(1, device=x.device)
        out = torch.empty_like(x)
        scale[lambda m: (triton.cdiv(x.numel(), m["B"]),)](x, count, out, x.numel(), 2.5)
        return out
"""
)
X = TensorSpec(name="x", shape=(256, 512), dtype="float32")
SMALL = Workload(inputs=(X,), parameters=(), outputs=(X,))


@pytest.fixture(scope="module")
def launcher():
    """The launcher's class; its module needs the driver's bindings."""
    return pytest.importorskip("plan_launcher").PlanLauncher


@pytest.fixture(scope="module")
def program(gpu):
    """Capture a candidate beside the GPU, in a child that does not use it."""
    with Warm(("triton", "torch._dynamo", "kernelwright.evaluate.triton.driver")) as warm:

        def make(candidate, source, workload):
            found = capture(warm, candidate, source, workload, hardware(gpu.target.arch), 120.0)
            assert isinstance(found, Program), found
            return found

        yield make


def at(tensor, offset):
    """The same on the GPU, `offset` elements after an aligned address."""
    room = torch.empty(tensor.numel() + offset, dtype=tensor.dtype, device="cuda")
    room[offset:] = tensor.reshape(-1).cuda()
    return room[offset:].view(tensor.shape)


def unlike(program, launcher, model, inputs, outputs):
    """Labels of plans unlike the model: every plan twice, since what a call leaves must not matter to the next."""
    plans = program.plans
    if any(t.data_ptr() % 16 for t in inputs) and program.unaligned_plans:
        plans = program.unaligned_plans
    with torch.no_grad():
        wanted = flatten(model(*inputs))
    running, labels = launcher(program), []
    for plan in plans:
        for _ in range(2):
            found = [torch.full(o.shape, -7, dtype=getattr(torch, o.dtype), device="cuda") for o in outputs]
            running.run(plan, inputs, list(model.state_dict().values()), found)
            if not all(torch.equal(ours, theirs) for ours, theirs in zip(found, wanted, strict=True)):
                labels.append(plan.label)
    return labels


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_author_s_kernels(gpu, program, launcher, path):
    text = path.read_text()
    source = TaskSource(name=path.stem, format="kernelbench", source=text)
    task = gpu.wait(gpu.referee.admit(source, gpu.target))
    plan = lower(task)
    candidate = write_triton(task, plan, triton_default(plan)).at(())
    found = program(candidate, text, task.workload)
    reference = load_module(private_path("task"), text)
    theirs = construct(load_module(private_path("kernel"), candidate.source).ModelNew, reference).cuda()
    loaded(theirs, construct(reference.Model, reference).state_dict())
    given = reference.get_inputs()
    for offset in (0, 1):
        assert unlike(found, launcher, theirs, [at(t, offset) for t in given], task.workload.outputs) == []


@pytest.mark.parametrize(
    ("source", "offsets"),
    [(DESCRIPTORS, (0,)), (SCRATCH, (0,)), (TUNED, (0, 1, 3))],
    ids=["descriptors", "scratch", "tuned"],
)
def test_other_arguments(program, launcher, source, offsets):
    task = load_module(private_path("task"), "")
    found = program(Candidate(language="triton", source=source), "", SMALL)
    model = construct(load_module(private_path("kernel"), source).ModelNew, task).cuda()
    assert len(found.plans) == (3 if source is TUNED else 1)
    assert bool(found.aligned_only) == (source is DESCRIPTORS)
    for offset in offsets:
        assert unlike(found, launcher, model, [at(torch.randn(X.shape), offset)], SMALL.outputs) == []
