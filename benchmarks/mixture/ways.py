"""What may become of a candidate of the mix: right, or spoiled in one of many ways, each with its expected outcome.

A way is a change of the slots that `triton_text` and `cuda_text` have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Style = Literal["triton", "cuda"]
Kind = Literal["right", "wrong", "unbuilt", "crashing", "hanging", "poisonous"]


@dataclass(frozen=True)
class Way:
    """One way to be of a kind."""

    name: str
    slots: Mapping[str, str] = field(default_factory=dict)
    outcomes: tuple[str, ...] = ()
    """Any of them is right; empty: as its kind says."""
    because: tuple[str, ...] = ()
    """Reasons of an `incorrect` that fit; empty: any does."""
    not_for: tuple[str, ...] = ()
    """Families that cannot be spoiled so."""
    whole: str = ""
    """A file that has nothing of the family, in place of its slots."""


OUTCOMES: dict[Kind, tuple[str, ...]] = {
    "right": ("measured",),
    "wrong": ("incorrect",),
    "unbuilt": ("build_failed",),
    "crashing": ("crashed",),
    "hanging": ("timed_out",),
    "poisonous": (),
}
VALUE = ("value",)
UNWRITTEN = ("unwritten", "nonfinite", "value")
OFF = ("value", "nonfinite")

EXITS = """\
#include <cstdlib>
#include <cuda_runtime.h>

extern "C" void $name($pointers, float* out, cudaStream_t stream) {
    std::exit(0);
}
"""
SHARED = """\
tile, inner = tl.arange(0, 128), tl.arange(0, 64)
big = tl.zeros((128, 128), dtype=tl.float32)
for k in tl.range(0, 512, 64, num_stages=6):
    left = tl.load(x + tile[:, None] * 512 + k + inner[None, :])
    right = tl.load(x + (k + inner)[:, None] * 128 + tile[None, :])
    big = tl.dot(left, right, big)
a += tl.sum(big)"""
TRAP = """\
broken = tl.inline_asm_elementwise(
    "trap; mov.u32 $0, $1;", "=r,r", [tl.arange(0, 128)], dtype=tl.int32, is_pure=False, pack=1
)
a += tl.sum(broken)"""
SPIN = "while tl.load(x, volatile=True) > -1e30:\n    a += 1.0"
DEEPER = """\
__device__ __noinline__ float deeper(float value, int depth) {
    volatile float frame[512];
    frame[depth % 512] = value;
    return depth < 0 ? value : deeper(value + 1.0f, depth + 1) + frame[(depth + 7) % 512];
}
"""
LOCK = """\
__shared__ volatile int locked;
locked = 1;
while (locked) {}"""

FAR = {
    "triton": {"extra": "tl.store(x + (1 << 44) + at, a, mask=inside)"},
    "cuda": {"extra": "const_cast<float*>(x)[at + (1LL << 44)] = a;"},
}
MISALIGNED = "a += *(const volatile float*)((const char*)x + 1);"
IN_PLACE = {
    "triton": {"extra": "tl.store(x + at, a + 0.5, mask=inside)"},
    "cuda": {"extra": "const_cast<float*>(x)[at] = a + 0.5f;"},
}
HOARD = "kept = [torch.empty(1 << 30, device=x.device).add_(1.0) for _ in range(1 << 10)]"
MUCH = "\n".join(["[[workspace]]\nbytes = 68719476736"] * 3)
"""192 GiB, beyond any device that this is run on; a larger one takes it and finds nothing wrong."""

WAYS: dict[Kind, dict[Style, tuple[Way, ...]]] = {
    "right": {"triton": (Way("honest"),), "cuda": (Way("honest"),)},
    "wrong": {
        "triton": (
            Way("scaled", {"result": "value * 1.001"}, because=VALUE),
            Way("leaves some out", {"left_out": " - $less"}, because=UNWRITTEN),
            Way("clamps inputs", {"taken": "tl.minimum(a, 6.0)"}, because=OFF),
            Way("coarse", {"taken": "a.to(tl.bfloat16).to(tl.float32)"}, because=VALUE),
            Way("writes behind", {"extra": "tl.store(out + $behind, 1.0)"}, because=("guard",), not_for=("mse",)),
            Way("half dtype", {"back": "out.half()"}, because=("dtype",)),
            Way("writes to its input", IN_PLACE["triton"], because=("input_mutated",)),
        ),
        "cuda": (
            Way("scaled", {"result": "value * 1.001f"}, because=VALUE),
            Way("leaves some out", {"left_out": " - $less"}, because=UNWRITTEN),
            Way("clamps inputs", {"taken": "fminf(a, 6.0f)"}, because=OFF),
            Way("coarse", {"taken": "__uint_as_float(__float_as_uint(a) & 0xffff0000u)"}, because=VALUE),
            Way("writes behind", {"extra": "out[WRITTEN] = a;"}, because=("guard",), not_for=("mse",)),
            Way("writes to its input", IN_PLACE["cuda"], because=("input_mutated",)),
        ),
    },
    "unbuilt": {
        "triton": (
            Way("syntax", {"extra": "a = (a"}),
            Way("unknown name", {"extra": "a = tl.no_such_function(a)"}),
            Way("type", {"extra": "a = a << 1"}),
            Way("shared memory", {"extra": SHARED}),
            Way("no model", {"model": "ModelOld"}),
        ),
        "cuda": (
            Way("syntax", {"extra": "a = (a;"}),
            Way("unknown name", {"extra": "a = no_such_function(a);"}),
            Way("static shared memory", {"extra": "__shared__ volatile float big[20000];\nbig[threadIdx.x] = a;"}),
            Way("dynamic shared memory", {"shared": "300000"}),
            Way("missing kernel", {"called": "no_such_kernel"}),
        ),
    },
    "crashing": {
        "triton": (
            Way("far address", FAR["triton"]),
            Way("trap", {"extra": TRAP}),
            Way("exits", {"host": "os._exit(0)"}),
            Way("raises", {"host": 'raise RuntimeError("it gives up")'}),
        ),
        "cuda": (
            Way("far address", FAR["cuda"]),
            Way("trap", {"extra": "__trap();"}),
            Way("misaligned", {"extra": MISALIGNED}),
            Way("null pointer", {"extra": "*(volatile float*)(size_t)(blockDim.z - 1) = a;"}),
        ),
    },
    "hanging": {
        "triton": (Way("spins", {"extra": SPIN}),),
        "cuda": (
            Way("spins", {"extra": "while (*(volatile const float*)x > -1e30f) {}"}),
            Way("waits for ever", {"extra": LOCK}),
        ),
    },
    "poisonous": {
        "triton": (
            Way("far address", FAR["triton"], ("crashed",)),
            Way("trap", {"extra": TRAP}, ("crashed",)),
            Way("spins", {"extra": SPIN}, ("timed_out",)),
            Way("exits", {"host": "os._exit(0)"}, ("crashed",)),
            Way("takes all memory", {"host": HOARD}, ("crashed",)),
            Way("writes to its input", IN_PLACE["triton"], ("incorrect",), ("input_mutated",)),
        ),
        "cuda": (
            Way("far address", FAR["cuda"], ("crashed",)),
            Way("trap", {"extra": "__trap();"}, ("crashed",)),
            Way("misaligned", {"extra": MISALIGNED}, ("crashed",)),
            Way("spins", {"extra": "while (*(volatile const float*)x > -1e30f) {}"}, ("timed_out",)),
            Way("exits", outcomes=("crashed",), whole=EXITS),
            Way("takes all memory", {"more": MUCH}, ("build_failed", "crashed")),
            Way("overflows its stack", {"helpers": DEEPER, "extra": "a += deeper(a, 0);"}, ("crashed",)),
            Way("writes to its input", IN_PLACE["cuda"], ("incorrect",), ("input_mutated",)),
        ),
    },
}
