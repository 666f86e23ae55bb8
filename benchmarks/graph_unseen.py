"""MCGS against chance, enumeration and a greedy search, on states of serial functions that nobody's graph was made from.

    python benchmarks/graph_unseen.py --out FILE.json [--seconds 540] [--only WORD]

Of the first spelling of each function in `tests/serial_functions`, every code that rewritings lead to is built with OpenMP,
run beside the function for what is right, and timed in turns with all the others, the least of several calls each. Then the
searches are replayed on these tables (`graph_search.py`) at equal numbers of evaluations. Times are of a host that may have
other work: they order states, and are no benchmark of the kernels.
"""

import ctypes
import json
import os
import platform
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from campaign import Campaign, Row, command
from graph_search import Curves, Replay, Variant, ahead, at
from graph_tables import Table
from provenance import commit_and_date

from kernelwright.engine.graph_build import family_of
from kernelwright.errors import TaskError
from kernelwright.knowledge.graph.file import shipped_graph
from kernelwright.knowledge.graph.stats import expected_gains
from kernelwright.nests.rewritings import applied, rewritten
from kernelwright.records.task import TaskSource
from kernelwright.records.technique import GraphScope, Judged, code_id
from kernelwright.tasks.table import read_task
from serial_functions import FOLDER, Judge, pointer, signal_after, value

MOST_STATES, ROUNDS, LONGEST_S, LEAST_US = 40, 7, 10.0, 1000.0
"""Codes of one function at most; how often each is timed; after which timing ends early; the least that is timed."""
SEEDS, BUDGETS = 20, (2, 4, 8, 16)
SEARCHES = {name: Variant({"navigator": name}) for name in ("mcgs", "random", "enumerate")}
"""By name; `greedy` is played here, since no strategy is."""


async def measure(campaign: Campaign) -> None:
    """A row for each function."""
    campaign.begin(
        {
            "device": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
            "versions": {"torch": "", "triton": ""},
            **commit_and_date(),
        }
    )
    files = campaign.chosen(sorted(f.name for f in FOLDER.iterdir() if ".a." in f.name))
    for name in campaign.left(files):
        task = _task(name)
        if task is None:
            continue
        codes = reached(task)
        campaign.put({"file": name, **_judged(task, codes)} if codes else {"file": name, "states": {}})


def _task(name: str) -> TaskSource | None:
    try:
        return read_task(FOLDER / name)
    except TaskError:
        return None


def reached(task: TaskSource) -> dict[str, str]:
    """Every code that rewritings lead to, by its techniques."""
    assert task.spec is not None
    found, queue = dict[str, str](), [task.serial]
    while queue and len(found) < MOST_STATES:
        for one in rewritten(task.serial, task.spec, "cpu", queue.pop(0)):
            if one.code not in found.values():
                found[" ".join(sorted(applied(one.code)))] = one.code
                queue.append(one.code)
    return found


def _judged(task: TaskSource, codes: Mapping[str, str]) -> Row:
    """Which are right, and the least time of each."""
    assert task.spec is not None
    judge, right, libraries = Judge(task.serial, task.spec, "cpu"), dict[str, str](), dict[str, str]()
    for number, (techniques, code) in enumerate(codes.items()):
        library = judge.built(code, f"kernel{number}", "cpp", "-fopenmp", "-O3", "-march=native")
        right[techniques] = library if library.startswith("does not") else judge.apart(library)
        if right[techniques] == "right":
            libraries[techniques] = library
    times = _timed(judge, libraries)
    states = {name: {"ends": ends[:60], "us": times.get(name)} for name, ends in right.items()}
    return {"states": states, "serial_us": times[""]}


def _timed(judge: Judge, libraries: Mapping[str, str]) -> dict[str, float]:
    """Microseconds, in a process of its own; the serial function's under the empty name."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal_after()
        os.write(writing, json.dumps(_turns(judge, libraries)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        text = said.read()
    os.waitpid(child, 0)
    return dict(json.loads(text)) if text else {"": 0.0}


def _turns(judge: Judge, libraries: Mapping[str, str]) -> dict[str, float]:
    spec, taken = judge.spec, dict[str, list[float]]()
    results = judge.serial()
    named = {a.name: x.copy() for a, x in zip(spec.inputs, judge.inputs, strict=True)}
    named |= {a.name: r.copy() for a, r in zip(spec.outputs, results, strict=True) if a.name not in named}
    serial = [pointer(named[a.name]) if a.pointer else value(a, spec) for a in spec.arguments]
    given = [*(pointer(x.copy()) for x in judge.inputs), *(pointer(r.copy()) for r in results)]
    calls = {"": (ctypes.CDLL(judge.function)[spec.function], serial)}
    calls |= {name: (ctypes.CDLL(library)["kernel"], given) for name, library in libraries.items()}
    end = time.monotonic() + LONGEST_S
    for number in range(ROUNDS):
        for name, (call, arguments) in calls.items():
            times = max(1, int(LEAST_US / min(taken.get(name, [LEAST_US]))))
            start = time.perf_counter()
            for _ in range(times):
                call(*arguments)
            taken.setdefault(name, []).append(1e6 * (time.perf_counter() - start) / times)
        if time.monotonic() > end and number:
            break
    return {name: min(each) for name, each in taken.items()}


def tables(rows: Sequence[Row]) -> Iterator[Table]:
    """One for each function that has more than one right state, and all of whose states were judged."""
    for row in rows:
        timed = {name: state for name, state in row["states"].items() if state["us"]}
        whole = len(timed) > 1 and len(row["states"]) < MOST_STATES
        task = _task(row["file"]) if whole else None
        if task is None:
            continue
        codes = reached(task)
        verdicts = {
            code_id(codes[name]): _verdict(state, row["serial_us"])
            for name, state in row["states"].items()
            if name in codes
        }
        graph, family = shipped_graph(), family_of(task)
        gains = expected_gains(graph, "", "cpp", without=task.name)
        scope = GraphScope(
            graph=graph, root=task.serial, kind="cpu", language="cpp", family=family, spec=task.spec, gains=gains
        )
        yield Table(row["file"].split(".")[0], scope, verdicts)


def _verdict(state: Mapping[str, float | str | None], serial_us: float) -> Judged:
    if not state["us"]:
        return Judged(outcome="incorrect", right=False)
    speedup = serial_us / float(state["us"])
    return Judged(outcome="measured", right=True, device="", speedup=(speedup, speedup, speedup))


def greedy(table: Table, seed: int, budget: int) -> list[float]:
    """Try all that leads on from the best code there is, in a drawn order, and go on from the best of it."""
    scope, luck, curve, seen = table.scope, random.Random(seed), list[float](), set[str]()
    assert scope.spec is not None
    best, here = 1.0, scope.root
    while len(curve) < budget:
        further = [one.code for one in rewritten(scope.root, scope.spec, "cpu", here)]
        fresh = [code for code in further if code_id(code) not in seen]
        luck.shuffle(fresh)
        leading, reached_here = here, 0.0 if here == scope.root else best
        for code in fresh[: budget - len(curve)]:
            seen.add(code_id(code))
            found = table.verdicts.get(code_id(code))
            speedup = found.speedup[0] if found and found.speedup else 0.0
            best = max(best, speedup)
            curve.append(best)
            if speedup > reached_here:
                leading, reached_here = code, speedup
        if leading == here:
            break
        here = leading
    return curve


def report(rows: list[Row]) -> Row:
    """What each search has found after so many evaluations, and how far MCGS is ahead."""
    every = list(tables(rows))
    if not every:
        return {}
    curves: Curves = {table.name: _curves(table) for table in every}
    names = [*SEARCHES, "greedy"]
    share = {b: {n: _share(every, curves, n, b) for n in names} for b in BUDGETS}
    over = {b: {n: ahead(curves, n, b) for n in names if n != "mcgs"} for b in BUDGETS}
    return {
        "functions": len(every), "states": median(len(t.verdicts) for t in every), "seeds": SEEDS,
        "best over the serial code": {t.name: round(t.best, 2) for t in every},
        "share of the best": share, "mcgs over": over,
    }  # fmt: skip


def _curves(table: Table) -> dict[str, list[list[float]]]:
    most = max(BUDGETS)
    found = {
        name: [Replay(table, how, seed).play(most).curve for seed in range(SEEDS)] for name, how in SEARCHES.items()
    }
    return {**found, "greedy": [greedy(table, seed, most) for seed in range(SEEDS)]}


def _share(every: Sequence[Table], curves: Curves, name: str, budget: int) -> float:
    shares = [at(curve, budget) / max(table.best, 1.0) for table in every for curve in curves[table.name][name]]
    return round(sum(shares) / len(shares), 4)


def table(found: Row) -> str:
    """Shares of the best, and the intervals."""
    lines = list[str]()
    for budget in BUDGETS if found else ():
        shares = "  ".join(f"{name} {share:.3f}" for name, share in found["share of the best"][budget].items())
        over = found["mcgs over"][budget].items()
        told = ", ".join(f"{name} {each['ratio']:.3f} ({each['low']:.3f} to {each['high']:.3f})" for name, each in over)
        lines.append(f"{budget:3} evaluations: {shares}; mcgs over {told}")
    return "\n".join([f"{found.get('functions', 0)} functions", *lines])


def main() -> None:
    """Judge what is left, replay, and print the table."""
    campaign = Campaign(command(__doc__).parse_args(), key=("file",))
    campaign.run(lambda: measure(campaign))
    found = report(campaign.rows)
    campaign.summary = lambda rows: found
    campaign.write()
    campaign.show(lambda rows: table(found))


if __name__ == "__main__":
    main()
