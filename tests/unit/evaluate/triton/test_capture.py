"""Launches as plans: arguments in order, memory by name, one plan a configuration, and what is not static."""

import pytest
import triton
from triton.runtime._allocation import NullAllocator
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

from kernelwright.evaluate.triton import tuning
from kernelwright.evaluate.triton.capture import Captured, capture
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.candidate import Define
from kernelwright.records.launch import Null, Number, Pointer, TensorMap

X = spec("x", 512, 512)
TOTAL = spec("out")
HALF = spec("x", 512, 512, dtype="float16")
SHARED_KERNEL = HEAD + (
    "@triton.jit\ndef k(x, out, n, B: tl.constexpr):\n"
    "    at = tl.program_id(0) * B + tl.arange(0, B)\n"
    "    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)\n\n"
)


def found(source, inputs=(X, X), outputs=(X,), arch="sm_90", task=NO_TASK, parameters=(), state=(), **fields):
    given = workload(*inputs, outputs=outputs, parameters=parameters).model_copy(update={"state": state})
    return capture(candidate(source, **fields), task, given, hardware(arch))


def plan(*arguments, **named):
    captured = found(*arguments, **named)
    assert isinstance(captured, Captured), captured
    assert len(captured.plans) == 1
    return captured.plans[0]


def reason(*arguments, **named):
    fault = found(*arguments, **named)
    assert isinstance(fault, Fault), fault
    assert fault.kind not in ("build", "out_of_bounds")
    return fault.log


def model(*lines, init=(), kernel=SHARED_KERNEL, arguments="x"):
    """A candidate around one copying kernel."""
    body = "".join(f"        {line}\n" for line in lines)
    start = "".join(f"        {line}\n" for line in ("super().__init__()", *init))
    head = f"class ModelNew(torch.nn.Module):\n    def __init__(self):\n{start}"
    return f"{kernel}{head}    def forward(self, {arguments}):\n{body}"


LAUNCH = "k[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), B=256)"
EMPTY = "out = torch.empty_like(x)"


def test_one_launch_in_the_kernel_s_own_order():
    captured = found(ADD)
    (launch,) = captured.plans[0].launches
    assert (launch.kernel, launch.grid, launch.block, launch.cluster) == (
        "add_kernel",
        (256, 1, 1),
        (128, 1, 1),
        (1, 1, 1),
    )
    assert launch.arguments == (
        Pointer(buffer="input", index=0),
        Pointer(buffer="input", index=1),
        Pointer(buffer="output", index=0),
        Number(type="i32", value=512 * 512),
        Null(),
        Null(),
    )
    assert captured.modules[launch.module].startswith(b"\x7fELF")
    assert captured.facts.kernels[0].registers > 0
    assert "sm_90" in captured.facts.compiler


SCALARS = (
    HEAD
    + """
@triton.jit
def k(x, out, flag, small, big, one, nothing, real, half: tl.float16, brain: tl.bfloat16, double: tl.float64, byte: tl.int8,
      pair, C: tl.constexpr):
    v = tl.load(x) * real + half + brain + double.to(tl.float32) + small + big.to(tl.float32) + byte + one + pair[0] + C
    if nothing is None:
        v += tl.load(pair[1])
    tl.store(out, tl.where(flag, v, -v))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty((), device=x.device)
        k[(1,)](x, out, True, 7, 1 << 40, 1, None, 0.5, 1.5, 1.00390625, 2.5, -3, (9, x[4:], 2.5), C=3)
        return out
"""
)


def test_every_scalar_has_the_width_of_the_signature():
    arguments = plan(SCALARS, (X,), (TOTAL,)).launches[0].arguments
    assert arguments == (
        Pointer(buffer="input", index=0),
        Pointer(buffer="output", index=0),
        Number(type="u8", value=1),
        Number(type="i32", value=7),
        Number(type="i64", value=1 << 40),
        Number(type="f32", value=0.5),
        Number(type="f16", value=1.5),
        Number(type="bf16", value=1.0),  # cut off, not rounded, as Triton's launcher does
        Number(type="f64", value=2.5),
        Number(type="i8", value=-3),
        Number(type="i32", value=9),
        Pointer(buffer="input", index=0, offset=4 * 512 * 4),
        Number(type="f32", value=2.5),
        Null(),
        Null(),
    )


def test_two_launches_share_a_workspace():
    both = plan(TWO_STAGE_SUM, (X,), (TOTAL,))
    assert [launch.kernel for launch in both.launches] == ["partial_kernel", "final_kernel"]
    assert [launch.module for launch in both.launches] == [0, 1]
    assert both.launches[0].arguments[1] == both.launches[1].arguments[0] == Pointer(buffer="workspace", index=0)
    assert [(w.nbytes, w.zeroed) for w in both.workspaces] == [(132 * 4, False)]
    assert both.launches[0].shared_bytes > 0


def test_parameters_go_by_name_and_else_by_order_where_that_is_clear():
    task = "def get_init_inputs():\n    return [512]\n"
    given = plan(PARAMETERS, (X,), task=task, parameters=(spec("scale.gamma", 512),))
    assert given.launches[0].arguments[1] == Pointer(buffer="parameter", index=0)
    swapped = model(
        EMPTY, LAUNCH.replace("(x, out", "(self.b, out"), "return out",
        init=("self.a = torch.nn.Parameter(torch.ones(512))", "self.b = torch.nn.Parameter(torch.ones(512))"),
    )  # fmt: skip
    by_name = plan(swapped, (X,), parameters=(spec("b", 512), spec("a", 512)))
    assert by_name.launches[0].arguments[0] == Pointer(buffer="parameter", index=0)
    unclear = reason(swapped, (X,), parameters=(spec("p", 512), spec("q", 512)))
    assert "only their values tell" in unclear


@pytest.fixture(autouse=True)
def _no_allocator():
    """What a candidate sets outlives it here, since all of them run in this process."""
    triton.set_allocator(NullAllocator())


@pytest.mark.parametrize(
    ("make", "zeroed"),
    [
        ("torch.zeros(9, device=x.device)", True),
        ("torch.zeros_like(x)", True),
        ("x.new_zeros((3, 3))", True),
        ("torch.full((3,), 0.0, device='cuda')", True),
        ("torch.empty(9, device='cuda').zero_()", True),
        ("torch.empty(9, device='cuda').fill_(0)", True),
        ("x.new_empty((3, 3))", False),
        ("torch.empty_strided((3, 3), (1, 3), device=x.device)", False),
    ],
)
def test_zeros_become_zeroed_memory(make, zeroed):
    source = model(f"w = {make}", EMPTY, LAUNCH.replace("(x, out", "(w, out"), "return out")
    (space,) = plan(source, (X,)).workspaces
    assert space.zeroed is zeroed


def test_a_zeroed_output_and_what_is_never_launched():
    whole = plan(model("junk = torch.zeros_like(x)", "out = torch.zeros_like(x)", LAUNCH, "return out"), (X,))
    assert (whole.zeroed_outputs, whole.workspaces) == ((0,), ())


def test_a_result_may_be_a_view_of_the_whole():
    source = model(
        "out = torch.empty(x.numel(), device=x.device)", LAUNCH, "return (out.view(2, -1).reshape(x.shape),)"
    )
    assert plan(source, (X,)).launches[0].arguments[1] == Pointer(buffer="output", index=0)


def test_an_empty_grid_is_no_launch():
    assert len(plan(model(EMPTY, LAUNCH, "k[(0,)](x, out, 3, B=256)", "return out"), (X,)).launches) == 1


def test_one_plan_a_configuration_with_heuristics_resolved():
    captured = found(AUTOTUNED)
    assert [p.label for p in captured.plans] == [
        "B=512, num_warps=2, num_ctas=1, num_stages=3",
        "B=2048, num_warps=8, num_ctas=1, num_stages=3",
    ]
    assert [(p.launches[0].grid[0], p.launches[0].block[0]) for p in captured.plans] == [(512, 64), (128, 256)]
    assert [p.label for p in captured.unaligned_plans] == [p.label for p in captured.plans]


TUNED_COPY = model(EMPTY, "k[lambda m: (triton.cdiv(x.numel(), m['B']),)](x, out, x.numel())", "return out")


def tuned(configs, **options):
    more = "".join(f", {name}={value}" for name, value in options.items())
    return TUNED_COPY.replace("@triton.jit", f"@triton.autotune({configs}, key=['n']{more})\n@triton.jit")


def test_configurations_are_pruned_and_bounded(monkeypatch):
    monkeypatch.setattr(tuning, "MOST", 3)
    many = tuned("[triton.Config({'B': 128}, num_stages=s) for s in range(1, 100)]")
    assert len(found(many, (X,)).plans) == 3
    two = tuned(
        "[triton.Config({'B': b}) for b in (64, 128, 256, 512)]",
        prune_configs_by="{'early_config_prune': lambda cs, named, **_: [c for c in cs if c.kwargs['B'] > named['n'] % 9],"
        "'perf_model': lambda B, **_: -B if B < 512 else 0, 'top_k': 2}",
    )
    assert [p.label[:5] for p in found(two, (X,)).plans] == ["B=256", "B=128"]


def test_two_tuners_vary_one_at_a_time():
    source = tuned("[triton.Config({'B': b}) for b in (64, 128, 256)]").replace(
        "        return out", "        k[lambda m: (triton.cdiv(7, m['B']),)](x, out, 7)\n        return out"
    )
    blocks = [[part[:5].rstrip(",") for part in p.label.split("; ")] for p in found(source, (X,)).plans]
    assert blocks == [["B=64", "B=64"], ["B=128", "B=64"], ["B=256", "B=64"], ["B=64", "B=128"], ["B=64", "B=256"]]


def test_a_configuration_s_own_hook_runs_and_the_tuner_s_zeroing_does_not():
    hook = "pre_hook=lambda named: named['out'].zero_()"
    assert found(tuned(f"[triton.Config({{'B': 128}}, {hook})]"), (X,)).plans[0].zeroed_outputs == (0,)
    configs = "[triton.Config({'B': b}) for b in (64, 128)]"
    assert found(tuned(configs, reset_to_zero="['out']"), (X,)).plans[0].zeroed_outputs == ()


def test_a_configuration_that_does_not_fit_is_passed_over():
    decorated = MATMUL.replace(
        "@triton.jit",
        "@triton.autotune([triton.Config({'BM': 256}, num_stages=8), triton.Config({'BM': 64}, num_stages=2),"
        " triton.Config({'BM': 32}, num_stages=2)], key=['m'])\n@triton.jit",
    )
    source = decorated.replace(" BM=M_BLOCK,", "").replace(", num_stages=STAGES", "")
    assert [p.label[:5] for p in found(source, (HALF, HALF), (HALF,)).plans] == ["BM=64", "BM=32"]
    none = source.replace("64}, num_stages=2", "256}, num_stages=8").replace("32}, num_stages=2", "256}, num_stages=9")
    fault = found(none, (HALF, HALF), (HALF,))
    assert fault.kind == "build"
    assert "shared memory" in fault.log


def test_inputs_at_odd_addresses_get_kernels_of_their_own():
    captured = found(ADD)
    (given,), (odd,) = captured.plans[0].launches, captured.unaligned_plans[0].launches
    assert odd.model_copy(update={"module": given.module}) == given
    assert captured.modules[odd.module] != captured.modules[given.module]
    assert captured.aligned_only == ""


def test_no_window_of_an_odd_input_passes_for_aligned():
    source = model(EMPTY, "k[(2,)](x.view(-1)[3:], out, 256, B=256)", "return out")
    captured = found(source, (X,))
    assert captured.unaligned_plans == (), "the window is never aligned, so that one kernel serves both"
    assert captured.plans[0].launches[0].arguments[0].offset == 12


def test_kernels_that_do_not_care_need_no_second_plan():
    source = SHARED_KERNEL.replace("@triton.jit", "@triton.jit(do_not_specialize_on_alignment=['x'])")
    captured = found(model(EMPTY, LAUNCH, "return out", kernel=source), (X,))
    assert (captured.unaligned_plans, captured.aligned_only) == ((), "")


DESCRIPTOR = (
    HEAD
    + """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def k(source, target, B: tl.constexpr):
    row = tl.program_id(0) * B
    for column in range(0, source.shape[1], B):
        target.store([row, column], source.load([row, column]))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        source, target = (TensorDescriptor.from_tensor(t, [64, 64]) for t in (x, out))
        k[(x.shape[0] // 64,)](source, target, B=64)
        return out
"""
)


def test_descriptors_become_tensor_maps_on_hopper():
    captured = found(DESCRIPTOR, (spec("x", 256, 512, dtype="float16"),), (spec("o", 256, 512, dtype="float16"),))
    arguments = captured.plans[0].launches[0].arguments
    maps = [a for a in arguments if isinstance(a, TensorMap)]
    assert [m.pointer for m in maps] == [Pointer(buffer="input", index=0), Pointer(buffer="output", index=0)]
    (first, _) = maps
    assert (first.shape, first.strides_bytes, first.box) == ((512, 256), (1024,), (64, 64))
    assert (first.dtype, first.nan_fill) == (6, False)  # CU_TENSOR_MAP_DATA_TYPE_FLOAT16
    assert arguments[1:5] == (
        Number(type="i32", value=256), Number(type="i32", value=512),
        Number(type="i64", value=512), Number(type="i64", value=1),
    )  # fmt: skip
    assert captured.unaligned_plans == ()
    assert "multiple of 16" in captured.aligned_only


def test_descriptors_are_taken_apart_where_there_is_no_such_engine():
    arguments = plan(DESCRIPTOR, (HALF,), (HALF,), "sm_80").launches[0].arguments
    new = triton.__version__ >= "3.7"
    assert [a.type if isinstance(a, Number) else a.kind for a in arguments[: 10 + new]] == [
        "pointer", "i64", "i64", "i64", "i64", "i8", *["i8"] * new, "i32", "i32", "i64", "i64",
    ]  # fmt: skip


SCRATCH = (
    HEAD
    + """
ALLOCATOR
@triton.jit
def k(x, out, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n, n], [n, 1], [B, B])
    row = tl.program_id(0) * B
    rows, columns = row + tl.arange(0, B), tl.arange(0, B)
    tl.store(out + rows[:, None] * n + columns[None, :], source.load([row, 0]))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        k[(8,)](x, out, 512, B=64)
        return out
"""
)
ALLOCATOR = "triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device='cuda'))"


def test_scratch_memory_is_a_workspace_of_the_whole_grid():
    given = plan(SCRATCH.replace("ALLOCATOR", ALLOCATOR), (X,))
    (space,) = given.workspaces
    assert space.nbytes % 8 == 0
    assert space.nbytes >= 8 * 128
    assert given.launches[0].arguments[-2:] == (Pointer(buffer="workspace", index=0), Null())


def test_clusters_multiply_the_grid():
    source = model(EMPTY, LAUNCH.replace("B=256", "B=256, num_ctas=2, num_warps=8"), "return out")
    (launch,) = plan(source, (X,)).launches
    assert (launch.grid, launch.cluster, launch.block) == ((2048, 1, 1), (2, 1, 1), (256, 1, 1))


def test_launch_flags():
    (launch,) = plan(model(EMPTY, LAUNCH.replace("B=256", "B=256, launch_pdl=True"), "return out"), (X,)).launches
    assert (launch.programmatic, launch.cooperative) == (True, False)
    (launch,) = plan(
        model(EMPTY, LAUNCH.replace("B=256", "B=256, launch_cooperative_grid=True"), "return out"), (X,)
    ).launches
    assert (launch.programmatic, launch.cooperative) == (False, True)


RESIDENT = (
    "kernel = k.warmup(x, out, x.numel(), B=256, grid=(1,))",
    "kernel._init_handles()",
    "here = triton.runtime.driver.active.utils.get_device_properties(0)",
    "blocks = here['max_num_regs'] // (kernel.n_regs * 32 * 4)",
    "kernel[(blocks, 1, 1)](x, out, x.numel(), 256)",
    "return out",
)


def test_a_grid_of_what_is_resident_as_triton_s_tutorials_compute_it():
    (launch,) = plan(model(EMPTY, *RESIDENT), (X,)).launches
    assert 8 <= launch.grid[0] <= 64
    assert launch.arguments[2] == Number(type="i32", value=512 * 512)


FUNCTION = """
class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        ctx.save_for_backward(x)
        with torch.cuda.device(x.device):
            k[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), B=256)
        return out

"""


def test_an_autograd_function_is_looked_through():
    source = model("return Copy.apply(x.contiguous().view(512, -1))", kernel=SHARED_KERNEL + FUNCTION)
    assert plan(source, (X,)).launches[0].arguments[:2] == (
        Pointer(buffer="input", index=0),
        Pointer(buffer="output", index=0),
    )


DYNAMIC = {
    "sum": (("y = x.sum()", EMPTY, LAUNCH, "return out"), "computes outside its kernels: sum"),
    "add": ((EMPTY, LAUNCH, "return out + 1"), "computes outside its kernels: add"),
    "transposed": (("x = x.t().contiguous()", EMPTY, LAUNCH, "return out"), "computes outside its kernels: clone"),
    "cast": (("x = x.to(torch.float16).float()", EMPTY, LAUNCH, "return out"), "computes outside its kernels: _to_copy"),
    "copied": ((EMPTY, LAUNCH, "out.copy_(x)", "return out"), "computes outside its kernels: copy_"),
    "value": ((EMPTY, "n = int(x[0, 0].item())", LAUNCH, "return out"), "asks for a value"),
    "branch": ((EMPTY, "if x[0, 0] > 0: pass", LAUNCH, "return out"), "computes outside its kernels: gt"),
    "random": (("out = torch.rand_like(x)", LAUNCH, "return out"), "computes outside its kernels: rand_like"),
    "ones": (("out = torch.ones_like(x)", LAUNCH, "return out"), "other values than zeros: ones_like"),
    "minus infinity": (("out = torch.full_like(x, -1e9)", LAUNCH, "return out"), "other values than zeros: full_like"),
    "late zeros": ((EMPTY, LAUNCH, "out.zero_()", "return out"), "fills memory between two kernels"),
    "zeroed input": ((EMPTY, "x.zero_()", LAUNCH, "return out"), "writes to a tensor that this call did not make"),
    "input": ((EMPTY, LAUNCH, "return x"), "returns a tensor that this call of forward did not make"),
    "twice": ((EMPTY, LAUNCH, "return out, out"), "returns 2 tensors"),
    "part": (("out = torch.empty(1024, 512, device=x.device)", LAUNCH, "return out[:512]"), "a part of its memory"),
    "columns": ((EMPTY, LAUNCH, "return out.t()"), "not in row-major order"),
    "shape": ((EMPTY, LAUNCH, "return out.view(-1)"), "returns float32[262144] where the task has float32[512, 512]"),
    "dtype": (("out = torch.empty_like(x, dtype=torch.float16)", LAUNCH, "return out"), "returns float16[512, 512]"),
    "host": (("out = torch.empty(512, 512)", LAUNCH, "return out"), "in the host's memory"),
    "nothing": ((EMPTY, "return out"), "launches no kernel"),
    "number": ((EMPTY, LAUNCH, "return 3"), "returned a int, expected a tensor"),
    "address": ((EMPTY, LAUNCH.replace("out, x.numel()", "out, x.data_ptr()"), "return out"), "tensors lie elsewhere"),
    "stream": ((EMPTY, "torch.cuda.Stream()", LAUNCH, "return out"), "there is no GPU in this process"),
    "swallowed": (
        (EMPTY, "try: x.sum()", "except Exception: pass", LAUNCH, "return out"),
        "computes outside its kernels: sum",
    ),
    "constant": ((EMPTY, LAUNCH.replace("(x, ", "(torch.tensor([1.0]), "), "return out"), "neither the task's nor"),
}  # fmt: skip


@pytest.mark.parametrize("name", DYNAMIC)
def test_what_is_not_static_is_named(name):
    lines, words = DYNAMIC[name]
    assert words in reason(model(*lines), (X,))


def test_annotations_may_name_classes_of_what_is_not_here():
    note = "def note(s: torch.cuda.Stream | torch.cuda.Event | torch.cuda.device | None = None): return s"
    assert plan(model(EMPTY, note, "note()", LAUNCH, "return out"), (X,)).launches


STATE = {
    "inputs": (X,), "outputs": (X, spec("seen.after", 512, 512)),
    "parameters": (spec("seen", 512, 512), spec("fixed", 512, 512)), "state": ("seen",),
}  # fmt: skip
BUFFERS = (
    'self.register_buffer("seen", torch.zeros(512, 512))',
    'self.register_buffer("fixed", torch.zeros(512, 512))',
)
NEW = "new = torch.empty_like(x)"
RENEW = LAUNCH.replace("(x, out", "(self.seen, new")


def test_state_is_renewed_by_a_copy_of_what_a_kernel_made():
    both = plan(model(EMPTY, NEW, LAUNCH, RENEW, "self.seen.copy_(new)", "return out", init=BUFFERS), **STATE)
    assert both.renewed == (1,)
    assert [launch.arguments[:2] for launch in both.launches] == [
        (Pointer(buffer="input", index=0), Pointer(buffer="output", index=0)),
        (Pointer(buffer="parameter", index=0), Pointer(buffer="output", index=1)),
    ]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((LAUNCH,), "does not copy all of the task's new state"),
        ((LAUNCH, RENEW, "self.seen.copy_(new)", "self.fixed.copy_(new)"), "changes a parameter that the task leaves"),
        ((LAUNCH, RENEW, "self.seen.copy_(new)", RENEW), "gives a kernel a parameter that this call has copied to"),
        (
            (LAUNCH, RENEW, "self.seen.copy_(new)", LAUNCH.replace("(x, out", "(x, new")),
            "memory that this call has copied",
        ),
        ((LAUNCH, RENEW, "self.seen.copy_(new)", "self.seen.copy_(out)"), "a part of a parameter, twice"),
        ((LAUNCH, RENEW, "self.seen[:9].copy_(new[:9])"), "a part of a parameter"),
        ((LAUNCH, "self.seen.copy_(new)"), "what no kernel made"),
        ((LAUNCH, RENEW, "self.seen.copy_(x)"), "computes outside its kernels: copy_"),
        ((LAUNCH, RENEW, "new.copy_(self.seen)"), "computes outside its kernels: copy_"),
        ((LAUNCH, RENEW, "x.copy_(new)"), "computes outside its kernels: copy_"),
    ],
)
def test_other_copies_are_not_static(lines, words):
    assert words in reason(model(EMPTY, NEW, *lines, "return out", init=BUFFERS), **STATE)


@pytest.mark.parametrize(
    ("init", "lines", "words"),
    [
        ("self.w = torch.zeros(9, device='cuda')", (EMPTY, LAUNCH.replace("(x, ", "(self.w, ")), "neither the task's"),
        (
            "self.w = None",
            ("self.w = torch.empty_like(x) if self.w is None else self.w", "out = self.w", LAUNCH),
            "neither",
        ),
        ("self.n = 0", ("self.n += 1", EMPTY, LAUNCH.replace("x.numel()", "self.n * 7")), "when it is called again"),
    ],
)
def test_what_outlives_a_call_is_not_static(init, lines, words):
    assert words in reason(model(*lines, "return out", init=(init,)), (X,))


def test_other_reasons_of_the_model_s_own():
    assert "kernelwright_test.add" in reason(CUSTOM_OPERATOR)
    assert "triton.set_allocator" in reason(SCRATCH.replace("ALLOCATOR", ""), (X,))
    shared = model("w = torch.empty_like(x)", LAUNCH.replace("out", "w"), "return w, w.view(512, 512)")
    assert "two results that share memory" in reason(shared, (X,), (X, X))
    boom = reason(model(EMPTY, "raise ValueError('no')"), (X,))
    assert "ValueError: no" in boom
    assert "kernel.py" in boom


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("import nowhere_at_all\n", "nowhere_at_all"),
        ("Model = 1\n", "ModelNew"),
        (ADD.replace("load(y +", "load(z +"), "z is not defined"),
    ],
)
def test_a_candidate_that_does_not_build_is_no_matter_of_tiers(source, words):
    fault = found(source)
    assert fault.kind == "build"
    assert words in fault.log


def test_shared_memory_over_the_limit_fails_the_build():
    defines = (Define(name="M_BLOCK", value=256), Define(name="STAGES", value=8))
    fault = found(MATMUL, (HALF, HALF), (HALF,), defines=defines)
    assert (fault.kind, "232448" in fault.log) == ("build", True)


def test_captures_of_the_same_are_equal():
    first, again = found(SOFTMAX, (X,)), found(SOFTMAX, (X,))
    assert (first.plans, first.unaligned_plans, first.modules) == (again.plans, again.unaligned_plans, again.modules)
