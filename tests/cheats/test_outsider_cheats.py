"""Cheats by somebody who has read only the public pages; each .cpp in `outsider` says what it tries and what it gets.

A kernel that ends `measured` with `through: yes` is a gap that is known, not a defence: once closed, its line changes.
"""

import re
from pathlib import Path

import pytest

from kernelwright import api
from kernelwright.engine.request import CheckRequest
from kernelwright.engine.summary import CheckSummary
from kernelwright.records.policy import Policy

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "outsider"


def fields(kernel: Path) -> dict[str, str]:
    return dict(re.findall(r"^// (task|through|expect): (.*)$", kernel.read_text(), re.MULTILINE))


def names(honest: bool) -> list[str]:
    kernels = sorted(FOLDER.glob("*.cpp"))
    twins = {fields(path)["task"].replace(".py", "_honest") for path in kernels}
    return [path.stem for path in kernels if (path.stem in twins) == honest]


def judged(kernel: Path) -> CheckSummary:
    """As `kernelwright check --quick` judges it, without the baseline that must be compiled: no cheat is aimed at that."""
    task = FOLDER / fields(kernel)["task"]
    return api.check(CheckRequest(task, kernel, target="cpu", effort="search", policy=Policy(baselines=("eager",))))


@pytest.mark.parametrize("name", [*names(honest=False), *names(honest=True)])
def test_kernel_ends_as_it_says(name: str) -> None:
    kernel = FOLDER / f"{name}.cpp"
    outcome, _, reason = fields(kernel)["expect"].partition(" | ")
    verdict = judged(kernel)
    assert verdict.outcome == outcome, verdict.reason
    assert reason in verdict.reason
