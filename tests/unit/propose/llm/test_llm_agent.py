"""The agent over a scripted desk: tools are answered, evaluate and submit hand a kernel over, conversations go on."""

import asyncio
import json

from kernelwright.propose.llm.agent import MOST_CALLS, MOST_REPLIES
from kernelwright.propose.llm.writer import LLM
from kernelwright.records.chat import ChatReply, ToolCall, Usage


def calling(*calls, text=""):
    made = tuple(ToolCall(id=i, name=n, arguments=a if isinstance(a, str) else json.dumps(a)) for i, n, a in calls)
    usage = Usage(prompt=10, completion=5)
    return ChatReply(text=text, calls=made, finish="tools", model="fake-agent", usage=usage, usd=0.25)


def propose(brief):
    return asyncio.run(LLM().propose(brief))


def script(gateway, *replies, **parts):
    return gateway(replies={"agent": list(replies)}, **parts)


def test_tools_are_answered_until_a_kernel_is_handed_over(brief, gateway, good):
    table = script(
        gateway,
        calling(("a", "search", {"query": "abs"}), ("b", "compile", {"code": good})),
        calling(("c", "evaluate", {"code": good})),
    )
    [made] = propose(brief(gateway=table, role="agent"))
    assert [call.name for call in table.used] == ["search", "compile"]
    assert [m.role for m in table.asked[1][1].messages] == ["system", "user", "assistant", "tool", "tool"]
    assert [m.call for m in table.asked[1][1].messages[3:]] == ["a", "b"]
    assert {tool.name for tool in table.asked[0][1].tools} >= {"compile", "verify", "evaluate", "profile", "submit"}
    assert (made.candidate.source, made.note, made.tokens, made.usd) == (good, "agent: evaluate", 30, 0.5)


def test_the_verdict_answers_the_pending_call(brief, gateway, good, attempt):
    table = script(
        gateway,
        calling(("a", "compile", {"code": good}), ("b", "evaluate", {"code": good}), ("c", "search", {"query": "x"})),
        calling(("d", "submit", {"code": good})),
    )
    [first] = propose(brief(gateway=table, role="agent", number=0))
    parent = attempt(0, memo=first.memo)
    [second] = propose(brief(parent, gateway=table, role="agent", number=1, dialogue="kept"))
    tools = {m.call: json.loads(m.text) for m in table.asked[1][1].messages if m.role == "tool"}
    assert tools["a"] == {"ok": True}
    assert (tools["b"]["outcome"], tools["b"]["attempt"], tools["b"]["latency_us"]) == ("measured", 0, 50.0)
    assert "not run" in tools["c"]["error"]
    assert second.note == "agent: submit"
    assert table.profiled == []


def test_a_submitted_kernel_is_the_agents_last_word(brief, gateway, good, attempt):
    table = script(gateway, calling(("a", "submit", {"code": good})))
    [last] = propose(brief(gateway=table, role="agent", number=0))
    assert propose(brief(attempt(0, memo=last.memo), gateway=table, role="agent", number=1, dialogue="kept")) == []
    assert len(table.asked) == 1


def test_a_withheld_verdict_tells_nothing(brief, gateway, good, attempt):
    table = script(gateway, calling(("a", "evaluate", {"code": good})), calling(("b", "submit", {"code": good})))
    [first] = propose(brief(gateway=table, role="agent", number=0))
    propose(brief(attempt(0, memo=first.memo), gateway=table, role="agent", number=1, dialogue="kept", withheld=True))
    assert json.loads(table.prompt()) == {"attempt": 0, "outcome": "withheld", "trials_left": 8}


def test_wrong_arguments_and_unknown_tools_are_answered(brief, gateway, good):
    table = script(
        gateway,
        calling(("a", "evaluate", "{code:"), ("b", "browse", {})),
        calling(("c", "evaluate", {"code": "print()"})),
        calling(("d", "submit", {"code": f"```cpp\n{good}```"})),
    )
    [made] = propose(brief(gateway=table, role="agent"))
    answers = [json.loads(m.text)["error"] for m in table.asked[2][1].messages if m.role == "tool"]
    assert "do not fit its schema: Invalid JSON" in answers[0]
    assert "no tool 'browse'" in answers[1]
    assert 'extern "C"' in answers[2]
    assert made.candidate.source == good


def test_tool_calls_are_bounded(brief, gateway, good):
    many = [calling((f"c{i}", "compile", {"code": good})) for i in range(MOST_REPLIES)]
    table = script(gateway, *many)
    [made] = propose(brief(gateway=table, role="agent"))
    assert len(table.used) == MOST_CALLS
    assert [name for name, answer in table.logged if "call evaluate or submit" in answer] == ["compile"] * 4
    assert len(table.asked) == MOST_REPLIES
    assert "call evaluate or submit" in table.prompt()
    assert made.candidate.source == good
    assert "latest kernel" in made.note


def test_text_is_answered_once_with_a_reminder_and_then_taken(brief, gateway, good):
    plain = ChatReply(text=f"```cpp\n{good}```", model="m")
    table = script(gateway, plain, ChatReply(text="As I said.", model="m"))
    [made] = propose(brief(gateway=table, role="agent"))
    assert table.prompt().startswith("You called no tool")
    assert made.candidate.source == good


def test_text_without_code_is_no_kernel(brief, gateway):
    table = script(gateway, ChatReply(text="Hm.", model="m"), ChatReply(text="Hm.", model="m"))
    [made] = propose(brief(gateway=table, role="agent"))
    assert made.candidate.source == ""


def test_a_conversation_that_ended_in_text_goes_on_with_a_message(brief, gateway, good, attempt):
    plain = ChatReply(text=f"```cpp\n{good}```", model="m")
    table = script(gateway, plain, plain, calling(("a", "submit", {"code": good})))
    [first] = propose(brief(gateway=table, role="agent", number=0))
    propose(brief(attempt(0, memo=first.memo), gateway=table, role="agent", number=1, dialogue="kept"))
    assert table.asked[2][1].messages[-1].role == "user"
    assert '"outcome":"measured"' in table.prompt()


def test_the_budget_ends_the_work_with_the_latest_kernel(brief, gateway, good, attempt):
    table = script(gateway, calling(("a", "verify", {"code": good})), room=1)
    [made] = propose(brief(gateway=table, role="agent", number=0))
    assert (made.candidate.source, made.tokens) == (good, 15)
    table.room, table.replies = None, {"agent": [calling(("b", "submit", {"code": good}))]}
    propose(brief(attempt(0, memo=made.memo), gateway=table, role="agent", number=1, dialogue="kept"))
    assert [m.role for m in table.asked[-1][1].messages[2:]] == ["assistant", "tool", "user"]


def test_without_room_for_a_reply_nothing_is_proposed(brief, gateway):
    assert propose(brief(gateway=script(gateway, room=0), role="agent")) == []


def test_a_fresh_agent_is_told_of_its_parent(brief, gateway, good, attempt):
    table = script(gateway, calling(("a", "submit", {"code": good})))
    propose(brief(attempt(outcome="incorrect"), gateway=table, role="agent", intent="repair"))
    assert "## Mismatch" in table.prompt()
    assert "Call tools." in table.prompt()
