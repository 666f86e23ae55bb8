"""What roles' calls cost: sums over a run's messages, of which none is held on to."""

import tracemalloc

from kernelwright.records.chat import ChatReply, Usage
from kernelwright.records.run import Message, spending


def reply(number, role="coder", model="a", usd=0.25, text=""):
    said = ChatReply(text=text, model=model, usage=Usage(prompt=3, completion=2), usd=usd, seconds=0.5)
    return Message(number=number, proposal_request=number, role=role, kind="reply", text=said.model_dump_json())


def test_each_role_and_model_has_sums_of_its_own_in_the_order_of_speaking():
    said = [reply(0, "judge"), reply(1), reply(2, "judge"), reply(3, "judge", "b", usd=None), reply(4, "judge", "b")]
    judge, coder, other = spending(said)
    assert (judge.role, judge.calls, judge.usd, judge.seconds) == ("judge", 2, 0.5, 1.0)
    assert (coder.role, coder.calls, coder.prompt_tokens, coder.completion_tokens) == ("coder", 1, 3, 2)
    assert (other.model, other.calls, other.usd) == ("b", 2, None)


def test_a_prompt_costs_nothing_by_itself():
    assert spending([reply(0).model_copy(update={"kind": "prompt"})]) == ()


def test_memory_does_not_grow_with_the_messages():
    def peak(count):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        assert spending(reply(n, text="x" * 20_000) for n in range(count))[0].calls == count
        return tracemalloc.get_traced_memory()[1] - before

    tracemalloc.start()
    try:
        peak(2)
        assert peak(200) < peak(20) + 50_000
    finally:
        tracemalloc.stop()
