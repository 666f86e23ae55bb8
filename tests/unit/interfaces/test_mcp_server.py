"""The MCP server in process, with a real client and scripted parts."""

import asyncio
import json
from contextlib import asynccontextmanager, closing

import pytest

pytest.importorskip("mcp")

from mcp import Client, MCPError

from kernelwright import api
from kernelwright.errors import UsageError
from kernelwright.interfaces.mcp.server import make_server
from kernelwright.interfaces.mcp.service import Service, Settings, Wanted
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import SOURCE
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers

TOOLS = {"load_task", "check_kernel", "submit", "status", "search_techniques"}
TOOLS |= {"compile_kernel", "verify_kernel", "profile_kernel"}


def kernel(quality, comment=""):
    return f'// quality {quality} {comment}\nextern "C" void kernel(const float* x, float* y);\n'


class Agent:
    """A client that reads answers as JSON."""

    def __init__(self, client):
        self.client, self.told = client, []

    async def call(self, tool, **arguments):
        async def told(progress, total, message):
            self.told.append(message)

        answer = await self.client.call_tool(tool, arguments, progress_callback=told)
        assert not answer.is_error, answer.content[0].text
        return answer.structured_content

    async def refused(self, tool, **arguments):
        answer = await self.client.call_tool(tool, arguments)
        assert answer.is_error
        return answer.content[0].text


@pytest.fixture
def served(tmp_path):
    """Runs a scene with an agent, the server's folder being an empty one but for a task."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "abs.py").write_text(SOURCE)
    fixed = {"proposer": "outside", "strategy": {"name": "outside"}, "in_flight": 1}

    def serve(scene, evaluator=None, trials=4, resume=None):
        evaluator = evaluator or ScriptedEvaluator(outcomes=("measured",))
        config = api.load_config(None, {**fixed, "budget": {"proposals": trials}})
        settings = Settings(config, (tmp_path / "tasks",), tmp_path / "runs", "cpu", resume)

        @asynccontextmanager
        async def agent():
            async with Client(make_server(settings, scripted_suppliers(evaluator))) as client:
                yield Agent(client)

        async def play():
            async with agent() as one:
                return await scene(one)

        return asyncio.run(play())

    return serve


def test_every_tool_publishes_both_schemas(served):
    async def scene(agent):
        return (await agent.client.list_tools()).tools

    tools = served(scene)
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        assert tool.description
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
    code = next(tool for tool in tools if tool.name == "check_kernel").input_schema["properties"]["code"]
    assert code["maxLength"] == 200_000


def test_from_a_task_to_a_receipt(served, tmp_path):
    async def scene(agent):
        loaded = await agent.call("load_task", path="abs.py", trials=3)
        first = await agent.call("check_kernel", code=kernel(3), note="begin")
        second = await agent.call("check_kernel", code=kernel(7))
        profile = await agent.call("profile_kernel", attempt=1)
        ended = await agent.call("submit")
        return loaded, first, second, profile, ended, await agent.call("status"), agent.told

    loaded, first, second, profile, ended, status, told = served(scene)
    assert loaded["trials"] == 3
    assert loaded["signature"].startswith('extern "C" void kernel(\n    const float* in0,  // x: float32[')
    assert "cpp" in loaded["contracts"]
    assert (first["attempt"], first["best"], first["trials_left"]) == (0, 0, 2)
    assert (second["attempt"], second["best"], second["outcome"]) == (1, 1, "measured")
    assert profile["findings"]
    assert (ended["attempt"], ended["final"]) == (1, True)
    assert json.loads((tmp_path / "runs" / loaded["run"] / "receipt.json").read_text())
    assert [trial["note"] for trial in status["history"]] == ["begin", ""]
    assert status["over"]
    assert any("admitting" in words for words in told)


def test_builds_and_verifications_cost_no_trial_and_are_journaled(served, tmp_path):
    async def scene(agent):
        loaded = await agent.call("load_task", path="abs.py")
        found = [await agent.call(f"{tool}_kernel", code=kernel(3)) for tool in ("compile", "verify")]
        return loaded, found, await agent.call("status"), await agent.refused("compile_kernel", code="  ")

    loaded, (built, right), status, empty = served(scene)
    assert built["ok"]
    assert right["ok"]
    assert status["trials_left"] == 4
    assert status["history"] == []
    assert "empty" in empty
    with closing(RunStore.open(tmp_path / "runs" / loaded["run"])) as store:
        assert [turn.kind for turn in store.messages()] == ["call", "result"] * 2


class Wrong(ScriptedEvaluator):
    """Finds every kernel wrong, also where it takes no time."""

    async def replay(self, task, candidate, seeds):
        return await self.evaluate(task, candidate)


def test_a_wrong_kernel_is_told_by_verify_with_its_evidence(served):
    async def scene(agent):
        await agent.call("load_task", path="abs.py")
        return await agent.call("verify_kernel", code=kernel(1)), (await agent.call("status"))["trials_left"]

    found, left = served(scene, Wrong(outcomes=("incorrect",)))
    assert (found["ok"], found["outcome"], left) == (False, "incorrect", 4)
    assert "expected 1.5, got -1.5" in found["words"]


def test_a_wrong_kernel_is_an_answer_and_a_trial(served):
    async def scene(agent):
        await agent.call("load_task", path="abs.py")
        return await agent.call("check_kernel", code=kernel(1)), await agent.refused("submit")

    judged, refused = served(scene, ScriptedEvaluator(outcomes=("incorrect",)))
    assert (judged["ok"], judged["outcome"], judged["best"], judged["trials_left"]) == (False, "incorrect", None, 3)
    assert "expected 1.5, got -1.5" in judged["words"]
    assert refused


def test_what_cannot_be_read_costs_no_trial(served):
    async def scene(agent):
        await agent.call("load_task", path="abs.py")
        said = [
            await agent.refused("check_kernel", code="   "),
            await agent.refused("check_kernel", code="no function"),
            await agent.refused("check_kernel", code=kernel(1) + "\0"),
            await agent.refused("check_kernel", code="x" * 200_001),
            await agent.refused("check_kernel", code=kernel(1), language="fortran"),
            await agent.refused("profile_kernel"),
            await agent.refused("profile_kernel", attempt=7),
            await agent.refused("search_techniques", query="q" * 501),
        ]
        return said, await agent.call("status")

    said, status = served(scene)
    assert status["trials_left"] == 4
    assert "empty" in said[0]
    assert 'extern "C"' in said[1]
    assert "NUL" in said[2]
    assert "no attempt 7" in said[6]
    assert not any("Traceback" in words for words in said)


def test_tasks_are_read_below_the_roots_only(served, tmp_path):
    (tmp_path / "secret.py").write_text(SOURCE)
    (tmp_path / "tasks" / "link.py").symlink_to(tmp_path / "secret.py")

    async def scene(agent):
        names = [
            "../secret.py",
            str(tmp_path / "secret.py"),
            "link.py",
            "missing.py",
            "/etc/passwd",
            "a\0b.py",
            "x" * 5000,
        ]
        said = [await agent.refused("load_task", path=name) for name in names]
        both = await agent.refused("load_task", path="abs.py", text=SOURCE)
        return said, both, await agent.refused("load_task")

    said, *rest = served(scene)
    assert all("is no file below" in words and "--root" in words for words in said)
    assert all("either `path` or `text`" in words for words in rest)


def test_a_task_may_come_as_text(served):
    async def scene(agent):
        loaded = await agent.call("load_task", text=SOURCE, name="mine")
        return loaded, await agent.refused("load_task", text="print(1)"), await agent.refused("status")

    loaded, refused, after = served(scene)
    assert loaded["task"] == "mine"
    assert "defines no `Model`" in refused
    assert "load_task first" in after


AS_TOML = f"description = 'The absolute value.'\nreference = '''\n{SOURCE}'''\n[limits]\ntarget_us = 40.0\n"
AS_MARKDOWN = (
    f"# Mine\n\nThe absolute value.\n\n## Reference\n\n```python\n{SOURCE}```\n\n## Limits\n\n- target_us: 40.0\n"
)


@pytest.mark.parametrize(("name", "text"), [("mine.toml", AS_TOML), ("mine.md", AS_MARKDOWN)])
def test_a_text_task_may_come_as_text(served, name, text):
    async def scene(agent):
        return await agent.call("load_task", text=text, name=name)

    told = served(scene)
    assert told["task"] == "mine"
    assert "The absolute value." in told["description"]
    assert told["limits"]["target_us"] == 40.0
    assert "class Model" in told["reference"]


def test_a_kernel_that_only_compiles_here_ends_the_run(served):
    async def scene(agent):
        await agent.call("load_task", path="abs.py")
        judged = await agent.call("check_kernel", code=kernel(1))
        return judged, await agent.call("submit"), await agent.call("status")

    judged, ended, status = served(scene, ScriptedEvaluator(outcomes=("compiled",)))
    assert judged["outcome"] == "compiled"
    assert (ended["attempt"], ended["final"], ended["attempts"]) == (None, False, 1)
    assert status["over"]


def test_a_kernel_that_is_submitted_must_be_right(served):
    async def scene(agent):
        await agent.call("load_task", path="abs.py")
        first = await agent.refused("submit", code=kernel(1))
        return first, await agent.refused("submit", code=kernel(1)), await agent.call("status")

    first, again, status = served(scene, ScriptedEvaluator(outcomes=("incorrect",)))
    assert first == again
    assert "attempt 0, is not right, and nothing was ended" in first
    assert "expected 1.5, got -1.5" in first
    assert (status["over"], status["trials_left"]) == (False, 3)


def test_looks_are_journaled_beside_the_kernel_that_they_are_for(served, tmp_path):
    async def scene(agent):
        loaded = await agent.call("load_task", path="abs.py")
        await agent.call("search_techniques", query="tile")
        await agent.call("check_kernel", code=kernel(5))
        await agent.call("profile_kernel", attempt=0)
        return loaded["run"]

    with closing(RunStore.open(tmp_path / served(scene))) as store:
        told = [(turn.number, turn.proposal_request, turn.step, turn.kind) for turn in store.messages()]
    assert told == [(0, 0, 0, "call"), (1, 0, 1, "result"), (2, 1, 0, "call"), (3, 1, 1, "result")]


def test_a_text_tasks_words_and_limits_are_told(served, tmp_path):
    words = 'description = "The absolute value."\nreference = "abs.py"\nhost = "kernel(x, out);"\n'
    (tmp_path / "tasks" / "words.toml").write_text(words + '[limits]\ntarget_us = 40.0\nnotes = ["no intrinsics"]\n')

    async def scene(agent):
        return await agent.call("load_task", path="words.toml")

    told = served(scene)
    assert (told["description"], told["host"]) == ("The absolute value.", "kernel(x, out);")
    assert (told["limits"]["target_us"], told["limits"]["notes"]) == (40.0, ["no intrinsics"])


def test_nothing_works_without_a_task(served):
    async def scene(agent):
        return [
            await agent.refused("check_kernel", code=kernel(1)),
            await agent.refused("submit"),
            await agent.refused("status"),
            await agent.refused("search_techniques", query="tile"),
        ]

    assert all("call load_task first" in words for words in served(scene))


def test_more_trials_than_allowed_are_refused(served):
    async def scene(agent):
        return await agent.refused("load_task", path="abs.py", trials=5)

    assert "at most 4" in served(scene)


def test_a_spent_budget_ends_the_run_and_submit_has_the_result(served):
    async def scene(agent):
        await agent.call("load_task", path="abs.py", trials=1)
        await agent.call("check_kernel", code=kernel(2))
        over = await agent.refused("check_kernel", code=kernel(3))
        return over, await agent.call("submit")

    over, ended = served(scene)
    assert "over" in over or "ended" in over
    assert (ended["attempt"], ended["final"]) == (0, True)


def test_calls_side_by_side_each_get_their_own_verdict(served):
    async def scene(agent):
        await agent.call("load_task", path="abs.py")
        checks = (agent.call("check_kernel", code=kernel(q), note=str(q)) for q in (1, 2, 3))
        return await asyncio.gather(*checks), await agent.call("status")

    found, status = served(scene, ScriptedEvaluator(outcomes=("measured",), delay_s=0.05))
    assert sorted(one["attempt"] for one in found) == [0, 1, 2]
    by_attempt = {trial["attempt"]: trial["note"] for trial in status["history"]}
    speeds = {one["attempt"]: one["versus"][0]["speedup"]["median"] for one in found}
    assert all(speeds[attempt] == pytest.approx(1 + int(note) / 10) for attempt, note in by_attempt.items())


def test_a_run_goes_on_where_its_server_ended(served, tmp_path):
    async def begin(agent):
        loaded = await agent.call("load_task", path="abs.py")
        await agent.call("check_kernel", code=kernel(5))
        return loaded["run"]

    async def go_on(agent):
        before = await agent.call("status")
        again = await agent.call("check_kernel", code=kernel(6))
        return before, again, await agent.call("submit")

    folder = tmp_path / served(begin)
    before, again, ended = served(go_on, resume=folder)
    assert (before["trials_left"], before["best"]) == (3, 0)
    assert (again["attempt"], again["trials_left"]) == (1, 2)
    assert ended["attempt"] == 1

    async def look(agent):
        return await agent.call("status"), await agent.call("submit")

    status, same = served(look, resume=folder)
    assert status["over"]
    assert same == ended


def test_resources_have_the_page_and_the_sources(served):
    async def scene(agent):
        page = await agent.client.read_resource("kernelwright://skill")
        await agent.call("load_task", path="abs.py")
        await agent.call("check_kernel", code=kernel(5))
        source = await agent.client.read_resource("kernelwright://attempts/0")
        with pytest.raises(MCPError):
            await agent.client.read_resource("kernelwright://attempts/9")
        return page.contents[0].text, source.contents[0].text

    page, source = served(scene)
    assert page.startswith("---\nname: kernelwright\n")
    assert source == kernel(5)


@pytest.mark.parametrize(
    "name", ["../outside.py", "/tmp/outside.py", "a/b.py", "a\0.py", "..", "task.cpp", "a" * 300, ""]
)
def test_the_service_itself_takes_no_name_that_leads_outside(tmp_path, name):
    config = api.load_config(None, {"proposer": "outside", "strategy": {"name": "outside"}, "in_flight": 1})
    service = Service(Settings(config, (tmp_path,), tmp_path / "runs", "cpu"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="no name of a task"):
        asyncio.run(service.load(Wanted(text=SOURCE, name=name)))
    assert sorted(tmp_path.rglob("*")) == before
