"""Real runs with and without the predictor, on tasks that it never saw: seconds of the device to the same best.

The proposer is the author with scattered schedules and the mock server's rate of errors, so that two runs of one seed
meet the same proposals. A candidate is judged once for both. Resumable in its document, and ended by `--seconds`.
"""

import json
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from learning import Remembering
from prediction.candidates import CYCLE, made, writer
from prediction.collect import POLICIES, mastered
from prediction.learned import rows
from prediction.samples import read
from prediction.savings import Paid, saved
from provenance import provenance
from pydantic import JsonValue

from kernelwright.engine.budget import Budget
from kernelwright.engine.config import Autotune, Remeasurement, RunConfig
from kernelwright.engine.opening import new_card
from kernelwright.engine.predictor import PredictorConfig
from kernelwright.engine.run import Parts, run
from kernelwright.engine.target import resolve_target
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Proposal
from kernelwright.records.run import Environment
from kernelwright.records.task import Task
from kernelwright.reward.predictor.experience import Row, speed_of
from kernelwright.reward.predictor.forest import ForestPredictor
from kernelwright.search.independent import BestOfNConfig
from kernelwright.store.run import RunStore
from mock_llm.faults import drawn

WITHIN = 0.02
ARMS = ("without", "with")


class Erring:
    """The author, who errs: proposals depend on the run's seed, the expansion and the sibling alone."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """See `Proposer.propose`."""
        return [self._one(brief, sibling) for sibling in range(brief.proposal_request.count)]

    def _one(self, brief: Brief, sibling: int) -> Proposal:
        draw = drawn(brief.seed, "erring", str(brief.proposal_request.number), str(sibling))
        candidate, maker = writer(brief.task)(draw), draw.choice(CYCLE)
        found = made(sibling, maker, candidate, draw)
        return Proposal(
            candidate=found.candidate if found else candidate, note=f"{maker} {found.fault if found else ''}"
        )


async def confirm(arguments: Namespace) -> None:
    """Run what is not there yet, write, print."""
    target, collection = resolve_target(arguments.target), read(*arguments.folders)
    taught = rows(collection, "compiler")
    size = str(collection.origin["size"])
    document = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"pairs": []}
    done = {(pair["task"], pair["seed"]) for pair in document["pairs"]}
    referee, end = Remembering(POLICIES[target.kind]), time.monotonic() + arguments.seconds
    try:
        for listing in mastered(arguments.only):
            seeds = [seed for seed in range(arguments.seeds) if (listing.name, seed) not in done]
            if time.monotonic() > end or not seeds:
                continue
            task = await referee.admit(listing.source(size), target)
            environment = await referee.environment(target)
            settings = {"budget": arguments.budget, "oversample": arguments.oversample, "size": size, "within": WITHIN}
            document = {**provenance(environment), "target": target.name, **settings, "pairs": document["pairs"]}
            others = [row for row in taught if row.task != listing.name]
            for seed in seeds:
                if time.monotonic() > end:
                    break
                pair = await _pair(referee, task, environment, others, (seed, arguments))
                document["pairs"].append({"task": listing.name, "seed": seed, **pair})
                sys.stdout.write(f"{json.dumps(document['pairs'][-1])}\n")
                sys.stdout.flush()
                arguments.out.write_text(json.dumps({**document, **_summary(document["pairs"])}, indent=1) + "\n")
    finally:
        await referee.close()
    sys.stdout.write(f"{json.dumps(_summary(document['pairs']))}\n")


async def _pair(
    referee: Remembering, task: Task, environment: Environment, others: list[Row], how: tuple[int, Namespace]
) -> dict[str, JsonValue]:
    seed, arguments = how
    climbs = {}
    for arm in ARMS:
        ranks = PredictorConfig(oversample=arguments.oversample) if arm == "with" else None
        config = RunConfig(
            seed=seed, in_flight=1, budget=Budget(proposals=arguments.budget), strategy=BestOfNConfig(), cache=False,
            autotune=Autotune(points=1), remeasurement=Remeasurement(enabled=False), policy=referee.policy, predictor=ranks,
        )  # fmt: skip
        parts = Parts(Erring(), referee, predictor=ForestPredictor(others) if ranks else None)
        with tempfile.TemporaryDirectory() as folder:
            store = RunStore.create(Path(folder) / "run", new_card(task, environment, config))
            ending = await run(store, config, parts)
            if ending.error:
                raise ending.error
            climbs[arm] = _climb(store)
            store.close()
    bests = {arm: max((speed for speed, _ in climb), default=0.0) for arm, climb in climbs.items()}
    goal = min(bests.values()) / (1 + WITHIN)
    return {
        "best": {arm: round(best, 4) for arm, best in bests.items()},
        "seconds": {
            arm: next(
                ({k: round(v, 3) for k, v in paid._asdict().items()} for speed, paid in climb if speed >= goal > 0), {}
            )
            for arm, climb in climbs.items()
        },
        "all_seconds": {
            arm: {k: round(v, 3) for k, v in climb[-1][1]._asdict().items()} for arm, climb in climbs.items()
        },
    }


def _climb(store: RunStore) -> list[tuple[float, Paid]]:
    """Every attempt's speedup with all that had been paid when it was known."""
    ranked: dict[int, float] = {}
    for turn in store.moves():
        if turn.role == "predictor":
            ranked[turn.proposal_request] = ranked.get(turn.proposal_request, 0.0) + turn.device_s
    climb, device, compiling = [], 0.0, 0.0
    for attempt in store.attempts():
        if attempt.known is None:
            for stage in attempt.evaluation.seconds:
                device += stage.seconds * (stage.stage != "compile")
                compiling += stage.seconds * (stage.stage == "compile")
        ranking = sum(seconds for number, seconds in ranked.items() if number <= attempt.proposal_request.number)
        speed = speed_of(attempt.evaluation)
        climb.append((0.0 if speed is None else 2.0**speed, Paid(device, compiling, ranking)))
    return climb


def _summary(pairs: list[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    """Shares saved over tasks and seeds, of pairs in which both arms found something."""
    tables: dict[str, dict[str, dict[str, list[float]]]] = {arm: {"device": {}, "total": {}} for arm in ARMS}
    for pair in pairs:
        seconds = pair["seconds"]
        if isinstance(seconds, dict) and all(seconds[arm] for arm in ARMS):
            for arm in ARMS:
                paid = Paid(**seconds[arm])
                for name in ("device", "total"):
                    tables[arm][name].setdefault(str(pair["task"]), []).append(getattr(paid, name))
    if not tables["with"]["device"]:
        return {"saved": None}
    return {
        "saved": {
            name: {
                of: dict(zip(("value", "low", "high", "tasks"), value, strict=True))
                for of, value in saved(*(list(tables[arm][name].values()) for arm in ARMS)).items()
            }
            for name in ("device", "total")
        }
    }
