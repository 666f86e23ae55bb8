"""Pairs in bulk for benchmarks/train_small.py: random modules, and kernels of the author or of `torch.compile`, without a GPU.

    python benchmarks/train_pairs.py [OUT] [--first 0] [--count 4000] [--most-characters 2600] [--totals]

`kernelwright train data` starts processes and a sandbox for each pair, because a kernel may be anybody's. Modules and kernels
are our own here, so that one process traces the module, asks the author, and runs the kernel in Triton's interpreter on two
draws against fp64, a few pairs a second. It is the referee's own code (reference, interpreter, comparison), with fewer cases
and without confinement: what comes of it is called `interpreted`, and a sample of it goes through the whole referee
(`--referee 100`) before anything is trained on it.

Everything follows from the seeds: the same command makes the same pairs with the same versions, and goes on where it was cut.
A line of OUT is a `Sample`; the last command packs it: `--pack benchmarks/results/train-pairs.jsonl.xz`. `--unpack` the same
file begins with what it holds. Losses end in a sum or mean of everything, which chance alone makes rare and whose two kernels
are long: `--totals` takes such modules only. `--least-lines 5` takes long modules only, in which a small model errs most.
`--origin compile` takes what `torch.compile` writes for the same modules.
"""

import argparse
import asyncio
import hashlib
import json
import lzma
import multiprocessing
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import ProposeError, TaskError
from kernelwright.knowledge.hardware import hardware
from kernelwright.propose.inductor.inductor import usual, write
from kernelwright.propose.inductor.schedule import options_of
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec
from kernelwright.train.data.collect import by_author
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.plain import plain
from kernelwright.train.data.sample import FILE, INTERPRETED, Judged, Sample, read_samples, sample
from kernelwright.train.session import open_judges

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


class Made(NamedTuple):
    """What became of a seed."""

    seed: int
    fate: str
    line: str = ""


def make(origin: str, seed: int) -> Made:
    """The pair of a seed with the kernel of the author or of `torch.compile`, or why there is none."""
    source = random_module(seed)
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
    found = Judged(outcome=INTERPRETED, how=HOW, versions=versions())
    return Made(seed, "", sample(origin, task, candidate, found).model_dump_json())


def by_compiler(task: Task) -> Candidate:
    """What `torch.compile` writes for a GPU that is not here, made plain; raises whatever the compiler does.

    Raises:
        ProposeError: it does not stand alone.
    """
    from kernelwright.evaluate.entrypoints.lowering import lower  # noqa: PLC0415
    from kernelwright.evaluate.sandbox.messages.tools import Lower  # noqa: PLC0415

    asked = Lower(
        source=task.source.source, numerics="as-is", device=hardware(TARGET.arch), threads=1,
        options=options_of(usual(task))[0],
    )  # fmt: skip
    return plain(task, write(task, lower(asked).lowering, usual(task)))


def traced(source: TaskSource) -> tuple[object, Task]:
    """The module as an admission describes it, and the side that holds it."""
    from kernelwright.evaluate.entrypoints.reference import ReferenceSide  # noqa: PLC0415
    from kernelwright.evaluate.sandbox.messages import calls, tasks  # noqa: PLC0415
    from kernelwright.records.numerics import Numerics  # noqa: PLC0415

    side = ReferenceSide()
    loaded = side.load(tasks.LoadTask(source=source.source, threads=1))
    if not loaded.finite or any(loaded.random):
        raise ValueError("not finite, or random")
    graph = side.graph(calls.ExportGraph()).graph
    inputs, outputs = tuple(loaded.inputs), tuple(loaded.outputs)
    workload = Workload(inputs=inputs, parameters=tuple(loaded.parameters), outputs=outputs, tree=loaded.tree)
    numerics = Numerics(mode="as-is", flags=loaded.flags)
    return side, Task(source=source, target=TARGET, workload=workload, graph=graph, numerics=numerics)


def wrong(side: object, task: Task, candidate: Candidate) -> str:
    """Why a kernel is not kept; empty: the interpreter finds it right on every draw."""
    import torch  # noqa: PLC0415

    from kernelwright.evaluate.triton.fault import Fault  # noqa: PLC0415
    from kernelwright.evaluate.triton.interpret import Arguments, interpret  # noqa: PLC0415
    from kernelwright.evaluate.triton.model import flatten  # noqa: PLC0415
    from kernelwright.evaluate.verify.compare import floor, largest_error, longest_reduction, scale_of  # noqa: PLC0415

    model = side._models["eager"]  # type: ignore[attr-defined]
    results = []
    for number, factor in enumerate(DRAWS):
        inputs = [factor * t for t in side._draw(7 + number)]  # type: ignore[attr-defined]
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


def versions() -> tuple[tuple[str, str], ...]:
    """Of what could change a pair."""
    import torch  # noqa: PLC0415
    import triton  # noqa: PLC0415

    return (("torch", torch.__version__), ("triton", triton.__version__))


def begin() -> None:
    """Of every process: one thread, and the interpreter in the place of the compiler."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)


class Pairs:
    """The file, and what may yet go into it."""

    def __init__(self, out: Path, most_characters: int, of_family: int) -> None:
        self._out, self._most, self._of_family = out, most_characters, of_family
        out.mkdir(parents=True, exist_ok=True)
        self._log = out / "seeds.json"
        state = json.loads(self._log.read_text()) if self._log.exists() else {}
        self.next, self.fates = state.get("next", 0), Counter(state.get("fates", {}))
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
        if len(one.candidate.source) > self._most:
            return "long"
        if one.id in self._ids:
            return "duplicate"
        if self._structures[one.structure] >= self._of_family:
            return "structure"
        with (self._out / FILE).open("a", encoding="utf-8") as lines:
            lines.write(line + "\n")
        self._ids.add(one.id)
        self._structures[one.structure] += 1
        self.count += 1
        return ""


def seeds(pairs: Pairs, asked: argparse.Namespace) -> Iterator[int]:
    """From where it was cut until there are enough."""
    seed = max(asked.first, pairs.next)
    while pairs.count < asked.count:
        if is_wanted(random_module(seed).source, asked):
            yield seed
        seed += 1


def is_wanted(module: str, asked: argparse.Namespace) -> bool:
    """Whether the module ends in one number, where only such are wanted, and has lines enough before its result."""
    return (not asked.totals or TOTAL.search(module) is not None) and len(LINE.findall(module)) >= asked.least_lines


def collect(asked: argparse.Namespace) -> None:
    """Make pairs until there are enough."""
    os.environ |= {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    pairs = Pairs(asked.out, asked.most_characters, asked.of_structure)
    began, before = time.monotonic(), pairs.count
    context = multiprocessing.get_context("spawn")
    with context.Pool(asked.workers, begin, maxtasksperchild=A_PROCESS) as pool:
        waiting = iter(seeds(pairs, asked))
        while batch := [seed for _, seed in zip(range(32 * asked.workers), waiting, strict=False)]:
            for made in pool.imap(partial(make, asked.origin), batch, chunksize=4):
                pairs.take(made)
            rate = (pairs.count - before) / (time.monotonic() - began)
            say(f"{pairs.count} pairs, seed {pairs.next}, {rate:.2f} a second, not kept {dict(pairs.fates)}")
            if asked.seconds and time.monotonic() - began > asked.seconds:
                return


async def through_the_referee(asked: argparse.Namespace) -> dict[str, object]:
    """What the whole referee says of so many, chosen by chance."""
    chosen = random.Random(0).sample(read_samples(asked.out), asked.referee)
    judges = open_judges(Suppliers(), Policy(), 1)
    found: Counter[str] = Counter()
    try:
        for one in chosen:
            try:
                task = await judges.admit(one.task.source, TARGET)
            except TaskError as error:
                found[f"task: {error.reason}"] += 1
                continue
            evaluation = await judges.judge(task, one.candidate, "verify")
            found[evaluation.outcome if evaluation else "unjudged"] += 1
            if evaluation is None or not is_right(evaluation):
                say(f"{one.task.name}: {evaluation}")
    finally:
        await judges.close()
    return {"samples": len(chosen), "outcomes": dict(found)}


def pack(out: Path, file: Path) -> None:
    """All pairs in one file, the same bytes each time, and its digest."""
    lines = sorted((out / FILE).read_text(encoding="utf-8").splitlines(), key=_seed_of)
    file.write_bytes(lzma.compress("\n".join(lines).encode() + b"\n", preset=6))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    say(f"{len(lines)} pairs in {file}, {file.stat().st_size / 1e6:.2f} MB, sha256 {digest}")


def unpack(file: Path, out: Path) -> None:
    """The pairs of a file, where no others are."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / FILE).exists():
        (out / FILE).write_bytes(lzma.decompress(file.read_bytes()))


def _seed_of(line: str) -> int:
    return int(json.loads(line)["task"]["source"]["name"].rpartition("_")[2])


def say(words: str) -> None:
    """A line at once."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def options() -> argparse.Namespace:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("out", type=Path)
    numbers = {
        "first": 0,
        "count": 4000,
        "most-characters": 2600,
        "least-lines": 0,
        "of-structure": 2,
        "workers": 1,
        "referee": 0,
        "seconds": 0,
    }
    for name, value in numbers.items():
        found.add_argument(f"--{name}", type=int, default=value)
    found.add_argument("--origin", choices=("author", "compile"), default="author", help="who writes the kernels")
    found.add_argument("--totals", action="store_true", help="only modules whose result is one number")
    found.add_argument("--unpack", type=Path, help="begin with the pairs of this file")
    found.add_argument("--pack", type=Path, help="write all pairs into this file instead of making any")
    return found.parse_args()


if __name__ == "__main__":
    asked = options()
    if asked.unpack:
        unpack(asked.unpack, asked.out)
    if asked.pack:
        pack(asked.out, asked.pack)
    elif asked.referee:
        say(json.dumps(asyncio.run(through_the_referee(asked))))
    else:
        collect(asked)
