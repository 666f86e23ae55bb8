"""Judges every state of the written trajectories, and builds the graph of techniques from them.

`python benchmarks/graph_trajectories.py judge --target cuda|cpu|sm_90 --out FILE.json [--seconds S] [--only TASK …]` has the
referee compile, verify and time each code once, in its task. On a GPU several sources are judged beside each other, which take
turns on the device: most of a state's time is the serial function's, on one core of the host. What the committed
`graph-states-*.json.xz` have of such a device is taken over.

`graph FILE…` merges all trajectories whose steps were judged into the package's graph, beside what is there already.
"""

import argparse
import asyncio
import json
import lzma
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

from campaign import Campaign, command
from provenance import commit_and_date, provenance
from pydantic import Field

from kernelwright.engine.graph_build import family_of, from_cards, judged_of
from kernelwright.engine.target import resolve_target
from kernelwright.errors import TaskError
from kernelwright.evaluate.backends.host import DeviceLock
from kernelwright.evaluate.entrypoints.reference.serial import SerialFunction
from kernelwright.evaluate.referee import Referee
from kernelwright.execution.turns import SHARED, place_of
from kernelwright.knowledge.graph.file import SHIPPED, graph_text, shipped_graph
from kernelwright.knowledge.graph.merge import merged, unite
from kernelwright.knowledge.graph.stats import stats
from kernelwright.knowledge.graph.switched import State, Switched, read_switched, trajectories
from kernelwright.languages import language_of
from kernelwright.records.base import Record
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource
from kernelwright.records.technique import Judged, TechniqueGraph, code_id
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
    key: str = ""
    """Its code at its sizes."""
    commit: str = ""
    """Of an earlier call, where it is not the file's."""


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


async def judge(campaign: Campaign, wanted: Sequence[Family], workers: int) -> None:
    """Judge what is not known yet, `workers` sources beside each other."""
    target = resolve_target(campaign.asked.target)
    meant = [family for family in wanted if (family.kind == "cpu") == (target.kind == "cpu")]
    with _turns():
        referees = [Referee(POLICY) for _ in range(workers or suitable(target))]
        try:
            found = await asyncio.gather(*(r.environment(target) for r in referees)) if target.present else []
            head = provenance(found[0]) if found else {"device": target.arch, **commit_and_date()}
            campaign.begin({**head, "target": target.name})
            _take_over(campaign, found[0].device.name if found else target.arch)
            left = [Pending(f, fresh) for f in meant if (fresh := _fresh(f, campaign.by_key))]
            on_device = target.present and target.kind != "cpu"
            sink = Sink(campaign, serial_us([p.family for p in left]) if on_device else {})
            left.sort(key=lambda pending: pending.seconds(sink.serial_us), reverse=True)
            queue = iter(left)
            counts = await asyncio.gather(*(_work(referee, target, queue, sink) for referee in referees))
        finally:
            await asyncio.gather(*(referee.close() for referee in referees))
    sys.stdout.write(f"{sum(counts)} codes are left\n" if sum(counts) else "every code is judged\n")


@contextmanager
def _turns() -> Iterator[None]:
    """Workers that are started here take turns on the device: while serial code computes on the host, others have it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[SHARED] = folder
        os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", "2")
        try:
            yield
        finally:
            del os.environ[SHARED]


def _take_over(campaign: Campaign, device: str) -> None:
    """Rows that are kept as results of such a device.

    A kernel whose text has changed has another hash. A time on a device without an interval of its own is taken again.
    """
    for row in (row for file in sorted(RESULTS.glob("graph-states-*.json.xz")) for row in read_states(file)):
        vague = row.judged.outcome == "measured" and row.judged.within_us is None and row.language != "cpp"
        if row.device == device and not vague:
            campaign.by_key.setdefault(row.key, row.model_dump(mode="json"))


def key_of(code: str, sizes: Mapping[str, int]) -> str:
    """A code at a task's sizes."""
    return f"{code} {json.dumps(sizes, sort_keys=True)}"


def _fresh(family: Family, known: Container[object]) -> dict[str, tuple[State, str]]:
    """What is left of a source, by hash: the base first, then one switch more at a time."""
    states = {code_id(code): (state, code) for state, code in _codes(family)}
    return {code: value for code, value in states.items() if key_of(code, family.task.sizes) not in known}


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
    """Where rows go, and what the serial functions take."""

    campaign: Campaign
    serial_us: Mapping[str, float]


async def _work(referee: Referee, target: Target, queue: Iterator[Pending], sink: Sink) -> int:
    """One worker: source after source, until there is none; how many codes time did not suffice for."""
    return sum([await _family(referee, target, pending, sink) for pending in queue])


async def _family(referee: Referee, target: Target, pending: Pending, sink: Sink) -> int:
    """Judge one source's codes; how many time did not suffice for."""
    family, wanted = pending
    if sink.campaign.over():
        return len(wanted)
    try:
        task = await referee.admit(family.task, target)
    except TaskError as error:
        sys.stderr.write(f"{family.name}: not admitted: {error}\n")
        return len(wanted)
    room, left = asyncio.Semaphore(TOGETHER), 0

    async def one(state: State, code: str) -> None:
        nonlocal left
        async with room:
            if sink.campaign.over():
                left += 1
                return
            language = language_of(code, family.file.suffix, family.kind).name
            candidate = next(parse_text(code, family.kind, language).points())  # with the flags that it declares
            found = await referee.evaluate(task, candidate)
            row = Row(
                task=task.name, language=candidate.language, state=state, code=code_id(code), judged=judged_of(found),
                sizes=family.task.sizes, serial_us=sink.serial_us.get(family.file.stem),
                seconds=found.total_seconds, device=sink.campaign.head["device"], key=key_of(code_id(code), family.task.sizes),
            )  # fmt: skip
            sink.campaign.put(row.model_dump(mode="json", exclude={"commit"}))

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
    with DeviceLock(place_of("host")):
        for _ in range(3):
            began = time.perf_counter()
            function(*inputs)
            best = min(best, time.perf_counter() - began)
    return best * 1e6


def build(files: Sequence[Path], untimed: bool) -> None:
    """Merge every judged trajectory into the package's graph."""
    rows = [row for file in files for row in read_states(file)]
    if untimed:  # a clock that disagrees on a busy machine says nothing of the kernel
        rows = [_untimed(row) for row in rows if row.judged.outcome != "suspect"]
    graphs = [shipped_graph(), from_cards()]
    for device in dict.fromkeys(row.device for row in rows):
        graphs.append(_of_device([row for row in rows if row.device == device]))
    graph = unite(graphs)
    SHIPPED.write_bytes(lzma.compress(graph_text(graph).encode(), preset=9))
    sys.stdout.write(stats(graph).model_dump_json(indent=1) + "\n")


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


def read_states(file: Path) -> list[Row]:
    """The rows of a file, which may be compressed."""
    text = lzma.decompress(file.read_bytes()).decode() if file.suffix == ".xz" else file.read_text()
    return [Row.model_validate_json(json.dumps(row)) for row in json.loads(text)["rows"]]


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


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    judging = verbs.add_parser("judge", parents=[command(None, "cuda", 420.0, add_help=False)])
    judging.add_argument("--wide", action="store_true", help="the sources with many states, and not those of the graph")
    judging.add_argument("--workers", type=int, default=0, help="sources at a time; 0: as many as suit the machine")
    judging.add_argument("--workload", default="", help="sizes that every task lists under this name, such as small")
    growing = verbs.add_parser("graph")
    growing.add_argument("files", nargs="*", type=Path)
    growing.add_argument("--untimed", action="store_true", help="of a busy machine: right or wrong, and no gains")
    asked = parser.parse_args()
    if asked.verb == "graph":
        build(asked.files, asked.untimed)
        return
    campaign = Campaign(asked, key=("key",), same=("target",))
    wanted = list(families(asked.only, asked.workload, "wide" if asked.wide else "steps"))
    campaign.run(lambda: judge(campaign, wanted, asked.workers))


if __name__ == "__main__":
    main()
