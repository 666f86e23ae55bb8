"""What batches of judged replies come to: figures of a training step, pass@k with intervals, and gains. Pure functions."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import comb
from operator import attrgetter
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

from pydantic import JsonValue

from kernelwright.records.base import Record
from kernelwright.train.environment import Assignment, Step
from kernelwright.train.recipe import Progress


class Reply(NamedTuple):
    """What was written to a prompt."""

    text: str
    cut: bool
    """Whether it was cut off at the limit of tokens."""


class Drawn(NamedTuple):
    """One reply and its step."""

    assignment: Assignment
    reply: Reply
    step: Step


def figures(steps: Sequence[Step]) -> dict[str, float]:
    """Shares, mean reward, geometric-mean speedup of what is right and was timed.

    `timed out` stands by itself: right kernels time out on a machine that is too busy, and are wrong to the reward.
    """
    known = [step for step in steps if step.reward is not None]
    if not known:
        return {"unjudged": 1.0}
    fast = [step.info["speedup"] for step in known if step.info.get("right") and step.info.get("speedup")]
    shares = {
        "reward": fmean(step.reward or 0.0 for step in known),
        "right": fmean(bool(step.info["right"]) for step in known),
        "parsed": fmean(bool(step.info["parsed"]) for step in known),
        "hacks": fmean(bool(step.info["hack"]) for step in known),
        "timed out": fmean(step.info["outcome"] == "timed_out" for step in known),
        "unjudged": 1.0 - len(known) / len(steps),
    }
    return {**shares, "speedup": geometric_mean(fast)} if fast else shares


RESAMPLES = 2000
CONFIDENCE = 0.95


class PassRate(Record):
    """The chance that at least one of k samples of a task is right, as a mean over tasks."""

    k: int
    rate: float
    low: float
    high: float
    """The 95 % interval over tasks, by resampling them."""
    tasks: int
    samples: int


def pass_rate(right: Sequence[Sequence[bool]], k: int, seed: int = 0) -> PassRate:
    """pass@k by the unbiased estimator (Chen et al., arXiv 2107.03374, section 2.1).

    Args:
        right: By task and sample; every task has at least k samples.
        k: Samples that one may take.
        seed: Of the resampling.
    """
    each = [1.0 - comb(len(row) - sum(row), k) / comb(len(row), k) for row in right]
    low, high = interval(each, seed)
    return PassRate(k=k, rate=fmean(each), low=low, high=high, tasks=len(each), samples=len(right[0]))


def interval(each: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of a mean over tasks, by resampling them. Of differences task by task it is a paired one."""
    draw = random.Random(seed)
    means = sorted(fmean(draw.choices(each, k=len(each))) for _ in range(RESAMPLES))
    tail = int(RESAMPLES * (1.0 - CONFIDENCE) / 2)
    return means[tail], means[-1 - tail]


def pass_figures(found: Sequence[Sequence[Drawn]]) -> dict[str, JsonValue]:
    """pass@k over what was judged; tasks of which too little is known are left out, and counted."""
    most = max((len(group) for group in found), default=0)
    known = [[one for one in group if one.step.reward is not None] for group in found]
    whole = [group for group in known if len(group) == most]
    right = [[bool(one.step.info["right"]) for one in group] for group in whole]
    infos = [one.step.info for group in known for one in group]
    rates: dict[str, JsonValue] = {
        f"pass@{k}": pass_rate(right, k).model_dump() for k in sorted({1, min(8, most), most}) if right
    }
    return {
        **rates, "unjudged": sum(len(group) for group in found) - len(infos), "tasks_left_out": len(found) - len(whole),
        "outcomes": {**Counter(info["outcome"] for info in infos)}, "parsed": sum(info["parsed"] for info in infos),
        "hacks": sum(bool(info["hack"]) for info in infos), "stage_s": {**stage_seconds(infos)},
        "distinct": len({one.reply.text for group in found for one in group}),
        "cut_off": sum(one.reply.cut for group in found for one in group),
        "tasks": {group[0].assignment.task.name: sum(row) for group, row in zip(whole, right, strict=True)},
    }  # fmt: skip


def stage_seconds(infos: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Mean seconds of each of the referee's stages, over the verdicts that took it."""
    spent: dict[str, list[float]] = {}
    for one in {id(e): e for e in (info["attempt"].evaluation for info in infos if "attempt" in info)}.values():
        for stage in one.seconds:
            spent.setdefault(stage.stage, []).append(stage.seconds)
    return {stage: fmean(taken) for stage, taken in spent.items()}


def gained(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Differences of the rates that both have, by their names; of pass@1 the 95 % interval too, task by task."""
    found: dict[str, JsonValue] = {
        k: v["rate"] - before[k]["rate"] for k, v in after.items() if k.startswith("pass@") and k in before
    }
    if "pass@1" in found:
        now, then = ({t: n / one["pass@1"]["samples"] for t, n in one["tasks"].items()} for one in (after, before))
        both = [now[t] - then[t] for t in sorted(now.keys() & then.keys())]
        found |= {"pass@1": fmean(both), "pass@1 interval": [*interval(both)]} if both else {}
    return found


def columns(made: Iterable[Progress], names: Iterable[str]) -> dict[str, JsonValue]:
    """Figures of a training run's steps by name."""
    steps = list(made)
    return {name: [one.figures.get(name) for one in steps] for name in names}


MOST_POINTS = 1000
"""Twice as many steps, or means of steps, are kept of a run; then two become one."""


def thinned(made: Iterable[Progress]) -> list[Progress]:
    """The steps, or so many means of as many neighbours, in the order in which they come; memory is bounded."""
    found, group, width = list[Progress](), list[Progress](), 1
    for one in made:
        group.append(one)
        if len(group) == width:
            found.append(_mean(group))
            group = []
        if len(found) == 2 * MOST_POINTS:
            found, width = [_mean(pair) for pair in zip(found[::2], found[1::2], strict=True)], 2 * width
    return found + ([_mean(group)] if group else [])


def _mean(group: Sequence[Progress]) -> Progress:
    """Neighbours as one: the latest step, and each figure's mean over those that have it."""
    if len(group) == 1:
        return group[0]
    names = dict.fromkeys(name for one in group for name in one.figures)
    means = {name: fmean(one.figures[name] for one in group if name in one.figures) for name in names}
    return max(group, key=attrgetter("step")).model_copy(update={"figures": means})


def waited(made: Iterable[Progress]) -> float | None:
    """The share of a run's time in which its trainer had nothing to do but wait for verdicts; None: no step says."""
    figures = [one.figures for one in made]
    spent = sum(one.get("step seconds", 0.0) for one in figures)
    return sum(one.get("waited seconds", 0.0) for one in figures) / spent if spent else None


def spread(gains: Sequence[float]) -> dict[str, JsonValue]:
    """Geometric mean and extremes of gains; empty where there are none."""
    return {"geomean": geometric_mean(gains), "least": min(gains), "most": max(gains)} if gains else {}
