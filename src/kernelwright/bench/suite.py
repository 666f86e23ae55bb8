"""Suite: which tasks a bench consists of, and the plan that follows from them and the flags.

Two files of one name are told apart by their folders. A plan that is in the folder already is the one that holds.
"""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from kernelwright.bench.records import Arm, BenchPlan, LeftOut, PlannedTask, Sampled, differences
from kernelwright.bench.request import BenchRequest, KernelBench, Precision
from kernelwright.engine.admission import gather
from kernelwright.engine.config import load_config, own_reward
from kernelwright.engine.target import resolve_target
from kernelwright.errors import StoreError, TaskError, UsageError
from kernelwright.pages import page
from kernelwright.records.base import identity
from kernelwright.records.task import TaskSource
from kernelwright.reward.table import reward_names
from kernelwright.search.table import spelled, strategy_of
from kernelwright.store.files import write_whole
from kernelwright.tasks.kernelbench import read_kernelbench

DTYPES: Mapping[Precision, str] = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
_PROBLEM = re.compile(r"(\d+)_.+\.py")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")

# `Model` is changed in place, not derived from: its own methods may say `super(Model, self)`.
_CAST = """

# Precision: the model and its floating-point inputs are {dtype}, as KernelBench casts them.
def _in_precision(model):
    import torch

    construct = model.__init__

    def __init__(self, *arguments, **settings):
        construct(self, *arguments, **settings)
        self.to(torch.{dtype})

    model.__init__ = __init__
    return model


def _cast_inputs(draw):
    import torch

    def get_inputs():
        return [x.to(torch.{dtype}) if torch.is_tensor(x) and x.is_floating_point() else x for x in draw()]

    return get_inputs


Model = _in_precision(Model)
get_inputs = _cast_inputs(get_inputs)
"""


class Suite(NamedTuple):
    """The tasks that were asked for."""

    sources: tuple[tuple[Path, TaskSource], ...]
    left_out: tuple[LeftOut, ...]
    words: str
    """Which tasks these are."""
    doubtful: tuple[LeftOut, ...] = ()
    """Those of them that somebody's list leaves out."""


def read_level(asked: KernelBench) -> Suite:
    """The problems of one level.

    Raises:
        UsageError: there is no such level at the path, a problem that was named is not there, or two have one number.
    """
    found = _problems(asked)
    numbers = read_numbers(asked.problems) if asked.problems else sorted(found)
    missing = [number for number in numbers if number not in found]
    if missing:
        raise UsageError(
            f"level {asked.level} of {str(asked.path)!r} has no problem {', '.join(map(str, missing))}: "
            f"it has {len(found)}, from {min(found)} to {max(found)}"
        )
    sources: list[tuple[Path, TaskSource]] = []
    left_out: list[LeftOut] = []
    doubts: list[LeftOut] = []
    for number in numbers:
        name, reason = f"l{asked.level}_{found[number].stem}", unfit().get((asked.level, number))
        doubt = reason or doubtful().get((asked.level, number))
        if reason is not None and not asked.include_unfit:
            left_out.append(LeftOut(name=name, reason=reason))
            continue
        try:
            sources.append((found[number], read_problem(found[number], name, asked.precision)))
            doubts += [LeftOut(name=name, reason=doubt)] if doubt else []
        except TaskError as error:
            left_out.append(LeftOut(name=name, reason=str(error)))
    words = f"KernelBench level {asked.level}, {asked.precision}"
    return Suite(tuple(sources), tuple(left_out), words, tuple(doubts))


def read_problem(file: Path, name: str, precision: Precision) -> TaskSource:
    """One problem in a precision; `fp32` is as the file has it.

    Raises:
        TaskError: the file is no task.
    """
    source = read_kernelbench(file)
    text = source.source if precision == "fp32" else source.source.rstrip() + "\n" + in_precision(precision)
    return source.model_copy(update={"name": name, "source": text})


def in_precision(precision: Precision) -> str:
    """What is appended to a task's text so that model and inputs come in that precision."""
    return _CAST.format(dtype=DTYPES[precision])


def read_numbers(text: str) -> list[int]:
    """Problem numbers as the command line spells them: `1,5-9`.

    Raises:
        UsageError: they are spelled otherwise.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if first > last:
            raise UsageError(f"problems {text!r} must be numbers and ranges, such as 1,5-9")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


@cache
def unfit() -> Mapping[tuple[int, int], str]:
    """Known unfit problems, by level and number, with the reason and who found it."""
    return _read_table("problem")


@cache
def doubtful() -> Mapping[tuple[int, int], str]:
    """Problems that are fit for this referee and stand on somebody's list of unfit ones, likewise."""
    return _read_table("doubtful")


def _read_table(table: str) -> dict[tuple[int, int], str]:
    rows = tomllib.loads((files("kernelwright.bench") / "unfit.toml").read_text("utf-8"))[table]
    return {(row["level"], number): f"{row['reason']} ({row['source']})" for row in rows for number in row["ids"]}


def _problems(asked: KernelBench) -> dict[int, Path]:
    """Files by problem number."""
    for folder in (asked.path / "KernelBench" / f"level{asked.level}", asked.path / f"level{asked.level}"):
        if folder.is_dir():
            named = ((_PROBLEM.fullmatch(file.name), file) for file in sorted(folder.iterdir()))
            found: dict[int, Path] = {}
            for number, file in ((int(match[1]), file) for match, file in named if match):
                if number in found:
                    raise UsageError(
                        f"{str(folder)!r} has two problems {number}, {found[number].name} and {file.name}: remove one"
                    )
                found[number] = file
            if found:
                return found
    raise UsageError(
        f"{str(asked.path)!r} has no problems of level {asked.level}: expected files such as 1_Name.py below "
        f"KernelBench/level{asked.level}/ or level{asked.level}/; name the folder of a KernelBench checkout"
    )


PLAN = "plan.json"
_PER_CELL = {"seed", "proposer", "reward"}


class Planned(NamedTuple):
    """A plan with the texts of its tasks."""

    plan: BenchPlan
    sources: Mapping[str, TaskSource]
    """By task name."""


def make_plan(request: BenchRequest) -> Planned:
    """The cells that the flags ask for.

    Raises:
        UsageError: a name is unknown or named twice, there is no task, or the sample is larger than what there is.
        MachineError: the target is not here.
    """
    _check_names("strategy", request.strategies, None)
    for name in request.strategies:
        load_config(None, {"strategy": spelled(name)})
    _check_names("proposer", request.proposers, None)
    _rewards_are_read(request)
    _total_holds(request)
    _check_names("seed", tuple(map(str, request.seeds)), None)
    suite = _tasks_of(request.suite)
    taken = _sample(suite.sources, request.sample)
    if not taken:
        reasons = "; ".join(f"{one.name}: {one.reason}" for one in suite.left_out[:3])
        raise UsageError(f"no task is left to run ({reasons}): name other problems, or --include-unfit")
    plan = BenchPlan(
        tasks=tuple(PlannedTask(name=s.name, file=str(file), source=source_id(s)) for file, s in taken),
        arms=_arms(request),
        seeds=request.seeds,
        target=resolve_target(request.target, request.config.place),
        config=request.config.model_copy(update={"cache": False}).model_dump(mode="json", exclude=_PER_CELL),
        suite=suite.words,
        precision=request.suite.precision if isinstance(request.suite, KernelBench) else "as written",
        models={label: dict(models) for label, models in request.model_sets.items()},
        left_out=suite.left_out,
        doubtful=tuple(one for one in suite.doubtful if one.name in {source.name for _, source in taken}),
        sampled=Sampled(taken=len(taken), of=len(suite.sources)) if len(taken) < len(suite.sources) else None,
    )
    return Planned(plan, {source.name: source for _, source in taken})


def _arms(request: BenchRequest) -> tuple[Arm, ...]:
    """Every combination; only where a model is asked does it matter which.

    Raises:
        UsageError: two of them would share a folder.
    """
    asked = {
        p: tuple(request.model_sets) or ("",) if p.partition(":")[0] == "llm" else ("",) for p in request.proposers
    }
    arms = tuple(
        Arm(strategy=s, proposer=p, reward=r, model=m)
        for s in request.strategies
        for p in request.proposers
        for m in asked[p]
        for r in request.rewards or (own_reward(s.partition(":")[0]),)
    )
    _check_names("folder of an arm", [arm.name for arm in arms], None)
    return arms


def _rewards_are_read(request: BenchRequest) -> None:
    """Several rewards are worth a comparison only where a strategy or a predictor reads them.

    Raises:
        UsageError: a reward is unknown, or nothing would tell several apart.
    """
    if request.rewards:
        _check_names("reward", request.rewards, reward_names())
    blind = [name for name in request.strategies if not strategy_of(name).reads_reward]
    if len(request.rewards) > 1 and blind and request.config.predictor is None:
        raise UsageError(
            f"--rewards {','.join(request.rewards)}: {', '.join(blind)} read no reward, so these arms would differ by noise "
            f"alone. Name one, or configure a predictor, which learns from it ({page('reward.md')})"
        )


def _total_holds(request: BenchRequest) -> None:
    """Raises UsageError where a cell could spend more than what is left."""
    for flag, total, cell in (
        ("usd", request.total.usd, request.config.budget.usd),
        ("tokens", request.total.tokens, request.config.budget.tokens),
    ):
        if total is not None and (cell is None or cell > total):
            raise UsageError(
                f"--max-{flag}-total {total:g} needs --max-{flag} of at most as much, the cap of one cell: a cell begins only "
                "where its whole cap is left, so that the total holds and no cell is cut short"
            )


def load_or_write_plan(folder: Path, plan: BenchPlan) -> BenchPlan:
    """Write the plan into the folder, or take the one that is there.

    Raises:
        UsageError: the one that is there is another one; every difference is named.
        StoreError: it cannot be read or written.
    """
    file = folder / PLAN
    try:
        if not file.exists():
            write_whole(file, plan.model_dump_json(indent=2))
            return plan
        kept = BenchPlan.model_validate_json(file.read_text("utf-8"))
    except OSError as error:
        raise StoreError(f"{file} cannot be used ({error.strerror}): check the path and the disk") from None
    except ValueError:
        raise StoreError(f"{file} is no plan that this version reads: choose another --run-dir") from None
    found = differences(kept, plan)
    if found:
        text = "; ".join(f"{d.field} was {d.then or 'empty'}, is {d.now or 'empty'}" for d in found[:8])
        raise UsageError(
            f"the bench at {folder} was begun with another plan ({text}): repeat the flags it was begun with, "
            "or choose another --run-dir"
        )
    return kept


def source_id(source: TaskSource) -> str:
    """Identity of a task's text and declarations."""
    return identity("source", source.model_dump(mode="json", exclude={"name"}))


def _tasks_of(asked: Path | tuple[Path, ...] | KernelBench) -> Suite:
    if isinstance(asked, KernelBench):
        return read_level(asked)
    return _files((asked,) if isinstance(asked, Path) else asked)


def _files(paths: tuple[Path, ...]) -> Suite:
    found, _ = gather(paths)
    clash = Counter(one.file.stem for one in found)
    named = [(one, one.file.stem if clash[one.file.stem] == 1 else _qualified_name(one.file)) for one in found]
    return Suite(
        sources=tuple((one.file, one.source.model_copy(update={"name": name})) for one, name in named if one.source),
        left_out=tuple(LeftOut(name=name, reason=str(one.fault)) for one, name in named if one.source is None),
        words=f"{len(found)} tasks of {', '.join(dict.fromkeys(path.resolve().name for path in paths))}"[:200],
    )


def _qualified_name(file: Path) -> str:
    return f"{file.parent.name}_{file.stem}"


def _sample(sources: Sequence[tuple[Path, TaskSource]], size: int | None) -> list[tuple[Path, TaskSource]]:
    """The same sample whenever it is drawn from the same names."""
    if size is None:
        return list(sources)
    if not 1 <= size <= len(sources):
        raise UsageError(f"--sample {size} must be from 1 to {len(sources)}, the number of tasks")
    order = sorted(sources, key=lambda one: one[1].name)
    chosen = {source.name for _, source in random.Random(0).sample(order, size)}
    return [one for one in sources if one[1].name in chosen]


def _check_names(what: str, names: Sequence[str], table: Sequence[str] | None) -> None:
    if not names:
        raise UsageError(f"no {what} is named")
    for name in names:
        if table is not None and name not in table:
            raise UsageError(f"{what} {name!r} must be one of {', '.join(table)}")
    if len(set(names)) < len(names):
        raise UsageError(f"a {what} is named twice: {', '.join(names)}")
