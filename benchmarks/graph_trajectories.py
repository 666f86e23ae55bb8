"""Judges every state of the written trajectories, and builds the graph of techniques from them.

`python benchmarks/graph_trajectories.py judge --target cuda|cpu|sm_90 --out FILE.jsonl [--seconds S] [--only TASK …]` has the
referee compile, verify and time each code once, in its task, and appends a line as soon as one is judged. What is in the
file already is not judged again, so the same command goes on where it was cut; a file of another device is left alone. It
ends by itself after `--seconds`, and says what is left. On a GPU several sources are judged beside each other, which take
turns on the device: most of a state's time is the serial function's, on one core of the host.

`graph FILE.jsonl …` merges all trajectories whose steps were judged into the package's graph, beside what is there already,
and writes `benchmarks/results/graph-DEVICE.json` with what each state was measured to do.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from pydantic import Field

from kernelwright.engine.graph_build import family_of, from_cards, judged_of
from kernelwright.engine.target import resolve_target
from kernelwright.errors import TaskError
from kernelwright.evaluate.backends.host import SHARED, DeviceLock
from kernelwright.evaluate.entrypoints.serial import SerialFunction
from kernelwright.evaluate.referee import Referee
from kernelwright.knowledge.graph.file import SHIPPED, graph_text, shipped_graph
from kernelwright.knowledge.graph.merge import merged, united
from kernelwright.knowledge.graph.stats import stats
from kernelwright.knowledge.graph.switched import State, Switched, read_switched, trajectories
from kernelwright.languages import language_of
from kernelwright.records.base import Record
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource
from kernelwright.records.technique_graph import Judged, TechniqueGraph, code_id
from kernelwright.store.files import Lines, open_lines, write_whole
from kernelwright.tasks.files import with_size
from kernelwright.tasks.kernel_file import parse_text
from kernelwright.tasks.table import read_task

TASKS = Path(__file__).parent.parent / "tasks" / "serial"
RESULTS = Path(__file__).parent / "results"
BLOCKS = 8
"""The fewest whose range is an interval of 99 % for their median. On a GPU each has one call of the serial function, which
takes as long as thousands of the kernel's, and says whether what was timed is right: a second suffices for all of them
where the function takes less than half of one."""
POLICY = Policy(baselines=("eager",), final_baselines=(), search_blocks=BLOCKS, search_seconds=1.0, seeds=3)
Folder = Literal["steps", "wide"]
"""Of the switched sources: `steps` make the package's graph; those in `wide` have so many states that a search cannot see
all of them."""
SMALL = "small"
"""The workload that every serial task has beside its own sizes."""
TOGETHER = 3
"""Codes in flight: two are built while one is timed."""


WORKERS = 5
"""Sources at a time on a GPU, at most. Of three to eight seconds that a state takes, it has the device for about one."""


class Row(Record):
    """One state of one task, judged."""

    task: str
    language: str
    state: State
    code: str
    """Its hash."""
    judged: Judged
    sizes: dict[str, int] = Field(default_factory=dict)
    serial_us: float | None = None
    """The serial function alone, on one core of the host, without copies to and from a device."""
    seconds: float
    device: str
    """Where it was judged."""


class Family(NamedTuple):
    """One switched source, in its task."""

    file: Path
    task: TaskSource
    source: Switched

    @property
    def name(self) -> str:
        """The file, and the folder where that is not the usual one."""
        return self.file.name if self.file.parent.name == "steps" else f"{self.file.parent.name}/{self.file.name}"

    @property
    def kind(self) -> str:
        """What its codes are for."""
        return "cpu" if self.file.suffix == ".cpp" else "cuda"


def families(only: Sequence[str] = (), workload: str = "", folder: Folder = "steps") -> Iterator[Family]:
    """Every switched source, those of one task together, in its task at a workload's sizes."""
    for file in sorted((TASKS / folder).iterdir(), key=lambda f: (f.stem, (".cu", ".py", ".cpp").index(f.suffix))):
        if not only or file.stem in only:
            yield Family(file, read_task(with_size(TASKS / f"{file.stem}.cpp", workload)), read_switched(file))


async def judge(target: Target, file: Path, seconds: float, wanted: Sequence[Family], workers: int = 1) -> int:
    """Judge what is not in the file yet, `workers` sources beside each other; the number of codes that are left."""
    last = time.monotonic() + seconds
    on_device = target.present and target.kind != "cpu"
    meant = [family for family in wanted if (family.kind == "cpu") == (target.kind == "cpu")]
    with open_lines(Row, file) as lines, _turns():
        referees = [Referee(POLICY) for _ in range(workers)]
        try:
            found = await asyncio.gather(*(r.environment(target) for r in referees)) if target.present else []
            device = found[0].device.name if found else target.arch
            known = _taken_over(lines, device)
            left = [Pending(f, fresh) for f in meant if (fresh := _fresh(f, known))]
            sink = Sink(lines, device, last, serial_us([p.family for p in left]) if on_device else {})
            left.sort(key=lambda pending: pending.seconds(sink.serial_us), reverse=True)
            print(f"{sum(len(p.codes) for p in left)} codes of {len(left)} sources, {workers} at a time", flush=True)  # noqa: T201
            queue = iter(left)
            counts = await asyncio.gather(*(_work(referee, target, queue, sink) for referee in referees))
        finally:
            await asyncio.gather(*(referee.close() for referee in referees))
    print(f"{sum(counts)} codes are left" if sum(counts) else "every code is judged", flush=True)  # noqa: T201
    return sum(counts)


@contextmanager
def _turns() -> Iterator[None]:
    """Workers that are started here take turns on the device: while serial code computes on the host, others have it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[SHARED] = f"{folder}/device"
        os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", "2")
        try:
            yield
        finally:
            del os.environ[SHARED]


def _taken_over(lines: "Lines[Row]", device: str) -> set[tuple[str, str]]:
    """What need not be judged again, by code and sizes: this file's rows, and those kept as results of such a device.

    A kernel whose text has changed has another hash. A time on a device without an interval of its own is taken again.
    """
    known = {_key(row) for row in lines.read() if row.device == device}
    for row in (row for file in sorted(RESULTS.glob("graph-states-*.jsonl")) for row in _read(file)):
        vague = row.judged.outcome == "measured" and row.judged.within_us is None and row.language != "cpp"
        if row.device == device and not vague and _key(row) not in known:
            lines.append(row)
            known.add(_key(row))
    return known


def _key(row: Row) -> tuple[str, str]:
    return row.code, json.dumps(row.sizes, sort_keys=True)


def _fresh(family: Family, known: Container[tuple[str, str]]) -> dict[str, tuple[State, str]]:
    """What is left of a source, by hash: the base first, then one switch more at a time."""
    sizes = json.dumps(family.task.sizes, sort_keys=True)
    states = {code_id(code): (state, code) for state, code in _codes(family)}
    return {key: value for key, value in states.items() if (key, sizes) not in known}


def _codes(family: Family) -> Iterator[tuple[State, str]]:
    return ((state, family.source.code(state, family.task.sizes)) for state in family.source.states)


class Pending(NamedTuple):
    """A source with what of it is not judged yet."""

    family: Family
    codes: dict[str, tuple[State, str]]

    def seconds(self, serial_us: Mapping[str, float]) -> float:
        """About how long it takes: the serial function is called some 20 times for a state, and as often at admission."""
        return (len(self.codes) + 1) * (1.5 + 20 * serial_us.get(self.family.file.stem, 0.0) / 1e6)


class Sink(NamedTuple):
    """Where rows go, until when, and what the serial functions take."""

    lines: "Lines[Row]"
    device: str
    last: float
    serial_us: Mapping[str, float]


async def _work(referee: Referee, target: Target, queue: Iterator[Pending], sink: Sink) -> int:
    """One worker: source after source, until there is none; how many codes time did not suffice for."""
    return sum([await _family(referee, target, pending, sink) for pending in queue])


async def _family(referee: Referee, target: Target, pending: Pending, sink: Sink) -> int:
    """Judge one source's codes; how many time did not suffice for."""
    family, wanted = pending
    if time.monotonic() > sink.last:
        return len(wanted)
    try:
        task = await referee.admit(family.task, target)
    except TaskError as error:
        print(f"{family.name}: not admitted: {error}", flush=True)  # noqa: T201
        return len(wanted)
    room, left = asyncio.Semaphore(TOGETHER), 0

    async def one(state: State, code: str) -> None:
        nonlocal left
        async with room:
            if time.monotonic() > sink.last:
                left += 1
                return
            language = language_of(code, family.file.suffix, family.kind).name
            candidate = next(parse_text(code, family.kind, language).points())  # with the flags that it declares
            found = await referee.evaluate(task, candidate)
            row = Row(
                task=task.name, language=candidate.language, state=state, code=code_id(code), judged=judged_of(found),
                sizes=family.task.sizes, serial_us=sink.serial_us.get(family.file.stem),
                seconds=sum(stage.seconds for stage in found.seconds), device=sink.device,
            )  # fmt: skip
            sink.lines.append(row)
            print(_line(family, row), flush=True)  # noqa: T201

    await asyncio.gather(*(one(*value) for value in wanted.values()))
    return left


def serial_us(wanted: Sequence[Family]) -> dict[str, float]:
    """By task, what its function takes alone on the host: built beside each other, then timed one after the other."""
    references = {family.file.stem: family.task.source for family in wanted}
    if not references:
        return {}
    with ProcessPoolExecutor(min(len(references), os.cpu_count() or 1), multiprocessing.get_context("spawn")) as pool:
        return dict(zip(references, pool.map(_best_us, references.values()), strict=True))


def _best_us(reference: str) -> float:
    """The best of three calls, in a process that is our own: the tasks here are."""
    module: dict[str, object] = {}
    exec(compile(reference, "<task>", "exec"), module)  # noqa: S102
    function = module["FUNCTION"]
    assert isinstance(function, SerialFunction)
    inputs, best = function.inputs(), float("inf")
    with DeviceLock(f"{os.environ[SHARED]}.host"):
        for _ in range(3):
            began = time.perf_counter()
            function(*inputs)
            best = min(best, time.perf_counter() - began)
    return best * 1e6


def _line(family: Family, row: Row) -> str:
    time_us = f"{row.judged.latency_us:12.2f} us" if row.judged.latency_us is not None else f"{row.judged.outcome:>15}"
    return f"{family.name:24}{' '.join(row.state[1:]) or 'base':32}{time_us}  {row.judged.evidence[:80]}"


def build(files: Sequence[Path], untimed: bool) -> int:
    """Merge every judged trajectory into the package's graph, and write down what was measured."""
    rows = [row for file in files for row in _read(file)]
    if untimed:  # a clock that disagrees on a busy machine says nothing of the kernel
        rows = [_untimed(row) for row in rows if row.judged.outcome != "suspect"]
    graphs = [shipped_graph(), from_cards()]
    for device in dict.fromkeys(row.device for row in rows):
        here = [row for row in rows if row.device == device]
        graphs.append(_of_device(here))
        if not untimed:
            _write_results(device, here)
    graph = united(graphs)
    write_whole(SHIPPED, graph_text(graph))
    print(stats(graph).model_dump_json(indent=1))  # noqa: T201
    return 0


def _untimed(row: Row) -> Row:
    """What is right stays right; times of a machine that was busy with other work are nobody's evidence."""
    outcome = "verified" if row.judged.outcome == "measured" else row.judged.outcome
    right = row.judged.right
    update = {
        "speedup": None,
        "device": "",
        "latency_us": None,
        "outcome": "verified" if right else outcome,
        "right": right,
    }
    return row.model_copy(update={"judged": row.judged.model_copy(update=update)})


def suitable(target: Target) -> int:
    """Sources at a time: on a GPU the serial functions of some compute on cores of the host while one has the device."""
    return max(1, min(WORKERS, (os.cpu_count() or 1) // 3)) if target.present and target.kind != "cpu" else 1


def _read(file: Path) -> list[Row]:
    with open_lines(Row, file) as lines:
        return lines.read()


def _of_device(rows: Sequence[Row]) -> TechniqueGraph:
    """The trajectories of every source whose states were all judged, at the task's sizes and at its workload `small`."""
    graph = TechniqueGraph()
    for family in (family for workload in ("", SMALL) for family in families(workload=workload)):
        judged = {
            row.code: row.judged for row in rows if row.sizes == family.task.sizes and row.task == family.task.name
        }
        for way in trajectories(
            family.source, family.task.serial, family_of(family.task), family.kind, family.task.sizes
        ):
            if all(code_id(step.code) in judged for step in way.steps):
                graph = merged(graph, way, judged)
    return graph


def _write_results(device: str, rows: Sequence[Row]) -> None:
    word = "-".join(device.lower().replace("(r)", "").split())
    table = {"device": device, "torch": torch.__version__, "rows": [row.model_dump(mode="json") for row in rows]}
    write_whole(RESULTS / f"graph-{word}.json", json.dumps(table, indent=1) + "\n")


def main() -> int:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    judging = verbs.add_parser("judge")
    judging.add_argument("--target", default="cuda")
    judging.add_argument("--out", type=Path, required=True)
    judging.add_argument("--seconds", type=float, default=420.0)
    judging.add_argument("--only", nargs="*", default=[])
    judging.add_argument("--wide", action="store_true", help="the sources with many states, and not those of the graph")
    judging.add_argument("--workers", type=int, default=0, help="sources at a time; 0: as many as suit the machine")
    judging.add_argument("--workload", default="", help="sizes that every task lists under this name, such as small")
    growing = verbs.add_parser("graph")
    growing.add_argument("files", nargs="*", type=Path)
    growing.add_argument("--untimed", action="store_true", help="of a busy machine: right or wrong, and no gains")
    given = parser.parse_args()
    if given.verb == "graph":
        return build(given.files, given.untimed)
    wanted = list(families(given.only, given.workload, "wide" if given.wide else "steps"))
    target = resolve_target(given.target)
    asyncio.run(judge(target, given.out, given.seconds, wanted, given.workers or suitable(target)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
