"""Modules as people have them, from a file and live, on a CPU and for a GPU that is not here.

    python benchmarks/brought_modules.py --out FILE [--only WORD] [--seconds S]

Each goes the way of `kernelwright optimize` with one proposal. Its row says that a right kernel was found, and what of the
module stays PyTorch's, or why there is none, in the words that a user reads. A row is a `fault` where an exception without a
reason gets out, where a kernel was compiled and not verified, and where two screens differ. No figure of time is kept.
"""

import io
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from brought_texts import MODULES
from campaign import Campaign, Row, command
from figures import short
from rich.console import Console

from kernelwright.engine.config import RunConfig
from kernelwright.engine.request import OptimizeRequest, OptimizeResult
from kernelwright.engine.session import begin
from kernelwright.engine.stored_runs import best_attempt
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.referee import Referee
from kernelwright.interfaces.python import live
from kernelwright.records.evaluation import Evaluation, Suspect
from kernelwright.records.task import TaskSource
from kernelwright.store.run import RunStore
from kernelwright.tasks.table import read_task

FORMS, TARGETS = ("file", "live"), ("cpu", "sm_90")
CONFIG = RunConfig.model_validate(
    {
        "proposer": "author",
        "cache": False,
        "budget": {"proposals": 1},
        "autotune": {"points": 1},
        "remeasurement": {"enabled": False, "keep_slower": True},
        "policy": {"seeds": 2, "baselines": ["eager"], "search_blocks": 4, "search_seconds": 0.2},
    }
)
RIGHT = ("measured", "verified")


class Kept(Referee):
    """A referee whose workers serve every run; `close` is for who opened it."""

    async def close(self) -> None:
        """Nothing: the next run goes on with it."""


def here() -> list[str]:
    """The modules whose packages are here: timm needs torchvision, whose wheels for PyPI's torch ask for CUDA's libraries."""
    return [name for name, text in MODULES.items() if "import timm" not in text or find_spec("timm")]


async def measure(campaign: Campaign) -> None:
    """Bring what has no row yet: a file to both targets, then the live module."""
    await campaign.begin_on_device()
    referee = Kept(CONFIG.policy)
    suppliers = Suppliers(evaluator=lambda *_: referee, states=lambda: None, tuning=lambda: None)
    items = [(name, form, target) for target in TARGETS for form in FORMS for name in here()]
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name, form, target in campaign.left(campaign.chosen(items, "/".join)):
                row = await brought(name, form, target, Path(folder), suppliers)
                campaign.put({"module": name, "form": form, "target": target, **row})
    finally:
        await Referee.close(referee)


async def brought(name: str, form: str, target: str, folder: Path, suppliers: Suppliers) -> Row:
    """What becomes of one module."""
    try:
        source = captured(name) if form == "live" else from_file(name, folder)
        result = await begin(OptimizeRequest(source, target, CONFIG, folder / "runs"), suppliers)
        return judged(result, await untimed(result, suppliers))
    except KernelwrightError as error:
        return {"is": "reason", "why": short(str(error))}
    except Exception as error:  # noqa: BLE001  what a user would see as a traceback is what is looked for
        return {"is": "fault", "why": short(f"{type(error).__name__}: {error}")}


async def untimed(result: OptimizeResult, suppliers: Suppliers) -> Evaluation | None:
    """What is found of a kernel whose time other work on this machine made doubtful, without a clock; None of others."""
    with closing(RunStore.open(Path(result.summary.folder))) as store:
        doubted = [one for one in store.attempts() if isinstance(one.evaluation, Suspect) and one.evaluation.load]
        task = store.card.task
    if not doubted:
        return None
    return await suppliers.open_evaluator(CONFIG.policy).evaluate(task, doubted[0].proposal.candidate, "verify")


def from_file(name: str, folder: Path) -> TaskSource:
    """The module as a file that is read."""
    file = folder / "task.py"
    file.write_text(MODULES[name])
    return read_task(file)


def captured(name: str) -> TaskSource:
    """The same as a program has it."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(MODULES[name], name, "exec"), space)  # noqa: S102  a text of ours
    torch.manual_seed(0)
    return live.capture(space["Model"](), space["get_inputs"]()).source


def judged(result: OptimizeResult, again: Evaluation | None) -> Row:
    """A right kernel with what stays, a reason, or a fault; every screen has to say the same."""
    if differing := differences(result):
        return {"is": "fault", "why": f"{', '.join(differing)}: not what the summary says: {result.summary.said}"}
    outcomes, said = (
        result.summary.outcomes,
        short(" ".join([*result.summary.reasons.values(), str(result.error or "")])),
    )
    if again is not None and again.outcome in RIGHT:
        return {"is": "right", "outcome": f"{again.outcome}, its time disturbed", "stays": ""}
    if any(outcomes.get(outcome) for outcome in RIGHT):
        return {"is": "right", "outcome": next(iter(outcomes)), "stays": stays(Path(result.summary.folder))}
    bad = not said.strip() or "compiled" in outcomes
    return {"is": "fault" if bad else "reason", "outcome": next(iter(outcomes), "none"), "why": said}


def stays(run: Path) -> str:
    """What of the module the kernel leaves to PyTorch, as the author says it; empty where that is nothing."""
    attempt = best_attempt(run)
    notes = attempt.proposal.note.split("; ") if attempt is not None else []
    return next((short(note) for note in notes if note.startswith("PyTorch keeps")), "")


def differences(result: OptimizeResult) -> Sequence[str]:
    """The screens on which the summary's line is not."""
    console = Console(record=True, width=4000, file=io.StringIO())
    console.print(result.shown)
    screens = {"terminal": console.export_text(), "report": result.report.read_text()}
    return [name for name, text in screens.items() if plain(result.summary.said) not in plain(text)]


def plain(text: str) -> str:
    """Letters and digits alone."""
    return "".join(character for character in text if character.isalnum())


def summary(rows: Sequence[Mapping[str, Any]]) -> Row:
    """How many of each form and target have a right kernel, a reason, a fault."""
    counts = Counter((row["target"], row["form"], row["is"]) for row in rows)
    return {"counts": {" ".join(key): count for key, count in sorted(counts.items())}}


def main() -> None:
    """Bring what is left, and print the counts."""
    campaign = Campaign(command(__doc__, seconds=1800).parse_args(), ("module", "form", "target"), summary=summary)
    campaign.run(lambda: measure(campaign))
    campaign.show(lambda rows: "\n".join(f"{name}: {count}" for name, count in summary(rows)["counts"].items()))


if __name__ == "__main__":
    main()
