"""Cheats by somebody who has read only the public pages; each .cpp in `outsider` says what it tries and what it gets.

A kernel that ends `measured` with `through: yes` is a gap that is known, not a defence: once closed, its line changes.
Any other that ends `measured` gains nothing over its honest twin. Where `expect` names two ends, the machine decides: work
that is done for all calls at once is noticed by its cost in all, which a slow memory makes larger.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from kernelwright import api
from kernelwright.engine.request import CheckRequest
from kernelwright.engine.summary import CheckSummary
from kernelwright.records.policy import Policy

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "outsider"
NOISE = 1.25
"""How many times its honest twin's upper bound a cheat's lower bound may be: they are timed in two contests."""


def fields(kernel: Path) -> dict[str, str]:
    return dict(re.findall(r"^// (task|through|expect): (.*)$", kernel.read_text(), re.MULTILINE))


def expected(name: str) -> str:
    return fields(FOLDER / f"{name}.cpp")["expect"]


def names(honest: bool) -> list[str]:
    kernels = sorted(FOLDER.glob("*.cpp"))
    twins = {fields(path)["task"].replace(".py", "_honest") for path in kernels}
    return [path.stem for path in kernels if (path.stem in twins) == honest]


def twin(kernel: Path) -> Path:
    return FOLDER / fields(kernel)["task"].replace(".py", "_honest.cpp")


@cache
def judged(kernel: Path) -> CheckSummary:
    """As `kernelwright check --quick` judges it, without the baseline that must be compiled: no cheat is aimed at that."""
    task = FOLDER / fields(kernel)["task"]
    return api.check(CheckRequest(task, kernel, target="cpu", effort="search", policy=Policy(baselines=("eager",))))


@pytest.mark.parametrize("name", [*names(honest=False), *names(honest=True)])
def test_kernel_ends_as_it_says(name: str) -> None:
    kernel = FOLDER / f"{name}.cpp"
    ends, _, reason = expected(name).partition(" | ")
    verdict = judged(kernel)
    assert verdict.outcome in ends.split(" or "), verdict.reason
    assert verdict.outcome == "measured" or reason in verdict.reason


@pytest.mark.parametrize("name", [name for name in names(honest=False) if "measured" in expected(name)])
def test_measured_cheat_gains_nothing(name: str) -> None:
    kernel = FOLDER / f"{name}.cpp"
    cheats, honest = judged(kernel).speedup_eager, judged(twin(kernel)).speedup_eager
    assert honest is not None
    assert cheats is None or cheats.low <= NOISE * honest.high
