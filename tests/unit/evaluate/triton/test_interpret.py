"""Whole candidates in the interpreter: right ones agree with torch, wrong ones have the right fault."""

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
    workload,
)

from kernelwright.errors import RefereeError
from kernelwright.evaluate.triton.cross import cross_compile
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.evaluate.triton.interpret import Arguments, install, interpret
from kernelwright.records.candidate import Define
from kernelwright.records.reasons import gist


@pytest.fixture
def run(repaired):
    def call(source, *inputs, parameters=None, task=NO_TASK, **fields):
        arguments = Arguments(inputs, parameters or {})
        return repaired(interpret, candidate(source, **fields), task, arguments, "sm_90")

    return call


def test_addition_with_a_tail(run):
    x, y = torch.randn(37, 101), torch.randn(37, 101)
    (out,) = run(ADD, x, y)
    assert torch.equal(out, x + y)
    assert out.device.type == "cpu"
    (out,) = run(ADD, x, y, defines=(Define(name="BLOCK", value=64),))
    assert torch.equal(out, x + y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_softmax(run, dtype):
    x = torch.randn(13, 1000).to(dtype)
    (out,) = run(SOFTMAX, x)
    torch.testing.assert_close(out, x.softmax(1))


def test_two_stages_with_a_grid_of_the_device_s_size(run):
    x = torch.rand(64, 1001)
    (out,) = run(TWO_STAGE_SUM, x)
    torch.testing.assert_close(out.double(), x.double().sum(), rtol=1e-5, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_product(run, dtype):
    a, b = torch.randn(67, 131).to(dtype), torch.randn(131, 33).to(dtype)
    (out,) = run(MATMUL, a, b)
    torch.testing.assert_close(out, a @ b)


def test_autotune_takes_a_configuration_and_custom_operators_run(run):
    x, y = torch.randn(513), torch.randn(513)
    for source in (AUTOTUNED, CUSTOM_OPERATOR):
        assert torch.equal(run(source, x, y)[0], x + y)


def test_parameters_by_name_and_by_order(run):
    x, w = torch.randn(5, 7), torch.randn(7)
    task = "def get_init_inputs():\n    return [7]\n"
    for name in ("weight", "scale.gamma"):
        assert torch.equal(run(PARAMETERS, x, parameters={name: w}, task=task)[0], x * w)
    fault = run(ADD, x, x, parameters={"gamma": torch.randn(6)})
    assert fault.kind == "build"
    assert "nothing in the model holds gamma[6]" in fault.log


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("inside = at < n", "inside = at < n + 3"), "3 of"),
        (("x + at, mask=inside", "x + at - 4, mask=inside"), "4 of"),
        (("out + at, tl.load", "out + at + 1, tl.load"), "store"),
        ((", mask=inside)\n\n", ")\n\n"), "store"),
    ],
)
def test_out_of_bounds(run, change, what):
    assert change[0] in ADD
    fault = run(ADD.replace(*change), torch.randn(3000), torch.randn(3000))
    assert isinstance(fault, Fault), fault
    assert fault.kind == "out_of_bounds"
    assert what in fault.log
    assert "in add_kernel" in fault.log


def test_reading_what_another_program_wrote_is_a_race(run):
    source = TWO_STAGE_SUM.replace(
        "    tl.store(partial + tl.program_id(0), tl.sum(total, axis=0))\n",
        "    tl.store(partial + tl.program_id(0), tl.sum(total, axis=0))\n"
        "    if tl.program_id(0) == tl.num_programs(0) - 1:\n"
        "        every = tl.load(partial + tl.arange(0, 128))\n"
        "        tl.store(partial, tl.sum(every, axis=0))\n",
    )
    fault = run(source, torch.randn(64, 1001))
    assert isinstance(fault, Fault), fault
    assert (fault.kind, "reads what program 0 wrote" in fault.log) == ("race", True)


def test_an_atomic_counter_makes_an_order(run):
    source = (
        TWO_STAGE_SUM.replace(
            "    tl.store(partial + tl.program_id(0), tl.sum(total, axis=0))\n",
            "    tl.store(partial + tl.program_id(0), tl.sum(total, axis=0))\n"
            "    if tl.atomic_add(count, 1) == tl.num_programs(0) - 1:\n"
            "        at = tl.arange(0, 256)\n"
            "        every = tl.load(partial + at, mask=at < tl.num_programs(0), other=0.0)\n"
            "        tl.store(out, tl.sum(every, axis=0))\n",
        )
        .replace("(x, partial, n,", "(x, partial, count, out, n,")
        .replace("(x, partial, x.numel(),", "(x, partial, torch.zeros(1, dtype=torch.int32), out, x.numel(),")
        .replace("        final_kernel[(1,)](partial, out, programs, B=triton.next_power_of_2(programs))\n", "")
    )
    x = torch.rand(64, 1001)
    torch.testing.assert_close(run(source, x)[0].double(), x.double().sum(), rtol=1e-5, atol=0)


def test_shifting_in_place_is_a_race(run):
    source = ADD.replace("out = torch.empty_like(x)", "out = x").replace(
        "tl.load(x + at, mask=inside)", "tl.load(x + at + 1, mask=at + 1 < n)"
    )
    fault = run(source, torch.randn(3000), torch.randn(3000))
    assert (fault.kind, "writes what program 0 read" in fault.log) == ("race", True)
    in_place = ADD.replace("out = torch.empty_like(x)", "out = x")
    assert isinstance(run(in_place, torch.randn(3000), torch.randn(3000)), tuple)


def test_a_failed_device_assert(run):
    source = ADD.replace("    inside = at < n\n", "    inside = at < n\n    tl.device_assert(n < 5, 'n is large')\n")
    fault = run(source, torch.randn(9), torch.randn(9))
    assert (fault.kind, "n is large" in fault.log) == ("assertion", True)
    assert isinstance(run(source, torch.randn(3), torch.randn(3)), tuple)


def test_an_assumption_that_does_not_hold_is_named_with_its_program_and_line(run):
    source = ADD.replace("    inside = at < n\n", "    inside = at < n\n    tl.assume(n < 5)\n")
    fault = run(source, torch.randn(9), torch.randn(9))
    assert fault.kind == "assertion"
    told = gist(fault.log)
    assert told.startswith("tl.assume does not hold in program (0, 0, 0)") and "tl.assume(n < 5)" in told
    assert isinstance(run(source, torch.randn(3), torch.randn(3)), tuple)


@pytest.mark.parametrize("assumed", ["n % 16 == 0", "tl.program_id(0) > 0", "tl.max(at, axis=0) < n"])
def test_an_assumption_that_holds_for_some_sizes_alone_is_refused(run, assumed):
    source = ADD.replace("    inside = at < n\n", f"    inside = at < n\n    tl.assume({assumed})\n")
    fault = run(source, torch.randn(1009), torch.randn(1009))
    assert (fault.kind, "tl.assume does not hold" in fault.log) == ("assertion", True)


def test_the_sentence_of_an_overrun_says_which_store_how_many_lanes_and_how_far(run):
    source = ADD.replace("    inside = at < n\n", "    inside = at < n + 2\n")
    told = gist(run(source, torch.randn(9), torch.randn(9)).log)
    assert "out of bounds: 2 of 11 lanes of program (0, 0, 0); the first is 0 bytes past the end of" in told
    assert "kernel.py:" in told


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        (
            "tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [a], tl.float32, True, 1)",
            "asm",
        ),
        ("tl.extra.cuda.libdevice.j0(a)", "j0"),
        ("tl.dot_scaled(a, None, 'e4m3', a, None, 'e4m3')", ""),
    ],
)
def test_what_cannot_be_interpreted_says_so(run, expression, word):
    source = ADD.replace("tl.load(x + at, mask=inside) +", "f(tl.load(x + at, mask=inside)) +").replace(
        "@triton.jit", f"@triton.jit\ndef f(a):\n    return {expression}\n\n@triton.jit"
    )
    fault = run(source, torch.randn(9), torch.randn(9))
    if word:
        assert (fault.kind, word in fault.log or "assembly" in fault.log) == ("unsupported", True)
    else:
        assert fault.kind in ("unsupported", "run")


@pytest.mark.parametrize("function", ["tl.sqrt", "tl.exp", "tl.math.rsqrt", "tl.abs", "tl.floor"])
def test_functions_of_a_number_can_be_compared_and_combined(run, function):
    source = ADD.replace("mask=inside) +", f"mask=inside & ({function}(n.to(tl.float32) + 1.0) > -1.0)) +")
    assert source != ADD
    x = torch.randn(9)
    found = run(source, x, x)
    assert not isinstance(found, Fault), found.log
    assert torch.equal(found[0], x + x)


LIBDEVICE = {
    "tanh": torch.tanh,
    "erf": torch.erf,
    "exp": torch.exp,
    "log1p": torch.log1p,
    "rsqrt": torch.rsqrt,
    "expm1": torch.expm1,
    "fast_expf": torch.exp,
    "rint": torch.round,
    "cbrt": lambda x: x.sign() * x.abs() ** (1 / 3),
}


@pytest.mark.parametrize("module", ["triton.language.extra.cuda", "triton.language.extra"])
def test_libdevice(run, module):
    for name, function in LIBDEVICE.items():
        source = ADD.replace("BLOCK =", f"from {module} import libdevice\nBLOCK =", 1).replace(
            "tl.load(x + at, mask=inside) +", f"libdevice.{name}(tl.load(x + at, mask=inside, other=1.0)) +"
        )
        x = torch.rand(65) + 0.5
        torch.testing.assert_close(run(source, x, torch.zeros(65))[0], function(x))


def test_libdevice_with_two_arguments_and_a_scalar(run):
    source = ADD.replace("BLOCK =", "from triton.language.extra import libdevice\nBLOCK =", 1).replace(
        "tl.load(x + at, mask=inside) +", "libdevice.pow(tl.load(x + at, mask=inside, other=1.0), 3.0) +"
    )
    x = torch.rand(65)
    torch.testing.assert_close(run(source, x, torch.zeros(65))[0], x**3)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def broken(:\n", "build"),
        ("Model = 1\n", "build"),
        (ADD.replace("out = torch.empty_like(x)", "raise ValueError('no')"), "run"),
        (ADD.replace("return out", "return [out, 'text']"), "run"),
        (ADD.replace("load(y +", "load(z +"), "run"),
    ],
)
def test_faults_have_a_kind(run, source, kind):
    fault = run(source, torch.randn(9), torch.randn(9))
    assert fault.kind == kind
    assert fault.log


def test_several_outputs_come_in_order(run):
    x, y = torch.randn(9), torch.randn(9)
    source = ADD.replace("return out", "return out, (x, y)")
    assert [torch.equal(a, b) for a, b in zip(run(source, x, y), (x + y, x, y), strict=True)] == [True] * 3


def test_host_code_sees_the_gpu(run):
    source = HEAD + (
        "class ModelNew(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)\n"
        "        y = torch.zeros(3, device=x.device) + torch.ones(3, device='cuda') + x.cuda().to('cuda:0')\n"
        "        assert y.is_cuda and y.device == x.device and y.get_device() == 0\n"
        "        with torch.cuda.device(x.device):\n"
        "            return y\n"
    )
    assert torch.equal(run(source, torch.ones(3))[0], torch.full((3,), 2.0))


def test_a_process_without_the_switch_is_refused():
    with pytest.raises(RefereeError, match="TRITON_INTERPRET"):
        install()


def test_cross_compiling_with_the_switch_is_refused(repaired):
    with pytest.raises(RefereeError, match="TRITON_INTERPRET"):
        repaired(cross_compile, candidate(ADD), NO_TASK, workload(), "sm_90")
