"""Drop-ins of CUDA C++: NVRTC's own binary of what they hold, and their launches, run by a driver that stands in for NVIDIA's.

That driver calls the same kernels as the host's compiler builds them, one thread after the other, with the arguments that the
file lays out.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.engine.drop_ins import drop_in
from kernelwright.errors import ProposeError
from kernelwright.export.model_new import unwrap
from kernelwright.tasks.kernel_file import parse_text

sys.path.append(str(Path(__file__).parents[1] / "propose" / "author"))
from author_cases import case

TASK = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(1, 2, columns))

    def forward(self, x):
        y = x * self.weight
        return y + 1.5, y.sum().reshape(1)


def get_inputs():
    return [torch.randn(6, 40)]


def get_init_inputs():
    return [40]
"""
KERNELS = """
#include <cstdint>
template <typename T> __global__ void scaled(const T* x, const T* weight, T* room, int columns, std::int64_t n) {
  const std::int64_t i = blockIdx.x * std::int64_t(BLOCK) + threadIdx.x;
  if (i < n) room[i] = x[i] * weight[i % columns];
}
__global__ void shifted(const float* room, float* y, float* total, float shift, std::int64_t n) {
  const std::int64_t i = blockIdx.x * std::int64_t(BLOCK) + threadIdx.x;
  if (i < n) y[i] = room[i] + shift, atomicAdd(total, room[i]);
}
"""
PLAN = """/* kernelwright
zeroed_outputs = [1]
[tunables]
BLOCK = [64, 128]
[[workspace]]
bytes = "4 * in0.numel"
[[launch]]
kernel = "scaled<float>"
grid = "ceil_div(in0.numel, BLOCK)"
block = "BLOCK"
arguments = ["in0", "param0", "work0", "i32(in0.shape[1])", "i64(in0.numel)"]
[[launch]]
kernel = "shifted"
grid = "ceil_div(in0.numel, BLOCK)"
block = "BLOCK"
arguments = ["work0", "out0", "out1", "f32(1.5)", "i64(in0.numel)"]
*/"""
DRIVER = """
#include <cstdint>
#include <cstring>
#define __global__
struct Dim { unsigned x = 0, y = 0, z = 0; };
static Dim threadIdx, blockIdx;
static float atomicAdd(float* at, float value) { float old = *at; *at += value; return old; }
#define BLOCK 64
KERNELS
using Call = void (*)(void**);
template <typename T> T given(void* at) { T value; std::memcpy(&value, at, sizeof value); return value; }
static void first(void** p) {
  scaled(given<const float*>(p[0]), given<const float*>(p[1]), given<float*>(p[2]), given<int>(p[3]), given<long>(p[4]));
}
static void second(void** p) {
  shifted(given<const float*>(p[0]), given<float*>(p[1]), given<float*>(p[2]), given<float>(p[3]), given<long>(p[4]));
}
extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGet(int*, int) { return 0; }
int cuDevicePrimaryCtxRetain(void**, int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuModuleLoadData(void**, const char* binary) { return std::memcmp(binary, "\\x7f" "ELF", 4) != 0; }
int cuModuleGetFunction(Call* found, void*, const char* name) {
  *found = std::strstr(name, "scaled") ? first : std::strstr(name, "shifted") ? second : nullptr;
  return *found == nullptr;
}
using Dims = unsigned;
int cuLaunchKernel(Call call, Dims gx, Dims, Dims, Dims bx, Dims, Dims, Dims, void*, void** p, void**) {
  for (blockIdx.x = 0; blockIdx.x < gx; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < bx; ++threadIdx.x) call(p);
  return 0;
}
}
"""
PROGRAM = """
import contextlib, json, sys, types
import torch

GPU = types.SimpleNamespace(multi_processor_count=132, major=9, minor=0, name="a GPU")
torch.cuda.get_device_properties = lambda index: GPU
torch.cuda.device = lambda device: contextlib.nullcontext()
torch.cuda.current_stream = lambda device: types.SimpleNamespace(cuda_stream=0)
sys.path.insert(0, sys.argv[1])
import exported

torch.manual_seed(0)
x = torch.randn(6, 40)
model, new = exported.Model(40), exported.ModelNew(40)
new.load_state_dict(model.state_dict())

def same(found, wanted):
    return all(torch.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(found, wanted))

said = {}
with torch.no_grad():
    said["plain"] = same(new(x), model(x))
    said["again"] = same(new(2 * x), model(2 * x))
    said["strided"] = same(new(x.T.contiguous().T), model(x))
    unaligned = torch.randn(241)[1:].view(6, 40)
    said["unaligned"] = same(new(unaligned), model(unaligned))
    said["compiled"] = same(torch.compile(new, backend="eager", fullgraph=True)(x), model(x))
    said["kernel"] = new.stats()["kernel"]
    said["other shape"] = same(new(x[:5]), model(x[:5]))
said["autograd"] = same(new(x), model(x))
said["reference"] = sum(new.stats()["reference"].values())
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def task():
    return case(TASK, "task", "cuda").task


@pytest.fixture(scope="module")
def candidate():
    return next(parse_text(PLAN + KERNELS, "cuda", "cuda").points())


def loaded(text, folder):
    file = folder / "exported.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("exported", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_holds_the_kernel_as_it_was_judged(task, candidate):
    assert unwrap(drop_in(task, candidate, None)) == candidate


def test_nvrtc_builds_what_it_holds_under_the_names_of_its_launches(task, candidate, tmp_path):
    found = loaded(drop_in(task, candidate, None), tmp_path)
    binary, names = found._compiled("sm_90a", [launch[0] for launch in found.LAUNCHES])
    assert binary.startswith(b"\x7fELF")
    assert [name in binary.decode("latin-1") for name in names] == [True, True]
    assert "scaledIf" in names[0]


def test_host_code_that_was_read_as_the_plan_is_not_compiled(task, tmp_path):
    text = """
__global__ void max(const float* x, const float* weight, float* y, float* total, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = x[i] * weight[i % 40] + 1.5f, atomicAdd(total, x[i]);
}
void launch(const float* x, const float* weight, float* y, float* total) {
  max<<<4, 64>>>(x, weight, y, total, 240);
}
"""
    made = next(parse_text(text, "cuda", "cuda").points())
    found = loaded(drop_in(task, made, None), tmp_path)
    binary, (name,) = found._compiled("sm_90a", ["max"])
    assert name in binary.decode("latin-1"), "a name that CUDA's own functions have too"
    assert unwrap((tmp_path / "exported.py").read_text()) == made


def test_its_launches_give_what_model_gives_and_the_rest_is_models(task, candidate, tmp_path):
    """On the host, where the device's name is the only thing that is replaced."""
    text = drop_in(task, candidate, None).replace('"cuda"', '"cpu"').replace("libcuda.so.1", f"{tmp_path}/driver.so")
    (tmp_path / "exported.py").write_text(text)
    (tmp_path / "driver.cpp").write_text(DRIVER.replace("KERNELS", KERNELS))
    build = ["g++", "-O1", "-shared", "-fPIC", f"{tmp_path}/driver.cpp", "-o", f"{tmp_path}/driver.so"]
    subprocess.run(build, check=True)
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    kernel, reference = said.pop("kernel"), said.pop("reference")
    assert all(said.values()), said
    assert (kernel, reference) == (5, 2), "three calls, one unaligned, one compiled; another shape, and autograd"
    assert list((tmp_path / "cache/kernelwright").glob("*.cubin"))


def test_without_a_driver_model_answers(task, candidate, tmp_path):
    text = drop_in(task, candidate, None).replace('"cuda"', '"cpu"').replace("libcuda.so.1", "libno-such-driver.so")
    (tmp_path / "exported.py").write_text(text)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    assert (said["plain"], said["kernel"]) == (True, 0)
    assert "libno-such-driver.so" in done.stderr


@pytest.mark.parametrize(("line", "words"), [("cluster = 2", "clusters"), ("", "")], ids=["clusters", "nothing"])
def test_what_only_the_referee_launches_is_no_drop_in(task, line, words):
    made = next(
        parse_text(PLAN.replace("\n[[launch]]\n", f"\n[[launch]]\n{line}\n") + KERNELS, "cuda", "cuda").points()
    )
    if not words:
        assert "LAUNCHES" in drop_in(task, made, None)
        return
    with pytest.raises(ProposeError, match=words):
        drop_in(task, made, None)
