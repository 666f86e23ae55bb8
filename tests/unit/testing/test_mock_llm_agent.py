import json

import pytest
from chat_requests import TASK, burdens, post, prompt, request

from mock_llm import Faults, MockLLMServer

NAMES = ("compile", "verify", "evaluate", "profile", "search", "submit")
CODE = {"type": "object", "properties": {"code": {"type": "string"}}}
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}}
TOOLS = [
    {"type": "function", "function": {"name": n, "description": n, "parameters": QUERY if n == "search" else CODE}}
    for n in NAMES
]
TECHNIQUES = '{"cards": ["for launch-bound kernels: fuse", "bottleneck: launch"]}'
SLOW = {
    "words": "Success. Overhead-bound: the data needs 0.4 us, the call takes 300.0.",
    "works": True,
    "bottleneck": "launch",
}


def dialogue(server, answer, rounds, seed):
    """Calls until `submit`: each is answered by `answer(name, code)`."""
    messages = [{"role": "user", "content": prompt()}]
    made = []
    for _ in range(rounds):
        message = post(server, request(*messages, tools=TOOLS, seed=seed))["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            messages.append({"role": "user", "content": "You called no tool."})
            continue
        call = message["tool_calls"][0]
        name = call["function"]["name"]
        source = json.loads(call["function"]["arguments"]).get("code", "")
        made.append((name, source))
        if name == "submit":
            break
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer(name, source)})
    return made


def told(name, source):
    if name == "search":
        return TECHNIQUES
    if "drill_missing" in source:
        token = source[source.index("drill_missing_") :][:22]
        return json.dumps({"ok": False, "words": f"Compilation Failed: error: '{token}' was not declared"})
    return json.dumps({"ok": True} if name == "compile" else SLOW)


@pytest.mark.parametrize("seed", range(6))
def test_an_agent_that_is_told_submits_the_authors_kernel(seed):
    with MockLLMServer([TASK], seed=2, faults=Faults(kinds=("undeclared",))) as server:
        made = dialogue(server, told, 30, seed)
    assert made[-1][0] == "submit"
    assert burdens(made[-1][1]) == 0
    assert "drill_missing" not in made[-1][1]


def test_an_agent_that_is_told_nothing_does_not():
    with MockLLMServer([TASK], seed=2, faults=Faults(kinds=("undeclared",))) as server:
        blind = [dialogue(server, lambda name, _: TECHNIQUES if name == "search" else "{}", 12, n) for n in range(4)]
    assert all(name != "submit" for made in blind for name, _ in made)
    assert all(burdens(source) >= 2 for made in blind for name, source in made if name == "evaluate")


def test_some_agents_search_and_compile_first():
    with MockLLMServer([TASK], seed=2, faults=Faults(rate=0)) as server:
        first = [dialogue(server, told, 3, n) for n in range(12)]
    names = [[name for name, _ in made] for made in first]
    assert {made[0] for made in names} >= {"search", "evaluate", "compile"}
    assert all(made[at + 1] == "evaluate" for made in names for at, name in enumerate(made[:-1]) if name == "compile")
    compiled = [made for made in first if [n for n, _ in made][:2] == ["compile", "evaluate"]]
    assert compiled
    assert all(made[0][1] == made[1][1] for made in compiled)


def test_a_cut_call_is_marked_as_cut():
    with MockLLMServer([TASK], seed=2, faults=Faults(rate=1, kinds=("truncated_json",))) as server:
        messages = [{"role": "user", "content": prompt()}]
        choices = [post(server, request(*messages, tools=TOOLS, seed=n))["choices"][0] for n in range(6)]
    cut = [c for c in choices if c["finish_reason"] == "length"]
    assert cut
    for choice in cut:
        with pytest.raises(ValueError, match="Unterminated"):
            json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"])
