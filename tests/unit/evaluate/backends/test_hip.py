"""AMD without an AMD GPU: what doctor says, what Triton compiles, and who serves the target."""

import pytest

from kernelwright.errors import MachineError
from kernelwright.evaluate.backends.hip import doctor
from kernelwright.evaluate.backends.table import Backends, name_of, needs_gpu
from kernelwright.evaluate.triton import hsaco
from kernelwright.evaluate.triton.cross import cross_compile
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.knowledge.hardware import hardware
from kernelwright.languages import names_for
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Target, Workload
from kernelwright.records.tensor import TensorSpec

SOURCE = """
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, libdevice.tanh(tl.sum(tl.load(x + at)) + tl.load(x + at)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert x.is_cuda and torch.version.hip and not torch.version.cuda
        assert torch.cuda.get_device_properties(x.device).warp_size == 64
        out = torch.empty_like(x)
        kernel[(x.numel() // 1024,)](x, out, BLOCK=1024)
        return out
"""
TILES = """tl.sum(tl.dot(
        tl.load(x + tl.arange(0, 256)[:, None] + tl.arange(0, 128)[None, :]),
        tl.load(x + tl.arange(0, 128)[:, None] + tl.arange(0, 256)[None, :]),
    ))"""
"""Two tiles of 128 KiB, which 64 KiB of shared memory cannot hold."""
WORKLOAD = Workload(
    inputs=(TensorSpec(name="x", shape=(4096,), dtype="float32"),),
    parameters=(),
    outputs=(TensorSpec(name="out", shape=(4096,), dtype="float32"),),
)


@pytest.fixture(autouse=True)
def _nothing_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))


def built(source, arch="gfx942"):
    return cross_compile(Candidate(language="triton", source=source), "", WORKLOAD, arch)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_triton_compiles_for_amd_on_any_machine(arch):
    found = built(SOURCE, arch)
    assert not isinstance(found, Fault), found.log
    assert found.compiler.endswith(f"for {arch}")
    (facts,) = found.kernels
    assert (facts.name, facts.warps, facts.spill_bytes) == ("kernel", 4, 0)
    assert facts.registers > 0
    assert facts.occupancy == 1.0
    assert found.binary_bytes > 0


def test_the_binary_is_one_for_the_architecture(monkeypatch):
    kept = []
    original = hsaco.HIPBackend.make_hsaco

    def make_hsaco(*arguments):
        kept.append(original(*arguments))
        return kept[-1]

    monkeypatch.setattr(hsaco.HIPBackend, "make_hsaco", staticmethod(make_hsaco))
    assert not isinstance(built(SOURCE), Fault)
    assert kept[0].startswith(b"\x7fELF")
    assert b"amdgcn-amd-amdhsa--gfx942" in kept[0]


def test_what_amd_s_compiler_refuses_is_the_candidate_s_fault():
    found = built(SOURCE.replace("BLOCK)\n", "BLOCK - 1)\n"))
    assert isinstance(found, Fault)
    assert found.kind == "build"
    found = built(SOURCE.replace("libdevice.tanh(tl.sum(tl.load(x + at)) + tl.load(x + at))", TILES))
    assert isinstance(found, Fault)
    assert "shared memory" in found.log


def test_registers_and_spills_are_read_from_the_assembly():
    log = "    .vgpr_count:     128\n    .vgpr_spill_count: 3\n"
    assert (hsaco.registers(log), hsaco.spill_bytes(log)) == (128, 12)
    assert (hsaco.registers(""), hsaco.spill_bytes("")) == (None, None)
    assert hsaco.target(hardware("gfx90a")).warp_size == 64


def test_the_target_is_served_without_a_device_and_by_triton_alone():
    absent = Target(kind="hip", arch="gfx942", present=False)
    assert name_of(absent) == "hip"
    assert not needs_gpu(absent)
    assert names_for("hip") == ("triton",)
    with pytest.raises(MachineError, match="no backend serves"):
        Backends().of(absent.model_copy(update={"present": True}))


def test_doctor_lists_the_gpus_that_the_driver_knows(tmp_path, monkeypatch):
    for number, version in enumerate((0, 90402, 90010, 110000)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "properties").write_text(f"cpu_cores_count 8\ngfx_target_version {version}\nvendor_id 4098\n")
    assert doctor.gpus(tmp_path) == ["gfx942", "gfx90a", "gfx1100"]
    assert doctor.gpus(tmp_path / "nothing") == []
    monkeypatch.setattr(doctor, "NODES", tmp_path)
    (check,) = doctor.checks()
    assert check.status == "lost"
    assert "gfx942, gfx90a, gfx1100 is here" in check.detail
    assert "docs/hip.md" in check.fix


def test_doctor_says_what_can_be_done_without_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "NODES", tmp_path)
    (check,) = doctor.checks()
    assert (check.status, check.fix) == ("ok", "")
    assert "no AMD GPU is here: kernels for gfx90a, gfx942 are compiled" in check.detail
    monkeypatch.setattr(doctor, "COMPILER", "raise SystemExit(1)")
    assert doctor.checks()[0].status == "lost"
