"""`regraph` with a model over HTTP, on serial tasks: the drill server follows the graph's examples, and errs.

One run with a scripted referee is quick. Every serial task that steps are written for on this device, judged by the real
referee, belongs to the matrix; `benchmarks/strategies.py --tasks` does the same on a GPU.
"""

import asyncio
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from endpoint_runs import hurried_model

from kernelwright.engine.config import RunConfig
from kernelwright.engine.events import Phase
from kernelwright.engine.session import play_in
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.knowledge.graph.file import shipped_graph
from kernelwright.propose.table import make_proposer
from kernelwright.records.attempt import fastest
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Policy
from kernelwright.store.run import RunStore
from kernelwright.tasks.table import read_task
from kernelwright.testing.samples import sample_task
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers
from mock_llm import Faults, MockLLMServer

SERIAL = Path(__file__).parents[2] / "tasks" / "serial"
WRITTEN = sorted(
    file.stem
    for file in SERIAL.glob("*.cpp")
    if any((e.task, e.language) == (file.stem, "cpp") for _, e in shipped_graph().steps())
)
"""Tasks that the package's graph has steps of on a CPU."""
POLICY = Policy(seeds=2, search_blocks=4, search_seconds=0.2, baselines=("eager",), final_baselines=())
FAULTS = Faults(rate=0.4, transport_rate=0.2, stall_s=0.05)


def config(server, navigator, proposals):
    return RunConfig.model_validate({
        "strategy": {"name": "regraph", "navigator": navigator}, "proposer": "llm", "in_flight": 1,
        "models": {"default": {"name": server.model, "base_url": server.base_url}},
        "budget": {"proposals": proposals}, "remeasurement": {"enabled": False}, "policy": POLICY.model_dump(),
    })  # fmt: skip


def attempts_of(folder):
    with closing(RunStore.open(folder)) as store:
        return store.attempts()


@pytest.mark.parametrize("stranger", [False, True])
@pytest.mark.parametrize("navigator", ["mcgs", "llm"])
def test_a_walk_over_http_survives_a_server_that_errs(tmp_path, navigator, stranger):
    code = (SERIAL / "dot.cpp").read_text()
    (tmp_path / "dot.cpp").write_text(
        code.replace("sum", "acc").replace("long i", "int k").replace("i]", "k]") if stranger else code
    )
    sample = sample_task()
    task = sample.model_copy(update={"source": read_task(tmp_path / "dot.cpp@small")})
    suppliers = replace(scripted_suppliers(), proposer=make_proposer, model=hurried_model)
    with MockLLMServer([task], 5, FAULTS) as server:
        evaluator = ScriptedEvaluator(outcomes=("measured",))
        found = asyncio.run(play_in(tmp_path / "run", task, config(server, navigator, 6), evaluator, suppliers))
        served = server.served
    assert found.error is None
    made = attempts_of(tmp_path / "run")
    assert fastest(made) is not None
    assert any(attempt.proposal.candidate.source.count("long n = 524288;") for attempt in made)
    assert {call.kind for call in served} >= {"followed"}
    assert any(call.fault or call.status != 200 for call in served)
    assert any(call.role == "navigator" for call in served) == (navigator == "llm")


@pytest.mark.parametrize(("asked", "written"), [(None, "cuda"), ("triton", "triton")])
def test_a_model_writes_what_the_graphs_steps_are_written_in(tmp_path, asked, written):
    sample = sample_task()
    task = sample.model_copy(update={"source": read_task(SERIAL / "dot.cpp@small"), "target": resolve_target("sm_90")})
    said = []
    suppliers = replace(scripted_suppliers(), proposer=make_proposer, model=hurried_model, listener=said.append)
    with MockLLMServer([task], 5) as server:
        asking = config(server, "mcgs", 3).model_copy(update={"language": asked})
        asyncio.run(play_in(tmp_path / "run", task, asking, ScriptedEvaluator(outcomes=("measured",)), suppliers))
    assert {attempt.proposal.candidate.language for attempt in attempts_of(tmp_path / "run")} == {written}
    told = [event.text for event in said if isinstance(event, Phase) and "writing CUDA C++" in event.text]
    assert len(told) == (asked is None)


@pytest.mark.matrix
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WRITTEN)
def test_every_serial_task_ends_right_over_http(tmp_path, name):
    suppliers = Suppliers(cache=lambda: None, render=lambda *_: "", model=hurried_model)
    evaluator = suppliers.open_evaluator(POLICY)

    async def played():
        try:
            task = await evaluator.admit(read_task(SERIAL / f"{name}.cpp@small"), resolve_target("cpu"))
            with MockLLMServer([task], 5, FAULTS) as server:
                return await play_in(tmp_path / "run", task, config(server, "mcgs", 5), evaluator, suppliers)
        finally:
            await evaluator.close()

    assert asyncio.run(played()).error is None
    best = fastest(attempts_of(tmp_path / "run"))
    assert best is not None
    assert is_right(best.evaluation)
