"""Growing a graph: from files, from sources with switches, from runs; cut short and gone on with; and what a run may walk."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.gateway.models import read_models
from kernelwright.engine.graph_build import BuildRequest, build, judged_of, of_run
from kernelwright.engine.graph_scope import _reached, graph_id, scope_of
from kernelwright.errors import RefereeError, StoreError, TaskError, UsageError
from kernelwright.knowledge.graph.file import graph_text, read_graph
from kernelwright.knowledge.graph.stats import expected_gains
from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatReply
from kernelwright.records.measure import Side
from kernelwright.records.technique import START, Gain
from kernelwright.search.regraph import ReGraphConfig
from kernelwright.store.memory import StateKey, StrategyStates
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_card, sample_environment, sample_evaluation, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator
from technique_graphs import cube

SERIAL = """/* kernelwright
[sizes]
n = 8
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
*/
void twice(const float* x, float* out, long n) { for (long i = 0; i < n; ++i) out[i] = 2 * x[i]; }
"""


def kernel(quality):
    return f'// quality {quality}\nextern "C" void kernel(const float* x, float* out) {{}}\n'


def steps(*methods):
    return [{"think": "why", "method": m, "code": kernel(10 * (i + 1))} for i, m in enumerate(methods)]


@pytest.fixture
def folder(tmp_path):
    """A folder with a serial task and one trajectory of two steps."""
    (tmp_path / "twice.cpp").write_text(SERIAL)
    entry = {
        "task": "twice.cpp",
        "kind": "cpu",
        "language": "cpp",
        "steps": steps("Threads over rows", "SIMD reduction"),
    }
    (tmp_path / "way.json").write_text(json.dumps(entry))
    return tmp_path


class Judges(ScriptedEvaluator):
    """Says on which device it has measured."""

    async def evaluate(self, task, candidate, effort="search"):
        found = await super().evaluate(task, candidate, effort)
        return found.model_copy(update={"device": "Scripted CPU"})


def built(folder, *sources, evaluator=None, **more):
    request = BuildRequest([folder / s for s in sources], folder / "graph.json", "cpu", **more)
    return asyncio.run(build(request, evaluator or Judges(outcomes=("measured",))))


@pytest.mark.parametrize("error", [TaskError("it is random", "random"), RefereeError("the worker died")])
def test_a_task_that_is_not_admitted_drops_its_trajectory_and_a_broken_referee_none(folder, error):
    class Refuses(Judges):
        async def admit(self, source, target):
            raise error

    if isinstance(error, RefereeError):
        with pytest.raises(RefereeError, match="the worker died"):
            built(folder, "way.json", evaluator=Refuses())
    else:
        assert "its task is not admitted: it is random" in built(folder, "way.json", evaluator=Refuses()).dropped[0]


def test_a_trajectory_is_judged_relabelled_and_merged(folder):
    report = built(folder, "way.json")
    graph = read_graph(folder / "graph.json")
    assert (report.merged, report.dropped) == (1, ())
    assert [edge.key for edge in graph.edges] == ["start>threads-over-rows", "threads-over-rows>simd-reduction"]
    assert [e.gains[0].median for _, e in graph.steps()] == [2.0, 1.5]


def test_the_same_build_again_judges_nothing(folder):
    built(folder, "way.json")
    evaluator = ScriptedEvaluator(outcomes=("measured",))
    report = built(folder, "way.json", evaluator=evaluator)
    assert (report.merged, report.known, evaluator.calls) == (0, 1, [])


def test_a_build_that_was_cut_goes_on_and_judges_only_the_rest(folder):
    evaluator = ScriptedEvaluator(outcomes=("measured",))
    judged = []

    async def cut(task, candidate, effort="search"):
        if judged:
            raise RefereeError("the power went")
        judged.append(candidate.id)
        return sample_evaluation("measured", 2.0)

    evaluator.evaluate = cut
    with pytest.raises(RefereeError):
        built(folder, "way.json", evaluator=evaluator)
    later = ScriptedEvaluator(outcomes=("measured",))
    assert built(folder, "way.json", evaluator=later).merged == 1
    assert len(later.calls) == 1


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda e: e.update(steps=[]), "at least 1"),
        (lambda e: e.pop("steps"), "required"),
        (lambda e: e.update(task="none.cpp"), "does not exist"),
        (lambda e: e.update(kind="cuda", language="cuda"), "it is for cuda"),
        (lambda e: e.update(labels=[{"existed": "yes", "method": "threads-over-rows"}]), "2 steps got 1 labels"),
        (lambda e: e.update(labels=2 * [{"existed": "yes", "method": "magic"}]), "no technique has that name"),
        (lambda e: e["steps"][0].update(code=""), "at least 1 character"),
    ],
)
def test_a_malformed_trajectory_is_dropped_with_the_reason_and_the_others_stay(folder, spoil, words):
    good = json.loads((folder / "way.json").read_text())
    bad = json.loads((folder / "way.json").read_text())
    spoil(bad)
    (folder / "ways.json").write_text(json.dumps([bad, good]))
    report = built(folder, "ways.json")
    assert report.merged == 1
    assert words in report.dropped[0]


def test_a_file_that_is_no_json_is_dropped(folder):
    (folder / "cut.json").write_text((folder / "way.json").read_text()[:40])
    assert "no whole JSON" in built(folder, "cut.json").dropped[0]


def test_unknown_methods_can_be_refused(folder):
    entry = json.loads((folder / "way.json").read_text()) | {"steps": steps("Magic")}
    (folder / "magic.json").write_text(json.dumps(entry))
    assert built(folder, "magic.json").merged == 1
    (folder / "graph.json").unlink()
    assert "no technique of the graph" in built(folder, "magic.json", relabel=False).dropped[0]


def test_a_wrong_step_ends_the_way_as_counter_evidence(folder):
    built(folder, "way.json", evaluator=ScriptedEvaluator(outcomes=("incorrect",)))
    (edge,) = read_graph(folder / "graph.json").edges
    assert (edge.examples, len(edge.counter)) == ((), 1)
    assert "expected 1.5" in edge.counter[0].evidence


def attempt(number, parents, outcome, speedup, hint):
    request = ProposalRequest(number=number, intent="apply-technique", parents=parents, hint=hint)
    candidate = Candidate(language="cpp", source=kernel(number), entry="kernel")
    return Attempt(
        number=number, proposal_request=request, proposal=Proposal(candidate=candidate, note="why"),
        evaluation=sample_evaluation(outcome, speedup).model_copy(update={"device": "Scripted CPU"}), cost=Cost(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("samples", "ends"), [((5.0,) * 7, None), ((3, 1, 4, 2, 9, 5, 6, 8), (1, 9)), (range(20), (3, 16))]
)
def test_a_devices_own_clock_gives_a_kernel_an_interval_of_its_own(samples, ends):
    found = sample_evaluation("measured", 2.0)
    arms = (Side(name="candidate", samples_us=tuple(samples)),)
    outside = found.timing.model_copy(update={"arms": arms})
    for clock, wanted in (("outside", None), ("device", ends)):
        timing = outside.model_copy(update={"clock": clock})
        assert judged_of(found.model_copy(update={"timing": timing})).within_us == wanted


def test_a_runs_chains_become_trajectories(tmp_path):
    made = [
        attempt(0, (), "measured", 2.0, "threads-over-rows"),
        attempt(1, (0,), "measured", 6.0, "simd-reduction"),
        attempt(2, (0,), "incorrect", 1.0, "cache-blocking"),
    ]
    with closing(RunStore.create(tmp_path / "run", sample_card())) as store:
        for one in made:
            store.ask(one.proposal_request)
            store.propose(one.number, [one.proposal])
            store.append(one)
    ways = [[step.method for step in source.trajectory.steps] for source in of_run(tmp_path / "run")]
    assert ways == [["threads-over-rows", "simd-reduction"], ["threads-over-rows", "cache-blocking"]]
    assert built(tmp_path, "run").merged == 2
    graph = read_graph(tmp_path / "graph.json")
    assert graph.by_key["threads-over-rows>simd-reduction"].examples[0].gains[0].median == 3.0
    assert graph.by_key["threads-over-rows>cache-blocking"].counter


def config(file, **more):
    return RunConfig(strategy=ReGraphConfig(graph=str(file)), **more)


def test_a_run_walks_the_graph_that_it_began_with(tmp_path):
    (file := tmp_path / "g.json").write_text(graph_text(cube("a", "b")))
    begun = config(file).model_copy(update={"graph_id": graph_id(config(file))})
    assert scope_of(sample_task(), sample_environment(), begun).graph == cube("a", "b")
    file.write_text(graph_text(cube("a")))
    with pytest.raises(StoreError, match="start a new run"):
        scope_of(sample_task(), sample_environment(), begun)


def test_other_strategies_walk_none():
    assert graph_id(RunConfig()) == ""
    assert scope_of(sample_task(), sample_environment(), RunConfig()) is None


def test_a_module_is_the_authors_and_a_serial_function_the_examples(tmp_path):
    (file := tmp_path / "g.json").write_text(graph_text(cube("a")))
    module = scope_of(sample_task(), sample_environment(), config(file))
    assert (module.writer, module.root) == ("author", "")
    assert "threads-over-rows" in module.authored
    task = sample_task()
    serial = task.model_copy(
        update={"source": task.source.model_copy(update={"serial": "serial code\n", "sizes": {"n": 3}})}
    )
    found = scope_of(serial, sample_environment(), config(file))
    assert (found.writer, found.root, found.sizes, found.language) == ("examples", "serial code\n", {"n": 3}, "cpp")
    assert scope_of(serial, sample_environment(), config(file, proposer="llm")).writer == "model"


def test_edges_promise_what_their_steps_gained_on_this_device_in_this_language_in_other_tasks():
    graph, name = cube("a"), f"{START}>base"
    assert expected_gains(graph, "H200", "cpp") == {}
    timed = [
        edge.model_copy(update={"examples": tuple(with_gain(step, 2.0) for step in edge.examples)})
        for edge in graph.edges
    ]
    slower = timed[-1].examples[0].model_copy(update={"task": "other", "gains": (gain(0.5),)})
    timed[-1] = timed[-1].model_copy(update={"counter": (slower,)})
    found = graph.model_copy(update={"edges": tuple(timed)})
    assert name not in expected_gains(found, "H200", "cpp")
    assert expected_gains(found, "H200", "cpp") == {timed[-1].key: pytest.approx(1.0)}
    assert expected_gains(found, "H200", "cpp", without="other") == {timed[-1].key: pytest.approx(2.0)}
    assert expected_gains(found, "H200", "cuda") == expected_gains(found, "L4", "cpp") == {}


def gain(median):
    return Gain(device="H200", median=median, low=median, high=median)


def with_gain(step, median):
    return step.model_copy(update={"gains": (gain(median),)})


def test_the_language_is_the_one_in_which_most_is_known(tmp_path):
    task = sample_task()
    serial = task.model_copy(update={"source": task.source.model_copy(update={"serial": "serial code\n"})})
    assert _reached(cube("a", "b"), serial, "cpp") == 4
    assert _reached(cube("a", "b"), serial, "cuda") == 0
    assert _reached(cube("a", "b"), task, "cpp") == 0


def test_a_graph_file_that_is_cut_off_is_no_run(tmp_path):
    (file := tmp_path / "g.json").write_text(graph_text(cube("a"))[:100])
    with pytest.raises(UsageError, match="restore it from a copy"):
        graph_id(config(file))


KILLED = """
import os, signal, sys
from pathlib import Path
from kernelwright.search.strategy import add_learned
from kernelwright.store.memory import StateKey, StrategyStates
states = StrategyStates(Path(sys.argv[1]))
ended = {"version": "1", "edges": {"start>a": {"runs": 2, "gain": 3.0, "failed": 1}}}
states.merge(StateKey("regraph", "dev", "reduction"), sys.argv[2], lambda stored: add_learned(stored, None, ended))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_between_the_weights_and_the_end_of_a_run_counts_once_and_two_writers_lose_nothing(tmp_path):
    file, key = tmp_path / "states.sqlite", StateKey("regraph", "dev", "reduction")
    runs = [
        subprocess.Popen([sys.executable, "-c", KILLED, file, run], env=os.environ) for run in ("one", "two", "one")
    ]
    assert {run.wait(60) for run in runs} == {-signal.SIGKILL}
    assert StrategyStates(file).read(key)["edges"]["start>a"] == {"runs": 4, "gain": 6.0, "failed": 2}


def test_the_start_is_a_node_of_every_graph(folder):
    built(folder, "way.json")
    assert read_graph(folder / "graph.json").nodes[0] == START


class Reasons:
    """A model that gives these answers in order."""

    name = "openai:reasons"

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    async def reply(self, request):
        self.asked.append(request)
        return ChatReply(text=self.answers.pop(0), model="reasons")

    async def close(self):
        self.closed = True


LABELS = [{"existed": "yes", "method": "threads-over-rows"}, {"existed": "no", "method": "magic"}]


UNKNOWN = {"existed": "yes", "method": "magic"}


def reasoned(folder, *answers):
    model = Reasons(*answers)
    request = BuildRequest([folder / "twice.cpp"], folder / "graph.json", "cpu", models=read_models(["openai:reasons"]))
    return asyncio.run(build(request, Judges(outcomes=("measured",)), make=lambda config: model)), model


def test_a_model_reasons_about_a_task_and_names_its_steps(folder):
    said = f"Here:\n```json\n{json.dumps(steps('omp', 'Abracadabra'))}\n```"
    report, model = reasoned(folder, said, json.dumps(LABELS))
    assert (report.merged, report.dropped) == (1, ())
    assert [edge.key for edge in read_graph(folder / "graph.json").edges] == [
        "start>threads-over-rows",
        "threads-over-rows>magic",
    ]
    first, second = (request.messages[-1].text for request in model.asked)
    assert "void twice" in first
    assert "`threads-over-rows`" in second
    assert "- Abracadabra" in second


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (("I cannot.", ""), "the trajectory cannot be read"),
        ((json.dumps(steps("a", "b")), json.dumps(LABELS[:1])), "2 steps got 1 labels"),
        ((json.dumps(steps("a", "b")), json.dumps([LABELS[0], UNKNOWN])), "no technique has that name"),
        ((json.dumps(steps("a")), "{}"), "the relabelling cannot be read"),
    ],
)  # fmt: skip
def test_what_a_model_says_wrong_drops_its_trajectory(folder, answers, words):
    report, model = reasoned(folder, *answers)
    assert report.merged == 0
    assert words in report.dropped[0]
    assert model.closed
