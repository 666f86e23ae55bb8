"""Ways to run foreign code in a confined child, and to hear from it."""

import json

import pytest

from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tasks import LoadTask

MARK = "the child says "


@pytest.fixture
def spawn(warm):
    """Children of a kind; they end with the test."""
    born = []

    def begin(side="reference", **jail):
        born.append(warm.spawn(side, Jail(directory="/", **jail)))
        return born[-1]

    yield begin
    for child in born:
        child.close()


@pytest.fixture
def put(spawn):
    """Run Python text that raises in a new child's process, as a task's text; returns the child and what it raised."""

    def run(code, limit_s=20.0, **jail):
        child = spawn(**jail)
        return child, child.ask(LoadTask(source=code, threads=1), limit_s).answer.raised

    return run


@pytest.fixture
def inside(put):
    """What Python text in a child found out: the value of its variable `found`."""

    def run(code, **jail):
        text = f"{code}\nimport json\nraise RuntimeError({MARK!r} + json.dumps(found))"
        child, raised = put(text, **jail)
        child.close()
        line = next((line for line in raised.log.splitlines() if line.startswith(f"RuntimeError: {MARK}")), None)
        assert line is not None, raised.log
        return json.loads(line.split(MARK, 1)[1])

    return run
