"""A step's rows: known kernels where no reply is right, credit by prefix, and lengths that known kernels bound."""

from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from kernelwright.errors import UsageError
from kernelwright.records.chat import ChatMessage
from kernelwright.testing.samples import sample_attempt, sample_task
from kernelwright.train.data.prompts import reply_with
from kernelwright.train.engine.rollouts import ROOM, SPARE, Rollouts
from kernelwright.train.environment import Assignment, Environment, Settings, Step
from kernelwright.train.judges import Loop
from kernelwright.train.recipe import Grpo, read_recipe

KNOWN = sample_attempt(0).proposal.candidate
END = 0


class Tokenizer:
    """A token for each character."""

    def __call__(self, text, add_special_tokens):
        return {"input_ids": [ord(one) for one in text]}

    def decode(self, ids, skip_special_tokens):
        return "".join(map(chr, ids))


class Scripted(Environment):
    """A task whose replies earn what they are: `r` is right, all else is wrong."""

    def opening(self, assignment):
        return (ChatMessage(role="user", text=assignment.task.name),)

    def begin(self, assignment, seed=0):
        async def step(text, cut):
            right = text.startswith("r")
            info = {"outcome": "verified" if right else "incorrect", "right": right, "parsed": True, "hack": ""}
            return Step((), float(right), terminated=False, truncated=True, info=info)

        return SimpleNamespace(prompt=self.opening(assignment), step=step)


def played(monkeypatch, replies, **recipe):
    """The rows of one group of these replies, and the rollouts that made them."""
    from kernelwright.train.engine import rollouts  # noqa: PLC0415

    monkeypatch.setattr(rollouts, "generate", lambda trainer, prompts: [[*map(ord, one), END] for one in replies])
    task = Assignment(task=sample_task(), known=KNOWN)
    environment = Scripted((task,), None, Settings(reward="correctness"))
    network = SimpleNamespace(tokenizer=Tokenizer(), end=END, prompt_ids=lambda prompt: [1])
    trainer = SimpleNamespace(state=SimpleNamespace(global_step=0), _log_metric=lambda name, value: None)
    made = Grpo(model="m", data="d", trajectories=len(replies), max_new_tokens=4096, **recipe)
    with Loop() as loop:
        found = Rollouts(made, environment, network, loop, lambda record: None)
        asked = [{"role": "user", "content": task.task.name}]
        return found([asked] * len(replies), trainer), found


def test_where_no_reply_is_right_the_last_gives_way_to_the_known_kernel(monkeypatch):
    rows, _ = played(monkeypatch, ["wa", "wb"], demonstrate=True)
    assert Tokenizer().decode(rows["completion_ids"][1][:-1], True) == reply_with(KNOWN)
    assert rows["completion_ids"][1][-1] == END
    assert rows["ret"] == [0.0, 1.0]
    assert [set(mask) for mask in rows["env_mask"]] == [{1}, {1}]


@pytest.mark.parametrize(("replies", "demonstrate"), [(["wa", "rb"], True), (["wa", "wb"], False)])
def test_otherwise_replies_stay_as_they_were(monkeypatch, replies, demonstrate):
    rows, _ = played(monkeypatch, replies, demonstrate=demonstrate)
    assert [Tokenizer().decode(ids[:-1], True) for ids in rows["completion_ids"]] == replies
    learnt = len(set(rows["ret"])) > 1
    assert [set(mask) for mask in rows["env_mask"]] == [{int(learnt)}] * 2  # a group that is all wrong teaches nothing


def test_tokens_where_replies_part_have_a_credit_of_their_own(monkeypatch):
    _, found = played(monkeypatch, ["ra", "rb", "wa"], by_prefix=True)
    assert [[round(value, 3) for value in one] for one in found.credit] == [
        [0.333, 0.0, 0.0], [0.333, 0.0, 0.0], [-0.667, 0.0, 0.0],
    ]  # fmt: skip
    _, found = played(monkeypatch, ["ra", "wa"], by_prefix=True, scale="group")
    assert found.credit[0][0] == pytest.approx(0.5 / 0.7072, rel=1e-3)


def test_a_recorded_reply_is_no_longer_than_known_kernels_of_its_step_allow(monkeypatch):
    _, found = played(monkeypatch, ["ra", "rb"])
    task, longest = Assignment(task=sample_task(), known=KNOWN), len(reply_with(KNOWN)) + 1
    assert found._longest([task]) == 4096  # transformers' own cache knows one limit for all
    found._recipe = found._recipe.model_copy(update={"cache": "static"})
    assert found._longest([task]) == int(ROOM * longest) + SPARE
    assert found._longest([task, Assignment(task=sample_task())]) == 4096


def test_several_turns_have_neither(tmp_path):
    (tmp_path / "recipe.toml").write_text('kind = "grpo"\nmodel = "m"\ndata = "d"\nturns = 2\ndemonstrate = true\n')
    with pytest.raises(UsageError, match="set turns to 1"):
        read_recipe(tmp_path / "recipe.toml", {})
