"""What a call of a pipeline must not lose: figures after every stage, time, failures, and no process is left behind."""

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from kernelwright.train.recipe import Progress
from kernelwright.train.recipes import run
from kernelwright.train.recipes.plan import Pipeline, read_pipeline
from kernelwright.train.recipes.run import ended, marked, plan, recipe_of, run_pipeline, take_known, training_figures

WRITES = "import sys; open(sys.argv[1] + '/figures.json', 'w').write('{\"n\": 1}')"
FAILS = "import sys; sys.exit('it broke')"
UNPACK = {"kind": "unpack", "files": ["x"], "needs": 1.0}
STAGES = {"a": UNPACK, "b": {**UNPACK, "after": ["a"]}, "c": UNPACK}


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Runs stages whose programs are given by name; returns what was heard."""
    device = SimpleNamespace(name="H200")

    async def machine(suppliers, target):
        return SimpleNamespace(device=device, versions={"torch": "2"})

    monkeypatch.setattr(run, "machine", machine)
    monkeypatch.setattr(run, "LOOK_S", 0.01)

    def call(programs, only=(), seconds=None, stages=STAGES):
        def command(folder, name, left):
            return [sys.executable, "-c", programs[name], str(folder / name)]

        monkeypatch.setattr(run, "_stage_command", command)
        heard = []
        run_pipeline(Pipeline(about="x", stages=stages), tmp_path, None, heard.append, only, seconds)
        return [(one.stage, one.words) for one in heard if one.over]

    return call


def document(folder):
    return json.loads((folder / "figures.json").read_text())


def test_figures_are_whole_after_every_stage_and_the_same_command_goes_on(called, tmp_path):
    assert called({"a": WRITES}, only=["a"]) == [("a", "done")]
    assert document(tmp_path)["stages"] == {"a": {"n": 1}, "b": {}, "c": {}}
    assert called({"a": FAILS, "b": WRITES, "c": WRITES}) == [("b", "done"), ("c", "done")]
    found = document(tmp_path)
    assert found["stages"] == {name: {"n": 1} for name in "abc"}
    assert (found["device"], found["about"], sorted(found["seconds"])) == ("H200", "x", ["a", "b", "c"])


def test_a_stage_that_fails_twice_is_left_out_and_others_go_on(called, tmp_path):
    heard = called({"a": FAILS, "b": WRITES, "c": WRITES})
    assert [name for name, _ in heard] == ["a", "a", "c"]
    assert heard[0][1].startswith("failed: it broke (")
    assert document(tmp_path)["failures"] == {"a": 2.0}
    assert called({"a": WRITES}) == []
    assert called({"a": WRITES}, only=["a"]) == [("a", "done")]


def test_a_stage_for_which_there_is_no_time_is_left_to_the_next_call(called, tmp_path):
    stages = {"a": {**UNPACK, "needs": 50.0}}
    assert called({"a": FAILS}, seconds=30.0, stages=stages) == [("a", "needs 50 s, and 30 are left")]
    assert [one.state for one in plan(tmp_path, Pipeline(about="x", stages=stages))] == ["next"]


PARENT = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, getattr(signal, sys.argv[2]))
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
with open(sys.argv[1], "w") as file:
    file.write(f"{child.pid}\\n")
time.sleep(60)
"""


@pytest.mark.parametrize(("does", "status"), [("SIG_DFL", -15), ("SIG_IGN", -9)])
def test_what_a_stage_started_in_a_session_of_its_own_ends_with_it(tmp_path, monkeypatch, does, status):
    monkeypatch.setattr(run, "STOP_S", 0.2)
    told, environment = tmp_path / "pid", {**os.environ, run.MARK: "a1b2"}
    command = [sys.executable, "-c", PARENT, str(told), does]
    child = subprocess.Popen(command, start_new_session=True, env=environment)
    while not (told.exists() and told.read_text().endswith("\n")):
        assert child.poll() is None
        time.sleep(0.01)
    begun = {int(told.read_text()), child.pid}
    while not begun <= set(marked("a1b2")):  # a process that is being started has no environment yet
        assert child.poll() is None
        time.sleep(0.01)
    assert ended(child, "a1b2") == status
    assert not list(marked("a1b2"))


def test_a_stage_that_outlasts_the_call_is_ended(called, monkeypatch):
    monkeypatch.setattr(run, "GRACE_S", 0.0)
    asleep = {"a": {**UNPACK, "needs": 0.0}}
    heard = called({"a": "import time; time.sleep(60)"}, seconds=0.3, stages=asleep)
    assert heard[0][1].startswith("failed")


READING = """
import signal, subprocess, sys, time
reader = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
def stop(*_):
    time.sleep(0.3)
    open(sys.argv[1], "w").write("saved" if reader.poll() is None else "its reader is gone")
    sys.exit(3)
signal.signal(signal.SIGTERM, stop)
print("begun", flush=True)
time.sleep(60)
"""


def test_a_stage_that_is_ended_can_save_since_its_readers_live_on_until_then(tmp_path):
    environment = {**os.environ, run.MARK: "here"}
    command = [sys.executable, "-c", READING, str(tmp_path / "saved")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, start_new_session=True)
    assert child.stdout.readline() == b"begun\n"
    with child.stdout:
        assert run.ended(child, "here") == 3
    assert (tmp_path / "saved").read_text() == "saved"
    assert list(run.marked("here")) == []


TRAINED = {
    "base": {"kind": "scratch", "data": "d"},
    "grpo": {"kind": "grpo", "model": "m", "data": "d", "steps": 200, "seconds": 300, "reserve": 100, "processes": 2},
}


@pytest.fixture
def training(tmp_path):
    """A folder with a model and what earlier calls left, by stage."""
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text("{}")
    stages = {name: {**one, "model": str(tmp_path / "m")} if "model" in one else one for name, one in TRAINED.items()}

    def put(**found):
        for name, one in found.items():
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / "figures.json").write_text(json.dumps(one))
        return tmp_path, Pipeline(about="x", stages=stages).stages

    return put


def test_a_training_takes_what_its_own_time_and_the_call_leave(training):
    folder, stages = training()
    assert recipe_of(stages["grpo"], folder, "grpo", 1000.0).seconds == 300.0
    assert recipe_of(stages["grpo"], folder, "grpo", 345.0).seconds == 200.0
    training(grpo={"trained_s": 250.0})
    assert recipe_of(stages["grpo"], folder, "grpo", 1000.0).seconds == 50.0


def test_a_training_is_over_with_its_steps_or_when_a_rest_is_not_worth_a_start(training):
    folder, stages = training()
    recipe = recipe_of(stages["grpo"], folder, "grpo", 1000.0)
    (folder / "grpo").mkdir()
    lines = [
        Progress(step=n, of=200, seconds=2.0 * n, figures={"reward": 0.5, "waited seconds": 1.0, "step seconds": 2.0})
        for n in range(1, 6)
    ]
    (folder / "grpo" / "progress.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in lines))
    found = training_figures(stages["grpo"], recipe, folder / "grpo", 280.0)
    assert found["done"] is True
    assert (found["steps"], found["step_s"], found["rows_per_s"], found["waited_share"]) == (5, 2.0, 32.0, 0.5)
    assert found["reward"] == [0.5] * 5
    short = recipe.model_copy(update={"seconds": 100.0})
    assert training_figures(stages["grpo"], short, folder / "grpo", 100.0)["done"] is False


def test_several_processes_train_under_torchrun(training):
    folder, stages = training()
    recipe = recipe_of(stages["grpo"], folder, "grpo", 1000.0)
    (folder / "grpo").mkdir()
    command = run.training_command(recipe, folder / "grpo", 2)
    assert "--nproc-per-node=2" in command
    assert command[command.index("train") :][:2] == ["train", "grpo"]
    assert "torch.distributed.run" not in run.training_command(recipe, folder / "grpo", 1)


def test_what_a_policy_scored_before_is_taken_from_the_same_kind_of_device_alone(tmp_path):
    known = {"device": "H100", "stages": {"before": {"pass@1": {"rate": 0.8}}, "forms": {"interpreted": True}}}
    (tmp_path / "known.json").write_text(json.dumps(known))

    def taken(device, interpreted):
        folder = tmp_path / f"{device}{interpreted}"
        folder.mkdir()
        (folder / "figures.json").write_text(json.dumps({"device": device}))
        settings = {"known": str(tmp_path / "known.json"), "interpreted": interpreted}
        said = []
        take_known(folder, read_pipeline("small", settings), said.append)
        return sorted(file.parent.name for file in folder.glob("*/figures.json")), said

    other_way = "what is known of {!r} was measured in another way, on a device or in an interpreter, and is left out"
    assert taken("H100", False) == (["before"], [other_way.format("forms")])
    other_device = "what is known of 'before' was measured on H100, and is left out: this is H200"
    assert taken("H200", False) == ([], [other_device, other_way.format("forms")])
    assert taken("H200", True) == (["forms"], [other_way.format("before")])
