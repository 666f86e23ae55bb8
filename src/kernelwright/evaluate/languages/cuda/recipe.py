"""A recipe resolved: expressions, shapes and chosen tunables into a LaunchPlan. A pure function.

Launches that no device can take are refused before anything is compiled. Tunables and constants become the compiler's
macros.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kernelwright.evaluate.languages.cuda.arguments import BUFFERS, Memory, argument
from kernelwright.evaluate.languages.cuda.expression import Names, RecipeError, Value, whole
from kernelwright.knowledge.hardware import Hardware
from kernelwright.records.candidate import Candidate, Expressions3, Recipe, RecipeLaunch
from kernelwright.records.launch import Argument, Dim3, Launch, LaunchPlan, Workspace
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Scalar, TensorSpec

MOST_THREADS = 1024
MOST_BLOCK: Dim3 = (1024, 1024, 64)
MOST_GRID: Dim3 = (2**31 - 1, 65535, 65535)
"""Of every architecture from compute capability 3.0 on (CUDA C++ Programming Guide, technical specifications)."""
MOST_CLUSTER = 8
"""Blocks of a cluster on every device that has clusters."""
LARGEST_WORKSPACE = 1 << 36
_BY_PLACE = re.compile(r"\bbuffer(\d{1,4})\b")


class Resolved(NamedTuple):
    """A plan, and the macros that its source must be compiled with."""

    plan: LaunchPlan
    macros: dict[str, int]


def resolve(candidate: Candidate, workload: Workload, device: Hardware) -> Resolved:
    """The launches of `candidate` for the shapes of `workload`; open tunables take their first value.

    Raises:
        RecipeError: the recipe is missing or cannot be followed; the message says what is wrong and the fix.
    """
    recipe = candidate.recipe
    if recipe is None:
        raise RecipeError(
            "the file has no launch plan: begin it with a comment /* kernelwright … */ that has a [[launch]] for each "
            "kernel launch"
        )
    macros = _macros(candidate)
    names = _shapes(workload) | {"multiprocessors": device.multiprocessors}
    _no_clash(macros, names)
    names |= macros
    for constant in recipe.constants:
        value = whole(constant.value, names)
        _no_clash({constant.name: value}, names)
        names[constant.name] = value
        if not constant.in_source:
            macros[constant.name] = value
    workspaces = tuple(Workspace(nbytes=_workspace(w.nbytes, names), zeroed=w.zeroed) for w in recipe.workspaces)
    memory = _memory(workload, workspaces)
    placed = (_placed(launch, workload) for launch in recipe.launches)
    launches = tuple(_numbered(i, launch, names, memory, device) for i, launch in enumerate(placed))
    plan = LaunchPlan(launches=launches, workspaces=workspaces, zeroed_outputs=_zeroed(recipe, workload))
    return Resolved(plan, macros)


def _macros(candidate: Candidate) -> dict[str, int]:
    return {t.name: t.values[0] for t in candidate.tunables} | {d.name: d.value for d in candidate.defines}


def _shapes(workload: Workload) -> dict[str, Value]:
    groups = {"in": workload.tensors, "param": workload.parameters, "out": workload.outputs}
    names: dict[str, Value] = {f"{kind}{i}": t for kind, specs in groups.items() for i, t in enumerate(specs)}
    scalars = [i.value for i in workload.inputs if isinstance(i, Scalar)]
    return names | {f"scalar{i}": value for i, value in enumerate(scalars)}


def _no_clash(macros: Mapping[str, int], names: Names) -> None:
    for name in macros.keys() & names.keys():
        raise RecipeError(f"{name!r} is already the name of something else: call the macro differently")
    for name in macros:
        if re.fullmatch(r"[A-Za-z_]\w{0,63}", name, re.ASCII) is None:
            raise RecipeError(f"{name[:64]!r} cannot be a macro: use letters, digits and _")
        if re.fullmatch(r"(in|param|out|work|scalar)\d+|null|multiprocessors", name):
            raise RecipeError(f"{name!r} is a name of the launch plan's own: call the macro differently")


def _workspace(text: str, names: Names) -> int:
    size = whole(text, names)
    if not 1 <= size <= LARGEST_WORKSPACE:
        raise RecipeError(f"a workspace of {text!r} has {size} bytes; it must have 1 to {LARGEST_WORKSPACE}")
    return size


def _memory(workload: Workload, workspaces: tuple[Workspace, ...]) -> Memory:
    groups = {"in": workload.tensors, "param": workload.parameters, "out": workload.outputs}
    sizes = {BUFFERS[kind]: [t.nbytes for t in specs] for kind, specs in groups.items()}
    tensors = {f"{kind}{i}": t for kind, specs in groups.items() for i, t in enumerate(specs)}
    return Memory(sizes | {"workspace": [w.nbytes for w in workspaces]}, tensors)


def _numbered(position: int, launch: RecipeLaunch, names: Names, memory: Memory, device: Hardware) -> Launch:
    try:
        return _launch(launch, names, memory, device)
    except RecipeError as error:
        raise RecipeError(f"launch {position} ({launch.kernel}): {error}") from None


def _placed(launch: RecipeLaunch, workload: Workload) -> RecipeLaunch:
    """The launch with `buffer0`, `buffer1`, … of a function `launch` by what the plan calls them."""
    counts = {"in": len(workload.tensors), "param": len(workload.parameters), "out": len(workload.outputs)}
    called = [f"{kind}{i}" for kind, count in counts.items() for i in range(count)]

    def name(match: re.Match[str]) -> str:
        if int(match[1]) >= len(called):
            raise RecipeError(f"`launch` takes more than the {len(called)} buffers that there are: {', '.join(called)}")
        return called[int(match[1])]

    arguments = tuple(_BY_PLACE.sub(name, text) for text in launch.arguments)
    return launch.model_copy(update={"arguments": arguments})


def _launch(launch: RecipeLaunch, names: Names, memory: Memory, device: Hardware) -> Launch:
    grid = _extents("grid", launch.grid, names, MOST_GRID)
    block = _extents("block", launch.block, names, MOST_BLOCK)
    if (threads := block[0] * block[1] * block[2]) > MOST_THREADS:
        raise RecipeError(f"a block of {list(block)} has {threads} threads; a device takes at most {MOST_THREADS}")
    shared = whole(launch.shared_bytes, names)
    if not 0 <= shared <= device.shared_bytes_block:
        raise RecipeError(
            f"{shared} bytes of dynamic shared memory; a block on {device.arch} has at most {device.shared_bytes_block}"
        )
    return Launch(
        kernel=spelled(launch.kernel, names),
        grid=grid,
        block=block,
        shared_bytes=shared,
        cluster=_cluster(launch.cluster, names, grid, device),
        cooperative=launch.cooperative,
        arguments=_arguments(launch.arguments, names, memory),
    )


def _arguments(texts: tuple[str, ...], names: Names, memory: Memory) -> tuple[Argument, ...]:
    found = []
    for position, text in enumerate(texts):
        try:
            found.append(argument(text, names, memory))
        except RecipeError as error:
            raise RecipeError(f"argument {position}: {error}") from None
    return tuple(found)


def _extents(what: str, texts: Expressions3, names: Names, most: Dim3) -> Dim3:
    x, y, z = (whole(text, names) for text in texts)
    for axis, value, limit in zip("xyz", (x, y, z), most, strict=True):
        if not 1 <= value <= limit:
            raise RecipeError(f"{what} {axis} is {value}; it must be 1 to {limit}")
    return (x, y, z)


def _cluster(texts: Expressions3, names: Names, grid: Dim3, device: Hardware) -> Dim3:
    cluster = _extents("cluster", texts, names, (MOST_CLUSTER, MOST_CLUSTER, MOST_CLUSTER))
    if cluster == (1, 1, 1):
        return cluster
    if device.capability < (9, 0):
        raise RecipeError(f"{device.arch} has no clusters: leave `cluster` out")
    if cluster[0] * cluster[1] * cluster[2] > MOST_CLUSTER:
        raise RecipeError(f"a cluster of {list(cluster)} has more than {MOST_CLUSTER} blocks")
    if any(g % c for g, c in zip(grid, cluster, strict=True)):
        raise RecipeError(f"the grid {list(grid)} is no multiple of the cluster {list(cluster)}: use round_up(a, b)")
    return cluster


def _zeroed(recipe: Recipe, workload: Workload) -> tuple[int, ...]:
    for index in recipe.zeroed_outputs:
        if not 0 <= index < len(workload.outputs):
            raise RecipeError(f"zeroed_outputs names output {index}; there are {len(workload.outputs)}")
    return tuple(sorted(set(recipe.zeroed_outputs)))


def spelled(kernel: str, names: Names) -> str:
    """A kernel's name with macros replaced by their values, as the compiler is asked for it."""

    def value(match: re.Match[str]) -> str:
        found = names.get(match[0])
        return match[0] if found is None or isinstance(found, TensorSpec | float) else str(found)

    head, bracket, rest = kernel.partition("<")
    return head.strip() + bracket + re.sub(r"[A-Za-z_]\w*", value, rest)
