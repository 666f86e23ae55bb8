"""What a bench is asked and what it answers: plain values, the same for every interface."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from kernelwright.bench.records import Cell, CellResult, Comparison
from kernelwright.engine.config import RunConfig
from kernelwright.engine.gateway.models import read_models
from kernelwright.engine.request import INTERRUPTED
from kernelwright.engine.suppliers import Shown
from kernelwright.errors import UsageError
from kernelwright.models.config import DEFAULT, ModelConfig, read_model
from kernelwright.records.base import Record

_LABELLED = re.compile(r"(?P<label>[^=@]+)/(?P<served>\w+=.+)")
_BARE = re.compile(r"(?!\w+=).*")


class ModelSets(NamedTuple):
    """Who speaks."""

    common: Mapping[str, ModelConfig]
    """Models by role, in every arm."""
    compared: Mapping[str, Mapping[str, ModelConfig]]
    """What each router has of its own, by its label; empty: there is one router, the common one."""


def read_model_sets(texts: Iterable[str]) -> ModelSets:
    """The crews of a comparison.

    Raises:
        UsageError: a model cannot be read, a role is unknown or named twice, or two crews have one name.
    """
    plain: list[str] = []
    own: dict[str, list[str]] = {}
    for text in texts:
        labelled = _LABELLED.fullmatch(text)
        if labelled:
            own.setdefault(labelled["label"], []).append(labelled["served"])
        else:
            plain.append(text)
    bare = [text for text in plain if _BARE.fullmatch(text)]
    if len(bare) > 1:
        plain = [text for text in plain if text not in bare]
        _name(bare, own)
    return ModelSets(read_models(plain), {label: read_models(texts) for label, texts in own.items()})


def _name(bare: list[str], own: dict[str, list[str]]) -> None:
    """Put each bare model under its own name, before what is named for that router alone."""
    named = [(read_model(text).name, text) for text in bare]
    for label, text in named:
        if sum(label == other for other, _ in named) > 1:
            raise UsageError(
                f"two models are called {label!r}: tell them apart, such as --model here/{DEFAULT}={text} for each"
            )
        own[label] = [text, *own.get(label, ())]


Precision = Literal["fp32", "fp16", "bf16"]


@dataclass(frozen=True)
class KernelBench:
    """A user's checkout of KernelBench."""

    path: Path
    level: int
    precision: Precision = "fp32"
    problems: str = ""
    """Numbers and ranges, such as `1,5-9`; empty: all of the level."""
    include_unfit: bool = False
    """Run also those that are known to be unfit."""


@dataclass(frozen=True)
class Total:
    """What all cells may spend together; no part of the plan, so that a bench can go on with more."""

    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True)
class BenchRequest:
    """What is to be compared, on what, and how."""

    suite: Path | tuple[Path, ...] | KernelBench
    """Directories of tasks and single files, any with a size (`tasks/fsr@large`), or a checkout of KernelBench."""
    folder: Path
    """The bench's own; one that is there goes on."""
    strategies: tuple[str, ...]
    proposers: tuple[str, ...] = ("author",)
    rewards: tuple[str, ...] = ()
    """Empty: each strategy has its own."""
    seeds: tuple[int, ...] = (0,)
    target: str | None = None
    config: RunConfig = field(default_factory=RunConfig)
    """Budget, models, policy: the same for every cell."""
    model_sets: Mapping[str, Mapping[str, ModelConfig]] = field(default_factory=dict)
    """Models that are compared: what each router has beside or instead of the configuration's, by its label."""
    total: Total = Total()
    """Only with a cap for each cell: a cell begins where its whole cap is left."""
    sample: int | None = None
    """How many of the tasks; None: all."""
    naive: Path | None = None
    """A directory with a kernel for each task, such as anybody would write first."""
    retry: bool = False
    """Try again also what was not admitted or could not be written."""


@dataclass(frozen=True)
class BenchResult:
    """How a bench ended, with what it left behind."""

    comparison: Comparison
    shown: Shown
    """The comparison for a terminal."""
    json: Path
    page: Path
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """0: every cell ended; 1: some could not; 130: interrupted."""
        if self.interrupted:
            return INTERRUPTED
        return 0 if all(cell.counts for cell in self.comparison.cells) else 1


class BenchBegins(Record):
    """The cells that are left are about to be run."""

    cells: int
    """How many."""
    expected: str
    """What their models are expected to cost, in words; empty where no model is asked."""


class CellBegins(Record):
    """A cell is about to be run."""

    cell: Cell
    number: int
    """Among all cells, from 1."""
    of: int
    left_s: float | None
    """Estimate for this cell and the rest, from the cells run so far; None before the first."""


class CellEnds(Record):
    """A cell is over, one way or another."""

    result: CellResult
    number: int
    of: int
    recorded: bool = False
    """It had ended before this command began."""


News = Callable[[BenchBegins | CellBegins | CellEnds], None]


def unheard(news: BenchBegins | CellBegins | CellEnds) -> None:
    """Nobody listens."""
