"""What the interpreter forgives the compiler does not: every family goes through it, without a GPU."""

import json
import os
import subprocess
import sys

import pytest
from author_cases import case, model

from kernelwright.propose.author.plan.lower import lower
from kernelwright.propose.author.schedule.triton import triton_default
from kernelwright.propose.author.source.triton import write_triton

torch = pytest.importorskip("torch")

X = "torch.randn(16, 512)"
LABELS = f"{X}, torch.randint(0, 512, (16,))"
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
    "layer_norm_backwards": ("F.layer_norm(x, (512,))", "x", X, {"passes": "separate", "order": "alternate"}),
    "cross_entropy": (
        "F.cross_entropy(x, y)",
        "x, y",
        f"{X}, torch.randint(0, 512, (16,))",
        {"combine": "atomic"},
    ),
    "gelu": ("F.gelu(x + b) + y", "x, y, b", f"{X}, {X}, torch.randn(512)", {}),
    "activations": ("torch.tanh(x), F.mish(x), F.elu(x), torch.where(x > 0, x, -x)", "x", X, {}),
    "half": ("x.softmax(-1), x.sum()", "x", f"{X}.half()", {}),
    "brain": ("F.gelu(x) * 2", "x", f"{X}.bfloat16()", {}),
}

JUDGE = """
import importlib.util, json, sys
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction

class Device:
    def get_device_properties(self, device):
        return {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32}

class Absent:
    utils = Device()
    launcher_cls = staticmethod(lambda source, metadata: None)
    get_current_target = staticmethod(lambda: GPUTarget("cuda", 90, 32))
    get_current_device = staticmethod(lambda: 0)
    get_current_stream = staticmethod(lambda device=0: 0)
    get_active_torch_device = staticmethod(lambda: torch.device("cpu"))

triton.runtime.driver.set_active(Absent())
launch, compiled = JITFunction.run, []
def compile_only(self, *args, grid, warmup, **kwargs):
    kernel = launch(self, *args, grid=grid, warmup=True, **kwargs)
    compiled.append([self.__name__, kernel.metadata.shared, len(kernel.asm["cubin"])])
    return kernel
JITFunction.run = compile_only
for name, path in json.load(open(sys.argv[1])).items():
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compiled.clear()
    with torch.no_grad():
        module.ModelNew()(*torch.load(path + ".pt"))
    print(json.dumps([name, compiled]))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sm90")
    paths = {}
    for name, (forward, arguments, inputs, dials) in CASES.items():
        found = case(model(forward, inputs, arguments=arguments), name, "cuda")
        plan = lower(found.task)
        schedule = triton_default(plan).model_copy(update=dials)
        path = folder / f"{name}.py"
        path.write_text(write_triton(found.task, plan, schedule).source)
        torch.save(found.inputs, f"{path}.pt")
        paths[name] = str(path)
    (folder / "paths.json").write_text(json.dumps(paths))
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(folder / "paths.json")],
        env={**environment, "TRITON_CACHE_DIR": str(folder / "cache"), "TRITON_DEFAULT_FP_FUSION": "1"},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


@pytest.mark.parametrize("name", CASES)
def test_every_kernel_becomes_a_cubin_within_shared_memory(compiled, name):
    kernels = compiled[name]
    assert {kernel for kernel, _, _ in kernels} <= {"_kernel", "_finish"}
    for _, shared, size in kernels:
        assert size > 0
        assert shared <= 227 * 1024
