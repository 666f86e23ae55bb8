"""Definitions of ours in the JSON of FlashInfer-Bench and SOL-ExecBench, made from a table: every part of both schemas."""

import json
import struct
from pathlib import Path
from typing import NamedTuple

from kernelwright.records.workloads import Part
from kernelwright.tasks.workloads import at_point

VAR, H = {"type": "var"}, {"type": "const", "value": 32}
RANDOM = {"type": "random"}
FLOATS = ("float32", "float64", "float16", "bfloat16")


class Made(NamedTuple):
    """A definition with its workloads, and what lies beside them."""

    name: str
    definition: dict
    workloads: list
    files: dict


def tensor(shape, dtype="float32"):
    return {"shape": shape, "dtype": dtype}


def made(name, axes, inputs, outputs, reference, points, given=None, **more):
    given, files = given or {}, more.pop("files", {})
    descriptors = {n: given.get(n, RANDOM) for n in inputs}
    workloads = [{"uuid": f"{name}-{k}", "axes": point, "inputs": descriptors} for k, point in enumerate(points)]
    for workload in workloads:
        workload.update(more.get("beside", {}))
    more.pop("beside", None)
    whole = {"name": name, "axes": axes, "inputs": inputs, "outputs": outputs, "reference": reference, **more}
    return Made(name, whole, workloads, files)


def safetensors(key, dtype, shape, data):
    head = json.dumps({key: {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]}}).encode()
    return struct.pack("<Q", len(head)) + head + data


def _row(name, body, dtype, points, **more):
    """A function of rows."""
    return made(
        f"{name}_{dtype}",
        {"M": VAR, "H": H},
        {"x": tensor(["M", "H"], dtype)},
        {"y": tensor(["M", "H"], dtype)},
        f"import torch\ndef run(x):\n    return {body}",
        points,
        **more,
    )


ROWS = {
    "softmax": "torch.softmax(x, -1)",
    "center": "x - x.float().mean(-1, keepdim=True).to(x.dtype)",
    "gelu": "torch.nn.functional.gelu(x)",
    "cumsum": "torch.cumsum(x.float(), -1).to(x.dtype)",
    "double": "x * 2 + 1",
    "norm": "(x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)",
}
POINTS = ([{"M": 8}, {"M": 33}], [{"M": 16}, {"M": 1}, {"M": 0}])
LENGTHS = made(
    "mask_by_length",
    {"B": VAR, "max_seq": VAR},
    {"x": tensor(["B", "max_seq"]), "seq_lens": tensor(["B"], "int32")},
    {"y": tensor(["B", "max_seq"])},
    "import torch\ndef run(x, seq_lens):\n    at = torch.arange(x.shape[1], device=x.device)\n"
    "    return torch.where(at[None] < seq_lens[:, None], x, float('-inf'))",
    [{"B": 4, "max_seq": 16}, {"B": 7, "max_seq": 5}],
    beside={"tolerance": {"allow_negative_inf": True}},
)
OFFSETS = made(
    "segment_sum",
    {"total": VAR, "H": H, "len_indptr": VAR},
    {"x": tensor(["total", "H"]), "indptr": tensor(["len_indptr"], "int64")},
    {"y": tensor(["len_indptr", "H"])},
    "import torch\ndef run(x, indptr):\n    sums = torch.cumsum(x.double(), 0)\n"
    "    sums = torch.cat([sums.new_zeros(1, x.shape[1]), sums])\n    return sums[indptr].float()",
    [{"total": 24, "len_indptr": 5}, {"total": 60, "len_indptr": 9}],
    constraints=["total == indptr[-1].item()"],
)
CHOICES = made(
    "expert_scale",
    {"T": VAR, "H": H, "num_experts": {"type": "const", "value": 8}},
    {"x": tensor(["T", "H"]), "expert_ids": tensor(["T"], "int64"), "scale": tensor(["num_experts"])},
    {"y": tensor(["T", "H"])},
    "def run(x, expert_ids, scale):\n    return {'y': x * scale[expert_ids][:, None]}",
    [{"T": 12}, {"T": 50}],
)
LABELS = made(
    "pick_label",
    {"T": VAR, "vocab": {"type": "const", "value": 40}},
    {"logits": tensor(["T", "vocab"]), "labels": tensor(["T"], "int64")},
    {"y": tensor(["T"])},
    "def run(logits, labels):\n    return logits.gather(1, labels[:, None])[:, 0]",
    [{"T": 12}, {"T": 50}],
)
EXPRESSION = made(
    "split_heads",
    {"B": VAR, "H": H, "heads": {"type": "const", "value": 4}, "dim": {"type": "expr", "expression": "H // heads"}},
    {"x": tensor(["B", "H"])},
    {"y": tensor(["B", "heads", "dim"])},
    "def run(x):\n    return (x.view(-1, 4, 8) * 2,)",
    [{"B": 3}, {"B": 11}],
    constraints=["H % heads == 0"],
)
CUSTOM = made(
    "ragged",
    {"B": VAR, "H": H},
    {"x": tensor(["B", "H"]), "order": tensor(["B"], "int64")},
    {"y": tensor(["B", "H"])},
    "import torch\ndef run(x, order):\n    return x[order] * 3\n\n"
    "def make(axes_and_scalars, device):\n    b, h = axes_and_scalars['B'], axes_and_scalars['H']\n"
    "    return {'x': torch.randn(b, h, device=device), 'order': torch.randperm(b, device=device)}",
    [{"B": 6}, {"B": 40}],
    {"x": {"type": "custom"}, "order": {"type": "custom"}},
    custom_inputs_entrypoint="make",
)
STORED = made(
    "stored_weight",
    {"M": VAR, "H": H},
    {"x": tensor(["M", "H"]), "w": tensor(["H"])},
    {"y": tensor(["M", "H"])},
    "def run(x, w):\n    return x * w",
    [{"M": 8}, {"M": 20}],
    {"w": {"type": "safetensors", "path": "blobs/w.safetensors", "tensor_key": "w"}},
    files={"blobs/w.safetensors": safetensors("w", "F32", [32], struct.pack("<32f", *range(1, 33)))},
)
SCALARS = {"float": 0.5, "int": 3, "bool": True, "list": [1, 2], "none": None}


def _scalar(kind, value):
    body = {"list": "x * by[0] + by[1]", "none": "x * (2 if by is None else by)", "bool": "x * 2 if by else x"}.get(
        kind, "x * by"
    )
    return made(
        f"scalar_{kind}",
        {"M": VAR, "H": H},
        {"x": tensor(["M", "H"]), "by": tensor(None, "float32")},
        {"y": tensor(["M", "H"])},
        f"def run(x, by):\n    return {body}",
        [{"M": 8}, {"M": 3}],
        {"by": {"type": "scalar", "value": value}},
    )


def _several(count):
    outputs = {f"y{n}": tensor(["M", "H"]) for n in range(count)}
    body = ", ".join(f"x * {n + 2}" for n in range(count))
    return made(
        f"outputs_{count}",
        {"M": VAR, "H": H},
        {"x": tensor(["M", "H"])},
        outputs,
        f"def run(x):\n    return {body},",
        [{"M": 5}],
    )


def _whole(dtype):
    return made(
        f"add_{dtype}",
        {"M": VAR, "H": H},
        {"a": tensor(["M", "H"], dtype), "b": tensor(["M", "H"], dtype)},
        {"y": tensor(["M", "H"], dtype)},
        "def run(a, b):\n    return a + b",
        [{"M": 9}, {"M": 2}],
    )


TABLE = [
    *(
        _row(name, body, dtype, POINTS[(i + j) % 2])
        for i, (name, body) in enumerate(ROWS.items())
        for j, dtype in enumerate(FLOATS)
    ),
    *(_row(f"wide_{name}", body, "float32", [{"M": m} for m in range(1, 18)]) for name, body in ROWS.items()),
    *(_scalar(kind, value) for kind, value in SCALARS.items()),
    *map(_several, (1, 2, 3, 4)),
    *map(_whole, ("int64", "int32", "int16", "int8")),
    LENGTHS,
    OFFSETS,
    CHOICES,
    LABELS,
    EXPRESSION,
    CUSTOM,
    STORED,
    made(
        "bool_mask",
        {"M": VAR},
        {"x": tensor(["M"]), "keep": tensor(["M"], "bool")},
        {"y": tensor(["M"])},
        "import torch\ndef run(x, keep):\n    return torch.where(keep, x, -x)",
        [{"M": 100}, {"M": 7}],
    ),
    made(
        "zero_d",
        {"M": VAR},
        {"x": tensor(["M"]), "by": tensor([])},
        {"y": tensor(["M"])},
        "def run(x, by):\n    return x * by",
        [{"M": 64}],
    ),
    made("only_constants", {"H": H}, {"x": tensor(["H"])}, {"y": tensor(["H"])}, "def run(x):\n    return x * 2", [{}]),
    made(
        "literal_axis",
        {"M": VAR},
        {"x": tensor(["M", "3"])},
        {"y": tensor(["M", "3"])},
        "def run(x):\n    return x + x * x",
        [{"M": 21}],
    ),
    made(
        "product",
        {"M": VAR, "N": H, "K": H},
        {"a": tensor(["M", "K"]), "b": tensor(["N", "K"])},
        {"c": tensor(["M", "N"])},
        "def run(a, b):\n    return a @ b.T",
        [{"M": 1}, {"M": 65}],
    ),
    made(
        "fp8_scale",
        {"M": VAR, "H": H},
        {"x": tensor(["M", "H"], "float8_e4m3fn"), "s": tensor(["M"])},
        {"y": tensor(["M", "H"])},
        "def run(x, s):\n    return x.float() * s[:, None]",
        [{"M": 16}],
    ),
    made(
        "sum_to_number",
        {"M": VAR},
        {"x": tensor(["M"])},
        {"y": tensor(None)},
        "def run(x):\n    return x.sum()",
        [{"M": 50}],
    ),
    made(
        "backward_of_square",
        {"M": VAR},
        {"g": tensor(["M"]), "x": tensor(["M"])},
        {"dx": tensor(["M"])},
        "def forward(x):\n    return x * x\n\ndef run(g, x):\n    return 2 * g * x",
        [{"M": 50}, {"M": 1}],
    ),
    made(
        "stored_half",
        {"M": VAR, "H": H},
        {"x": tensor(["M", "H"], "float16"), "w": tensor(["H"], "float16")},
        {"y": tensor(["M", "H"], "float16")},
        "def run(x, w):\n    return x + w",
        [{"M": 8}],
        {"w": {"type": "safetensors", "path": "w.safetensors", "tensor_key": "half"}},
        files={"w.safetensors": safetensors("half", "F16", [32], struct.pack("<32e", *range(32)))},
    ),
    made(
        "described",
        {"M": {**VAR, "description": "rows"}},
        {"x": {**tensor(["M"]), "description": "in"}},
        {"y": tensor(["M"])},
        "def run(x):\n    return x.abs()",
        [{"M": 40}],
        description="Absolute values.",
        op_type="pointwise",
        tags=["status:draft"],
    ),
]


def write_problem(folder: Path, one: Made) -> Path:
    """As SOL-ExecBench has it: a folder with the definition and its workloads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "definition.json").write_text(json.dumps(one.definition))
    (folder / "workload.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in one.workloads))
    _write_files(folder, one)
    return folder / "definition.json"


def write_trace_set(root: Path, one: Made) -> Path:
    """As FlashInfer-Bench has it: all definitions and all workloads of a data set, linked by names."""
    file = root / "definitions" / "ops" / f"{one.name}.json"
    lines = root / "workloads" / "ops" / f"{one.name}.jsonl"
    for path in (file, lines):
        path.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(one.definition))
    wrapped = (
        {"definition": one.name, "workload": each, "solution": None, "evaluation": None} for each in one.workloads
    )
    lines.write_text("".join(f"{json.dumps(each)}\n" for each in wrapped))
    _write_files(root, one)
    return file


def _write_files(root: Path, one: Made) -> None:
    for name, data in one.files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def run(source, point):
    """What the task draws at one workload, and its results."""
    workloads, space = source.workloads, {}
    part = Part(point=point, sizes=workloads.sizes(point.axes), among=1)
    exec(compile(at_point(source, part).source, "<task>", "exec"), space)
    given = space["get_inputs"]()
    return given, space["Model"]()(*given), part.sizes


assert len(TABLE) >= 60
