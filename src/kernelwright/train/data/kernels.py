"""One kernel in several texts that compute the same: other launch and block sizes, other names of what it is given.

A policy that has met one right answer to a module has nothing to choose from, and reinforcement learning nothing to explore.
"""

import ast
import random
import re

from kernelwright.train.data.forms import ARGUMENTS, restyled
from kernelwright.train.data.sample import Sample

MOST_EACH, DRAWS = 64, 16
"""ptxas takes ten seconds and more where a thread has 128 elements of a tile, all of them in registers."""
CONSTANT = re.compile(r"^(WARPS|ROWS|BLOCK|TILE) = (\d+)$", re.MULTILINE)
TUNABLE = re.compile(r"^# tunable WARPS: ([\d ]+)$", re.MULTILINE)
KERNEL = "@triton.jit\ndef _kernel("
"""From where on a kernel's text has the module's names: helpers before it have their own."""
FREE = {"ROWS": "triton.cdiv(rows, ROWS)", "BLOCK": "triton.cdiv(numel, BLOCK)"}
"""What says that a size is free: programs are counted by it. Elsewhere it must cover a whole row."""
RENAMED = 0.6
"""Share of copies with other names."""


def retuned_source(source: str, chance: random.Random, columns: int = 0) -> str:
    """A kernel's source with launch and block sizes by chance, powers of two around what they were.

    Of a few draws the first that leaves a thread no more than `MOST_EACH` elements of a tile, for rows of so many columns.
    """

    def other(found: re.Match[str]) -> str:
        name, value = found[1], int(found[2])
        if name == "WARPS":
            return f"{name} = {chance.choice((1, 2, 4, 8, 16))}"
        return f"{name} = {max(1, int(value * 2.0 ** chance.randint(-3, 3)))}"

    for _ in range(DRAWS):
        text = CONSTANT.sub(other, source)
        if elements_each(text, columns) <= MOST_EACH:
            break
    return text


def elements_each(source: str, columns: int) -> float:
    """Elements of a tile for each thread, by the constants of a kernel."""
    sizes = {name: int(value) for name, value in CONSTANT.findall(source)}
    tile = sizes.get("BLOCK") or sizes.get("TILE") or sizes.get("ROWS", 1) * columns
    return tile / (32 * sizes.get("WARPS", 4))


def copied(one: Sample, seed: int | str) -> Sample:
    """The same pair with other sizes of blocks and launches, and with other names in module and kernel alike."""
    draw = random.Random(f"{seed} {one.id}")
    found = renamed(one, draw) if draw.random() < RENAMED else one
    columns = max((t.shape[-1] for t in one.task.workload.tensors if t.shape), default=0)
    source = _listed(_free(found.candidate.source, retuned_source(found.candidate.source, draw, columns)))
    return found.model_copy(update={"candidate": found.candidate.model_copy(update={"source": source})})


def in_form(one: Sample, form: int) -> Sample:
    """The pair with its module's text in another form, and the kernel with its constructor; form 0 is as it was written."""
    if not form:
        return one
    text = restyled(one.task.source.source, form)
    task = one.task.model_copy(update={"source": one.task.source.model_copy(update={"source": text})})
    source = _constructed(one.candidate.source, text)
    return one.model_copy(update={"task": task, "candidate": one.candidate.model_copy(update={"source": source})})


def _constructed(kernel: str, module: str) -> str:
    """The kernel's class takes what the module's constructor takes."""
    model = next(n for n in ast.parse(module).body if isinstance(n, ast.ClassDef) and n.name == "Model")
    made = next((n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    names = [one.arg for one in made.args.args] if made else []
    if len(names) < 2:
        return kernel
    head = "class ModelNew(nn.Module):\n"
    return kernel.replace(head, f"{head}    def __init__({', '.join(names)}):\n        super().__init__()\n\n")


def _free(old: str, new: str) -> str:
    """The new text with those sizes as they were that are not free."""
    before = dict(CONSTANT.findall(old))
    kept = {name for name in before if name != "WARPS" and FREE.get(name, " ") not in old}
    return CONSTANT.sub(lambda found: f"{found[1]} = {before[found[1]]}" if found[1] in kept else found[0], new)


def _listed(source: str) -> str:
    """The launch that is set is among those that the kernel says are worth a trial."""
    found, listed = re.search(r"^WARPS = (\d+)$", source, re.MULTILINE), TUNABLE.search(source)
    if not found or not listed:
        return source
    values = sorted({int(found[1]), *map(int, listed[1].split())})
    return TUNABLE.sub(f"# tunable WARPS: {' '.join(map(str, values))}", source)


def renamed(one: Sample, draw: random.Random) -> Sample:
    """The pair with other names for the module's inputs; the same where the kernel's own names stand in the way."""
    head, found, tail = one.candidate.source.partition(KERNEL)
    module = one.task.source.source
    old = _arguments(module)
    taken = set(re.findall(r"[a-z]+", f"{tail} {module}"))
    free = [name for name in ARGUMENTS if name not in taken]
    if not found or len(free) < len(old):
        return one
    new = dict(zip(old, draw.sample(free, len(old)), strict=True))
    tensors = tuple(i.model_copy(update={"name": new.get(i.name, i.name)}) for i in one.task.workload.inputs)
    task = one.task.model_copy(
        update={
            "source": one.task.source.model_copy(update={"source": _substituted(module, new)}),
            "workload": one.task.workload.model_copy(update={"inputs": tensors}),
        }
    )
    source = head + found + _substituted(tail, new)
    return one.model_copy(update={"task": task, "candidate": one.candidate.model_copy(update={"source": source})})


def _arguments(module: str) -> list[str]:
    tree = ast.parse(module)
    forward = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "forward")
    return [each.arg for each in forward.args.args[1:]]


def _substituted(text: str, names: dict[str, str]) -> str:
    """Whole words but keywords of a call, and words that begin with a name and an underscore, as `x_ptr`."""
    pattern = re.compile(rf"(?<![\w.])({'|'.join(names)})(?=_|\b(?!=[^=]))")
    return pattern.sub(lambda found: names[found[1]], text)
