"""Which faults does the referee find? `python benchmarks/mutations.py --target cpu|sm_90 --out FILE`.

Right kernels (for the CPU the C++ ones of `tests/cheats`, for a GPU that is not there Triton that the author writes for
their tasks) get one fault each by the rules of `mutation_rules.py`, and are judged. A fault counts as found where the
referee does not call the kernel right, first in verification and, where that passes, as a new best is judged. It does not
count where the kernel does not build, or where the compiler makes the same program of it. What survives is listed: each
must be explained in `mutation_survivors.toml`, as no fault at all or as a gap. Kernels without a fault that are refused
are listed too.
"""

import re
import subprocess
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from campaign import Campaign, Row, command
from figures import short
from known_kernels import on_cpu
from mutation_rules import Mutation, chosen, of_cpp, of_triton

from kernelwright.engine.summary import check_of
from kernelwright.errors import ProposeError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.propose.author.search.designs import DESIGNS
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, is_right
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Target, Task, TaskSource

POLICY = Policy(baselines=("eager",), final_baselines=(), search_blocks=4, final_blocks=4, run_limit_s=30)
SURVIVORS = Path(__file__).with_name("mutation_survivors.toml")
NONE = "none"
"""The rule of a kernel as it is."""
UNEVEN = {"64": "61", "96": "97"}
EVEN = re.compile(r"\b(64|96)\b")
FLAGS = ("-O2", "-march=native", "-std=c++17", "-fopenmp", "-c", "-x", "c++", "-")


class Kernel(NamedTuple):
    """A right kernel and its task."""

    name: str
    task: Task
    candidate: Candidate


class Faulty(NamedTuple):
    """One kernel with one fault, or as it is."""

    kernel: Kernel
    fault: Mutation | None

    @property
    def key(self) -> tuple[str, str, int, str]:
        """Tells it from others of its file."""
        fault = self.fault
        return (self.kernel.name, *((fault.rule, fault.line, fault.now) if fault else (NONE, 0, "")))

    @property
    def candidate(self) -> Candidate:
        """What is judged."""
        one = self.kernel.candidate
        return one.model_copy(update={"source": self.fault.source}) if self.fault else one


async def measure(campaign: Campaign) -> None:
    """Judge what is left."""
    async with campaign.referee(POLICY, each=campaign.asked.each) as (referee, target):
        for name, source, candidate in campaign.chosen(sources(target), lambda one: one[0]):
            if campaign.over():
                return
            if (kernel := await right_kernel(referee, target, name, source, candidate)) is not None:
                for one in campaign.left(faulty(kernel, campaign.asked.each), lambda one: one.key):
                    campaign.put(await judged(referee, one))


def sources(target: Target) -> list[tuple[str, TaskSource, Candidate]]:
    """Honest kernels of the tests, with their tasks; for a GPU, where the author writes, one of each task."""
    honest = [one for one in on_cpu() if not one.cheat and one.candidate.language == "cpp"]
    if target.kind != "cpu":
        honest = list({one.task.source: one for one in honest}.values())
    return [(one.name, one.task, one.candidate) for one in honest]


async def right_kernel(
    referee: Referee, target: Target, name: str, source: TaskSource, candidate: Candidate
) -> Kernel | None:
    """The kernel for this target: the one that is there, or what the author writes; None where it writes nothing."""
    try:
        task = await referee.admit(source if target.kind == "cpu" else uneven(source), target)
        if target.kind != "cpu":
            design = DESIGNS["triton"](task)
            candidate = design.write(design.default).at(())
    except (TaskError, ProposeError):
        return None
    return Kernel(name, task, candidate)


def uneven(source: TaskSource) -> TaskSource:
    """The task at sizes that no block divides: a mask that hides nothing would be no fault to leave out."""
    text = source.source
    return source.model_copy(update={"source": EVEN.sub(lambda n: UNEVEN[n[0]], text)}) if "64, 96" in text else source


def faulty(kernel: Kernel, each: int) -> Iterator[Faulty]:
    """The kernel as it is, and then with each of the chosen faults."""
    one = kernel.candidate
    found = of_cpp(one.source, one.entry) if one.language == "cpp" else of_triton(one.source)
    yield Faulty(kernel, None)
    for fault in chosen(found, each, kernel.name):
        yield Faulty(kernel, fault)


async def judged(referee: Referee, one: Faulty) -> Row:
    """The row of a faulty kernel: what the referee said, and what that means."""
    found = await _asked(referee, one, "verify")
    if is_right(found) and one.fault and same_program(one.kernel.candidate, one.candidate):
        fate = "same program"
    else:
        if is_right(found) and one.kernel.task.target.present:
            found = await _asked(referee, one, "final")
        fate = fate_of(found)
    name, rule, line, now = one.key
    was = one.fault.was if one.fault else ""
    why = short(check_of(one.kernel.task, await referee.environment(), one.candidate, found).reason)
    return {"kernel": name, "rule": rule, "line": line, "now": now, "was": was, "fate": fate, "why": why}


async def _asked(referee: Referee, one: Faulty, effort: Effort) -> Evaluation:
    return await referee.evaluate(one.kernel.task, one.candidate, effort)


def fate_of(found: Evaluation) -> str:
    """`found`, `survived`, or `not built`."""
    if found.outcome == "build_failed":
        return "not built"
    return "survived" if is_right(found) else "found"


def same_program(one: Candidate, other: Candidate) -> bool:
    """Whether a compiler makes the same of two texts, which then are alike in all that they do."""
    if one.language != "cpp":
        return False
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("one.o", "other.o")]
        for file, candidate in zip(files, (one, other), strict=True):
            subprocess.run(["g++", *FLAGS, "-o", file], input=candidate.source, text=True, check=True)
        return files[0].read_bytes() == files[1].read_bytes()


def explained() -> dict[str, str]:
    """Why a survivor is no fault, by its kernel, rule and line."""
    return dict(tomllib.loads(SURVIVORS.read_text())) if SURVIVORS.exists() else {}


def said(row: Row) -> str:
    """How a survivor is named in the file that explains it."""
    return f"{row['kernel']}, {row['rule']}, line {row['line']}: {row['now']}"


def summary(rows: list[Row]) -> Row:
    """Counts of faults and of kernels without one."""
    faults = [row for row in rows if row["rule"] != NONE and row["fate"] in ("found", "survived")]
    honest = [row for row in rows if row["rule"] == NONE]
    alive, known = [row for row in faults if row["fate"] == "survived"], explained()
    none = [row for row in alive if said(row) in known]
    real = len(faults) - len(none)
    return {
        "faults": real,
        "found": len(faults) - len(alive),
        "score": round((len(faults) - len(alive)) / real, 4) if real else None,
        "no faults, explained": len(none),
        "unexplained": [said(row) for row in alive if said(row) not in known],
        "same program": sum(row["fate"] == "same program" for row in rows),
        "not built": sum(row["fate"] == "not built" for row in rows),
        "by rule": dict(Counter(row["rule"] for row in faults)),
        "honest": len(honest),
        "honest refused": [f"{row['kernel']}: {row['why']}" for row in honest if row["fate"] != "survived"],
    }


def table(rows: list[Row]) -> str:
    """The counts, and what nobody has explained."""
    found = summary(rows)
    lines = [f"{name}: {value}" for name, value in found.items() if not isinstance(value, list)]
    lines += [f"unexplained: {one}" for one in found["unexplained"]]
    return "\n".join([*lines, *(f"refused as it is: {one}" for one in found["honest refused"])])


def main() -> None:
    """Judge, and print the table."""
    parser = command(__doc__, seconds=36000.0)
    parser.add_argument("--each", type=int, default=1, help="faults of each rule in a kernel, at most")
    campaign = Campaign(parser.parse_args(), key=("kernel", "rule", "line", "now"), same=("each",), summary=summary)
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()
