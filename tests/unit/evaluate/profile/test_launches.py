"""Launches become kernels: names are cut right, the candidate's own are told from a library's, shares add up."""

import pytest

from kernelwright.evaluate.profile import trace
from kernelwright.evaluate.profile.launches import (
    LONGEST_NAME,
    Seen,
    Sum,
    base_name,
    chip_of,
    declared,
    is_own,
    plain_name,
    with_counters,
)
from kernelwright.evaluate.sandbox.messages.tools import Activity
from kernelwright.records.candidate import Candidate
from kernelwright.records.launch import Launch, LaunchPlan
from kernelwright.records.profile import Counters, KernelProfile, Profile

CUDA = r"""
// __global__ void commented(float* x) {}
/* __global__ void also_commented(float* x) {} */
template <typename T, int N>
__global__ void __launch_bounds__(256, 2) scale(T* x) {}
extern "C" __global__ __cluster_dims__(2, 1, 1)
void reduce_rows(const float* x) {}
static __global__ void
tail(float* x) {}
__device__ float helper(float x) { return x; }
"""
TRITON = """
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def forward_kernel(x, n, BLOCK: tl.constexpr):
    pass

@triton.jit(do_not_specialize=["n"])
def backward_kernel(x, n):
    pass

def host(x):
    pass
"""


@pytest.mark.parametrize(
    ("name", "plain", "base"),
    [
        ("scale", "scale", "scale"),
        ("void scale<float, 4>(float*, int)", "scale<float, 4>", "scale"),
        ("void mine::deep::scale<(int)4>(float const*)", "mine::deep::scale<(int)4>", "scale"),
        ("(anonymous namespace)::scale(float*)", "(anonymous namespace)::scale", "scale"),
        ("void at::native::f<at::native::g(int)::{lambda(float)#1}>(int, char)",
         "at::native::f<at::native::g(int)::{lambda(float)#1}>", "f"),
        ("sm90_xmma_gemm_f32f32", "sm90_xmma_gemm_f32f32", "sm90_xmma_gemm_f32f32"),
        ("f(", "f(", "f("),
        ("", "", ""),
        ("<<<>", "<<<>", ""),
    ],
)  # fmt: skip
def test_names(name, plain, base):
    assert plain_name(name) == plain
    assert base_name(name) == base


def test_own_kernels_are_those_that_the_source_declares():
    assert declared(Candidate(language="cuda", source=CUDA)) == {"scale", "reduce_rows", "tail"}
    assert declared(Candidate(language="triton", source=TRITON)) == {"forward_kernel", "backward_kernel"}
    inline = f"import torch\nsource = r'''{CUDA}'''\n"
    assert {"scale", "reduce_rows", "tail"} <= declared(Candidate(language="python", source=inline))


def test_a_plan_speaks_before_the_source():
    plan = LaunchPlan(launches=(Launch(kernel="scale", grid=(1, 1, 1), block=(32, 1, 1)),))
    assert declared(Candidate(language="cuda", source=CUDA), plan) == {"scale"}


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
        "ampere_sgemm_128x64_tn", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1",
        "nvjet_hsh_128x64_64x9_2x1_v_bz_TNN", "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(x)",
        "void cub::DeviceReduceKernel<x>(y)", "void cublasLt::splitKreduce_kernel<32>(x)", "Memcpy DtoD (Device -> Device)",
        "Memset (Device)", "triton_poi_fused_add_0", "triton_red_fused_sum_1", "cudnn::winograd", "void gemmSN_TN<float>(x)",
    ],
)  # fmt: skip
def test_a_librarys_kernel_is_not_the_candidates_even_if_it_claims_the_name(name):
    assert not is_own(name, frozenset({base_name(name), name}))


def test_what_nobody_declared_is_not_own():
    assert not is_own("mystery", frozenset({"scale"}))
    assert is_own("void mine::scale<float>(float*)", frozenset({"scale"}))
    assert is_own("triton_scale", frozenset({"triton_scale"}))


def seen(name="k", us=10.0, grid=(1056, 1, 1), block=(256, 1, 1), **more):
    return Seen(name, us, grid, block, **{"registers": 32, "shared_bytes": 0, **more})


def test_shares_and_launches_are_of_one_call():
    found = Sum(frozenset({"k"}), calls=3).kernels([seen(us=60.0, count=6), seen("Memset (Device)", 30.0, count=3)])
    assert [(k.name, k.own, k.launches, k.duration_us) for k in found] == [
        ("k", True, 2, 20.0),
        ("Memset (Device)", False, 1, 10.0),
    ]
    profile = Profile(task="t", candidate="c", tier="trace", device="d", kernels=found)
    assert profile.own_share == pytest.approx(2 / 3)


def test_one_kernel_in_two_shapes_is_two_entries():
    assert len(Sum(frozenset()).kernels([seen(), seen(grid=(1, 1, 1)), seen()])) == 2


def test_a_long_name_is_cut():
    assert len(Sum(frozenset()).kernels([seen("k" * 5000)])[0].name) == LONGEST_NAME


def test_occupancy_and_waves_follow_from_shape_and_needs():
    (found,) = Sum(frozenset(), 1, chip_of("sm_90", 132)).kernels([seen()])
    assert (found.occupancy_theoretical, found.waves) == (1.0, 1.0)
    (fat,) = Sum(frozenset(), 1, chip_of("sm_90", 132)).kernels([seen(registers=255)])
    assert fat.occupancy_theoretical == pytest.approx(0.125)
    assert chip_of("sm_1", 1) is None


def test_no_time_no_share():
    (found,) = Sum(frozenset({"k"})).kernels([seen(us=None)])
    assert found.duration_us is None
    assert found.share is None
    assert Profile(task="t", candidate="c", tier="trace", device="d", kernels=(found,)).own_share is None


def test_a_trace_keeps_its_times_and_takes_the_counters():
    traced = KernelProfile(name="k<float>", own=True, duration_us=5.0, grid=(2, 1, 1), block=(32, 1, 1))
    copied = KernelProfile(name="Memcpy DtoD", own=False, duration_us=1.0)
    counted = traced.model_copy(
        update={"name": "ns::k<float>", "duration_us": 9.0, "counters": Counters(dram_share=0.5)}
    )
    merged = with_counters((traced, copied), (counted, KernelProfile(name="other")))
    assert [(k.name, k.duration_us, k.counters.dram_share) for k in merged] == [
        ("k<float>", 5.0, 0.5),
        ("Memcpy DtoD", 1.0, None),
    ]


GOOD = {
    "name": "k",
    "us": 12.5,
    "count": 3,
    "grid": [4, 1, 1],
    "block": [32, 1, 1],
    "registers": 24,
    "shared_bytes": 16,
}


def test_a_trace_is_read():
    assert trace.seen_in([Activity(**GOOD)]) == [Seen("k", 12.5, (4, 1, 1), (32, 1, 1), 24, 16, 3)]
    assert trace.seen_in([]) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"us": "1"},
        {"us": -1.0},
        {"us": float("nan")},
        {"us": 1e30},
        {"us": None},
        {"count": 0},
        {"count": "3"},
        {"count": 1 << 40},
        {"grid": [0, 1, 1]},
        {"grid": [1, 1]},
        {"grid": "123"},
        {"grid": [1, 1, True]},
        {"registers": -1},
        {"name": 5},
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Activity(**{**GOOD, **bad})


def test_what_has_no_shape_is_taken_without():
    (seen,) = trace.seen_in([Activity(name="Memset (Device)", us=1.0, count=1)])
    assert (seen.grid, seen.block, seen.registers) == (None, None, None)


def test_a_name_is_made_legible():
    assert Activity(**{**GOOD, "name": "\ud800"}).name == "?"
