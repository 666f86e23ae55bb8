"""Training end to end on a CPU: data from the author, two steps of SFT, two of GRPO, one of two turns, and going on.

The model has four million weights and writes noise after two steps, so some replies are put into its mouth: then the
referee's verdicts are real, and so are the rewards.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from kernelwright.errors import StoreError, UsageError
from kernelwright.models.config import read_model
from kernelwright.models.table import keep_local, make_model
from kernelwright.records.chat import ChatMessage, ChatRequest
from kernelwright.records.policy import Policy
from kernelwright.store.files import read_lines
from kernelwright.train import session
from kernelwright.train.data.making import DataRequest, make_data
from kernelwright.train.data.prompts import fenced, rows
from kernelwright.train.data.sample import FILE, read_samples
from kernelwright.train.environment import Environment
from kernelwright.train.judges import Loop
from kernelwright.train.recipe import CHECKPOINTS, MODEL, PROGRESS, ROLLOUTS, Grpo, Rollout, Sft

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of TRL, transformers and torch
    pytest.mark.timeout(600),  # what they import takes minutes on a machine that has much else to do
]
SEED = 24
"""The author's C++ for this random module is short, and it is of the training split."""


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads that wait for one another spin, and beside other tests that is most of what they do."""
    import torch  # noqa: PLC0415

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data(tmp_path_factory, warm_referee):
    folder = tmp_path_factory.mktemp("data") / "author"
    request = DataRequest(folder, count=1, target="cpu", effort="verify", seed=SEED)
    report = make_data(request, warm_referee.suppliers(), lambda _: None)
    assert report.samples == 1
    assert "Every pair passed the referee" in (folder / "card.md").read_text()
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory, data):
    keep_local()
    from kernelwright.train.engine.network import make_small  # noqa: PLC0415  imports torch

    texts = [
        part for prompt, reply in rows(read_samples(data), "frontend") for part in (*(m.text for m in prompt), reply)
    ]
    return make_small(tmp_path_factory.mktemp("base") / "model", texts, "4M", vocabulary=1024)


def sft(base, data, steps):
    return Sft(model=str(base), data=str(data), steps=steps, batch=1, save_every=1, device="cpu", learning_rate=1e-3)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory, base, data, warm_referee):
    """After one step, a checkpoint that was cut off while it was written, and going on to the second."""
    folder = tmp_path_factory.mktemp("sft") / "run"
    session.train(sft(base, data, 1), folder, warm_referee.suppliers(), lambda _: None)
    shutil.copytree(folder / CHECKPOINTS / "checkpoint-1", folder / CHECKPOINTS / "checkpoint-2")
    (folder / CHECKPOINTS / "checkpoint-2" / "trainer_state.json").unlink()
    with (folder / PROGRESS).open("a") as torn:
        torn.write('{"step": 2, "of"')
    heard = []
    session.train(sft(base, data, 2), folder, warm_referee.suppliers(), heard.append)
    assert [one.step for one in heard if "loss" in one.figures] == [2]
    return folder


@pytest.mark.matrix
def test_fine_tuning_goes_on_from_the_last_whole_checkpoint(tuned):
    made = session.steps(tuned)
    assert [one.step for one in made] == [1, 2]
    assert made[1].figures["loss"] < made[0].figures["loss"]
    assert "Step 2 of 2" in (tuned / session.REPORT).read_text()


def test_another_recipe_is_refused_in_the_same_folder(tuned, base, data, warm_referee):
    other = sft(base, data, 2).model_copy(update={"seed": 1})
    with pytest.raises(StoreError, match="another recipe"):
        session.train(other, tuned, warm_referee.suppliers(), lambda _: None)


def test_a_trained_model_is_a_model_like_any_other(tuned):
    async def asked():
        model = make_model(read_model(f"hf:{tuned / MODEL}"))
        try:
            request = ChatRequest(messages=(ChatMessage(role="user", text="relu"),), max_tokens=4, temperature=0.0)
            return await model.reply(request)
        finally:
            await model.close()

    assert asyncio.run(asked()).usage.completion == 4


def test_rows_are_dealt_out_to_processes_equally_or_refused(monkeypatch):
    from kernelwright.train.engine.watch import micro_batches  # noqa: PLC0415

    monkeypatch.setenv("WORLD_SIZE", "2")
    assert micro_batches(32, 6) == (4, 4)
    with pytest.raises(UsageError, match="3 rows cannot be dealt out to 2 processes"):
        micro_batches(3, 1)


@pytest.mark.matrix
def test_two_processes_train_together(tmp_path, base, data):
    """Over gloo: the first process writes, and the weights that it writes are those of both."""
    first, second = together(tmp_path, base, data, "steps=2", "learning_rate=1e-3")
    assert second.figures["loss"] < first.figures["loss"]
    assert (tmp_path / "run" / MODEL / "config.json").exists()


@pytest.mark.matrix
def test_time_ends_two_processes_at_the_same_step(tmp_path, base, data):
    assert 1 <= len(together(tmp_path, base, data, "steps=10000", "seconds=2", "save_every=10000")) < 10000
    assert (tmp_path / "run" / MODEL / "config.json").exists()


def together(folder, base, data, *settings):
    """The steps that two processes made with these settings."""
    begun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
        "-m",
        "kernelwright",
    ]
    recipe = [part for one in ("batch=2", "device=cpu", *settings) for part in ("--set", one)]
    asked = ["train", "sft", str(folder / "run"), "--model", str(base), "--data", str(twice(data, folder)), *recipe]
    done = subprocess.run(
        [*begun, *asked], capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return session.steps(folder / "run")


def twice(data, folder):
    """The sample, and its kernel with a remark: a row for each process."""
    (one,) = read_samples(data)
    other = one.candidate.model_copy(update={"source": one.candidate.source + "\n// again\n"})
    (folder / "two").mkdir()
    lines = [one.model_dump_json(), one.model_copy(update={"candidate": other}).model_dump_json()]
    (folder / "two" / FILE).write_text("\n".join(lines) + "\n")
    return folder / "two"


@pytest.fixture
def prompted(monkeypatch, data):
    """The author's kernel in place of the policy's first reply of each group; the others stay the policy's own."""
    from kernelwright.train.engine import rollouts  # noqa: PLC0415

    known = {one.task.source.source: one for one in read_samples(data)}
    real = rollouts.generate

    def generate(trainer, prompts):
        found = real(trainer, prompts)
        text = trainer.processing_class.decode(prompts[0])
        one = next(one for source, one in known.items() if source.strip() in text)
        reply = fenced(one.candidate.source, "cpp")
        ids = trainer.processing_class(reply, add_special_tokens=False)["input_ids"]
        found[0] = [*ids, trainer.processing_class.eos_token_id]
        return found

    monkeypatch.setattr(rollouts, "generate", generate)


def grpo(tuned, data, **fields):
    return Grpo(
        model=str(tuned / MODEL), data=str(data), device="cpu", target="cpu", effort="verify", reward="frontend",
        trajectories=2, max_new_tokens=8, save_every=1, learning_rate=1e-4, policy=Policy(seeds=1), **{"groups": 1} | fields,
    )  # fmt: skip


def test_more_groups_than_tasks_are_refused(tmp_path, tuned, data, warm_referee):
    with pytest.raises(UsageError, match="2 groups needs as many tasks, and there are 1"):
        session.train(grpo(tuned, data, steps=1, groups=2), tmp_path, warm_referee.suppliers(), lambda _: None)


@pytest.mark.usefixtures("prompted")
def test_rewards_are_the_referee_s_and_move_the_policy(tmp_path, tuned, data, warm_referee):
    session.train(grpo(tuned, data, steps=2), tmp_path / "run", warm_referee.suppliers(), lambda _: None)
    made = session.steps(tmp_path / "run")
    assert [one.figures["reward"] for one in made] == [0.5, 0.5]
    assert all(one.figures["right"] == 0.5 and one.figures["gradient norm"] > 0 for one in made)
    kept = read_lines(Rollout, tmp_path / "run" / ROLLOUTS)
    assert {one.outcome for one in kept} == {"verified", "refused"}
    assert "extern" in (tmp_path / "run" / session.REPORT).read_text()


@pytest.mark.matrix
@pytest.mark.usefixtures("prompted")
def test_several_updates_learn_from_the_same_rollouts(tmp_path, tuned, data, warm_referee):
    recipe = grpo(
        tuned, data, steps=4, updates=2, by_prefix=True, demonstrate=True, scale="group", seconds=600.0, warmup=2
    )
    session.train(recipe, tmp_path / "run", warm_referee.suppliers(), lambda _: None)
    made = session.steps(tmp_path / "run")
    rates = [one.figures["learning rate"] for one in made]
    assert rates[0] == pytest.approx(5e-5, rel=0.2)  # half of it, less the share of the time that is over
    assert rates[1] > rates[2] > rates[3] > 0.8e-4
    assert ["reward" in one.figures for one in made] == [True, False, True, False]
    assert all(one.figures["gradient norm"] > 0 for one in made)
    assert {one.step for one in read_lines(Rollout, tmp_path / "run" / ROLLOUTS)} == {1, 3}


@pytest.mark.usefixtures("prompted")
@pytest.mark.matrix
def test_two_turns_are_rows_of_their_own_with_leave_one_out_credit(tmp_path, tuned, data, warm_referee):
    recipe = grpo(tuned, data, steps=1, turns=2, credit="trloo", optimizer="sgd")
    session.train(recipe, tmp_path / "run", warm_referee.suppliers(), lambda _: None)
    (step,) = session.steps(tmp_path / "run")
    assert step.figures["return"] == pytest.approx(0.0, abs=1e-6)
    assert step.figures["gradient norm"] > 0
    assert {one.turn for one in read_lines(Rollout, tmp_path / "run" / ROLLOUTS)} == {0, 1}


class Reply:
    """An episode of one turn that says when it was judged."""

    prompt = ("p",)

    def __init__(self, name, told):
        self.name, self.told = name, told

    async def step(self, text, cut):
        self.told.append(f"judged {self.name}")
        return f"step of {text}"


def test_while_a_wave_is_judged_the_next_is_written(monkeypatch):
    from kernelwright.train.engine import rollouts  # noqa: PLC0415
    from kernelwright.train.engine.network import Network  # noqa: PLC0415

    told, wave_of = [], threading.Event()

    def generate(trainer, prompts):
        if told:
            assert wave_of.wait(10.0)  # the first wave is judged meanwhile
        told.append(f"written {prompts}")
        return [[*one, 9] for one in prompts]

    class Tokenizer:
        eos_token_id = 9

        def decode(self, ids, skip_special_tokens):
            wave_of.clear()
            return f"text {ids[0]}"

    async def judged(episodes, texts, cut, real=rollouts._judged):
        found = await real(episodes, texts, cut)
        wave_of.set()
        return found

    monkeypatch.setattr(rollouts, "generate", generate)
    monkeypatch.setattr(rollouts, "_judged", judged)
    recipe = Grpo(model="m", data="d", waves=2)
    with Loop() as loop:
        made = rollouts.Rollouts(recipe, Environment((), None), Network(Tokenizer(), None), loop, None)
        rows = made._known(made._turn([Reply(n, told) for n in range(3)], [[0], [1], [2]], None, 8))
    assert [(row.prompt, row.reply, row.step) for row in rows] == [([n], [n, 9], f"step of text {n}") for n in range(3)]
    assert told == ["written [[0], [2]]", "judged 0", "judged 2", "written [[1]]", "judged 1"]
    assert made.waited_s >= 0.0


class Tasks:
    """An environment of two tasks, whose kernels are all right."""

    assignments = ("a", "b")

    def opening(self, task):
        return (ChatMessage(role="user", text=task),)

    def begin(self, task, seed):
        async def step(text, cut):
            return SimpleNamespace(reward=1.0)

        return SimpleNamespace(prompt=("p",), step=step)


@pytest.mark.parametrize(
    ("ahead", "learnt"), [(0, ["a", "b", "a", "b"]), (1, ["a", "b", "b", "a"]), (2, ["a", "b", "a", "b"])]
)
def test_with_ahead_a_step_learns_from_what_an_earlier_one_has_written(monkeypatch, ahead, learnt):
    from kernelwright.train.engine import rollouts  # noqa: PLC0415

    told, written = [], []

    def generate(trainer, prompts):
        written.append(len(prompts))
        return [[*one, 9] for one in prompts]

    monkeypatch.setattr(rollouts, "generate", generate)
    monkeypatch.setattr(rollouts.Rollouts, "_log", lambda self, played, tasks, *_: told.extend(tasks))
    network = SimpleNamespace(
        prompt_ids=lambda prompt: [1], tokenizer=SimpleNamespace(decode=lambda ids, **_: "kernel"), end=9
    )
    with Loop() as loop:
        made = rollouts.Rollouts(Grpo(model="m", data="d", trajectories=2, ahead=ahead), Tasks(), network, loop, None)
        for task in ("a", "b", "a", "b"):
            columns = made([[{"role": "user", "content": task}]] * 2, None)
            assert (columns["completion_ids"], columns["ret"]) == ([[1, 9]] * 2, [1.0, 1.0])
        made.close()
    assert told == learnt
    assert written == [2] * (4 + ahead)


def test_a_run_stops_before_a_step_that_there_is_no_time_for(monkeypatch):
    from kernelwright.train.engine import watch  # noqa: PLC0415

    clock = iter((0.0, 0.0, 40.0, 40.0, 81.0))
    monkeypatch.setattr(watch, "monotonic", lambda: next(clock))
    control = SimpleNamespace(should_training_stop=False, should_save=False)
    seen = watch.Watch(lambda _: None, lambda _: None, seconds=100.0)
    stopped = []
    for _ in range(2):
        seen.on_step_begin(None, None, control)
        seen.on_step_end(None, None, control)
        stopped.append(control.should_training_stop)
    assert stopped == [False, True]
    assert control.should_save


def test_after_a_short_update_the_next_step_may_be_as_long_as_the_one_before(monkeypatch):
    from kernelwright.train.engine import watch  # noqa: PLC0415

    clock = iter((0.0, 0.0, 40.0, 40.0, 41.0, 41.0, 80.0))
    monkeypatch.setattr(watch, "monotonic", lambda: next(clock))
    control = SimpleNamespace(should_training_stop=False, should_save=False)
    seen = watch.Watch(lambda _: None, lambda _: None, seconds=100.0, alike=2)
    stopped = []
    for _ in range(3):
        seen.on_step_begin(None, None, control)
        seen.on_step_end(None, None, control)
        stopped.append(control.should_training_stop)
    assert stopped == [False, False, True]
