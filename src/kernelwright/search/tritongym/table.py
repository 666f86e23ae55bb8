"""The table of workflows. To add one: write its file, add its name to `Workflow` and its line here."""

from collections.abc import Callable

from kernelwright.search.limits import Limits
from kernelwright.search.strategy import Strategy
from kernelwright.search.tritongym.agent import Agent
from kernelwright.search.tritongym.config import TritonGymConfig, Workflow
from kernelwright.search.tritongym.evolutionary import Evolutionary
from kernelwright.search.tritongym.one_shot import OneShot
from kernelwright.search.tritongym.refine import Refine
from kernelwright.search.tritongym.reflective import Reflective

WORKFLOWS: dict[Workflow, Callable[[TritonGymConfig, Limits], Strategy]] = {
    "refine": Refine,
    "one_shot": OneShot,
    "reflective": Reflective,
    "evolutionary": Evolutionary,
    "agent": Agent,
}


def make_tritongym(config: TritonGymConfig, limits: Limits) -> Strategy:
    """A fresh strategy of the workflow that was asked for."""
    return WORKFLOWS[config.workflow](config, limits)
