"""What the interpreter forgives the compiler does not: every family goes through it, without a GPU, for many of them."""

import json
import os
import re
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import pytest
from author_cases import case, model

from kernelwright.knowledge.hardware import hardware
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import triton_default
from kernelwright.propose.author.families.rows.triton import write_triton
from kernelwright.propose.author.search.designs import triton_design
from lanes import asked_for, sampled

torch = pytest.importorskip("torch")

X = "torch.randn(16, 512)"
LABELS = f"{X}, torch.randint(0, 512, (16,))"
PROGRAMS = {
    "extrema_across": ("x.amax(0), x.argmin(0)", X),
    "running_extrema": ("x.cummax(1)[0], x.cummin(1)[1]", X),
    "few_long_rows_scanned": (
        "torch.cumsum(x, 0, dtype=torch.float64).to(x.dtype), x.view(-1, 1).expand(-1, 40).cummax(0)[0], x.long().cumsum(0)",
        "torch.randn(70000)",
    ),
    "ordered": ("x.sort(1)[0], x.topk(4), x.argsort(1, descending=True)", X),
    "counted": (
        "torch.zeros(100, dtype=torch.int32).scatter_add(0, x.long(), torch.ones_like(x)), x[:4096].sum()",
        "torch.randint(0, 100, (9000,), dtype=torch.int32)",
    ),
    "pooled": ("F.max_pool2d(x, 3, 2, 1), F.adaptive_avg_pool2d(x, (5, 3))", "torch.randn(4, 8, 20, 20)"),
    "pooled_along_long_lines": (
        "F.avg_pool1d(x, 8, 1, 4), F.conv1d(x, x[:3, :1, :7], padding=3, groups=3), F.avg_pool1d(x, 11)",
        "torch.randn(4, 3, 4095)",
    ),
    "pooled_above_one_another": (
        "F.max_pool2d(x, 4, 1, 1), F.conv2d(x, x[:64, :1, :3, :3], padding=1, groups=64)",
        "torch.zeros(64, 64, 17, 512)",
    ),
    "held_apart": ("x.std(0), F.batch_norm(x, None, None, training=True)", "torch.randn(4096, 64)"),
    "one_side_after_the_other": (
        "F.adaptive_avg_pool2d(x, 7), F.max_pool2d(x, 13, 1, 6)",
        "torch.zeros(8, 64, 128, 128)",
    ),
    "attended": ("F.scaled_dot_product_attention(x, x, x, is_causal=True)", "torch.randn(2, 2, 512, 128).half()"),
    "attended with a bias": ("F.scaled_dot_product_attention(x, x, x, x[0, 0])", "torch.randn(2, 2, 128, 128).half()"),
    "doubled factors": ("x @ (x.mT * 2), (x * 2) @ (x.mT + 1)", "torch.randn(64, 64).half()"),
    "by programs that stay": (
        "x @ x[:1024, :1000], torch.relu(F.linear(x, x) + x[0]) * x.mT",
        "torch.randn(1024, 1024).half()",
    ),
    "turned": ("F.conv2d(x, x[:, :, :3, :3], padding=1)", "torch.randn(32, 32, 24, 24)"),
    "enlarged": ("F.interpolate(x, scale_factor=2, mode='bilinear')", "torch.randn(4, 8, 20, 20)"),
}
"""Programs of other families."""
LARGE = {
    "large product of halves": ("x @ x", "torch.empty(4096, 4096, dtype=torch.half, device='meta')"),
    "large product of floats": ("x @ x", "torch.empty(4096, 4096, device='meta')"),
    "large product of a diagonal": ("torch.triu(x) @ torch.triu(x)", "torch.empty(4096, 4096, device='meta')"),
    "wide attention": ("F.scaled_dot_product_attention(x, x, x)", "torch.empty(4, 8, 512, 128, device='meta')"),
    "few wide queries": (
        "F.scaled_dot_product_attention(x[:, :, :16], x, x)",
        "torch.empty(4, 8, 512, 256, device='meta')",
    ),
    "attention in halves": (
        "F.scaled_dot_product_attention(x, x, x)",
        "torch.empty(4, 8, 512, 128, device='meta', dtype=torch.half)",
    ),
}
"""Programs that begin with as much shared memory as a block of Hopper's may have: others have 64 to 163 KB."""
OTHERS = ("sm_80", "sm_86", "sm_89", "sm_100", "sm_120")
ELSEWHERE = [(f"{name} on {arch}", name, arch) for name, arch in zip(PROGRAMS, cycle(OTHERS), strict=False)]
ELSEWHERE += [(f"{name} on {arch}", name, arch) for name in LARGE for arch in ("sm_86", "sm_120")]
BLOCKS = {"passes": "online", "rows": 2, "block": 256, "grid": "tiles"}
CASES = {
    "mse": ("F.mse_loss(x, y)", "x, y", f"{X}, {X}", {}),
    "mse_pipelined": ("F.mse_loss(x, y)", "x, y", f"{X}, {X}", {"stages": 4, "eviction": "evict-first"}),
    "softmax": ("x.softmax(-1)", "x", X, {}),
    "softmax_online": (
        "x.softmax(-1)",
        "x",
        X,
        {"passes": "online", "rows": 2, "block": 256, "grid": "tiles"},
    ),
    "layer_norm_blocks": ("F.layer_norm(x, (512,))", "x", X, {"passes": "online", "block": 256}),
    "softmax_decoupled": ("x.softmax(-1)", "x", X, {"passes": "decoupled", "block": 128}),
    "layer_norm_decoupled": ("F.layer_norm(x, (512,))", "x", X, {"passes": "decoupled", "block": 128}),
    "decoupled_names": (
        "y * ((x + y).sum(-1, keepdim=True) + (x + y).square().amax(-1, keepdim=True)),"
        " x * ((x + y).sum(-1, keepdim=True) + (x + y).square().amax(-1, keepdim=True))",
        "x, y",
        f"{X}, {X}",
        {"passes": "decoupled", "block": 128},
    ),
    "layer_norm_backwards": ("F.layer_norm(x, (512,))", "x", X, {"passes": "separate", "order": "alternate"}),
    "cross_entropy": (
        "F.cross_entropy(x, y)",
        "x, y",
        f"{X}, torch.randint(0, 512, (16,))",
        {"combine": "atomic"},
    ),
    "gelu": ("F.gelu(x + b) + y", "x, y, b", f"{X}, {X}, torch.randn(512)", {}),
    "activations": ("torch.tanh(x), F.mish(x), F.elu(x), torch.where(x > 0, x, -x)", "x", X, {}),
    "extrema": ("x.amax(-1), x.amin()", "x", X, {}),
    "half": ("x.softmax(-1), x.sum()", "x", f"{X}.half()", {}),
    "brain": ("F.gelu(x) * 2", "x", f"{X}.bfloat16()", {}),
}

LARGEST = {"grid": "persistent", "block_m": 128, "block_n": 256, "block_k": 64, "warps": 8, "stages": 5}
"""Tiles of which shared memory holds few slices."""
ALIKE = ("mse_pipelined", "layer_norm_backwards", "half", "gelu")
"""Cases of which another in every run has nearly the same text."""
EXAMPLES = sorted((Path(__file__).parents[4] / "examples").glob("*.py"))

JUDGE = """
import json, sys
from kernelwright.evaluate.triton.capture import Captured, capture
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task

for name, (candidate, task, arch) in json.load(open(sys.argv[1])).items():
    candidate, task = Candidate.model_validate(candidate), Task.model_validate(task)
    found = capture(candidate, task.source.source, task.workload, hardware(arch))
    static = isinstance(found, Captured)
    kernels = [[k.name, k.shared_bytes, k.registers] for k in found.facts.kernels] if static else []
    print(json.dumps([name, "" if static else found.log, kernels]))
"""


def small(path):
    """An example with fewer rows, which is all that its kernels do not depend on."""
    return re.sub(r"^(\w+, \w+) = \d+, (\d+)$", r"\1 = 64, \2", path.read_text(), flags=re.MULTILINE)


def of_rows():
    """Rows of dense data, with options of their own, and the examples."""
    sources = {
        name: (model(f, inputs, arguments=given), options) for name, (f, given, inputs, options) in CASES.items()
    }
    sources |= {path.stem: (small(path), {}) for path in EXAMPLES}
    for name, (source, options) in sources.items():
        task = case(source, name, "cuda").task
        plan = lower(task)
        yield name, write_triton(task, plan, triton_default(plan).model_copy(update=options)), task, "sm_90"


def of_programs():
    """On Hopper, and as they begin on the device that a name says."""
    for name, (forward, inputs) in PROGRAMS.items():
        design, task = designed(name, forward, inputs, "sm_90")
        changed = LARGEST if "that stay" in name else {}
        names = [o.name for o in design.space.options]
        update = {n: value for n in names for word, value in changed.items() if n.endswith(word)}
        yield name, design.write(design.default.model_copy(update=update)), task, "sm_90"
    for label, name, arch in ELSEWHERE:
        design, task = designed(name, *(PROGRAMS | LARGE)[name], arch)
        yield label, design.write(design.default), task, arch


def designed(name, forward, inputs, arch):
    task = case(model(forward, inputs), name, "cuda").task
    # As on a device that is here: elsewhere products are written as the interpreter can make them.
    changed = {"arch": arch, "present": name in LARGE}
    task = task.model_copy(update={"target": task.target.model_copy(update=changed)})
    return triton_design(task), task


@pytest.fixture(scope="module")
def compiled(request, tmp_path_factory):
    tests = (
        test_every_kernel_is_launched_by_static_host_code_and_fits, test_every_kernel_of_a_program_compiles,
        test_every_kernel_begins_with_what_another_device_has_room_for,
    )  # fmt: skip
    chosen = {name for test in tests for name in asked_for(request, test)}
    folder = tmp_path_factory.mktemp("compiled")
    asked = {
        name: [candidate.at(()).model_dump(mode="json"), task.model_dump(mode="json"), arch]
        for made in (of_rows, of_programs)
        for name, candidate, task, arch in made()
        if name in chosen
    }
    (folder / "asked.json").write_text(json.dumps(asked))
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(folder / "asked.json")],
        env={**environment, "TRITON_CACHE_DIR": str(folder / "cache"), "TMPDIR": str(folder)},
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return {name: (reason, kernels) for name, reason, kernels in answers}


@pytest.mark.parametrize("name", sampled([*CASES, *(path.stem for path in EXAMPLES)], lambda name: name not in ALIKE))
def test_every_kernel_is_launched_by_static_host_code_and_fits(compiled, name):
    reason, kernels = compiled[name]
    assert reason == ""
    assert {kernel for kernel, _, _ in kernels} in ({"_kernel"}, {"_kernel", "_finish"})
    for _, shared, registers in kernels:
        assert shared <= 227 * 1024
        assert 0 < registers <= 255


@pytest.mark.parametrize("name", sampled(PROGRAMS, [*PROGRAMS][::8].__contains__))
def test_every_kernel_of_a_program_compiles(compiled, name):
    reason, kernels = compiled[name]
    assert reason == ""
    assert kernels
    assert all(shared <= 227 * 1024 and 0 < registers <= 255 for _, shared, registers in kernels)


@pytest.mark.parametrize(
    "name", sampled([name for name, _, _ in ELSEWHERE], [n for n, _, _ in ELSEWHERE[::12]].__contains__)
)
def test_every_kernel_begins_with_what_another_device_has_room_for(compiled, name):
    reason, kernels = compiled[name]
    assert reason == ""
    room = hardware(name.rpartition(" on ")[2]).shared_bytes_block
    assert kernels
    assert all(shared <= room and 0 < registers <= 255 for _, shared, registers in kernels)
