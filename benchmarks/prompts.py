"""How many proposals each strategy needs with the prompts of two versions.

    PYTHONPATH=tests:tests/system python benchmarks/prompts.py --old TREE --out benchmarks/results/prompts-mock.json

A tree is a checkout with `src` and `tests`. Both are asked the same questions by the same server, the mock model of this
checkout, whose kernels lose a handicap only where the prompt names what holds them back, and a fault only where it shows
the fault's own evidence. Chance follows from seeds and steps, so that both versions meet the same draws. The referee is
scripted: nothing here depends on a clock. What it shows is that facts reach the model, never how well a model writes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from campaign import Campaign, Row, command
from provenance import commit_and_date
from test_golden_transcripts import FAULTS, TASK

from mock_llm import MockLLMServer

HERE = Path(__file__).parents[1]
STRATEGIES = (
    "direct", "fsr", "cudaforge_best", "cudaforge_current", "tritongym_refine", "tritongym_reflective", "tritongym_agent",
    "tritongym_evolutionary", "tritongym_one_shot", "frontend_midend",
)  # fmt: skip
WHAT = "proposals until the mock model's kernel is right and has no handicap"
BUDGET = 10
"""Proposals of a run."""
PLAYER = """
import json, re, sys, tempfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
import test_golden_transcripts as golden

for line in sys.stdin:
    asked = json.loads(line)
    golden.STRATEGIES[asked["strategy"]] = (asked["seed"], golden.STRATEGIES[asked["strategy"]][1])
    golden.SteadyServer = lambda seed, faults: nullcontext(SimpleNamespace(base_url=asked["url"]))
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(golden.played(asked["strategy"], Path(folder) / "run")), flush=True)
"""
"""Runs in the tree that is asked about, and answers each line with the run's transcript."""


class Arm:
    """One version, in a process of its own."""

    def __init__(self, tree: Path) -> None:
        paths = [tree / "src", tree / "tests", tree / "tests" / "system"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
        self._process = subprocess.Popen(
            [sys.executable, "-c", PLAYER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def play(self, strategy: str, seed: int, url: str) -> str:
        """The transcript of one run."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"strategy": strategy, "seed": seed, "url": url}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{strategy}, seed {seed}: the run ended without an answer; its reason stands above")
        return str(json.loads(answer))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def proposals_to_goal(transcript: str) -> int | None:
    """Proposals up to the first right kernel without a handicap; None where the run made none."""
    attempts = (line.split() for line in transcript.splitlines() if line.startswith("  attempt "))
    return next((int(words[1].rstrip(":")) + 1 for words in attempts if words[2:5] == ["measured,", "no", "handicaps"]
                 or words[2:5] == ["measured,", "no", "handicaps,"]), None)  # fmt: skip


async def measure(campaign: Campaign) -> None:
    """Play every strategy with either version, once for each seed."""
    asked = campaign.asked
    campaign.begin({"what": WHAT, "budget": BUDGET, "old": asked.version, "seeds": asked.seeds, **commit_and_date()})
    arms = {"old": Arm(asked.old.resolve()), "new": Arm(HERE)}
    for strategy in campaign.left(campaign.chosen(STRATEGIES)):
        runs: dict[str, list[int | None]] = {name: [] for name in arms}
        for seed in range(asked.seeds):
            for name, arm in arms.items():
                with MockLLMServer([TASK], seed, FAULTS) as server:
                    runs[name].append(proposals_to_goal(arm.play(strategy, seed, server.base_url)))
        campaign.put({"strategy": strategy, **{name: summed(each) | {"runs": each} for name, each in runs.items()}})
    for arm in arms.values():
        arm.close()


def summed(numbers: list[int | None]) -> Row:
    """Runs that reached the goal, and the median of proposals, a run that did not counting as one more than its budget."""
    counted = [BUDGET + 1 if n is None else n for n in numbers]
    reached = sum(n is not None for n in numbers)
    return {"reached": reached, "median": median(counted), "mean": sum(counted) / len(counted)}


def table(rows: list[Row]) -> str:
    """A row for each strategy."""
    lines = ["| strategy | old: reached, mean | new: reached, mean |", "|---|---|---|"]
    for row in rows:
        cells = [f"{row[a]['reached']} of {len(row[a]['runs'])}, {row[a]['mean']:.1f}" for a in ("old", "new")]
        lines.append(f"| {row['strategy']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Compare, and print the table."""
    parser = command(__doc__, seconds=36000.0)
    parser.add_argument("--old", type=Path, required=True, help="the checkout to compare with")
    parser.add_argument("--version", default="", help="what the old checkout is, such as its commit")
    parser.add_argument("--seeds", type=int, default=10)
    campaign = Campaign(parser.parse_args(), key=("strategy",), same=("old", "seeds"))
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()
