"""How many proposals each strategy needs with the prompts of two versions.

    PYTHONPATH=tests:tests/system python benchmarks/prompts.py --old TREE --out benchmarks/results/prompts-mock.json

A tree is a checkout with `src` and `tests`. Both are asked the same questions by the same server, the mock model of this
checkout, whose kernels lose a handicap only where the prompt names what holds them back, and a fault only where it shows
the fault's own evidence. Chance follows from seeds and steps, so that both versions meet the same draws. The referee is
scripted: nothing here depends on a clock. What it shows is that facts reach the model, never how well a model writes.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from test_golden_transcripts import FAULTS, TASK

from mock_llm import MockLLMServer

HERE = Path(__file__).parents[1]
STRATEGIES = (
    "direct", "fsr", "cudaforge_best", "cudaforge_current", "tritongym_refine", "tritongym_reflective", "tritongym_agent",
    "tritongym_evolutionary", "tritongym_one_shot", "frontend_midend",
)  # fmt: skip
Results = dict[str, dict[str, list[int | None]]]
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


def compared(old: Path, seeds: int, known: Results, keep: Callable[[Results], None]) -> Results:
    """Proposals to the goal by strategy and arm, a number for each seed; what is known is not played again."""
    arms = {"old": Arm(old), "new": Arm(HERE)}
    found = {name: runs for name, runs in known.items() if all(len(each) == seeds for each in runs.values())}
    for strategy in (name for name in STRATEGIES if name not in found):
        runs: dict[str, list[int | None]] = {name: [] for name in arms}
        for seed in range(seeds):
            for name, arm in arms.items():
                with MockLLMServer([TASK], seed, FAULTS) as server:
                    runs[name].append(proposals_to_goal(arm.play(strategy, seed, server.base_url)))
        sys.stderr.write(f"{strategy}: {runs}\n")
        found[strategy] = runs
        keep(found)
    for arm in arms.values():
        arm.close()
    return found


def summary(numbers: list[int | None]) -> dict[str, float]:
    """Runs that reached the goal, and the median of proposals, a run that did not counting as one more than its budget."""
    counted = [BUDGET + 1 if n is None else n for n in numbers]
    return {
        "reached": sum(n is not None for n in numbers),
        "median": median(counted),
        "mean": sum(counted) / len(counted),
    }


def written(file: Path, version: str, seeds: int, found: Results) -> None:
    """The file, whole after each strategy: a later call goes on where this one was cut."""
    rows = {name: {arm: summary(runs) | {"runs": runs} for arm, runs in arms.items()} for name, arms in found.items()}
    told = {"what": "proposals until the mock model's kernel is right and has no handicap", "budget": BUDGET}
    file.write_text(json.dumps({**told, "old": version, "seeds": seeds, "strategies": rows}, indent=1) + "\n")


def read(file: Path) -> Results:
    """The runs that a file holds."""
    if not file.exists():
        return {}
    rows = json.loads(file.read_text())["strategies"]
    return {name: {arm: rows[name][arm]["runs"] for arm in rows[name]} for name in rows}


def table(found: Results) -> str:
    """A row for each strategy."""
    lines = ["| strategy | old: reached, mean | new: reached, mean |", "|---|---|---|"]
    for name, arms in found.items():
        told = {arm: summary(runs) for arm, runs in arms.items()}
        cells = [f"{told[arm]['reached']} of {len(arms[arm])}, {told[arm]['mean']:.1f}" for arm in ("old", "new")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Compare, write the file, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="the checkout to compare with")
    parser.add_argument("--version", default="", help="what the old checkout is, such as its commit")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, required=True)
    flags = parser.parse_args()
    keep = partial(written, flags.out, flags.version, flags.seeds)
    found = compared(flags.old.resolve(), flags.seeds, read(flags.out), keep)
    sys.stdout.write(table(found) + "\n")


if __name__ == "__main__":
    main()
