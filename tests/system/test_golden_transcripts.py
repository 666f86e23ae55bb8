"""Each strategy's control flow over real HTTP, step by step, as a text that was held against its pseudocode by hand.

`REWRITE_SNAPSHOTS=1` writes the texts anew and leaves the comments at their heads: read the difference before it is
committed. The referee is scripted and judges by what the drill did to a kernel, so that nothing here depends on a clock.
"""

import asyncio
import os
import re
from pathlib import Path

import pytest
from endpoint_runs import BARE, MODEL, TASK, SteadyServer, read
from transcript import HANDICAP, transcript

from kernelwright.engine.config import RunConfig
from kernelwright.engine.session import play_in
from kernelwright.records.evaluation import BuildFailed
from kernelwright.records.profile import Ceilings, Profile
from kernelwright.testing.samples import SECONDS, sample_evaluation
from kernelwright.testing.scripted import ScriptedEvaluator
from mock_llm import Faults

GOLDEN = Path(__file__).parent / "golden"
REWRITE = os.environ.get("REWRITE_SNAPSHOTS") == "1"
MISSING = re.compile(r"drill_missing_\w+")
WRONG = "1.0625"
FAULTS = Faults(rate=0.4, kinds=("undeclared", "wrong_constant", "prose", "slow"))
STRATEGIES = {
    "direct": (14, {"name": "direct", "n": 5}),
    "fsr": (8, {"name": "fsr", "n": 2, "depth": 4, "repair_limit": 1}),
    "cudaforge_best": (0, {"name": "cudaforge", "edit": "best"}),
    "cudaforge_current": (0, {"name": "cudaforge", "edit": "current"}),
    "tritongym_refine": (8, {"name": "tritongym", "workflow": "refine"}),
    "tritongym_reflective": (0, {"name": "tritongym", "workflow": "reflective", "debug_limit": 2}),
    "tritongym_agent": (5, {"name": "tritongym", "workflow": "agent"}),
    "tritongym_evolutionary": (5, {"name": "tritongym", "workflow": "evolutionary", "population": 3}),
    "tritongym_one_shot": (14, {"name": "tritongym", "workflow": "one_shot", "attempts": 5}),
    "frontend_midend": (5, {"name": "frontend_midend"}),
}
"""By name: the seed by which a run of ten meets what its pseudocode tells apart, and the settings."""

SHOWS = {
    "direct": ("build_failed", "incorrect", "measured"),
    "fsr": ("Repair 1", "Performance round 4"),
    "cudaforge_best": ("Generate initial", "Fix compilation error:", "ERROR:", "SUCCESS:", "CORRECT:"),
    "cudaforge_current": ("Generate initial", "Fix compilation error:", "ERROR:", "SUCCESS:", "CORRECT:"),
    "tritongym_refine": ("told: kernel.cpp:", "Functional Failure:", "Success. Latency:", "prose, no kernel"),
    "tritongym_reflective": ("Debugging attempt 1", "told: kernel.cpp:", "Functional Failure:", "Success. Latency:"),
    "tritongym_agent": ("Compilation Failed:", "Functional Failure:", "calls compile", "calls submit"),
    "tritongym_evolutionary": ("Nothing works yet", "The last child failed", "Evolve it"),
    "tritongym_one_shot": ("build_failed", "incorrect", "measured"),
    "frontend_midend": ("Not verified yet", "Kept:", "Dropped: the last edit broke", "was no faster"),
}
"""What each transcript is there to show. Chance follows from the seed alone, so that no wording changes it."""


class Clerk(ScriptedEvaluator):
    """Finds the drill's own faults, and a kernel twice as fast with each handicap less."""

    async def evaluate(self, task, candidate, effort="search"):
        missing, source = MISSING.search(candidate.source), candidate.source
        if missing:
            line = source[: missing.start()].count("\n") + 1
            log = f"kernel.cpp:{line}:23: error: '{missing[0]}' was not declared in this scope"
            return BuildFailed(log=log, seconds=SECONDS[:1])
        return sample_evaluation("incorrect" if WRONG in source else "measured", 2.0 ** -len(HANDICAP.findall(source)))

    async def profile(self, task, candidate, build=None):
        ceilings = Ceilings(origin="measured", read_gbps=20.0)
        tier, device = "compiler", "Scripted CPU"
        return Profile(task=task.id, candidate=candidate.id, tier=tier, device=device, bytes=8192, ceilings=ceilings)

    async def build(self, task, candidate):
        found = await self.evaluate(task, candidate)
        return found if isinstance(found, BuildFailed) else sample_evaluation("compiled")


def played(name: str, folder: Path) -> str:
    seed, strategy = STRATEGIES[name]
    with SteadyServer(seed, FAULTS) as server:
        settings = {
            "seed": seed, "strategy": strategy, "proposer": "llm", "in_flight": 1, "budget": {"proposals": 10},
            "remeasurement": {"enabled": False}, "models": {"default": {"name": MODEL, "base_url": server.base_url}},
        }  # fmt: skip
        result = asyncio.run(play_in(folder, TASK, RunConfig.model_validate(settings), Clerk(), BARE))
    assert result.error is None
    return transcript(read(folder))


def golden(name: str, text: str) -> str:
    """The committed text without its comments."""
    file = GOLDEN / f"{name}.txt"
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    head = [line for line in lines if line.startswith("#")]
    if REWRITE:
        GOLDEN.mkdir(exist_ok=True)
        file.write_text("".join(head) + text)
        return text
    assert head, f"{file} has no line that says which step is which"
    return "".join(lines[len(head) :])


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_transcript_is_the_golden_one(name, tmp_path):
    text = played(name, tmp_path / "run")
    assert [words for words in SHOWS[name] if words not in text] == []
    assert text == golden(name, text)
