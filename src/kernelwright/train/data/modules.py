"""Random modules, by seed: chains of pointwise operations around at most one row operation and one total.

They are of the kind that fusion is good for, and that the built-in author writes. `depth` is the curriculum's measure.
Everything follows from the seed, so that a data set can be made again.
"""

import ast
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from kernelwright.records.task import TaskSource

UNARY = (
    "torch.relu({0})", "torch.sigmoid({0})", "torch.tanh({0})", "torch.abs({0})", "-{0}", "{0} * {0}", "F.gelu({0})",
    "F.silu({0})", "F.softplus({0})", "F.leaky_relu({0}, {c})", "F.hardtanh({0})", "torch.sin({0})", "torch.cos({0})",
    "torch.clamp({0}, -{c}, {c})", "torch.sqrt(torch.abs({0}) + {c})", "torch.exp(-torch.abs({0}))", "{0} * {c}",
    "{0} + {c}", "{0} - {c}", "F.elu({0})", "F.relu6({0})", "torch.square({0})", "torch.log1p(torch.abs({0}))",
)  # fmt: skip
BINARY = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "torch.maximum({0}, {1})", "torch.minimum({0}, {1})",
    "{0} / (torch.abs({1}) + {c})", "{0} + {c} * {1}", "torch.square({0} - {1})",
)  # fmt: skip
ROWS = (
    "torch.softmax({0}, dim=-1)", "torch.log_softmax({0}, dim=-1)", "F.layer_norm({0}, ({0}.shape[-1],))",
    "{0} - {0}.mean(dim=-1, keepdim=True)", "{0} / (torch.abs({0}).sum(dim=-1, keepdim=True) + {c})",
    "{0} * torch.rsqrt(torch.mean({0} * {0}, dim=-1, keepdim=True) + 1e-5)", "{0} - torch.amax({0}, dim=-1, keepdim=True)",
)  # fmt: skip
REDUCTIONS = (
    "{0}.sum(dim=-1)", "{0}.mean(dim=-1)", "torch.amax({0}, dim=-1)", "torch.amin({0}, dim=-1)",
    "torch.logsumexp({0}, dim=-1)", "({0} * {0}).sum(dim=-1)",
)  # fmt: skip
TOTALS = ("torch.mean({0})", "torch.sum({0})")
CONSTANTS = ("0.1", "0.5", "1.0", "1.5", "2.0", "3.0")
NAMES = (("x", "y", "z"), ("a", "b", "c"), ("predictions", "targets", "weight"), ("input", "other", "third"))
COLUMNS = (32, 48, 64, 96, 128, 160, 192, 256, 384, 512)
ROW_COUNTS = (8, 12, 16, 24, 32, 48, 64)
DTYPES = ("", ", dtype=torch.float16", ", dtype=torch.bfloat16")
DTYPE_WEIGHTS = (8, 1, 1)
TEMPLATE = """\
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, {arguments}):
{body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


@dataclass
class _Module:
    draw: random.Random
    names: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    value: str = ""

    def put(self, pattern: str, other: str = "") -> None:
        """One operation more, in a line of its own."""
        constant = self.draw.choice(CONSTANTS)
        text = pattern.format(self.value, other, c=constant)
        self.value = f"v{len(self.lines)}"
        self.lines.append(f"{self.value} = {text}")


def random_module(seed: int, depth: int | None = None, rows: int = 0, columns: int = 0) -> TaskSource:
    """The module of a seed.

    Args:
        seed: Everything follows from it.
        depth: About how many operations; None: drawn, 1 to 6.
        rows: Rows of every input; 0: drawn, few enough for an interpreter.
        columns: Likewise of columns.
    """
    draw = random.Random(seed)
    names = draw.choice(NAMES)[: draw.choices((1, 2, 3), (3, 4, 1))[0]]
    made = _Module(draw, names, value=names[0])
    _fill(made, depth or draw.randint(1, 6))
    # From a generator of its own, so that structures and sizes of a seed stay what they were.
    dtype = random.Random(f"dtype {seed}").choices(DTYPES, DTYPE_WEIGHTS)[0]
    size = f"{rows or draw.choice(ROW_COUNTS)}, {columns or draw.choice(COLUMNS)}{dtype}"
    *earlier, last = made.lines
    body = "\n".join(f"        {line}" for line in [*earlier, "return " + last.partition(" = ")[2]])
    text = TEMPLATE.format(
        arguments=", ".join(names), body=body, inputs=", ".join(f"torch.randn({size})" for _ in names)
    )
    return TaskSource(name=f"module_{seed}", format="kernelbench", source=text)


def _fill(made: _Module, depth: int) -> None:
    """Join all inputs, then so many operations: pointwise ones, and perhaps a row operation and a reduction at the end."""
    draw = made.draw
    whole_row, reduced = draw.random() < 0.35, draw.random() < 0.45
    waiting = list(made.names[1:])
    for step in range(max(depth, len(made.names))):
        if waiting and (len(waiting) >= depth - step or draw.random() < 0.6):
            made.put(draw.choice(BINARY), waiting.pop(0))
        elif whole_row and draw.random() < 0.4:
            made.put(draw.choice(ROWS))
            whole_row = False
        else:
            made.put(draw.choice(UNARY))
    if reduced or not made.lines:
        made.put(draw.choice(REDUCTIONS if draw.random() < 0.7 else TOTALS))


METHODS = frozenset({
    "abs", "amax", "amin", "clamp", "cos", "exp", "log1p", "log_softmax", "logsumexp", "maximum", "mean", "minimum", "relu",
    "sigmoid", "sin", "softmax", "sqrt", "square", "sum", "tanh",
})  # fmt: skip
"""Functions of `torch` that a tensor has as methods."""
VALUES = ("h", "out", "value", "t", "hidden")
WORDS = (
    "A chain of operations.", "One fused operator.", "Pointwise operations and what follows them.", "Computes the result.",
    "A module to be made faster.", "What the model computes.",
)  # fmt: skip
SIZES = (("ROWS", "COLUMNS"), ("BATCH", "FEATURES"), ("batch_size", "dim"), ("M", "N"))
TENSOR = "torch.Tensor"


def restyled(source: str, seed: int | str) -> str:
    """The text of the same module in another form.

    Args:
        source: As `random_module` writes it.
        seed: Everything follows from it and the text.
    """
    draw = random.Random(f"{seed} {source}")
    tree = ast.parse(source)
    forward = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "forward")
    forward.body = list(_nested(forward.body, draw))
    if draw.random() < 0.5:
        _Methods(draw).visit(forward)
    if draw.random() < 0.6:
        _rename(forward, draw)
    if draw.random() < 0.4:
        _annotate(forward)
    _document(tree, forward, draw)
    if draw.random() < 0.5:
        _name_sizes(tree, draw)
    return f"{ast.unparse(ast.fix_missing_locations(tree))}\n"


def _nested(body: Iterable[ast.stmt], draw: random.Random) -> Iterable[ast.stmt]:
    """Some values stand where they are used, if they are used once: in a chain only the next line uses them."""
    inlined: dict[str, ast.expr] = {}
    for line in body:
        if isinstance(line, ast.Assign | ast.Return):
            value = line.value
            assert value is not None
            uses = [n.id for n in ast.walk(value) if isinstance(n, ast.Name)]
            again = {name for name in inlined if uses.count(name) > 1}
            yield from (ast.Assign([ast.Name(name, ast.Store())], inlined.pop(name)) for name in sorted(again))
            line.value = value = _Inline(inlined).visit(value)
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name) and draw.random() < 0.35:
                inlined = {line.targets[0].id: value}
                continue
            inlined = {}
        yield line


class _Inline(ast.NodeTransformer):
    """Puts expressions in place of names."""

    def __init__(self, expressions: dict[str, ast.expr]) -> None:
        self._expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._expressions.get(node.id, node)


class _Methods(ast.NodeTransformer):
    """Makes methods of some functions."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = ast.unparse(node.func).removeprefix("torch.")
        if function not in METHODS or self._draw.random() < 0.4:
            return node
        return ast.Call(ast.Attribute(node.args[0], function, ast.Load()), node.args[1:], node.keywords)


def _rename(forward: ast.FunctionDef, draw: random.Random) -> None:
    """One name for all values, which may be assigned anew, since each is used by the next line alone."""
    taken = {argument.arg for argument in forward.args.args}
    name = draw.choice([one for one in VALUES if one not in taken])
    for node in ast.walk(forward):
        if isinstance(node, ast.Name) and node.id.startswith("v") and node.id[1:].isdigit():
            node.id = name


def _annotate(forward: ast.FunctionDef) -> None:
    for argument in forward.args.args[1:]:
        argument.annotation = ast.parse(TENSOR, mode="eval").body
    forward.returns = ast.parse(TENSOR, mode="eval").body


def _document(tree: ast.Module, forward: ast.FunctionDef, draw: random.Random) -> None:
    model = next(n for n in tree.body if isinstance(n, ast.ClassDef))
    for place, share in ((tree, 0.4), (model, 0.4), (forward, 0.15)):
        if draw.random() < share:
            place.body.insert(0, ast.Expr(ast.Constant(draw.choice(WORDS))))


def _name_sizes(tree: ast.Module, draw: random.Random) -> None:
    """The inputs' sizes as constants of the module."""
    made = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "get_inputs")
    calls = [n for n in ast.walk(made) if isinstance(n, ast.Call)]
    names = draw.choice(SIZES)
    sizes = calls[0].args[:2]
    constants = [ast.Assign([ast.Name(n, ast.Store())], s) for n, s in zip(names, sizes, strict=True)]
    for call in calls:
        call.args[:2] = [ast.Name(name, ast.Load()) for name in names]
    tree.body[tree.body.index(made) : tree.body.index(made)] = constants
