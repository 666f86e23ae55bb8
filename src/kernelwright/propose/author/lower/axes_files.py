"""Texts over a task's axes as one file, with the choice among them.

In C++ the referee compiles the file for each size, so that an axis is a constant there (`AXIS_BATCH`), and the preprocessor
chooses. A Triton module finds the axes in the shapes of its tensors: what follows from them is worked out once a call and is
an argument of the kernels, or a constant of the compiler where that must know it.
"""

import ast
import re
from collections.abc import Sequence

from kernelwright.errors import ProposeError
from kernelwright.export.other_sizes import apart, in_triton, room, shaped
from kernelwright.export.reference import as_tuple, dtypes_are, fits, reference
from kernelwright.propose.author.emit.triton_file import INTERPRETED, triton_file
from kernelwright.propose.author.lower.choice import ORIGINAL, Choice, conditions, directives, statements
from kernelwright.propose.author.lower.texts import Text
from kernelwright.records.candidate import ORIGINAL as LEFT
from kernelwright.records.candidate import WORKSPACE, Candidate
from kernelwright.records.free_sizes import FreeAxis, OtherSizes
from kernelwright.records.task import Task

Member = tuple[Text, Candidate]
"""A text, and a kernel that it was made of."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_SIZE = "size_{}"
"""What follows from the axes, as an argument of a Triton kernel."""


def as_source(_task: Task, axes: Sequence[FreeAxis], members: Sequence[Member], chosen: Choice) -> Candidate:
    """The texts as one C++ source, of which the preprocessor takes one."""
    names = {axis.name: f"AXIS_{axis.name.upper()}" for axis in axes}

    def spell(number: str) -> str:
        return f"({'1LL * ' * ('*' in number)}{_NAME.sub(lambda m: names[m[0]], number).replace('//', '/')})"

    whole = [OtherSizes(axes=tuple(axes), source=text.over(spell), workspace=text.workspace) for text, _ in members]
    rooms = [f"{WORKSPACE}{room(one)}" for one, (_, made) in zip(whole, members, strict=True) if made.workspace_bytes]
    source = directives(chosen, [apart(one.source) for one in whole], names)
    tunables = {tunable.name: tunable for _, made in members for tunable in made.tunables}
    left = [f"// {LEFT}{one}" for one in conditions(chosen, ORIGINAL)]
    update = {"source": "\n".join([*left, *rooms, source]), "tunables": tuple(tunables.values())}
    return members[0][1].model_copy(update=update)


def as_module(task: Task, axes: Sequence[FreeAxis], members: Sequence[Member], chosen: Choice) -> Candidate:
    """The texts as one Triton module.

    Raises:
        ProposeError: a constant of a text follows from the axes, or globals of the task do.
    """
    found, names = reference(task.source.source), [axis.name for axis in axes]
    by_globals = task.source.workloads is not None and task.source.workloads.sets == "globals"
    if moved := sorted({*names} & found.names) if by_globals else []:
        raise ProposeError(f"{task.name!r}: its Model reads {', '.join(moved)}, which each workload sets anew")
    kernels = [_member(number, text, names) for number, (text, _) in enumerate(members)]
    takes = [f"x{n}" for n in range(len(task.workload.tensors) + len(task.workload.parameters))]
    imports = dict.fromkeys(line for _, made in members for line in _imports(made.source))
    listed, axes_listed = ", ".join(takes), ", ".join(names)
    left = [f"# {LEFT}{one}" for one in conditions(chosen, ORIGINAL)]
    parts = [
        "\n".join([*left, INTERPRETED]),
        *kernels,
        "\n".join(shaped(task, axes)),
        f'def _choice({axes_listed}):\n    """Which kernel serves these sizes."""\n{statements(chosen)}',
        f"_RUN = {as_tuple([f'_run_of_{n}' for n in range(len(members))])}",
        f'@torch.compiler.disable\ndef _run({listed}):\n    """Run the kernels on tensors that fit."""\n'
        f"    tensors = {as_tuple(takes)}\n    sizes = _sizes(tensors)\n"
        "    return _RUN[_choice(*sizes)](tensors, *sizes)",
        _fits(task, takes),
        _made_at(task, names),
    ]
    own = {name for text in parts for name in re.findall(r"(?m)^(?:def )?(\w+)", text)} - {"def", "return"}
    idea = f"{len(members)} in Triton, over {axes_listed}."
    text = triton_file(task, found, idea, parts, own, tuple(imports))
    return members[0][1].model_copy(update={"source": text, "tunables": (), "defines": ()})


def _member(number: int, text: Text, axes: Sequence[str]) -> str:
    """One text: its kernels, and what runs them at some sizes."""
    sizes: dict[str, str] = {}

    def spell(expression: str) -> str:
        return sizes.setdefault(expression, _SIZE.format(len(sizes)))

    source = text.over(spell)
    pseudo = tuple(FreeAxis(name=name, size=1) for name in sizes.values())
    bare = ast.unparse(_undocumented(ast.parse(source)))
    made = in_triton(OtherSizes(axes=pseudo, source=bare), f"_{number}", constants=True)
    if made is None:
        raise ProposeError("a constant of its kernels follows from the axes")
    lines = [f"    {name} = {expression}" for expression, name in sizes.items()]
    needed = sorted(set(sizes.values()))
    given = "".join(f", {name}" for name in needed)
    return "\n".join(
        [
            made, "", "",
            f"def _run_of_{number}(tensors, {', '.join(axes)}):",
            '    """The kernel with all that follows from the sizes."""',
            *lines,
            f"    return _run_{number}(*tensors{given})",
        ]
    )  # fmt: skip


def _undocumented(module: ast.Module) -> ast.Module:
    """Without what functions say of themselves, which has numbers too."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) and len(node.body) > 1:
            node.body = node.body[1:]
    return module


def _imports(source: str) -> list[str]:
    return [ast.unparse(n) for n in ast.parse(source).body if isinstance(n, ast.Import | ast.ImportFrom)]


def _fits(task: Task, takes: Sequence[str]) -> str:
    """The function that says whether the kernels are for tensors: of any sizes, and of the task's form and dtypes."""
    dtypes = dtypes_are([spec.dtype for spec in (*task.workload.tensors, *task.workload.parameters)])
    return fits(takes, "x0", [dtypes], "dtypes and _shaped(tensors) and _choice(*_sizes(tensors)) >= 0")


def _made_at(task: Task, axes: Sequence[str]) -> str:
    """The function that says whether the module was made for the sizes of a call."""
    known = _given(task.source.source)
    keywords = ", ".join(f"{name}={name}" for name in axes if name in (known or ()))
    defined = f"list(get_init_inputs({keywords}))" if known is not None else "[]"
    return (
        "def _made_at(arguments, tensors):\n"
        '    """Whether the module was made for the sizes of this call."""\n'
        f"    {', '.join(axes)}, = _sizes(tensors)\n"
        f"    return arguments == {defined}"
    )


def _given(source: str) -> list[str] | None:
    """The arguments of `get_init_inputs`; None where there is no such function."""
    found = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == "get_init_inputs"]
    return [a.arg for a in (*found[-1].args.args, *found[-1].args.kwonlyargs)] if found else None
