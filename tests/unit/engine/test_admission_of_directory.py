"""A directory of tasks: which files are tasks, that none stops the rest, and that nothing is looked at twice."""

import asyncio

import pytest

from kernelwright.engine.admission import AdmissionRequest, admit
from kernelwright.errors import MachineError, RefereeError, StoreError, TaskError, UsageError
from kernelwright.records.admission import REASON_MEANING, Reason
from kernelwright.testing.samples import SOURCE
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers


class Fateful(ScriptedEvaluator):
    """Does what the task's source says."""

    async def examine(self, source, target):
        self.calls.append(source.name)
        if "hang" in source.source:
            await asyncio.sleep(60)
        if "crash" in source.source:
            raise RefereeError("the worker process ended before it answered (status -9)")
        if "full" in source.source:
            raise MachineError("the machine failed the referee: no memory")
        if "refuse" in source.source:
            raise TaskError("two calls differ: remove the dropout", "random")
        if "strange" in source.source:
            raise TaskError("cannot be judged", "a reason of a later version")
        return await super().examine(source, target)


@pytest.fixture
def tasks(tmp_path):
    folder = tmp_path / "tasks"
    (folder / "below").mkdir(parents=True)
    (folder / "__pycache__").mkdir()
    for name in ("fit", "below/warn", "hang", "crash", "full", "refuse", "strange", "__pycache__/hidden"):
        (folder / f"{name}.py").write_text(f"{SOURCE}# {name}\n")
    (folder / "helper.py").write_text("def helper(): pass\n")
    (folder / "half.py").write_text("class Model: pass\n")
    (folder / "syntax.py").write_text("def broken(:\n")
    (folder / "notes.txt").write_text("no task")
    return folder


@pytest.fixture
def examine(tasks, tmp_path):
    def examine(evaluator, *paths, **more):
        events = []
        request = AdmissionRequest(
            paths or (tasks,), "cpu", **{"lines": tmp_path / "lines.jsonl", "limit_s": 0.2, **more}
        )
        return admit(request, scripted_suppliers(evaluator, listener=events.append))

    return examine


FATES = {
    "crash": "not_examined",
    "fit": None,
    "full": "not_examined",
    "half": "unreadable",
    "hang": "slow",
    "refuse": "random",
    "strange": "unfit",
    "syntax": "unreadable",
    "warn": None,
}


def test_every_task_has_its_fate_and_none_stops_the_rest(examine):
    found = examine(Fateful())
    assert {task.name: task.reason for task in found.tasks} == FATES
    assert [task.fit for task in found.tasks] == [task.reason is None for task in found.tasks]
    assert [task.task is not None for task in found.tasks] == [task.fit for task in found.tasks]
    assert not found.all_fit
    assert [task.file for task in found.tasks] == sorted(task.file for task in found.tasks)
    assert [file.rsplit("/", 1)[-1] for file in found.skipped] == ["helper.py"]
    assert all(task.message for task in found.tasks if not task.fit)
    assert {task.name for task in found.tasks if task.warnings} == {"warn"}


def test_a_second_pass_examines_what_is_not_known_and_nothing_else(examine, tasks):
    first = examine(Fateful())
    evaluator = Fateful()
    second = examine(evaluator)
    assert sorted(evaluator.calls) == ["crash", "full"]
    assert [(t.file, t.reason, t.checks) for t in second.tasks] == [(t.file, t.reason, t.checks) for t in first.tasks]
    (tasks / "fit.py").write_text(SOURCE + "# changed\n")
    evaluator = Fateful()
    examine(evaluator)
    assert sorted(evaluator.calls) == ["crash", "fit", "full"]


def test_fresh_examines_all_again(examine):
    examine(Fateful())
    evaluator = Fateful()
    examine(evaluator, fresh=True)
    assert len(evaluator.calls) == 7


def test_a_renamed_task_is_known_under_its_new_name(examine, tasks):
    examine(Fateful())
    (tasks / "fit.py").rename(tasks / "renamed.py")
    evaluator = Fateful()
    found = examine(evaluator)
    assert "renamed" not in evaluator.calls
    assert "renamed" in {task.name for task in found.tasks}


class Interrupted(BaseException):
    """What Ctrl-C is, but for asyncio's own treatment of it."""


def test_an_interrupted_pass_goes_on_where_it_stopped(examine):
    class Stopped(Fateful):
        async def examine(self, source, target):
            if source.name == "refuse":
                raise Interrupted
            return await super().examine(source, target)

    with pytest.raises(Interrupted):
        examine(Stopped())
    evaluator = Fateful()
    examine(evaluator)
    assert "fit" not in evaluator.calls
    assert "refuse" in evaluator.calls


def test_a_file_that_is_named_is_examined_whatever_it_is(examine, tasks):
    found = examine(Fateful(), tasks / "helper.py", tasks / "fit.py")
    assert [(task.name, task.reason) for task in found.tasks] == [("fit", None), ("helper", "no_task")]


def test_a_path_that_is_not_there_and_an_empty_directory_are_usage_errors(examine, tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        examine(Fateful(), tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="there is no task"):
        examine(Fateful(), tmp_path / "empty")


def test_the_page_shows_hostile_text_harmlessly(examine, tasks, tmp_path):
    (tasks / "fit.py").write_text("def broken(: <script>alert(1)</script>\x1b[31m\n")
    examine(Fateful(), page=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "2 of 9 tasks" not in page
    assert "1 of 9 tasks can be judged" in page
    assert "<script>" not in page
    assert "\x1b" not in page
    with pytest.raises(StoreError, match="cannot be written"):
        examine(Fateful(), page=tmp_path / "no" / "page.html")


def test_a_full_disk_leaves_the_page_that_was_there(examine, tmp_path, full_disk):
    examine(Fateful(), page=tmp_path / "page.html")
    before = (tmp_path / "page.html").read_bytes()
    full_disk()
    with pytest.raises(StoreError, match="No space left"):
        examine(Fateful(), page=tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == before


def test_every_reason_is_explained():
    assert set(REASON_MEANING) == set(Reason.__args__)
