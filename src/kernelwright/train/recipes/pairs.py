"""Pairs in bulk, without a GPU and without a sandbox for each.

`kernelwright train data` starts processes and a sandbox for each pair, because a kernel may be anybody's. Modules and kernels
are our own here, so that one process traces the module, asks the author or `torch.compile`, and runs the kernel in Triton's
interpreter on two draws against fp64, a few pairs a second. It is the referee's own code (reference, interpreter,
comparison), with fewer cases and without confinement: what comes of it is called `interpreted`. Everything follows from the
seeds, so that the same settings make the same pairs with the same versions.
"""

import asyncio
import hashlib
import json
import lzma
import multiprocessing
import os
import re
import tempfile
from collections import Counter
from functools import partial
from itertools import count, islice
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import torch
import triton

from kernelwright.errors import ProposeError, UsageError
from kernelwright.evaluate.entrypoints.reference.cpu import ReferenceSide
from kernelwright.evaluate.entrypoints.tools.lowering import lower
from kernelwright.evaluate.sandbox.messages import calls, tasks
from kernelwright.evaluate.sandbox.messages.tools import Lower
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.evaluate.triton.interpret import Arguments, interpret
from kernelwright.evaluate.triton.model import flatten
from kernelwright.evaluate.verify.compare import floor, largest_error, longest_reduction, scale_of
from kernelwright.knowledge.hardware import hardware
from kernelwright.propose.inductor.inductor import usual, write
from kernelwright.propose.inductor.schedule import options_of
from kernelwright.records.candidate import Candidate
from kernelwright.records.numerics import Numerics
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec
from kernelwright.train.data.collect import by_author, plain
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.sample import FILE, INTERPRETED, Judged, Sample, read_samples, sample
from kernelwright.train.data.wide import wide_module
from kernelwright.train.recipes.plan import Pairs, Unpack
from kernelwright.train.recipes.stage import DONE, Figures, Work

TARGET = Target(kind="cuda", arch="sm_90", present=False)
HOW = "Triton's interpreter, two draws"
DRAWS = (1.0, -3.0)
"""Factors of the inputs' draws: as given, and larger with the other sign."""
K = 4.0
"""Times the reference's own error that a kernel may err, as in the referee."""
TOTAL = re.compile(r"return torch\.(mean|sum)\(\w+\)$", re.MULTILINE)
LINE = re.compile(r"^ {8}v\d+ = ", re.MULTILINE)
CONSTANT = 1e-3
"""Difference of both draws' results below which a module's result is constant, as the sum of a layer norm is."""
A_PROCESS = 150
"""Pairs that one process makes: tracing keeps what it saw."""
LAST_S = 30.0
"""Of a call: no more is begun."""
SEEDS = "seeds.json"


class Made(NamedTuple):
    """What became of a seed."""

    seed: int
    fate: str
    """Why there is no pair; empty: there is."""
    line: str = ""


def pairs(stage: Pairs, work: Work) -> Figures:
    """Make pairs until there are enough, or the call ends."""
    os.environ |= {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    if stage.begin_with and not (work.place / FILE).exists():
        (work.place / FILE).write_bytes(lzma.decompress(Path(stage.begin_with).read_bytes()))
    kept, began = Kept(work.place, stage), monotonic()
    before = kept.count
    spawn = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(dir=work.place) as scratch,
        spawn.Pool(stage.workers, _begin, (scratch,), maxtasksperchild=A_PROCESS) as pool,
    ):
        waiting = (
            seed for seed in count(max(stage.first, kept.next)) if is_wanted(module_of(seed, stage.wide).source, stage)
        )
        while kept.count < stage.count and work.left > LAST_S:
            for made in pool.imap(
                partial(make, stage.origin, stage.wide), islice(waiting, 32 * stage.workers), chunksize=4
            ):
                if kept.count < stage.count:
                    kept.take(made)
            rate = (kept.count - before) / (monotonic() - began)
            work.say(f"{kept.count} pairs, seed {kept.next}, {rate:.2f} a second, not kept {dict(kept.fates)}")
    found: Figures = {"pairs": kept.count, "not_kept": {**kept.fates}, DONE: kept.count >= stage.count}
    return found | (pack(work.place / FILE, Path(stage.packed)) if stage.packed and found[DONE] else {})


def is_wanted(module: str, stage: Pairs) -> bool:
    """Whether the module ends in one number, where only such are wanted, and has lines enough before its result."""
    return (not stage.totals or TOTAL.search(module) is not None) and len(LINE.findall(module)) >= stage.least_lines


def _begin(scratch: str) -> None:
    """One thread, and a place for the files of all modules and kernels: they are read for as long as the process lives."""
    torch.set_num_threads(1)
    tempfile.tempdir = scratch


def module_of(seed: int, wide: bool) -> TaskSource:
    """A chain on matrices, or a module of another kind."""
    return wide_module(seed) if wide else random_module(seed)


def make(origin: str, wide: bool, seed: int) -> Made:
    """The pair of a seed with the kernel of the author or of `torch.compile`, or why there is none."""
    source = module_of(seed, wide)
    try:
        side, task = traced(source)
        candidate = asyncio.run(by_author(task)) if origin == "author" else by_compiler(task)
    except ProposeError:
        return Made(seed, "unwritten")
    except Exception as error:  # noqa: BLE001  tracing raises whatever torch does
        return Made(seed, f"task: {type(error).__name__}")
    fate = wrong(side, task, candidate)
    if fate:
        return Made(seed, fate)
    versions = (("torch", torch.__version__), ("triton", triton.__version__))
    found = Judged(outcome=INTERPRETED, how=HOW, versions=versions)
    return Made(
        seed, "", sample("author" if origin == "author" else "compile", task, candidate, found).model_dump_json()
    )


def by_compiler(task: Task) -> Candidate:
    """What `torch.compile` writes for a GPU that is not here, made plain; raises whatever the compiler does.

    Raises:
        ProposeError: it does not stand alone.
    """
    asked = Lower(
        source=task.source.source, numerics="as-is", device=hardware(TARGET.arch), threads=1,
        options=options_of(usual(task))[0],
    )  # fmt: skip
    return plain(task, write(task, lower(asked).lowering, usual(task)))


def traced(source: TaskSource) -> tuple[ReferenceSide, Task]:
    """The module as an admission describes it, and the side that has it loaded."""
    side = ReferenceSide()
    loaded = side.load(tasks.LoadTask(source=source.source, threads=1))
    if loaded.broken or loaded.infinite or any(loaded.random):
        raise ValueError("not finite, or random")
    graph = side.graph(calls.ExportGraph()).graph
    if graph.untraced:
        raise ValueError("no graph")
    inputs, outputs = tuple(loaded.inputs), tuple(loaded.outputs)
    workload = Workload(inputs=inputs, parameters=tuple(loaded.parameters), outputs=outputs, tree=loaded.tree)
    numerics = Numerics(mode="as-is", flags=loaded.flags)
    return side, Task(source=source, target=TARGET, workload=workload, graph=graph, numerics=numerics)


def wrong(side: ReferenceSide, task: Task, candidate: Candidate) -> str:
    """Why a kernel is not kept; empty: the interpreter finds it right on every draw."""
    model: Any = side._models["eager"]
    results = []
    for number, factor in enumerate(DRAWS):
        inputs = [factor * t for t in side._draw(7 + number) if isinstance(t, torch.Tensor)]
        with torch.no_grad():
            eager, exact = flatten(model(*inputs)), flatten(model(*(t.double() for t in inputs)))
        results.append(exact)
        got = interpret(candidate, task.source.source, Arguments(inputs, {}, task.workload), TARGET.arch)
        if isinstance(got, Fault):
            return f"fault: {got.kind}"
        for spec, mine, theirs, right in zip(task.workload.outputs, got, eager, exact, strict=True):
            scale = scale_of(right)
            tensors = tuple(i for i in task.workload.inputs if isinstance(i, TensorSpec))
            least = floor(spec, longest_reduction(task.graph, tensors))
            if tuple(mine.shape) != spec.shape or not torch.isfinite(right).all():
                return "shape" if tuple(mine.shape) != spec.shape else "not finite"
            if largest_error(mine, right, scale) > max(K * largest_error(theirs, right, scale), least):
                return "incorrect"
    same = all(torch.allclose(*two, rtol=CONSTANT, atol=CONSTANT) for two in zip(*results, strict=True))
    return "constant" if same else ""


class Kept:
    """The file, and what may yet go into it."""

    def __init__(self, out: Path, stage: Pairs) -> None:
        self._out, self._stage, self._log = out, stage, out / SEEDS
        state = json.loads(self._log.read_text()) if self._log.exists() else {}
        self.next, self.fates = state.get("next", 0), Counter[str](state.get("fates", {}))
        known = read_samples(out)
        self.count, self._ids = len(known), {one.id for one in known}
        self._structures = Counter(one.structure for one in known)

    def take(self, made: Made) -> None:
        """Keep it, or count why not."""
        fate = made.fate or self._kept(made.line)
        if fate:
            self.fates[fate] += 1
        self.next = made.seed + 1
        self._log.write_text(json.dumps({"next": self.next, "fates": dict(self.fates)}))

    def _kept(self, line: str) -> str:
        one = Sample.model_validate_json(line)
        if len(one.candidate.source) > self._stage.most_characters:
            return "long"
        if one.id in self._ids:
            return "duplicate"
        if self._structures[one.structure] >= self._stage.of_structure:
            return "structure"
        with (self._out / FILE).open("a", encoding="utf-8") as lines:
            lines.write(line + "\n")
        self._ids.add(one.id)
        self._structures[one.structure] += 1
        self.count += 1
        return ""


def pack(lines: Path, file: Path) -> Figures:
    """All pairs in one file, the same bytes each time, and its digest."""
    ordered = sorted(lines.read_text(encoding="utf-8").splitlines(), key=_seed_of)
    file.write_bytes(lzma.compress("\n".join(ordered).encode() + b"\n", preset=6))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return {"packed": str(file), "megabytes": file.stat().st_size / 1e6, "sha256": digest}


def _seed_of(line: str) -> int:
    return int(json.loads(line)["task"]["source"]["name"].rpartition("_")[2])


def unpack(stage: Unpack, work: Work) -> Figures:
    """Samples of packed files and data sets, in their order.

    Raises:
        UsageError: a file is missing.
    """
    try:
        files = [_lines(Path(file)) for file in stage.files]
    except (OSError, lzma.LZMAError) as error:
        raise UsageError(
            f"pairs cannot be read ({error}): run in a checkout, or name files with --set files='[…]'"
        ) from None
    lines = [line for lines in files for line in lines]
    chosen = (sorted(lines, key=len) if stage.shortest else lines)[: stage.count]
    (work.place / FILE).write_text("\n".join(chosen) + "\n", encoding="utf-8")
    found = read_samples(work.place)
    splits: Figures = {**Counter(one.split for one in found)}
    families = len({one.family for one in found})
    return {"samples": len(found), **splits, "families": families, "of_first_file": len(files[0])}


def _lines(file: Path) -> list[str]:
    if file.suffix == ".xz":
        return lzma.decompress(file.read_bytes()).decode().splitlines()
    return (file / FILE if file.is_dir() else file).read_text(encoding="utf-8").splitlines()
