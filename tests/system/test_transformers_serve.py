"""A real OpenAI-compatible server on loopback, and our client: the wire format is real, what it says is noise."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.models.config import ModelConfig
from kernelwright.models.table import make_model
from kernelwright.records.chat import ChatMessage, ChatRequest
from tiny_checkpoint import write_checkpoint

READY_S = 120.0


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
    folder = write_checkpoint(tmp_path_factory.mktemp("tiny") / "model")
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
        yield folder, f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ask(config, *requests):
    async def run():
        model = make_model(config)
        try:
            return [await model.reply(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(run())


def test_it_answers_like_the_checkpoint_in_our_own_process(served, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    folder, url = served
    asked = ChatRequest(
        messages=(ChatMessage(role="system", text="s"), ChatMessage(role="user", text="write a kernel")),
        temperature=0.0,
        seed=1,
        max_tokens=16,
    )
    over_http, again = ask(ModelConfig(name=str(folder), base_url=url, retries=1), asked, asked)
    (here,) = ask(ModelConfig(provider="huggingface", name=str(folder)), asked)
    assert over_http.text
    assert over_http.text == again.text == here.text
    assert over_http.finish == here.finish == "length"
    assert over_http.usage == here.usage
    assert not over_http.usage.estimated
    assert over_http.usd == 0.0
