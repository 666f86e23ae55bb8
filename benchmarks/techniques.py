"""Judges every technique's example: `python benchmarks/techniques.py --target cpu|cuda|sm_90 --out FILE [--only NAME …]`.

Both kernels of a card are judged against eager on one admission of its task; a gain is the one speedup over the other, with
the widest interval that both allow. What is not right stops nothing and is written down; the exit code is then 1.
`--adopt` instead writes what the files under benchmarks/results say into the library's own table of gains.
"""

import json
import sys
import tempfile
from pathlib import Path

from campaign import Campaign, Row, command

from kernelwright.engine.target import resolve_target
from kernelwright.errors import TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.knowledge.library import FOLDER, techniques_with_examples
from kernelwright.records.evaluation import Compiled, Evaluation, Measured, Verified
from kernelwright.records.measure import Ratio
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task
from kernelwright.records.technique import Example, Gain
from kernelwright.tasks.kernel_file import parse_kernel
from kernelwright.tasks.table import read_task

RESULTS = Path(__file__).parent / "results"
RIGHT = (Measured, Verified, Compiled)
POLICIES = {
    "cpu": Policy(baselines=("eager",), final_baselines=(), search_blocks=16, search_seconds=3.0),
    "cuda": Policy(baselines=("eager",), final_baselines=(), search_blocks=12, search_seconds=1.0),
}


async def measure(campaign: Campaign) -> None:
    """Judge what is not known yet."""
    target = resolve_target(campaign.asked.target)
    async with campaign.referee(POLICIES[target.kind]) as (referee, _):
        cards = {card.name: example for card, example in techniques_with_examples() if _is_for(example, target)}
        with tempfile.TemporaryDirectory() as folder:
            for name in campaign.left(campaign.chosen(cards)):
                campaign.put(await _row(referee, target, name, cards[name], Path(folder)))


def _is_for(example: Example, target: Target) -> bool:
    return (example.language == "cpp") == (target.kind == "cpu")


async def _row(referee: Referee, target: Target, name: str, example: Example, folder: Path) -> Row:
    file = folder / f"{name.replace('-', '_')}.py"
    file.write_text(example.task_on_device if target.present else example.task, encoding="utf-8")
    row: Row = {"technique": name, "language": example.language, "right": False}
    try:
        task = await referee.admit(read_task(file), target)
    except TaskError as error:
        return {**row, "refused": str(error)}
    found = {side: await _judged(referee, task, example, side) for side in ("before", "after")}
    row["right"] = all(isinstance(evaluation, RIGHT) for evaluation in found.values())
    row |= {side: _told(evaluation) for side, evaluation in found.items()}
    gain = _gain(found["before"], found["after"], referee.policy)
    return {**row, "gain": [gain.median, gain.low, gain.high], "payoff": gain.payoff} if gain else row


async def _judged(referee: Referee, task: Task, example: Example, side: str) -> Evaluation:
    source = example.before if side == "before" else example.after
    candidate = next(parse_kernel(source, example.suffix).points())
    return await referee.evaluate(task, candidate)


def _told(found: Evaluation) -> Row:
    told: Row = {"outcome": found.outcome, "seconds": round(found.total_seconds, 2)}
    if isinstance(found, Measured):
        speedup = _speedup(found)
        return {
            **told,
            "latency_us": found.timing.latency_us,
            "speedup_eager": [speedup.median, speedup.low, speedup.high],
            "share_of_ceiling": found.roofline.fraction,
        }
    return told if isinstance(found, RIGHT) else {**told, "found": found.model_dump(mode="json")}


def _speedup(found: Measured) -> Ratio:
    versus = found.timing.against("eager")
    if versus is None:
        raise SystemExit("a kernel was measured without eager beside it")
    return versus.speedup


def _gain(before: Evaluation, after: Evaluation, policy: Policy) -> Gain | None:
    if not (isinstance(before, Measured) and isinstance(after, Measured)):
        return None
    first, then = _speedup(before), _speedup(after)
    # What is less than the smallest effect that the referee speaks of is no difference.
    slack = 1.0 + policy.minimum_effect
    return Gain(
        device=after.device,
        median=_rounded(then.median / first.median),
        low=_rounded(then.low / first.high / slack),
        high=_rounded(then.high / first.low * slack),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def table(rows: list[Row]) -> str:
    """A line for each technique."""
    lines = []
    for row in rows:
        outcome = " / ".join(side["outcome"] for name in ("before", "after") if (side := row.get(name)))
        gained = row.get("gain") or row.get("refused") or ""
        lines.append(f"{row['technique']:28}{row['language']:8}{outcome:24}{gained} {row.get('payoff', '')}")
    return "\n".join(lines)


def adopt() -> None:
    """Write the library's table of gains from the results that are committed."""
    found: dict[str, Row] = {}
    for file in sorted(RESULTS.glob("techniques-*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        gains = {row["technique"]: row["gain"] for row in document["rows"] if "gain" in row}
        found[document["device"]] = gains
    (FOLDER / "measured.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Read the command line and do it."""
    if "--adopt" in sys.argv:
        adopt()
        return 0
    campaign = Campaign(command(__doc__).parse_args(), key=("technique",), same=("target",))
    campaign.run(lambda: measure(campaign))
    campaign.show(table)
    return int(not all(row["right"] for row in campaign.rows))


if __name__ == "__main__":
    sys.exit(main())
