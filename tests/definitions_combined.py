"""Further definitions of ours: parts of the schemas in combination, and legal things that users write."""

import struct

from definitions_table import VAR, H, made, safetensors, tensor


def const(value):
    return {"type": "const", "value": value}


def expr(text):
    return {"type": "expr", "expression": text}


def scalar(value):
    return {"type": "scalar", "value": value}


CUSTOM = {"type": "custom"}
LOG = {"tolerance": {"max_atol": 1e-3, "required_matched_ratio": 0.99, "allow_negative_inf": True}}

PAGED = made(
    "paged_rows",
    {"B": VAR, "pages_per_seq": VAR, "num_pages": VAR, "page_size": const(4), "H": H,
     "most": expr("pages_per_seq * page_size")},
    {"cache": tensor(["num_pages", "page_size", "H"], "bfloat16"), "page_table": tensor(["B", "pages_per_seq"], "int32"),
     "seq_lens": tensor(["B"], "int32")},
    {"rows": tensor(["B", "most", "H"], "bfloat16"), "highest": tensor(["B", "H"], "bfloat16")},
    "import torch\n\ndef _valid(lengths, most):\n    return torch.arange(most, device=lengths.device) < lengths[:, None]\n\n"
    "def run(cache, page_table, seq_lens):\n    rows = cache[page_table.long()].flatten(1, 2)\n"
    "    rows = torch.where(_valid(seq_lens, rows.shape[1])[..., None], rows, float('-inf'))\n"
    "    return {'rows': rows, 'highest': rows.amax(1)}",
    [{"B": 3, "pages_per_seq": 2, "num_pages": 9}, {"B": 5, "pages_per_seq": 3, "num_pages": 7}],
    beside=LOG, tags=["stage:decode", "fused"], op_type="paged", constraints=["0 < seq_lens <= most", "num_pages > 1"],
)  # fmt: skip
TWO_OFFSETS = made(
    "ragged_means",
    {"batch": VAR, "total_q": VAR, "total_kv": VAR, "len_indptr": expr("batch + 1"), "H": H},
    {"q": tensor(["total_q", "H"], "float16"), "kv": tensor(["total_kv", "H"], "float16"),
     "qo_indptr": tensor(["len_indptr"], "int32"), "kv_indptr": tensor(["len_indptr"], "int32")},
    {"out": tensor(["total_q", "H"], "float16"), "mean": tensor(["batch", "H"])},
    "import torch\n\ndef _sums(x, at):\n    zero = x.new_zeros(1, x.shape[1], dtype=torch.float32)\n"
    "    ends = torch.cat([zero, torch.cumsum(x.float(), 0)])\n"
    "    return (ends[at[1:]] - ends[at[:-1]]), (at[1:] - at[:-1])\n\n"
    "def run(q, kv, qo_indptr, kv_indptr):\n    sums, count = _sums(kv, kv_indptr.long())\n"
    "    mean = sums / count.clamp(min=1)[:, None]\n"
    "    owner = torch.bucketize(torch.arange(len(q), device=q.device), qo_indptr[1:].long(), right=True)\n"
    "    return q + mean[owner].to(q.dtype), mean",
    [{"batch": 4, "total_q": 12, "total_kv": 40}, {"batch": 3, "total_q": 50, "total_kv": 9}],
    constraints=["total_q == int(qo_indptr[-1])", "kv_indptr[-1].item() == total_kv"],
)  # fmt: skip
SUMMED = made(
    "lengths_that_sum",
    {"B": VAR, "total": VAR, "H": H},
    {"x": tensor(["total", "H"]), "lengths": tensor(["B"], "int64")},
    {"y": tensor(["total", "H"])},
    "import torch\ndef run(x, lengths):\n"
    "    of = torch.repeat_interleave(torch.arange(len(lengths), device=x.device), lengths, output_size=x.shape[0])\n"
    "    return x * (of[:, None] + 1)",
    [{"B": 3, "total": 20}, {"B": 6, "total": 5}],
    constraints=["total == lengths.sum().item()"],
)
BLOCKS = made(
    "quantised_blocks",
    {
        "M": VAR,
        "N": VAR,
        "block": const(8),
        "blocks": expr("(N + block - 1) // block"),
        "padded": expr("-(-N // block) * block"),
    },
    {"x": tensor(["M", "N"])},
    {"q": tensor(["M", "padded"], "float8_e4m3fn"), "scale": tensor(["M", "blocks"])},
    "from __future__ import annotations\n\nimport torch\nimport torch.nn.functional as F\n\nBLOCK: int = 8\n\n"
    "def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:\n"
    "    wide = F.pad(x, (0, -x.shape[1] % BLOCK)).unflatten(1, (-1, BLOCK))\n"
    "    scale = wide.abs().amax(-1).clamp(min=1e-4) / 448\n"
    "    return (wide / scale[..., None]).to(torch.float8_e4m3fn).flatten(1), scale",
    [{"M": 4, "N": 30}, {"M": 9, "N": 8}],
    tags=["quantization:float8_e4m3fn"],
)
PACKED = made(
    "int4_weights",
    {"M": VAR, "N": const(12), "K": H, "half": expr("K // 2"), "groups": expr("K // (half // 2)")},
    {"x": tensor(["M", "K"], "float16"), "packed": tensor(["N", "half"], "uint8"), "zeros": tensor(["N", "groups"], "int8"),
     "scale": tensor(["N", "groups"], "float16")},
    {"y": tensor(["M", "N"], "float16")},
    "import torch\n\nclass Weights:\n    def __init__(self, packed, zeros, scale):\n"
    "        self.packed, self.zeros, self.scale = packed, zeros, scale\n"
    "    def wide(self):\n        both = torch.stack([self.packed & 15, self.packed >> 4], -1).flatten(1)\n"
    "        share = both.shape[1] // self.scale.shape[1]\n"
    "        zeros, scale = (t.repeat_interleave(share, 1) for t in (self.zeros, self.scale))\n"
    "        return (both.to(scale.dtype) - (zeros & 15).to(scale.dtype)) * scale\n\n"
    "def run(x, packed, zeros, scale):\n    return (x.float() @ Weights(packed, zeros, scale).wide().float().T).to(x.dtype)",
    [{"M": 3}, {"M": 17}],
)  # fmt: skip
OPTIONAL = made(
    "bias_or_none",
    {"M": VAR, "H": H},
    {"x": tensor(["M", "H"]), "bias": tensor(["H"]), "eps": tensor(None), "by": tensor(None, "int32"),
     "flip": tensor(None, "bool")},
    {"y": tensor(["M", "H"])},
    "from typing import Optional\n\nimport torch\n\ndef run(x, bias: Optional[torch.Tensor], eps, by, flip):\n"
    "    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * by\n    y = y if bias is None else y + bias\n"
    "    return y.flip(-1) if flip else y",
    [{"M": 6}, {"M": 11}],
    {"bias": scalar(None), "eps": scalar(1e-3), "by": scalar(3), "flip": scalar(True)},
)  # fmt: skip
OPTIONAL.workloads[1]["inputs"] = {**OPTIONAL.workloads[1]["inputs"], "bias": {"type": "random"}, "flip": scalar(False)}
WINDOW = made(
    "list_of_sizes",
    {"M": VAR, "N": VAR, "wide": expr("left + N + 3"), "left": expr("N * N % 5")},
    {"x": tensor(["M", "N"]), "pad": tensor(None, "int64")},
    {"y": tensor(["M", "wide"])},
    "import torch.nn.functional as F\ndef run(x, pad):\n    return F.pad(x, list(pad), value=2.0)",
    [{"M": 4, "N": 7}],
    {"pad": scalar([4, 3])},
)
EMPTY = made(
    "highest_of_none",
    {"B": VAR, "M": VAR},
    {"x": tensor(["B", "M"]), "keep": tensor(["B", "M"], "bool")},
    {"top": tensor(["B"]), "any": tensor(["B"], "bool"), "count": tensor(["B"], "int64")},
    "import torch\ndef run(x, keep):\n    held = torch.where(keep, x, float('-inf'))\n"
    "    held = torch.cat([held, x.new_full((len(x), 1), float('-inf'))], 1)\n"
    "    return held.amax(1), keep.any(1), keep.sum(1)",
    [{"B": 8, "M": 3}, {"B": 8, "M": 0}, {"B": 0, "M": 5}],
    beside=LOG,
)
TOP = made(
    "top_values",
    {"T": VAR, "num_experts": const(16), "experts_per_token": const(3)},
    {"logits": tensor(["T", "num_experts"], "bfloat16"), "k": tensor(None, "int32")},
    {"weights": tensor(["T", "experts_per_token"]), "ids": tensor(["T", "experts_per_token"], "int64")},
    "import torch\n\ndef run(logits, k):\n    found = torch.topk(logits.float(), k, dim=-1)\n"
    "    return {'ids': found.indices, 'weights': torch.softmax(found.values, -1)}",
    [{"T": 21}, {"T": 1}],
    {"k": scalar(3)},
)
MIXTURE = made(
    "mixture",
    {"T": VAR, "experts_per_token": const(2), "num_experts": const(6), "H": H},
    {"x": tensor(["T", "H"], "bfloat16"), "topk_ids": tensor(["T", "experts_per_token"], "int32"),
     "weights": tensor(["num_experts", "H"], "bfloat16")},
    {"y": tensor(["T", "H"], "bfloat16")},
    "def run(*, x, topk_ids, weights):\n    return (x[:, None] * weights[topk_ids.long()]).float().sum(1).to(x.dtype)",
    [{"T": 9}, {"T": 30}],
)  # fmt: skip
GRADIENT = made(
    "gradient_of_square_root",
    {"M": VAR, "H": H},
    {"g": tensor(["M", "H"]), "x": tensor(["M", "H"])},
    {"dx": tensor(["M", "H"])},
    "import torch\n\nclass Root(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        y = (x * x + 1).sqrt()\n        ctx.save_for_backward(x, y)\n        return y\n\n    @staticmethod\n"
    "    def backward(ctx, g):\n        x, y = ctx.saved_tensors\n        return g * x / y\n\n"
    "def forward(x):\n    return Root.apply(x)\n\n"
    "def backward(g, x):\n    return g * x / (x * x + 1).sqrt()\n\nrun = backward",
    [{"M": 7}, {"M": 40}],
)
CUSTOM_LENGTHS = made(
    "custom_with_numbers",
    {"B": VAR, "most": VAR, "H": H, "total": expr("B * most")},
    {"x": tensor(["total", "H"]), "lengths": tensor(["B"], "int32"), "by": tensor(None)},
    {"y": tensor(["total", "H"])},
    "import torch\ndef run(x, lengths, by):\n    most = x.shape[0] // lengths.shape[0]\n"
    "    inside = torch.arange(most, device=x.device) < lengths[:, None]\n    return x * by * inside.reshape(-1, 1)\n\n"
    "@torch.no_grad()\ndef make(axes_and_scalars: dict, device):\n"
    "    b, most = axes_and_scalars['B'], axes_and_scalars['most']\n"
    "    return {'x': torch.randn(axes_and_scalars['total'], axes_and_scalars['H'], device=device),\n"
    "            'lengths': torch.randint(1, most + 1, (b,), dtype=torch.int32, device=device)}",
    [{"B": 4, "most": 6}, {"B": 7, "most": 3}],
    {"x": CUSTOM, "lengths": CUSTOM, "by": scalar(0.25)},
    custom_inputs_entrypoint="make",
)
NPY = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }".ljust(117) + b"\n"
STORED = made(
    "stored_of_each_kind",
    {"M": VAR, "H": H, "six": const(6)},
    {"x": tensor(["M", "H"], "float64"), "w": tensor(["H"], "bfloat16"), "on": tensor(["H"], "bool"),
     "at": tensor(["six"], "int32")},
    {"y": tensor(["M", "six"], "float64")},
    "import torch\ndef run(x, w, on, at):\n    return (x * w.double() * on)[:, at.long()]",
    [{"M": 5}, {"M": 12}],
    {"w": {"type": "safetensors", "path": "blob/w.safetensors", "tensor_key": "w"},
     "on": {"type": "safetensors", "path": "./blob/on.safetensors", "tensor_key": "on"},
     "at": {"type": "npy", "path": "blob/at.npy"}},
    files={"blob/w.safetensors": safetensors("w", "BF16", [32], struct.pack("<32H", *range(0x3F80, 0x3FA0))),
           "blob/on.safetensors": safetensors("on", "BOOL", [32], bytes([1, 1, 0, 1] * 8)),
           "blob/at.npy": NPY + struct.pack("<6i", 31, 0, 4, 8, 8, 1)},
)  # fmt: skip
NUMBERS = made(
    "numbers_of_results",
    {"M": VAR},
    {"x": tensor(["M"], "float64"), "keep": tensor(["M"], "bool")},
    {"most": tensor(None, "float64"), "count": tensor(None, "int64"), "mean": tensor([], "float64")},
    "def run(x, keep):\n    return float(x.max()), int(keep.sum()), x.mean()",
    [{"M": 31}, {"M": 200}],
)
WIDENED = made(
    "axis_of_outputs_alone",
    {"T": VAR, "classes": VAR},
    {"ids": tensor(["T"], "int64"), "classes_n": tensor(None, "int64")},
    {"hot": tensor(["T", "classes"], "float16")},
    "import torch\ndef run(ids, classes_n):\n    return torch.nn.functional.one_hot(ids, classes_n).half()",
    [{"T": 9, "classes": 16}],
    {"classes_n": scalar(16)},
)
MODEL = made(
    "has_a_model",
    {"M": VAR, "H": H},
    {"input": tensor(["M", "H"]), "run": tensor(["H"])},
    {"output": tensor(["M", "H"])},
    "import math\nfrom dataclasses import dataclass\n\nimport torch\nfrom torch import nn\n\nAXES = {'H': 32}\n\n@dataclass\n"
    "class Settings:\n    eps: float = 1e-5\n\nclass Model(nn.Module):\n    '''Of ours: Model.'''\n"
    "    def __init__(self, settings=Settings()):\n"
    "        super().__init__()\n        self.eps = settings.eps\n\n    def forward(self, x, w):\n"
    "        return x / torch.sqrt(x.var(-1, keepdim=True) + self.eps) * w * math.pi\n\n"
    "def get_inputs():\n    return [torch.randn(4, AXES['H']), torch.randn(AXES['H'])]\n\n"
    "def run(input, run):\n    return Model()(input, run)",
    [{"M": 6}, {"M": 64}],
)
SHUFFLED = made(
    "by_position_and_order",
    {"S": VAR, "max_position": const(24), "D": const(8)},
    {"x": tensor(["S", "D"], "float16"), "position_ids": tensor(["S"], "int64"),
     "cos": tensor(["max_position", "D"], "float16"), "perm": tensor(["S"], "int64")},
    {"y": tensor(["S", "D"], "float16")},
    "def run(x, position_ids, cos, perm):\n    return (x * cos[position_ids])[perm]",
    [{"S": 4}, {"S": 40}],
)  # fmt: skip
SIGNED = made(
    "int8_product",
    {"M": VAR, "N": const(6), "K": H},
    {"a": tensor(["M", "K"], "int8"), "b": tensor(["N", "K"], "int8"), "scale": tensor([], "float32")},
    {"c": tensor(["M", "N"], "int32"), "y": tensor(["M", "N"])},
    "import torch\ndef run(a, b, scale):\n    c = (a.int()[:, None] * b.int()).sum(-1).int()\n    return c, c.float() * scale",
    [{"M": 5}, {"M": 18}],
)
CAST = made(
    "fp8_of_both_kinds",
    {"M": VAR, "3": const(3), "H": H},
    {"x": tensor(["M", 3, "H"], "float8_e5m2"), "y": tensor(["M", "3", "H"], "float8_e4m3fn")},
    {"z": tensor(["M", 3, "H"], "bfloat16")},
    "import torch\ndef run(x, y):\n    return [x.to(torch.bfloat16) * y.to(torch.bfloat16)]",
    [{"M": 4}],
)
del CAST.definition["axes"]["3"]
NESTED = made(
    "forward_expressions",
    {"d": expr("c ** 2 // b"), "c": expr("2 * b"), "b": VAR, "e": expr("(d + 1) / 1 - 1")},
    {"x": tensor(["b", "c"])},
    {"y": tensor(["b", "e", "c"])},
    "def run(x):\n    return x[:, None].expand(-1, 4 * x.shape[0], -1) + 1",
    [{"b": 3}, {"b": 5}],
    constraints=["c == 2 * b and d >= b", "x is finite", "b in (3, 5)"],
)
TOGETHER = (
    PAGED, TWO_OFFSETS, SUMMED, BLOCKS, PACKED, OPTIONAL, WINDOW, EMPTY, TOP, MIXTURE, GRADIENT, CUSTOM_LENGTHS, STORED,
    NUMBERS, WIDENED, MODEL, SHUFFLED, SIGNED, CAST, NESTED,
)  # fmt: skip
