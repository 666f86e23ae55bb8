"""The door for programs, with scripted parts: verbs, results, notebooks' event loops, and what is loaded when."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import kernelwright as kw
from kernelwright.errors import RefereeError, TaskError, UsageError
from kernelwright.interfaces.python import door
from kernelwright.interfaces.python.door import wait_for
from kernelwright.records.measure import Load, Ratio
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import SOURCE
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer, scripted_suppliers

KERNEL = 'extern "C" void kernel(const float* x, float* y) { y[0] = x[0]; }'


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "abs.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def optimize(task, tmp_path):
    def optimize(what=task, *, evaluator=None, proposer=None, **settings):
        evaluator = evaluator or ScriptedEvaluator(outcomes=("measured",))
        parts = {"suppliers": scripted_suppliers(evaluator, proposer), "runs": tmp_path / "runs"}
        return kw.optimize(what, target="cpu", **parts, **settings)

    return optimize


def test_every_name_of_the_door_is_there():
    assert sorted(kw.__all__) == kw.__all__
    assert dir(kw) == kw.__all__
    assert all(getattr(kw, name) is not None for name in kw.__all__)
    with pytest.raises(AttributeError, match="module 'kernelwright' has no attribute 'optimise'"):
        _ = kw.optimise


def test_each_name_is_loaded_when_it_is_used():
    code = (
        "import json, sys\nimport kernelwright as kw\nloaded = [sorted(sys.modules)]\n"
        "kw.Evaluation\nloaded += [sorted(sys.modules)]\nkw.optimize\nloaded += [sorted(sys.modules)]\n"
        "print(json.dumps(loaded))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    alone, with_a_record, with_a_verb = (set(modules) for modules in json.loads(done.stdout))
    assert {m for m in alone if m.startswith("kernelwright")} == {"kernelwright", "kernelwright.version"}
    assert not {"pydantic", "rich", "torch", "numpy", "asyncio"} & alone
    assert "pydantic" in with_a_record
    assert not {"rich", "torch", "kernelwright.api"} & with_a_record
    assert not {"torch", "numpy", "typer"} & with_a_verb


def test_a_search_from_a_path(optimize, task):
    found = optimize(budget=5, strategy="best_of_n", seed=3)
    assert found.best.evaluation.outcome == "measured"
    assert found.summary.attempts == 5
    assert found.source.name == "abs"
    assert found.kernel.read_text().startswith("# abs\n// quality")
    assert found.report() == found.folder / "report.html"
    assert found.report().is_file()
    assert str(optimize(str(task), budget={"proposals": 2}).best.evaluation.outcome) == "measured"


def test_settings_are_those_of_a_configuration(optimize, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('seed = 7\n[budget]\nproposals = 3\n[strategy]\nname = "direct"\n')
    assert optimize(config=file).summary.attempts == 3
    assert optimize(config=file, budget=2).summary.attempts == 2
    with pytest.raises(
        UsageError, match=r"sead: there is no such setting \(did you mean 'seed'\?\)\. .*lists every setting"
    ):
        optimize(sead=1)
    with pytest.raises(UsageError, match="the keywords do not make a run: seed: Input should be a valid integer"):
        optimize(seed="one")
    for inputs in ((1,), torch.ones(2, 2)):
        with pytest.raises(UsageError, match="a task has inputs of its own"):
            kw.optimize("abs.py", inputs)
    with pytest.raises(UsageError, match="a int is no task"):
        kw.optimize(3)


@pytest.mark.parametrize(("typed", "meant"), [("bugdet", "budget"), ("tagret", "target"), ("confg", "config")])
def test_a_keyword_that_is_not_known_is_named_with_the_nearest(typed, meant):
    with pytest.raises(UsageError, match=rf"^{typed}: there is no such setting \(did you mean '{meant}'\?\)"):
        kw.optimize("abs.py", **{typed: 1})


def test_a_model_is_named_as_on_the_command_line(optimize):
    with pytest.raises(UsageError, match="is not PROVIDER:NAME"):
        optimize(model="gpt-5")
    with pytest.raises(UsageError, match="no role is called 'critic'"):
        optimize(model={"critic": "openai:gpt-5"})


def test_a_result_says_what_the_command_line_says(optimize):
    class Busy(ScriptedEvaluator):
        async def evaluate(self, task, candidate, effort="search"):
            found = await super().evaluate(task, candidate, effort)
            wide = Ratio(median=3.33, low=1.54, high=7.36, confidence=0.99)
            versus = tuple(v.model_copy(update={"speedup": wide}) for v in found.timing.versus)
            more = {"versus": versus, "load": Load(cores=2, during=1.5)}
            return found.model_copy(update={"timing": found.timing.model_copy(update=more)})

    found = optimize(evaluator=Busy(outcomes=("measured",)), budget=2)
    said = str(found)
    assert "answer: Faster than eager PyTorch, by how much is uncertain (1.54× to 7.36×)" in said
    assert "3.33×" not in said + found._repr_html_()
    assert "machine was busy" in said


def test_progress_goes_to_the_log_of_a_script_and_nowhere_if_it_is_not_wanted(
    task, tmp_path, monkeypatch, caplog, capsys
):
    monkeypatch.setattr(door.api, "Suppliers", lambda: scripted_suppliers(ScriptedEvaluator(outcomes=("measured",))))
    caplog.set_level("INFO", logger="kernelwright")
    kw.optimize(task, target="cpu", runs=tmp_path / "runs", budget=2)
    assert any("measured" in line for line in caplog.messages)
    assert any("new best" in line for line in caplog.messages)
    assert not any("\x1b" in line for line in caplog.messages)
    caplog.clear()
    kw.optimize(task, target="cpu", runs=tmp_path / "runs", budget=2, progress=False)
    assert (caplog.messages, capsys.readouterr().err) == ([], "")
    kw.optimize(task, target="cpu", runs=tmp_path / "runs", budget=2, progress=True)
    assert "new best" in capsys.readouterr().err


def test_nothing_right_is_a_result_without_a_kernel(optimize):
    found = optimize(evaluator=ScriptedEvaluator(outcomes=("incorrect",)), budget=2)
    assert (found.best, found.kernel) == (None, None)
    assert "answer: No right kernel was found" in str(found)
    with pytest.raises(UsageError, match="No right kernel was found"):
        found.module()


def test_a_kernel_that_is_not_worth_having_is_no_module(optimize):
    found = optimize(budget=2, remeasurement={"min_speedup": 1e9})
    assert found.best is not None
    with pytest.raises(UsageError, match="PyTorch stays"):
        found.module()


def test_flags_of_the_command_line_are_keywords(optimize):
    kept = optimize(budget=2, keep_slower=True, seed=4)
    card = RunStore.open(kept.folder).card
    assert card.config["remeasurement"]["keep_slower"] and card.config["seed"] == 4
    assert kept.kernel is not None
    spent = optimize(budget={"proposals": 2}, max_seconds=900, numerics="strict", final=False)
    config = RunStore.open(spent.folder).card.config
    assert config["budget"]["wall_s"] == 900 and config["budget"]["proposals"] == 2
    assert config["policy"]["numerics"] == "strict" and not config["remeasurement"]["enabled"]


@pytest.mark.parametrize(
    ("wrong", "near"), [("keep_slow", "keep_slower"), ("max_tokns", "max_tokens"), ("isolate", "isolation")]
)
def test_a_flag_that_is_none_is_told_with_its_neighbour(optimize, wrong, near):
    with pytest.raises(UsageError, match=f"{wrong}: there is no such setting .did you mean '{near}"):
        optimize(**{wrong: True})


def test_a_setting_that_is_given_twice_is_refused(optimize):
    with pytest.raises(UsageError, match="the same setting: give one of them"):
        optimize(keep_slower=True, remeasurement={"keep_slower": False})


def test_an_error_is_raised_unless_something_right_was_found(optimize):
    with pytest.raises(RefereeError):
        optimize(evaluator=ScriptedEvaluator(breaks=2), budget=2)
    with pytest.raises(TaskError, match="raises when it is run"):
        optimize(kw.TaskSource(name="bad", format="kernelbench", source="raise"), budget=2)


def test_a_result_shows_itself(optimize):
    found = optimize(budget=2)
    page = found._repr_html_()
    assert page.startswith("<table><tr><th>task</th><td>abs on cpu")
    assert "against eager" in page
    assert "2 measured" in str(found)


def test_what_comes_from_outside_is_escaped(optimize):
    class Hostile(ScriptedProposer):
        def _proposal(self, number):
            made = super()._proposal(number)
            candidate = made.candidate.model_copy(update={"source": "</pre><script>alert(1)</script>"})
            return made.model_copy(update={"candidate": candidate})

    page = optimize(proposer=Hostile(), budget=1)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_verbs_work_where_an_event_loop_runs(optimize, task):
    async def cell():
        return optimize(budget=2), kw.check(task, KERNEL, target="cpu", suppliers=scripted_suppliers())

    found, evaluation = asyncio.run(cell())
    assert found.summary.attempts == 2
    assert evaluation.outcome == "measured"


def test_an_interrupt_in_a_notebook_keeps_the_answer(monkeypatch):
    begun = []

    class Impatient:
        """A pool whose first wait is interrupted, as by the notebook's stop button."""

        def __init__(self, running):
            self._running = running

        def result(self):
            if not begun:
                begun.append(True)
                raise KeyboardInterrupt
            return self._running.result()

    class Pool(door.ThreadPoolExecutor):
        def submit(self, *given):
            return Impatient(super().submit(*given))

    monkeypatch.setattr(door, "ThreadPoolExecutor", Pool)

    async def patient():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "the best so far"

    async def cell(work):
        return wait_for(work)

    assert asyncio.run(cell(patient())) == "the best so far"
    begun.clear()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell(asyncio.sleep(60)))


def test_a_kernel_is_checked_as_text_as_a_file_and_as_a_candidate(task, tmp_path):
    file = tmp_path / "mine.cpp"
    file.write_text(KERNEL)
    for kernel in (KERNEL, file, str(file), kw.Candidate(language="cpp", source=KERNEL, entry="kernel")):
        evaluator = ScriptedEvaluator(outcomes=("measured",))
        found = kw.check(task, kernel, target="cpu", suppliers=scripted_suppliers(evaluator))
        assert found.outcome == "measured"
        assert evaluator.closed
    for missing in ("nope.cpp", Path("nope.cpp")):
        with pytest.raises(TaskError, match=r"kernel 'nope\.cpp' does not exist: check the path"):
            kw.check(task, missing, target="cpu", suppliers=scripted_suppliers())
    with pytest.raises(UsageError, match="the kernel's source is empty"):
        kw.check(task, "", target="cpu", suppliers=scripted_suppliers())
    with pytest.raises(TaskError, match="does not exist"):
        kw.check(Path("no.py"), KERNEL, target="cpu", suppliers=scripted_suppliers())


def test_a_referee_admits_a_task_once_and_scores_side_by_side(task):
    class Counting(ScriptedEvaluator):
        admitted = 0

        async def admit(self, source, target):
            self.admitted += 1
            await asyncio.sleep(0)
            return await super().admit(source, target)

    evaluator = Counting(outcomes=("measured", "incorrect"))

    async def judge():
        async with kw.Referee("cpu", suppliers=scripted_suppliers(evaluator)) as referee:
            texts = [KERNEL.replace("x[0]", f"x[{n}]") for n in range(6)]
            return await asyncio.gather(*(referee.score(task, text) for text in texts)), await referee.admit(task)

    evaluations, admitted = asyncio.run(judge())
    assert {e.outcome for e in evaluations} == {"measured", "incorrect"}
    assert isinstance(admitted, kw.Task)
    assert evaluator.admitted == 1
    assert evaluator.closed
    reward = kw.find_reward("log_speedup")
    assert {reward(e, None, None) > -4 for e in evaluations} == {True, False}
