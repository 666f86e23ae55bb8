"""CUDA C++ files with a launch plan for the mix's families: honest, with slots where something may go wrong.

In every first kernel `x`, `at` and `a` (what was read there) are known where `extra` stands, so that one line spoils
any family. Loads are scalar, or checked for their alignment.
"""

from collections.abc import Mapping

from mixture.tasks import MAPS, PAIRS
from mixture.text import filled

MAP = """\
/* kernelwright
[constants]
WRITTEN = "out0.numel"

$more
[[launch]]
kernel = "$called"
grid = "ceil_div(in0.numel, BLOCK * LOOPS)"
block = "BLOCK"
shared = $shared
arguments = [$arguments, "i64(in0.numel$left_out)"]
*/
#define BLOCK $block
#define LOOPS $loops

$helpers
extern "C" __global__ void $name($pointers, float* out, long long count) {
    for (int step = 0; step < LOOPS; ++step) {
        const long long at = (blockIdx.x * (long long)LOOPS + step) * BLOCK + threadIdx.x;
        if (at >= count) return;
        float a = x[at];
        $second
        $extra
        $retaken
        const float value = $value;
        out[at] = $result;
    }
}
"""
VECTORS = """\
/* kernelwright
[[launch]]
kernel = "$name"
grid = "ceil_div(in0.numel, BLOCK * 4)"
block = "BLOCK"
arguments = [$arguments, "i64(in0.numel)"]
*/
#define BLOCK $block

__device__ __forceinline__ float computed(float a, float b) { return $value; }

extern "C" __global__ void $name($pointers, float* out, long long count) {
    const long long first = (blockIdx.x * (long long)BLOCK + threadIdx.x) * 4;
    const bool aligned = (($addresses | (size_t)out) & 15) == 0;
    if (aligned && first + 3 < count) {
        const float4 a = *(const float4*)(x + first);
        const float4 b = $four;
        *(float4*)(out + first) =
            make_float4(computed(a.x, b.x), computed(a.y, b.y), computed(a.z, b.z), computed(a.w, b.w));
    } else {
        for (long long at = first; at < count && at < first + 4; ++at) out[at] = computed(x[at], $one);
    }
}
"""
ROW = """\
/* kernelwright
[constants]
COLUMNS = "in0.shape[-1]"
WRITTEN = "out0.numel"

$more
[[launch]]
kernel = "$called"
grid = "in0.shape[0]$left_out"
block = "BLOCK"
shared = $shared
arguments = [$arguments]
*/
#include <cmath>

#define BLOCK $block

$combined
$helpers
__device__ float taken(float a) { return $taken; }

extern "C" __global__ void $name($pointers, float* out) {
    const long long first = blockIdx.x * (long long)COLUMNS, at = first + threadIdx.x;
    $extra
    $value
}
"""
MEAN = """\
/* kernelwright
[constants]
PARTS = "$loops * multiprocessors"

[[workspace]]
bytes = "4 * PARTS"

$more
[[launch]]
kernel = "$called"
grid = "PARTS"
block = "BLOCK"
shared = $shared
arguments = [$arguments, "i64(in0.numel$left_out)"]

[[launch]]
kernel = "${name}_end"
grid = 1
block = "BLOCK"
arguments = ["work0", "out0", "f32(1.0 / in0.numel)"]
*/
#define BLOCK $block

$combined
$helpers
extern "C" __global__ void $name(const float* x, const float* y, float* parts, long long count) {
    float sum = 0.0f;
    for (long long at = blockIdx.x * (long long)BLOCK + threadIdx.x; at < count; at += (long long)BLOCK * PARTS) {
        float a = x[at] - y[at];
        $extra
        $retaken
        sum += a * a;
    }
    sum = combined(sum, Plus());
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void ${name}_end(const float* parts, float* out, float scale) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < PARTS; i += BLOCK) sum += parts[i];
    const float value = combined(sum, Plus()) * scale;
    if (threadIdx.x == 0) *out = $result;
}
"""
OPERATIONS = """\
struct Plus { __device__ float operator()(float a, float b) const { return a + b; } };
struct Larger { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };

"""
TREE = """\
template <typename Operation>
__device__ float combined(float value, Operation operation) {
    __shared__ float shared[BLOCK];
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = operation(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    const float found = shared[0];
    __syncthreads();
    return found;
}
"""
SHUFFLES = """\
template <typename Operation>
__device__ float combined(float value, Operation operation) {
    __shared__ float warps[BLOCK / 32];
    for (int lane = 16; lane > 0; lane /= 2) value = operation(value, __shfl_xor_sync(0xffffffffu, value, lane));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = warps[0];
    for (int warp = 1; warp < BLOCK / 32; ++warp) value = operation(value, warps[warp]);
    __syncthreads();
    return value;
}
"""
EACH = "for (int i = threadIdx.x; i < COLUMNS; i += BLOCK) "
MAP_VALUES = {
    "relu": "fmaxf(a, 0.0f)",
    "axpy": "a + 0.5f * b",
    "gelu": "0.5f * a * (1.0f + erff(a * 0.70710678f))",
    "silu": "a / (1.0f + expf(-a))",
}
ROW_VALUES = {
    "softmax": f"""\
float largest = -INFINITY, sum = 0.0f;
{EACH}largest = fmaxf(largest, taken(x[first + i]));
largest = combined(largest, Larger());
{EACH}sum += expf(taken(x[first + i]) - largest);
sum = combined(sum, Plus());
{EACH}{{
    const float value = expf(taken(x[first + i]) - largest) / sum;
    out[first + i] = $result;
}}""",
    "rms_norm": f"""\
float squares = 0.0f;
{EACH}{{
    const float a = taken(x[first + i]);
    squares += a * a;
}}
const float scale = rsqrtf(combined(squares, Plus()) / COLUMNS + 1e-6f);
{EACH}{{
    const float value = taken(x[first + i]) * scale * weight[i];
    out[first + i] = $result;
}}""",
    "row_sum": f"""\
float sum = 0.0f;
{EACH}sum += taken(x[first + i]);
const float value = combined(sum, Plus());
if (threadIdx.x == 0) out[blockIdx.x] = $result;""",
    "row_max": f"""\
float largest = -INFINITY;
{EACH}largest = fmaxf(largest, taken(x[first + i]));
const float value = combined(largest, Larger());
if (threadIdx.x == 0) out[blockIdx.x] = $result;""",
}


def cuda_file(family: str, name: str, options: Mapping[str, int], spoiled: Mapping[str, str]) -> str:
    """A file for one family.

    Args:
        family: of `mixture.tasks`.
        name: of its (first) kernel.
        options: `block`, `loops`; with `quick` not zero, vectors where they may be, or shuffles.
        spoiled: slots that are filled in another way than an honest kernel's.
    """
    quick = bool(options.get("quick"))
    by_element = VECTORS if quick and not spoiled else MAP
    template = by_element if family in MAPS else MEAN if family == "mse" else ROW
    slots = {
        **_honest(family),
        "combined": OPERATIONS + (SHUFFLES if quick else TREE),
        "name": name,
        "called": name,
        **spoiled,
    }
    slots |= {"block": str(options["block"]), "loops": str(options["loops"])}
    slots["left_out"] = filled(slots["left_out"], {"less": "in0.numel // 512" if family == "mse" else "1"})
    if slots["extra"] and family not in MAPS and family != "mse":
        slots["extra"] = f"float a = x[at];\n{slots['extra']}"
    slots["retaken"] = f"a = {slots['taken']};" if slots["taken"] != "a" else ""
    slots["value"] = filled(slots["value"], slots)
    return filled(template, slots)


def _honest(family: str) -> dict[str, str]:
    pair = family in PAIRS
    pointers = ["const float* x", *(["const float* y"] if pair else [])]
    arguments = ["in0", *(["in1"] if pair else []), "work0" if family == "mse" else "out0"]
    if family == "rms_norm":
        pointers.append("const float* weight")
        arguments.insert(1, "param0")
    return {
        "pointers": ", ".join(pointers),
        "arguments": ", ".join(f'"{a}"' for a in arguments),
        "addresses": "(size_t)x | (size_t)y" if pair else "(size_t)x",
        "four": "*(const float4*)(y + first)" if pair else "make_float4(0.0f, 0.0f, 0.0f, 0.0f)",
        "one": "y[at]" if pair else "0.0f",
        "second": "const float b = y[at];" if pair else "",
        "value": MAP_VALUES.get(family) or ROW_VALUES.get(family, ""),
        "taken": "a", "result": "value", "extra": "", "helpers": "", "left_out": "", "shared": "0", "more": "",
    }  # fmt: skip
