"""Other forms of a random module: they read differently and mean the same, so that its kernel is right for all of them.

`modules.py` writes an operation a line and nothing else. A model that has seen only that is lost where a module has a
docstring. People write methods for functions, nest calls, name values otherwise and annotate; so does this, by seed. The
operations and their order stay, and with them what the built-in author writes.
"""

import ast
import random
from collections.abc import Iterable

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
