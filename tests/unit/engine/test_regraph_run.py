"""`regraph` in the engine: a serial task is walked by the graph's own writer, killed, gone on with, and remembered once."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.graph_build import BuildRequest, build
from kernelwright.engine.request import OptimizeRequest
from kernelwright.engine.run import state_key
from kernelwright.engine.session import begin, go_on
from kernelwright.errors import ProposeError, RefereeError
from kernelwright.propose.table import make_proposer
from kernelwright.store.memory import StrategyStates
from kernelwright.store.run import RunStore
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers

SERIAL = """/* kernelwright
[sizes]
n = 8
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
*/
void twice(const float* x, float* out, long n) { for (long i = 0; i < n; ++i) out[i] = 2 * x[i]; }
"""
SWITCHED = """//: base = function-with-constants | | sizes are known | constants
//: threads = threads-over-rows | | one core works | omp
//: simd = simd-reduction | | order is kept | simd
//: stream = streaming-stores | threads | lines are read | nontemporal
// quality ${1 + 4 * threads + 2 * simd - 3 * (stream and not simd)}
//% if threads
// threads
//% endif
// between
//% if simd
// simd
//% endif
// between
//% if stream
// stream
//% endif
extern "C" void kernel(const float* x, float* out) {
  constexpr long n = ${n};
  for (long i = 0; i < n; ++i) out[i] = 2.0f * x[i];
}
"""


@pytest.fixture
def place(tmp_path):
    """A serial task, and a graph of its six states."""
    (tmp_path / "steps").mkdir()
    (tmp_path / "twice.cpp").write_text(SERIAL)
    (tmp_path / "steps" / "twice.cpp").write_text(SWITCHED)
    request = BuildRequest([tmp_path / "steps" / "twice.cpp"], tmp_path / "graph.json", "cpu")
    report = asyncio.run(build(request, ScriptedEvaluator(outcomes=("measured",))))
    assert report.dropped == ()
    return tmp_path


def parts(place, evaluator=None):
    states = StrategyStates(place / "states.sqlite")
    made = scripted_suppliers(evaluator or ScriptedEvaluator(outcomes=("measured",)))
    return replace(made, proposer=make_proposer, states=lambda: states)


def request(place, runs="runs", **strategy):
    config = RunConfig.model_validate(
        {
            "strategy": {"name": "regraph", "graph": str(place / "graph.json"), **strategy},
            "budget": {"proposals": 12},
            "remeasurement": {"enabled": False},
        }
    )
    return OptimizeRequest(place / "twice.cpp", "cpu", config, place / runs)


def test_serial_code_whose_order_cannot_be_given_up_ends_before_a_run_and_says_what_hinders(place):
    (place / "twice.cpp").write_text(SERIAL.replace("i = 0", "i = 1").replace("2 * x[i]", "x[i] * out[i - 1]"))
    with pytest.raises(ProposeError, match="of the loop over i, passes meet in out"):
        asyncio.run(begin(request(place), parts(place)))
    assert not (place / "runs").exists() or not any((place / "runs").iterdir())


def test_serial_code_that_the_graph_has_never_seen_is_ported_by_a_rewriting(place):
    (place / "twice.cpp").write_text(SERIAL.replace("2 * x[i]", "x[i] + x[n - 1 - i]"))
    result = asyncio.run(begin(request(place), parts(place)))
    techniques = [attempt.proposal.technique for attempt in RunStore.open(Path(result.summary.folder)).attempts()]
    assert techniques[0] in ("function-with-constants", "threads-over-rows")
    assert "simd-reduction" in techniques


def sources(store):
    return [a.proposal.candidate.source for a in store.attempts()]


def test_a_serial_task_is_walked_without_a_model(place):
    found = asyncio.run(begin(request(place), parts(place)))
    with closing(RunStore.open(place / "runs" / found.summary.run)) as store:
        made = sources(store)
        assert store.card.config["proposer"] == "graph"
        assert store.card.config["reward"] == "regraph"
    assert len(made) == len(set(made)) >= 6  # a change may fit where nobody tried it
    assert any("threads" in code and "simd" in code for code in made)
    assert "The graph offers no other way." in found.summary.stopped


def test_a_run_that_was_cut_asks_the_same_again_and_evaluates_nothing_twice(place):
    whole = asyncio.run(begin(request(place, "whole"), parts(place)))
    states = place / "states.sqlite"
    states.unlink()
    calls = []

    class Dies(ScriptedEvaluator):
        async def evaluate(self, task, candidate, effort="search"):
            if len(calls) == 3:
                raise RefereeError("killed")
            calls.append(candidate.id)
            return await super().evaluate(task, candidate, effort)

    cut = asyncio.run(begin(request(place, "cut"), parts(place, Dies(outcomes=("measured",)))))
    assert cut.error is not None
    assert not states.exists()
    later = ScriptedEvaluator(outcomes=("measured",))
    folder = place / "cut" / cut.summary.run
    asyncio.run(go_on(folder, parts(place, later)))
    with closing(RunStore.open(folder)) as one, closing(RunStore.open(place / "whole" / whole.summary.run)) as other:
        assert sources(one) == sources(other)
    assert not set(calls) & set(later.calls)
    assert states.exists()


def test_weights_outlive_the_run_and_lead_the_next_one(place):
    runs = [asyncio.run(begin(request(place), parts(place))) for _ in range(2)]
    with closing(RunStore.open(place / "runs" / runs[1].summary.run)) as store:
        state = store.state()
    assert state["edges"]["start>function-with-constants"]["runs"] > 0


DIES = """
import asyncio, os, signal, sys
from pathlib import Path
import test_regraph_run as runs
class Dies(runs.StrategyStates):
    def merge(self, *given):
        super().merge(*given)
        os.kill(os.getpid(), signal.SIGKILL)
place = Path(sys.argv[1])
made = runs.replace(runs.parts(place), states=lambda: Dies(place / "states.sqlite"))
asyncio.run(runs.begin(runs.request(place), made))
"""


def test_a_run_that_is_killed_between_its_weights_and_its_end_counts_once(place):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    killed = subprocess.run([sys.executable, "-c", DIES, place], env=environment, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    (folder,) = (place / "runs").iterdir()
    with closing(RunStore.open(folder)) as store:
        assert store.outcome() is None
        key = state_key(store.card, request(place).config)
    left = StrategyStates(place / "states.sqlite").read(key)
    assert asyncio.run(go_on(folder, parts(place))).error is None
    assert StrategyStates(place / "states.sqlite").read(key) == left
    assert left["edges"]["start>function-with-constants"]["best"] == 1


def test_a_graph_that_has_changed_stops_a_resumed_run(place):
    class Dies(ScriptedEvaluator):
        async def evaluate(self, task, candidate, effort="search"):
            raise RefereeError("killed")

    cut = asyncio.run(begin(request(place), parts(place, Dies())))
    shutil.copy(place / "graph.json", place / "old.json")
    (place / "graph.json").write_text((place / "graph.json").read_text().replace("order is kept", "another reason"))
    with pytest.raises(Exception, match="has changed since the run began"):
        asyncio.run(go_on(place / "runs" / cut.summary.run, parts(place)))
    shutil.copy(place / "old.json", place / "graph.json")
    assert asyncio.run(go_on(place / "runs" / cut.summary.run, parts(place))).error is None
