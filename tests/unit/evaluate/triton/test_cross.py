"""Cross-compilation of real launches for architectures that are not here."""

import pytest
import torch
from triton_candidates import (
    ADD,
    AUTOTUNED,
    CUSTOM_OPERATOR,
    HEAD,
    MATMUL,
    NO_TASK,
    PARAMETERS,
    SOFTMAX,
    TWO_STAGE_SUM,
    candidate,
    spec,
    workload,
)

from kernelwright.errors import MachineError
from kernelwright.evaluate.triton.cross import cross_compile
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.records.candidate import Define
from kernelwright.records.measure import BuildFacts

LARGE = workload(spec("x", 32768, 32768), spec("y", 32768, 32768))
PRODUCT = workload(spec("a", 4096, 4096, dtype="float16"), spec("b", 4096, 4096, dtype="float16"))


def build(source, inputs=LARGE, arch="sm_90", task=NO_TASK, **fields):
    return cross_compile(candidate(source, **fields), task, inputs, arch)


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_every_target_compiles(arch):
    facts = build(ADD, arch=arch)
    assert isinstance(facts, BuildFacts), facts
    (kernel,) = facts.kernels
    assert kernel.name == "add_kernel"
    assert 8 <= kernel.registers <= 64
    assert (kernel.spill_bytes, kernel.shared_bytes, kernel.warps) == (0, 0, 4)
    assert kernel.occupancy == 1.0
    assert facts.binary_bytes > 1000
    assert arch in facts.compiler


def test_a_define_reaches_the_kernel():
    few, many = (build(ADD, defines=(Define(name="BLOCK", value=v),)) for v in (128, 8192))
    assert many.kernels[0].registers > few.kernels[0].registers


def test_two_kernels_and_a_persistent_grid():
    facts = build(TWO_STAGE_SUM, workload(spec("x", 4096, 4096)))
    assert [k.name for k in facts.kernels] == ["partial_kernel", "final_kernel"]
    assert facts.kernels[0].shared_bytes > 0


def test_softmax_over_long_rows_and_parameters_by_order():
    assert build(SOFTMAX, workload(spec("x", 4096, 4096))).kernels[0].name == "softmax_kernel"
    task = "def get_init_inputs():\n    return [4096]\n"
    given = workload(spec("x", 64, 4096), parameters=(spec("scale.gamma", 4096),))
    assert build(PARAMETERS, given, task=task).kernels[0].name == "scale_kernel"


def test_parameters_that_do_not_fit_are_named():
    given = workload(spec("x", 64, 4096), parameters=(spec("gamma", 64),))
    fault = build(ADD, given)
    assert fault.kind == "build"
    assert "gamma[64]" in fault.log


def test_shared_memory_of_a_product_and_occupancy():
    facts = build(MATMUL, PRODUCT)
    (kernel,) = facts.kernels
    assert kernel.shared_bytes >= 2 * 64 * 64 * 2
    assert 0 < kernel.occupancy < 1


def test_too_much_shared_memory_is_a_build_fault_that_says_so():
    defines = (Define(name="M_BLOCK", value=256), Define(name="STAGES", value=8))
    fault = build(MATMUL, PRODUCT, defines=defines)
    assert fault.kind == "build"
    assert "shared memory" in fault.log
    assert "232448" in fault.log


def test_the_limit_is_the_architecture_s():
    defines = (Define(name="M_BLOCK", value=128), Define(name="STAGES", value=6))
    assert isinstance(build(MATMUL, PRODUCT, "sm_90", defines=defines), BuildFacts)
    assert "101376" in build(MATMUL, PRODUCT, "sm_86", defines=defines).log


def test_a_compile_error_shows_the_candidate_s_line_only():
    fault = build(ADD.replace("load(y +", "load(z +"))
    assert fault.kind == "build"
    assert "z is not defined" in fault.log
    assert "in forward" in fault.log
    assert "site-packages" not in fault.log


def test_the_assembler_s_failure_is_short(capfd):
    # wgmma needs more registers than this allows
    source = MATMUL.replace("num_stages=STAGES", "num_stages=STAGES, num_warps=4, maxnreg=24")
    fault = build(source, PRODUCT, defines=(Define(name="M_BLOCK", value=128),))
    assert isinstance(fault, Fault), fault
    assert fault.kind == "build"
    assert "ptxas" in fault.log
    assert len(fault.log) < 2000
    assert ".visible" not in fault.log
    assert ".visible" not in capfd.readouterr().out


def test_autotune_and_heuristics_compile_every_configuration():
    facts = build(AUTOTUNED)
    assert [k.warps for k in facts.kernels] == [2, 8]


def test_a_configuration_that_does_not_fit_is_passed_over():
    source = (
        MATMUL.replace(
            "@triton.jit",
            "@triton.autotune([triton.Config({'BM': 256}, num_stages=8), "
            "triton.Config({'BM': 64}, num_stages=2)], "
            "key=['m'])\n@triton.jit",
        )
        .replace(" BM=M_BLOCK,", "")
        .replace(", num_stages=STAGES", "")
    )
    facts = build(source, PRODUCT)
    assert len(facts.kernels) == 1


def test_kernels_inside_a_custom_operator_are_found():
    facts = build(CUSTOM_OPERATOR, workload(spec("x", 512, 512), spec("y", 512, 512)))
    assert isinstance(facts, BuildFacts), facts
    assert [k.name for k in facts.kernels] == ["add_kernel"]


@pytest.mark.parametrize(
    "line",
    ["scale = float(x[0, 0])", "self.layer = torch.nn.Linear(3, 3).cuda()", "torch.cuda.synchronize()"],
)
def test_host_code_that_needs_real_tensors(line):
    source = ADD.replace("out = torch.empty_like(x)", f"{line}; out = torch.empty_like(x)")
    facts = build(source, workload(spec("x", 64, 64), spec("y", 64, 64)))
    assert isinstance(facts, BuildFacts), facts
    assert len(facts.kernels) == 1


def test_a_model_without_kernels_has_no_kernel_facts():
    source = HEAD + "class ModelNew(torch.nn.Module):\n    def forward(self, x, y):\n        return x + y\n"
    facts = build(source, workload(spec("x", 8, 8), spec("y", 8, 8)))
    assert facts.kernels == ()
    assert facts.binary_bytes is None


@pytest.mark.parametrize(
    ("source", "kind", "words"),
    [
        ("def broken(:\n", "build", "SyntaxError"),
        ("import nowhere_at_all\n", "build", "nowhere_at_all"),
        ("Model = 1\n", "build", "ModelNew"),
        (ADD.replace("torch.nn.Module", "object"), "build", "torch.nn.Module"),
        (ADD.replace("out = torch.empty_like(x)", "raise ValueError('no')"), "run", "ValueError: no"),
    ],
)
def test_faults_have_a_kind_and_a_reason(source, kind, words):
    fault = build(source)
    assert fault.kind == kind
    assert words in fault.log


def test_an_unknown_define_is_a_build_fault():
    assert "NOWHERE" in build(ADD, defines=(Define(name="NOWHERE", value=1),)).log


def test_an_unknown_architecture_is_the_caller_s_fault():
    with pytest.raises(MachineError, match="sm_70"):
        build(ADD, arch="sm_70")


def test_torch_is_itself_again_afterwards():
    build(ADD)
    assert "lambda" not in repr(torch.cuda.is_available)
    assert torch.empty(2).device.type == "cpu"
