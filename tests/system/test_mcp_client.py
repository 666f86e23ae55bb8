"""A real MCP client over stdio: from a task to a receipt, killed and resumed, and nothing on stdout but the protocol."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp import Client, MCPError, StdioServerParameters, stdio_client

from kernelwright.store.receipt_file import read_receipt
from kernelwright.store.run import RunStore
from lanes import sampled

TASK = """import subprocess

import torch
from torch import nn

print("noise of a task")
subprocess.run(["echo", "noise of its child"], check=False)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * 2.0


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(256, 1024)]


def get_init_inputs() -> list[object]:
    return []
"""
KERNEL = """extern "C" void kernel(const float* x, float* y) {
  for (int i = 0; i < 256 * 1024; ++i) y[i] = x[i] > 0.0f ? x[i] * 2.0f : 0.0f;
}
"""
WRONG = KERNEL.replace("* 2.0f", "* 2.5f")
BROKEN = KERNEL.replace("? x[i]", "? z[i]")
CRASHING = KERNEL.replace("y[i] =", "y[i * 100000] =")
SLOW = KERNEL.replace(
    "  for", "  volatile float waste = 0.0f;\n  for (long i = 0; i < 60000000; ++i) waste = waste + 1.0f;\n  for"
)
BRIEF = """[policy]
baselines = ["eager"]
final_baselines = []
search_blocks = 4
final_blocks = 4

[remeasurement]
keep_slower = true
"""
"""For what is not about times: one run of the matrix has everything that a server does by default."""
WRITTEN = """[remeasurement]
keep_slower = true
"""
"""The drop-in is written however much else the machine does meanwhile."""
EXAMPLES = Path(__file__).parents[2] / "examples"
MSE = """#include <cstddef>
extern "C" void kernel(const float* a, const float* b, float* out) {
  double total = 0.0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
  for (std::size_t i = 0; i < 512UL * 512UL; ++i) total += (a[i] - b[i]) * (a[i] - b[i]);
  *out = static_cast<float>(total / (512.0 * 512.0));
}
"""


class Agent:
    """A client that reads answers as JSON and remembers progress."""

    def __init__(self, client, folder):
        self.client, self.folder, self.told = client, folder, []

    async def call(self, tool, **arguments):
        async def told(progress, total, message):
            self.told.append((progress, message))

        answer = await self.client.call_tool(tool, arguments, progress_callback=told)
        assert not answer.is_error, answer.content[0].text
        return answer.structured_content

    async def refused(self, tool, **arguments):
        answer = await self.client.call_tool(tool, arguments)
        assert answer.is_error
        return answer.content[0].text

    def pid(self):
        return int((self.folder / "pid").read_text())


def environment(folder):
    return {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache-of-servers"), "NO_COLOR": "1"}


def play(folder, scene, *flags):
    """One server's life, from the first call to the last."""
    line = f"echo $$ > {folder}/pid; exec {sys.executable} -m kernelwright mcp --target cpu {' '.join(map(str, flags))}"
    server = StdioServerParameters(command="sh", args=["-c", line], env=environment(folder), cwd=folder)

    @asynccontextmanager
    async def agent():
        with (folder / "log").open("a") as log:
            async with Client(stdio_client(server, errlog=log)) as client:
                yield Agent(client, folder)

    async def life():
        async with agent() as one:
            return await scene(one)

    return asyncio.run(life())


@pytest.fixture
def folder(tmp_path):
    """A folder with a task. Below one cache for all of them, so that one task's baselines are compiled once."""
    (tmp_path / "relu.py").write_text(TASK)
    (tmp_path / "brief.toml").write_text(BRIEF)
    (tmp_path / "written.toml").write_text(WRITTEN)
    return tmp_path


@pytest.fixture
def elsewhere(tmp_path):
    """A small copy of an example, below another root than the folder."""
    place = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    place.mkdir()
    (place / "mse_loss.py").write_text((EXAMPLES / "mse_loss.py").read_text().replace("4096, 4096", "512, 512"))
    return place


@pytest.mark.parametrize(
    ("config", "baselines"),
    sampled(
        [("brief.toml", {"eager"}), ("written.toml", {"eager", "compile"})],
        lambda config, baselines: config == "brief.toml",
    ),
)
def test_an_agent_works_from_a_task_to_a_receipt(folder, config, baselines):
    async def scene(agent):
        tools = {tool.name for tool in (await agent.client.list_tools()).tools}
        loaded = await agent.call("load_task", path="relu.py", trials=5)
        judged = [
            await agent.call("check_kernel", code=WRONG),
            await agent.call("check_kernel", code=BROKEN),
            await agent.call("check_kernel", code=CRASHING),
            await agent.call("check_kernel", code=KERNEL, note="one pass"),
        ]
        profile = await agent.call("profile_kernel", attempt=3)
        cards = await agent.call("search_techniques", query="reduction vectorise threads")
        return tools, loaded, judged, profile, cards, await agent.call("submit"), agent.told

    tools, loaded, judged, profile, cards, ended, told = play(folder, scene, "--config", config)
    looks = {"compile_kernel", "verify_kernel", "profile_kernel", "search_techniques", "status"}
    assert tools == {"load_task", "check_kernel", "submit"} | looks
    assert loaded["signature"].startswith('extern "C" void kernel(\n    const float* in0,  // x: float32[256, 1024]')
    assert [one["outcome"] for one in judged] == ["incorrect", "build_failed", "crashed", "measured"]
    assert "expected" in judged[0]["words"]
    assert "z" in judged[1]["words"]
    assert (judged[3]["ok"], judged[3]["best"], judged[3]["trials_left"]) == (True, 3, 1)
    assert {one["baseline"] for one in judged[3]["versus"]} == baselines
    assert profile["words"]
    assert "cards" in cards
    assert (ended["attempt"], ended["final"]) == (3, True)
    figure = ended["speedup_eager"]
    # Of noise there is no figure, and what is said instead has its reason.
    assert figure["low"] > 0 if figure else ended["why"]
    assert read_receipt(Path(ended["receipt"])).claim.candidate.source == KERNEL
    assert "<html" in Path(ended["report"]).read_text()
    assert "ModelNew" in Path(ended["kernel_file"]).read_text()
    assert any("admitting relu" in message for _, message in told)


@pytest.mark.matrix
def test_an_example_below_another_root_is_submitted_at_once(folder, elsewhere):
    async def scene(agent):
        loaded = await agent.call("load_task", path=str(elsewhere / "mse_loss.py"))
        return loaded, await agent.call("submit", code=MSE)

    loaded, ended = play(folder, scene, "--root", elsewhere, "--config", "brief.toml")
    assert "const float* in0,  // predictions: " in loaded["signature"]
    assert (ended["attempt"], ended["final"], ended["attempts"]) == (0, True, 1)


@pytest.mark.matrix
def test_a_killed_server_is_gone_on_with(folder):
    async def until_killed(agent):
        loaded = await agent.call("load_task", path="relu.py", trials=3)
        await agent.call("check_kernel", code=KERNEL)
        check = asyncio.create_task(agent.call("check_kernel", code=SLOW, note="was being judged"))
        while not any("judging" in message for _, message in agent.told[-1:]) or len(_proposed(loaded["run"])) < 2:
            await asyncio.sleep(0.05)
        os.kill(agent.pid(), signal.SIGKILL)
        with pytest.raises(MCPError):
            await check
        return Path(loaded["run"])

    async def gone_on(agent):
        while len((status := await agent.call("status"))["history"]) < 2:
            await asyncio.sleep(0.1)
        again = await agent.call("check_kernel", code=WRONG)
        return status, again, await agent.call("submit")

    run = play(folder, until_killed, "--config", "brief.toml")
    status, again, ended = play(folder, gone_on, "--resume", run)
    assert [trial["note"] for trial in status["history"]] == ["", "was being judged"]
    assert (again["attempt"], again["trials_left"]) == (2, 0)
    assert (ended["attempt"], ended["final"], ended["attempts"]) == (0, True, 3)


def test_hostile_arguments_are_answers(folder):
    (folder / "outside").mkdir()
    (folder / "inside").mkdir()
    (folder / "outside" / "task.py").write_text(TASK)
    (folder / "inside" / "link.py").symlink_to(folder / "outside" / "task.py")
    os.mkfifo(folder / "inside" / "pipe.py")

    async def scene(agent):
        paths = [
            "../outside/task.py",
            f"{folder}/outside/task.py",
            "link.py",
            "pipe.py",
            "/dev/zero",
            ".",
            "a\0",
            "~/x",
        ]
        said = [await agent.refused("load_task", path=path) for path in paths]
        said += [
            await agent.refused("load_task", text="x" * 300_000),
            await agent.refused("load_task", text="\0", name="t"),
        ]
        said += [await agent.refused("load_task", text=TASK, name="../../evil")]
        said += [await agent.refused("check_kernel", code="x" * 1_000_000), await agent.refused("no_such_tool")]
        return said, await agent.refused("status")

    said, status = play(folder, scene, "--root", folder / "inside")
    assert all("is no file below" in words for words in said[:8])
    assert not any("Traceback" in words for words in said)
    assert "load_task first" in status
    assert not (folder / "runs").exists()


@pytest.mark.matrix
def test_nothing_but_the_protocol_is_on_stdout(folder):
    asked = [
        _request(
            1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "raw", "version": "1"}
        ),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        _request(2, "tools/call", name="load_task", arguments={"path": "relu.py"}),
        _request(3, "tools/call", name="check_kernel", arguments={"code": KERNEL + "\n// " + "\u202e" * 9}),
    ]
    command = [sys.executable, "-m", "kernelwright", "mcp", "--target", "cpu", "--config", "brief.toml"]
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        seen = []
        for message in asked:
            server.stdin.write("this is no JSON\n" + json.dumps(message) + "\n")
            server.stdin.flush()
            while "id" in message and not any(one.get("id") == message["id"] for one in seen):
                seen.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        rest = server.stdout.read()
        assert server.wait(60) == 0
    assert rest == ""
    assert all(one["jsonrpc"] == "2.0" for one in seen)
    assert next(one for one in seen if one.get("id") == 3)["result"]["structuredContent"]["outcome"] == "measured"
    (run,) = (folder / "runs").iterdir()
    store = RunStore.open(run)
    assert not store.outcome().complete
    store.close()


def _request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _proposed(run):
    store = RunStore.open(Path(run))
    try:
        return store.proposals()
    finally:
        store.close()
