"""Evaluating what was collected: validity, speed and savings on unseen tasks, as one document and a short table.

Runs anywhere: nothing is measured again.
"""

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable

import numpy as np
from prediction.learned import FEWEST, Asked, Interval, Shown, area, correlation, in_batches, rows, unseen
from prediction.samples import Collection, Sample, read
from prediction.savings import REFITS, Learning, Paid, Pool, saved
from pydantic import JsonValue
from suite import listed

from kernelwright.reward.predictor.experience import Row

SHOWN: tuple[Shown, ...] = ("source", "compiler")
OVERSAMPLES = (3, 8)
WITHIN = (0.02, 0.05)
Counts = Callable[[Sample], bool]
QUESTIONS: dict[str, tuple[Counts, Counts]] = {
    "all": (lambda s: True, lambda s: True),
    "all that compiles": (lambda s: True, lambda s: s.compiles),
    "drill": (lambda s: s.maker != "mutant", lambda s: s.maker != "mutant"),
    "drill that compiles": (lambda s: s.maker != "mutant", lambda s: s.maker != "mutant" and s.compiles),
    "mutants, taught by the drill": (lambda s: s.maker != "mutant", lambda s: s.maker != "drill"),
    "mutants that compile, taught by the drill": (
        lambda s: s.maker != "mutant",
        lambda s: s.maker != "drill" and s.compiles,
    ),
}
"""Who teaches, and who is asked about."""


def evaluate(arguments: Namespace) -> None:
    """Ask everything, write, print."""
    collection = read(*arguments.folders)
    families = {task.name: task.family for task in listed()}
    known = {shown: rows(collection, shown) for shown in SHOWN}
    document: dict[str, JsonValue] = {
        **collection.origin,
        "samples": _counted(collection),
        "validity": [row for shown in SHOWN for row in _validity(collection, known[shown], shown)],
    }
    if not arguments.validity_only:
        document["speed"] = [_speed(collection, known[shown], shown, families) for shown in SHOWN]
        document["savings"] = [row for shown in SHOWN for row in _savings(collection, known[shown], shown, arguments)]
    arguments.out.write_text(json.dumps(document, indent=1) + "\n")


def _counted(collection: Collection) -> dict[str, JsonValue]:
    counted = Counter(f"{sample.maker}: {sample.found.outcome}" for sample in collection.samples)
    return {"all": len(collection.samples), "tasks": len(collection.tasks), **dict(sorted(counted.items()))}


def _validity(collection: Collection, known: list[Row], shown: Shown) -> list[JsonValue]:
    found: list[JsonValue] = []
    asked: dict[int, list[Asked]] = {}
    for name, (teach, count) in QUESTIONS.items():
        everything = name.startswith("all")
        if everything not in asked:
            asked[everything] = unseen(collection, known, teach)
        value = area(asked[everything], count)
        _say(f"validity, {name}, {shown}", value)
        found.append({"shown": shown, "of": name, "auc": _told(value)})
    for size in OVERSAMPLES:
        batches = in_batches(collection, known, size)
        for name in ("all", "all that compiles"):
            value = area(batches, QUESTIONS[name][1])
            _say(f"validity, {name}, {shown}, {size} at a time", value)
            found.append({"shown": shown, "of": name, "siblings": size, "auc": _told(value)})
    return found


def _speed(collection: Collection, known: list[Row], shown: Shown, families: dict[str, str]) -> JsonValue:
    by_task = correlation(unseen(collection, known, lambda s: True))
    by_family = correlation(unseen(collection, known, lambda s: True, families.__getitem__))
    _say(f"speed, {shown}", by_task)
    _say(f"speed, {shown}, unseen families", by_family)
    return {"shown": shown, "spearman": _told(by_task), "spearman_unseen_family": _told(by_family)}


def _savings(collection: Collection, known: list[Row], shown: Shown, arguments: Namespace) -> list[JsonValue]:
    pairs = [(s, row) for s, row in zip(collection.samples, known, strict=True) if not s.blurred]
    timed = Counter(sample.task for sample, _ in pairs if sample.speedup > 0)
    pools = {task: [pair for pair in pairs if pair[0].task == task] for task, count in timed.items() if count >= FEWEST}
    found: list[JsonValue] = []
    if not pools:
        return found
    plain = [_searches(pool, None, shown, 1, arguments.orders) for pool in pools.values()]
    for arm, orders, refits in (("offline", arguments.orders, ()), ("online", arguments.online_orders, REFITS)):
        for oversample in OVERSAMPLES if orders else ():
            given = []
            for task, pool in pools.items():
                others = [row for sample, row in zip(collection.samples, known, strict=True) if sample.task != task]
                scores = Learning(task, [row for _, row in pool], others, refits)
                given.append(_searches(pool, scores, shown, oversample, orders))
            for goal, within in enumerate(sorted(WITHIN, reverse=True)):
                what = f"{shown}, {arm}, {oversample} at a time, within {within:.0%}"
                found.append(
                    _compared(*([[s[goal] for s in task] for task in table] for table in (plain, given)), what)
                )
    return found


def _searches(
    pool: list[tuple[Sample, Row]], scores: Learning | None, shown: Shown, oversample: int, orders: int
) -> list[list[Paid]]:
    candidates = Pool([sample for sample, _ in pool], WITHIN, shown == "compiler")
    return [candidates.search(scores, oversample, np.random.default_rng(order)) for order in range(orders)]


def _compared(plain: list[list[Paid]], given: list[list[Paid]], what: str) -> JsonValue:
    by = {name: saved(_seconds(plain, name), _seconds(given, name)) for name in ("device", "total")}
    _say(f"saved of device, {what}", by["device"]["median"])
    return {
        "search": what,
        "orders": len(given[0]),
        "saved": {name: {of: _told(value) for of, value in found.items()} for name, found in by.items()},
        "seconds": {"without": _mean(plain), "with": _mean(given)},
    }


def _seconds(table: list[list[Paid]], name: str) -> list[list[float]]:
    return [[getattr(paid, name) for paid in row] for row in table]


def _mean(table: list[list[Paid]]) -> dict[str, JsonValue]:
    """Mean seconds of a search, over all tasks and searches."""
    every = [paid for row in table for paid in row]
    return {name: round(float(np.mean([getattr(p, name) for p in every])), 3) for name in Paid._fields}


def _told(found: Interval | None) -> JsonValue:
    if found is None:
        return None
    return {name: round(value, 4) for name, value in found._asdict().items()}


def _say(what: str, found: Interval | None) -> None:
    words = f"{found.value:6.3f} [{found.low:.3f}, {found.high:.3f}] of {found.tasks} tasks" if found else "too few"
    sys.stdout.write(f"{what:80}{words}\n")
    sys.stdout.flush()
