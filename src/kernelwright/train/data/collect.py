"""Collecting samples: pairs from any origin go before the referee, and those that are right go into the file.

The file is written line by line: a collection that was killed goes on where it was, and nothing is judged twice.
"""

import ast
import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from kernelwright.errors import ProposeError, RefereeError, TaskError
from kernelwright.languages import names_for
from kernelwright.models.table import ChatModel
from kernelwright.propose.author.author import Author
from kernelwright.propose.inductor.inductor import usual, write
from kernelwright.propose.inductor.schedule import options_of
from kernelwright.propose.llm.parse import NoKernel, parse
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import ProposalRequest
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatRequest
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Effort
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.store.files import Lines, open_lines
from kernelwright.train.data.prompts import opening
from kernelwright.train.data.sample import FILE, Judged, Origin, Sample, judged, sample
from kernelwright.train.judges import Judges
from kernelwright.train.structure import Split

Heard = Callable[["Tally"], None]
GRACE_S = 15.0
"""For pairs that are with the referee when the time is over."""
IN_FLIGHT = 4
"""Pairs at each worker at once: while one has the device, others compile."""


@dataclass
class Tally:
    """How far a collection is, and what became of the pairs."""

    kept: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    """Of those that were not kept: an outcome, `task`, `unwritten`, `duplicate`, `structure` or `enough`."""
    judged: Counter[Split] = field(default_factory=Counter)
    right: Counter[Split] = field(default_factory=Counter)
    """Kernels by split: how good whoever writes them is."""
    seconds: float = 0.0


class Pair(NamedTuple):
    """A module, and who writes its kernel once it is admitted."""

    origin: Origin
    source: TaskSource
    write: Callable[[Task], Awaitable[Candidate]]
    migrated: tuple[str, ...] = ()
    key: str = ""
    """What tells pairs apart before anything is written; empty: the task's text."""


def authored(sources: Iterable[TaskSource]) -> Iterator[Pair]:
    """Modules whose kernels the built-in author writes, made plain."""
    return (Pair("author", source, by_author) for source in sources)


def compiled(sources: Iterable[TaskSource], judges: Judges) -> Iterator[Pair]:
    """Modules whose kernels `torch.compile` writes, made plain."""

    async def written(task: Task) -> Candidate:
        lowering = await judges.lower(task, options_of(usual(task))[0])
        return plain(task, write(task, lowering, usual(task)))

    return (Pair("compile", source, written) for source in sources)


async def by_author(task: Task) -> Candidate:
    """The author's first kernel for a task, made plain.

    Raises:
        ProposeError: it does not write such a task.
    """
    request = ProposalRequest(number=0, intent="seed", role="frontend")
    proposal = (await Author().propose(Brief(task, request, (), (), seed=0)))[0]
    return plain(task, proposal.candidate)


@dataclass
class Collector:
    """Judges pairs and keeps what is right, up to `most` of one structure."""

    judges: Judges
    target: Target
    versions: dict[str, str]
    effort: Effort = "search"
    workers: int = 1
    most_of_structure: int = 3
    heard: Heard = lambda _: None

    async def collect(self, pairs: Iterable[Pair], folder: Path, count: int, seconds: float | None = None) -> Tally:
        """Add samples to the folder's file until it holds `count`, the pairs are used up, or the time is.

        Raises:
            StoreError: the file cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        started = monotonic()
        with open_lines(Sample, folder / FILE) as lines:
            state = _State(self, lines, count)
            waiting = iter(pairs)
            done = seconds if seconds is not None else float("inf")

            async def work() -> None:
                for pair in waiting:
                    if state.tally.kept >= count or monotonic() - started >= done:
                        return
                    await state.take(pair)

            await _until([asyncio.ensure_future(work()) for _ in range(self.workers * IN_FLIGHT)], seconds)
        return state.tally


async def _until(working: list[asyncio.Future[None]], seconds: float | None) -> None:
    """Wait for all of them, but when the time is over not for one that hangs."""
    ended, late = await asyncio.wait(working, timeout=None if seconds is None else seconds + GRACE_S)
    for one in late:
        one.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    for one in ended:
        one.result()


class _State:
    """One collection while it goes on."""

    def __init__(self, collector: Collector, lines: Lines[Sample], count: int) -> None:
        self._collector, self._lines, self._count, self._started = collector, lines, count, monotonic()
        known = lines.read()
        self._ids = {one.id for one in known}
        self._texts = {one.task.source.source for one in known}
        self._structures = Counter(one.structure for one in known)
        self.tally = Tally(kept=len(self._ids))

    async def take(self, pair: Pair) -> None:
        """Judge one pair, and keep it or count why not."""
        key = pair.key or pair.source.source
        if key in self._texts:
            return
        self._texts.add(key)
        fate = await self._judged(pair)
        if fate:
            self.tally.fates[fate] += 1
        self.tally.seconds = monotonic() - self._started
        self._collector.heard(self.tally)

    async def _judged(self, pair: Pair) -> str:
        """Why the pair was not kept; empty: it was."""
        c = self._collector
        try:
            task = await c.judges.admit(pair.source, c.target)
            candidate = await pair.write(task)
        except (TaskError, RefereeError):
            return "task"
        except ProposeError:
            return "unwritten"
        made = sample(pair.origin, task, candidate, Judged(outcome="unjudged"))
        if self._structures[made.structure] >= c.most_of_structure:
            return "structure"
        found = await c.judges.judge(task, candidate, c.effort)
        self.tally.judged[made.split] += 1
        self.tally.right[made.split] += found is not None and is_right(found)
        if found is None or not is_right(found):
            return found.outcome if found else "unjudged"
        made = made.model_copy(update={"judged": judged(found, c.versions), "migrated": pair.migrated})
        if made.id in self._ids:
            return "duplicate"
        if self.tally.kept >= self._count:
            return "enough"
        self._ids.add(made.id)
        self._structures[made.structure] += 1
        self._lines.append(made)
        self.tally.kept += 1
        return ""


TEMPERATURE = 1.0


def drawn(model: ChatModel, sources: Iterable[TaskSource], each: int, role: str = "frontend") -> Iterator[Pair]:
    """So many pairs for each task, first one of every task, then the second."""
    known = {one.source: one for one in sources}
    for number in range(each):
        for source in known.values():
            yield Pair("model", source, partial(_asked, model, role, number), key=f"{source.source}#{number}")


async def _asked(model: ChatModel, role: str, number: int, task: Task) -> Candidate:
    """The kernel in the model's reply.

    Raises:
        ProposeError: there is none in it.
        ModelError: the model cannot be had.
    """
    request = ChatRequest(messages=opening(task, role), temperature=TEMPERATURE, seed=number)
    found = parse(await model.reply(request), names_for(task.target.kind)[0])
    if isinstance(found, NoKernel):
        raise ProposeError(found.reason)
    return found.candidate


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
