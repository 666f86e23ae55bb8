"""CUDA C++ files with a launch plan for the mix's families: honest, with slots where something may go wrong.

In every first kernel `x`, `at` and `a` (what was read there) are known where `extra` stands, so that one line spoils
any family. Loads are scalar, or checked for their alignment.
"""

from collections.abc import Mapping
from pathlib import Path

from mixture.tasks import MAPS, PAIRS
from mixture.text import filled

TEMPLATES = {file.stem: file.read_text() for file in (Path(__file__).parent / "cuda").glob("*.cu")}
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
    by_element = "vectors" if quick and not spoiled else "map"
    template = TEMPLATES[by_element if family in MAPS else "mean" if family == "mse" else "row"]
    slots = {
        **_honest(family),
        "combined": TEMPLATES["operations"] + TEMPLATES["shuffles" if quick else "tree"],
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
