"""A drop-in of the built-in author, or of Inductor, as a plain module: its kernels and their launch, without its guards.

A drop-in falls back to the reference where its kernels do not fit, which a training sample need not teach: the task says
shapes and dtypes. Only modules without parameters are made plain; others are returned as they are.
"""

import ast
import re

from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task

_GONE = {"Model", "ModelNew", "get_init_inputs", "get_inputs", "_fits", "_programs", "_run"}
_A_TILE_EACH = 2
"""Statements of a `_programs` that gives each tile a program: a docstring and how many tiles. Others look at the device."""
_LAUNCH = re.compile(r"LAUNCH(ES)?\d+$")
"""Inductor's table of a kernel's launches, and which of them is taken."""
_HEAD = "import torch\nimport triton\nimport triton.language as tl\nfrom torch import nn"


def plain(task: Task, candidate: Candidate) -> Candidate:
    """The kernel without its guards, its tunables declared in comments; the same candidate where that cannot be."""
    if candidate.language != "triton" or task.workload.parameters:
        return candidate
    tree = ast.parse(candidate.source)
    run = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "_run"), None)
    programs = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "_programs"), None)
    if run is None:
        return candidate
    own = programs is not None and len(programs.body) != _A_TILE_EACH
    opened = tuple(one for one in candidate.tunables if not _LAUNCH.match(one.name))
    tunables = [f"# tunable {t.name}: {' '.join(map(str, t.values))}" for t in opened]
    body = [*_kept(tree, candidate.source, own), _module(run, own)]
    head = "\n".join([*tunables, _HEAD, *_imports(tree, "\n".join(body))])
    return candidate.model_copy(update={"source": "\n\n\n".join([head, *body]) + "\n", "tunables": opened})


def _imports(tree: ast.Module, body: str) -> list[str]:
    """Imports beside those of every module that the body uses: Inductor's kernels call Triton's libraries by their names."""
    found = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = {ast.unparse(node): node for node in found if ast.unparse(node) not in _HEAD.splitlines()}
    return [
        line for line, node in lines.items()
        if any(re.search(rf"\b{one.asname or one.name}\b", body) for one in node.names)
    ]  # fmt: skip


def _alone(node: ast.Assign) -> ast.Assign:
    """Of a table of launches the first one, which Inductor would try first."""
    if isinstance(node.value, ast.Tuple) and _LAUNCH.match(ast.unparse(node.targets[0])):
        return ast.Assign(node.targets, ast.Tuple(node.value.elts[:1], ast.Load()), lineno=node.lineno)
    return node


def _kept(tree: ast.Module, source: str, own: bool) -> list[str]:
    """Constants together, and the kernels with their helpers; with its `own` number of programs, that of these too."""
    constants, kernels = [], []
    for node in tree.body:
        if isinstance(node, ast.Assign) and "INTERPRETED" not in ast.unparse(node):
            constants.append(ast.unparse(_alone(node)))
        elif isinstance(node, ast.FunctionDef) and (node.name not in _GONE or (own and node.name == "_programs")):
            kernels.append(_without_docstring(node, source))
    return ["\n".join(constants), *kernels] if constants else kernels


def _without_docstring(node: ast.FunctionDef, source: str) -> str:
    lines = source.splitlines()
    first = min(node.lineno, *(d.lineno for d in node.decorator_list)) if node.decorator_list else node.lineno
    doc = node.body[0] if ast.get_docstring(node) else None
    gone = range(doc.lineno, (doc.end_lineno or doc.lineno) + 1) if doc else range(0)
    return "\n".join(lines[n - 1] for n in range(first, (node.end_lineno or first) + 1) if n not in gone)


class _Flat(ast.NodeTransformer):
    """`_programs(tiles, device)` is its first argument, since the grid is one program a tile."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.args[0] if isinstance(node.func, ast.Name) and node.func.id == "_programs" else node


def _module(run: ast.FunctionDef, own: bool) -> str:
    body = run.body[1:] if ast.get_docstring(run) else run.body
    statements = [ast.unparse(one if own else _Flat().visit(one)) for one in _without_guard(body)]
    lines = [line for text in statements for line in text.splitlines()]
    names = ", ".join(["self", *(a.arg for a in run.args.args)])
    text = "\n".join(f"        {line}" for line in lines)
    return f"class ModelNew(nn.Module):\n    def forward({names}):\n{text}"


def _without_guard(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, with what stands in `with torch.cuda.device_of(…)` moved out: the referee has one device."""
    found: list[ast.stmt] = []
    for one in body:
        found += one.body if isinstance(one, ast.With) else [one]
    return found
