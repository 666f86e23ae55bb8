"""Recorded conversations: the same answers again, and what differs from them."""

import asyncio

import pytest

from kernelwright.errors import ModelError, UsageError
from kernelwright.models.config import ModelConfig
from kernelwright.models.replay import Recorded, Replay, read_recorded, recorded_in
from kernelwright.models.table import make_model
from kernelwright.records.chat import ChatMessage, ChatReply, ChatRequest
from kernelwright.records.run import Message


def asked(*texts, **fields):
    return ChatRequest(messages=tuple(ChatMessage(role="user", text=text) for text in texts), **fields)


def said(text):
    return ChatReply(text=text, model="m", usd=0.5, seconds=2.0)


def ask(model, *requests):
    async def run():
        return [(await model.reply(request)).text for request in requests]

    return asyncio.run(run())


def test_a_file_is_replayed(tmp_path):
    pairs = [Recorded(request=asked("b"), reply=said("2")), Recorded(request=asked("a"), reply=said("1"))]
    (tmp_path / "chat.jsonl").write_text("".join(f"{pair.model_dump_json()}\n" for pair in pairs))
    model = make_model(ModelConfig(provider="replay", name=str(tmp_path)))
    assert ask(model, asked("a"), asked("b")) == ["1", "2"]
    assert model.name == f"replay:{tmp_path}"


def test_a_replay_costs_nothing():
    model = Replay([Recorded(request=asked("a"), reply=said("1"))])
    reply = asyncio.run(model.reply(asked("a")))
    assert (reply.usd, reply.seconds) == (0.0, 0.0)


def test_the_same_question_gets_its_answers_in_order():
    model = Replay([Recorded(request=asked("a"), reply=said(text)) for text in "123"])
    assert ask(model, *[asked("a")] * 5) == ["1", "2", "3", "3", "3"]


def test_room_and_temperature_are_no_part_of_a_question():
    model = Replay([Recorded(request=asked("a", temperature=0.7, max_tokens=300), reply=said("1"))])
    assert ask(model, asked("a", max_tokens=16384)) == ["1"]


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (
            asked("x", "the quick brown fox"),
            r'message 2 differs .*"the quick brown fox" here, "the quick red fox" there',
        ),
        (asked("x"), "it has 1 messages, the nearest recorded request 2"),
        (asked("x", "the quick red fox", seed=7), r"differs in seed \(7 here\)"),
        (asked("y"), "message 1 differs"),
    ],
)
def test_what_was_never_asked(request_, told):
    recorded = [
        Recorded(request=asked("x", "the quick red fox"), reply=said("1")),
        Recorded(request=asked("z", "else"), reply=said("2")),
    ]
    with pytest.raises(ModelError, match=told):
        ask(Replay(recorded, "r"), request_)


def test_nothing_recorded():
    with pytest.raises(ModelError, match="nothing was recorded"):
        ask(Replay([]), asked("a"))


def test_a_torn_last_line_is_left_out_and_another_is_refused(tmp_path):
    path = tmp_path / "chat.jsonl"
    line = Recorded(request=asked("a"), reply=said("1")).model_dump_json()
    path.write_text(f"{line}\n\n{line[:50]}")
    assert len(read_recorded(path)) == 1
    path.write_text(f"{line}\n{line[:50]}\n{line}\n")
    with pytest.raises(UsageError, match="line 2"):
        read_recorded(path)
    with pytest.raises(UsageError, match="no recorded conversations"):
        make_model(ModelConfig(provider="replay", name=str(tmp_path / "none")))


def test_turns_of_a_run_are_a_record():
    def turn(number, kind, text, role="coder", sibling=0):
        return Message(number=number, proposal_request=1, sibling=sibling, role=role, kind=kind, text=text)

    turns = [
        turn(0, "prompt", asked("a").model_dump_json()),
        turn(1, "prompt", asked("b").model_dump_json(), "judge", 1),
        turn(2, "reply", said("2").model_dump_json(), "judge", 1),
        turn(3, "diagnosis", "a note"),
        turn(4, "reply", said("1").model_dump_json()),
        turn(5, "prompt", asked("never answered").model_dump_json()),
    ]
    assert ask(Replay(recorded_in(turns)), asked("a"), asked("b")) == ["1", "2"]
