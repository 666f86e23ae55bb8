"""A `.cu` into device and host code: who gets what, and what is left to nvcc."""

import re

import pytest
from extension_sources import ALL, DISPATCHED, PLAIN, REDUCED

from kernelwright.evaluate.python_extension.build import Kernel, instances, registration, stubs
from kernelwright.evaluate.python_extension.split import (
    UnclearError,
    launches_called,
    masked,
    split,
    stub,
    with_numbers,
)

KERNEL = "__global__ void k(float* x) { x[0] = 1; }\n"


def called(text):
    return launches_called(text, masked(text))


@pytest.mark.parametrize("name", ALL)
def test_device_code_knows_no_torch_and_host_code_no_device_functions(name):
    parts = split(ALL[name])
    assert not re.search(r"torch|AT_DISPATCH|<<<", parts.device)
    assert "blockIdx" not in parts.host
    assert "<<<" not in parts.host
    assert parts.device.count("\n") == parts.host.count("\n") == ALL[name].count("\n")


def test_what_is_split():
    assert split(PLAIN).kernels == ("relu_kernel",)
    assert not split(PLAIN).templates
    assert split(DISPATCHED).templates
    reduced = split(REDUCED)
    assert "scales[2]" in reduced.device
    assert "scales" not in reduced.host
    assert "cooperative_groups" not in reduced.host
    assert "static __global__" not in reduced.device
    assert "blocks_for(int n)" in reduced.host
    assert "blocks_for" not in reduced.device


def test_unnamed_namespaces_get_one_name_on_both_sides():
    parts = split(DISPATCHED)
    for text in (parts.device, parts.host):
        assert "inline namespace kernelwright_unnamed {" in text


def test_methods_for_the_device_lose_their_bodies_on_the_host():
    parts = split(
        "struct A { int a; __device__ int f() const { return __ldg(&a); } int g() { return a; } };\n" + KERNEL
    )
    assert "__ldg" in parts.device
    assert "{ __builtin_trap(); }" in parts.host
    assert "return a;" in parts.host


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("k<<<1, 2>>>(x);", "(::kernelwright_stub::push(1, 2) ? (void)0 : k(x));"),
        ("return a::k<T, 4><<<g(1), b, s, t>>>(f(x), {1});", None),
        ("if (c) k<<<dim3(1, 2), 3>>>();", "if (c) (::kernelwright_stub::push(dim3(1, 2), 3) ? (void)0 : k());"),
        (
            "x < y; k <<< 1 , (a >> 3) >>> (x);",
            "x < y; (::kernelwright_stub::push( 1 , (a >> 3) ) ? (void)0 : k  (x));",
        ),
        ("[&] { k<<<1, 1>>>(x); q<<<2, 2>>>(y); }();", None),
    ],
)
def test_launches_become_calls(text, wanted):
    found = called(text)
    assert "<<<" not in found
    assert found.count("::push(") == text.count("<<<")
    assert wanted is None or found == wanted


def test_a_template_s_launch_keeps_its_arguments():
    wanted = "(::kernelwright_stub::push(g(1), b) ? (void)0 : a::k<T, (4 > 2)>(x));"
    assert called("return a::k<T, (4 > 2)><<<g(1), b>>>(x);") == f"return {wanted}"


@pytest.mark.parametrize(
    ("head", "values", "kernel"),
    [
        ("__global__ void k(const float* __restrict__ x, int n = 3) ", "(void*)&x, (void*)&n", "&k,"),
        (
            "template <typename T, int N> __global__ void __launch_bounds__(N * 2) k(T (*p)[N], T v[4])",
            None,
            "&k<T, N>,",
        ),
        ("__global__ void k()", "nullptr", "&k,"),
    ],
)
def test_stubs_hand_over_their_parameters(head, values, kernel):
    if values is None:
        with pytest.raises(UnclearError):
            stub(head)
        head = head.replace("T (*p)[N]", "const T* p")
        values = "(void*)&p, (void*)&v"
    found = stub(head)
    assert f"{{{values}}}" in found
    assert kernel in found


@pytest.mark.parametrize(
    "text",
    [
        "#ifdef __CUDACC__\n#endif\n" + KERNEL,
        "#define MAKE(n) __global__ void n() {}\nMAKE(k)\n",
        "#include <thrust/sort.h>\n" + KERNEL,
        KERNEL + "__constant__ float c; void f(float* x) { cudaMemcpyToSymbol(c, x, 4); }",
        "__global__ void k(float*) {}",
        "template <typename... T> __global__ void k(T... x) {}",
        "void f() { auto g = [=] __device__ (int i) { return i; }; }",
        "__global__ void k(float* x) { x[0] = 1;",
    ],
)
def test_what_is_not_sure_is_not_split(text):
    with pytest.raises(UnclearError):
        split(text)


def test_instances_are_asked_for_and_stubs_are_registered():
    plain = "0000 T _Z1fv\n0000 W _ZN1a1kIfEEvPKT_i\n                 U x\n0000 t _Z1kv\n"
    written = "0000 T f()\n0000 W void a::k<float>(float const*, int)\n                 U x\n0000 t k()\n"
    found = stubs(plain, written, ("k",))
    assert found == [Kernel("_ZN1a1kIfEEvPKT_i", "void a::k<float>(float const*, int)")]
    assert instances(found).strip() == "template __global__ void a::k<float>(float const*, int);"
    assert instances([Kernel("_Z1kv", "k()")]) == ""
    text = registration(found, "/x.fatbin")
    assert "extern char _ZN1a1kIfEEvPKT_i[];" in text
    assert '.incbin \\"/x.fatbin\\"' in text
    assert "c10/util/Half.h" in with_numbers("", "k<c10::Half>()")
    assert "c10" not in with_numbers("", "k<float>()")
