"""`kernelwright farm status`, asked by a process of its own beside a command that keeps a real Ray cluster busy."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.execution import ray as pool
from kernelwright.execution.executor import Work
from kernelwright.execution.ray import RayExecutor

WORKER = Path(__file__).parents[1] / "unit" / "execution" / "fake_worker.py"


async def status(*arguments):
    """What the command says, on a terminal of 160 columns."""
    words = [sys.executable, "-m", "kernelwright", "farm", "status", *arguments]
    environment = {**os.environ, "COLUMNS": "160"}
    done = await asyncio.to_thread(
        subprocess.run, words, capture_output=True, text=True, check=False, env=environment, timeout=60
    )
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture
def busy(nodes, monkeypatch):
    """Play a scene while anna's command has more jobs than two workers take."""
    monkeypatch.setattr(pool, "SURVEY_S", 0.3)
    monkeypatch.setenv("LOGNAME", "anna")
    monkeypatch.setattr(sys, "argv", ["/bin/kernelwright", "bench", "tasks", "--model", "openai:x@http://secret"])

    def play(scene):
        async def whole():
            executor = RayExecutor(Work([str(WORKER)], greeting=b"echo hello"), nodes.address)
            try:
                await asyncio.gather(*(executor.submit(b"echo 1", affinity=f"relu {n}") for n in range(20)))
                tasks = ["softmax 1"] * 20 + ["mse [red] loss 2"] * 10
                jobs = [asyncio.create_task(executor.submit(b"sleep 1000", affinity=task)) for task in tasks]
                await asyncio.sleep(1)
                found = await scene()
                for job in jobs:
                    job.cancel()
                await asyncio.gather(*jobs, return_exceptions=True)
                return found
            finally:
                await executor.close()

        return asyncio.run(whole())

    return play


def test_devices_queue_rate_and_utilisation_are_told(busy, nodes):
    found = json.loads(busy(lambda: status("--execution", f"ray://{nodes.address}", "--json")))
    (command,) = found["commands"]
    held = [device for device in found["devices"] if device["holder"]]
    assert {name: command[name] for name in ("user", "command", "workers", "share")} == {
        "user": "anna",
        "command": "bench tasks",
        "workers": 2,
        "share": 2,
    }
    assert [device["kind"] for device in held] == ["1 processors"] * 2
    assert all(device["busy"] and device["holder"] == f"anna {command['where']}" for device in held)
    assert [device["kind"] for device in found["devices"] if not device["holder"]] == ["GPU", "GPU"]
    assert command["at_work"] + command["waiting"] == 30
    assert found["waiting"] == command["waiting"] == sum(command["tasks"].values()) == 14
    assert set(command["tasks"]) <= {"softmax", "mse [red] loss"}
    assert found["verdicts_a_minute"] > 0
    assert 0 < found["utilisation"] <= 1
    assert (found["workers_lost"], found["jobs_retried"]) == (0, 0)
    assert "secret" not in json.dumps(found)


@pytest.mark.matrix
def test_a_terminal_gets_tables(busy, nodes):
    text = busy(lambda: status("--ray-address", nodes.address))
    lines = [line.split() for line in text.splitlines()]
    assert ["node", "kind", "devices", "state", "holder"] in lines
    assert [line[4] for line in lines if line[1:4] == ["1", "processors", "2"]] == ["busy"], "alike ones are one row"
    assert any(line[:3] == ["anna", "bench", "tasks"] and "2 of 2" in " ".join(line) for line in lines)
    assert "mse [red] loss" in text or "softmax" in text
    assert "14 jobs wait; 0 workers were lost, 0 jobs begun again" in text


def test_a_cluster_at_rest_has_its_devices_alone(nodes):
    found = json.loads(asyncio.run(status("--ray-address", nodes.address, "--json")))
    assert found["commands"] == []
    assert found["utilisation"] == 0
    assert not any(device["holder"] for device in found["devices"])
