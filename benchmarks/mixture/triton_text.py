"""Triton modules for the mix's families: honest as they are, with slots where something may go wrong.

In every kernel `x`, `at`, `inside` and `a` (what was read there) are known where `extra` stands, so that one line
spoils any family.
"""

from collections.abc import Mapping
from pathlib import Path

from mixture.tasks import MAPS, PAIRS
from mixture.text import filled

TEMPLATES = {file.stem: file.read_text() for file in (Path(__file__).parent / "triton").glob("*.txt")}
INIT = """\
def __init__(self, width):
    super().__init__()
    self.weight = torch.nn.Parameter(torch.ones(width))
"""
TUNED = "@triton.autotune([triton.Config({}, num_warps=4), triton.Config({}, num_warps=8)], key=[])"
VALUES = {
    "relu": "tl.maximum(a, 0.0)",
    "axpy": "a + 0.5 * b",
    "gelu": "0.5 * a * (1.0 + tl.erf(a * 0.7071067811865476))",
    "silu": "a / (1.0 + tl.exp(-a))",
    "softmax": "powers = tl.exp(a - tl.max(a))\nvalue = powers / tl.sum(powers)",
    "rms_norm": (
        "scale = 1.0 / tl.sqrt(tl.sum(a * a) / width + 1e-6)\n"
        "value = a * scale * tl.load(weight + lanes, mask=inside, other=0.0)"
    ),
    "row_sum": "value = tl.sum(a)",
    "row_max": "value = tl.max(a)",
    "mse": "",
}
BEHIND = {
    "softmax": "tl.num_programs(0).to(tl.int64) * width",
    "rms_norm": "tl.num_programs(0).to(tl.int64) * width",
    "row_sum": "tl.num_programs(0)",
    "row_max": "tl.num_programs(0)",
}
"""Where the first element behind the result lies, for rows."""


def triton_module(family: str, name: str, options: Mapping[str, int], spoiled: Mapping[str, str]) -> str:
    """A module for one family.

    Args:
        family: of `mixture.tasks`.
        name: of its kernel.
        options: `block`, `loops`, `warps`; with `tuned` not zero, an autotuner chooses the warps.
        spoiled: slots that are filled in another way than an honest kernel's.
    """
    template = TEMPLATES["map" if family in MAPS else "mean" if family == "mse" else "row"]
    slots = {**_honest(family), **_tuned(options), "name": name, **spoiled}
    slots |= {"block": str(options["block"]), "loops": str(options["loops"])}
    for slot in ("extra", "left_out"):
        slots[slot] = filled(slots[slot], {"behind": BEHIND.get(family, "count"), "less": _less(family)})
    slots["retaken"] = f"a = {slots['taken']}" if slots["taken"] != "a" else ""
    slots["store"] = filled(slots["store"], slots)
    return TEMPLATES["head"] + filled(template, slots)


def _honest(family: str) -> dict[str, str]:
    scalar, weighted = family in ("row_sum", "row_max"), family == "rms_norm"
    return {
        "pointers": "x, y" if family in PAIRS else "x, weight" if weighted else "x",
        "passed": "x, self.weight" if weighted else "x",
        "inputs": "x, y" if family in PAIRS else "x",
        "second": "b = tl.load(y + at, mask=inside, other=0.0)" if family == "axpy" else "",
        "other": 'float("-inf")' if family in ("softmax", "row_max") else "0.0",
        "init": INIT if weighted else "",
        "out": "torch.empty(rows, device=x.device)" if scalar else "torch.empty_like(x)",
        "store": "tl.store(out + row, $result)" if scalar else "tl.store(out + at, $result, mask=inside)",
        "value": VALUES[family],
        "taken": "a", "result": "value", "extra": "", "host": "", "back": "out", "left_out": "", "model": "ModelNew",
    }  # fmt: skip


def _tuned(options: Mapping[str, int]) -> dict[str, str]:
    if options.get("tuned"):
        return {"tuned": TUNED, "warps": ""}
    return {"tuned": "", "warps": f", num_warps={options['warps']}"}


def _less(family: str) -> str:
    return "count // 512" if family == "mse" else "1"
