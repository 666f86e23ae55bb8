"""A real OpenAI-compatible server on loopback, the packaged model behind it, and our loop: nothing of it is made up."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.session import play_in
from kernelwright.engine.target import resolve_target
from kernelwright.models.config import ModelConfig
from kernelwright.models.quantized import unpack
from kernelwright.models.small import PACKAGED
from kernelwright.models.table import make_model
from kernelwright.records.chat import ChatRequest
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Policy
from kernelwright.records.task import TaskSource
from kernelwright.store.run import RunStore
from kernelwright.train.data.modules import TEMPLATE
from kernelwright.train.data.prompts import opening

READY_S = 120.0
MODULE = TEMPLATE.format(
    arguments="x, y",
    body="        v0 = F.silu(x)\n        return v0 + y",
    inputs="torch.randn(32, 128), torch.randn(32, 128)",
)
"""In the form that the model was trained on: it understands no other."""
TRIES = 2
"""Replies of which one must be right: of ten, about one is not."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(process, port, log):
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"not ready after {READY_S} s: {log.read_text()}")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = unpack(PACKAGED, tmp_path_factory.mktemp("small") / "model")
    home = tmp_path_factory.mktemp("home")
    (home / "hub").mkdir()
    port, log = free_port(), home / "log"
    command = [Path(sys.executable).parent / "transformers", "serve", folder, "--device", "cpu", "--port", str(port)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "OMP_NUM_THREADS": "1"}
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        wait_for(process, port, log)
        yield ModelConfig(name=str(folder), base_url=f"http://127.0.0.1:{port}/v1", retries=1, max_tokens=1024)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def judge(warm_referee):
    return warm_referee.under(Policy(seeds=2))


@pytest.fixture(scope="module")
def task(judge):
    return asyncio.run(
        judge.admit(TaskSource(name="module_1", format="kernelbench", source=MODULE), resolve_target("sm_90"))
    )


def ask(config, *requests):
    async def run():
        model = make_model(config)
        try:
            return [await model.reply(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(run())


@pytest.mark.matrix
def test_it_answers_like_the_checkpoint_in_our_own_process(served, task, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked = ChatRequest(messages=opening(task, "frontend"), temperature=0.0, seed=1, max_tokens=16)
    over_http, again = ask(served, asked, asked)
    (here,) = ask(ModelConfig(provider="huggingface", name=served.name), asked)
    assert over_http.text.startswith("```python\n")
    assert over_http.text == again.text == here.text
    assert over_http.finish == here.finish == "length"
    assert over_http.usage == here.usage
    assert not over_http.usage.estimated
    assert over_http.usd == 0.0


@pytest.mark.matrix
def test_a_language_model_writes_a_kernel_that_is_right(served, task, judge, warm_referee, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    strategy = {"name": "best_of_n", "role": "frontend"}
    config = RunConfig(
        proposer="llm:trained", strategy=strategy, budget={"proposals": TRIES}, in_flight=1,
        models={"default": served}, remeasurement={"enabled": False}, autotune={"points": 1}, policy=judge.policy,
    )  # fmt: skip
    suppliers = warm_referee.suppliers(render=lambda *_: "")
    result = asyncio.run(play_in(tmp_path / "run", task, config, judge, suppliers))
    assert result.error is None
    store = RunStore.open(tmp_path / "run")
    try:
        found = [attempt.evaluation for attempt in store.attempts()]
    finally:
        store.close()
    assert len(found) == TRIES
    assert any(is_right(one) for one in found), found
