"""The README's command lines: each is one that the command understands, and the kernel that it checks is right."""

import asyncio
import re
import shlex
from pathlib import Path

import pytest

from kernelwright import api
from kernelwright.interfaces.cli.main import command
from kernelwright.records.policy import Policy
from kernelwright.tasks.table import read_task

ROOT = Path(__file__).parents[2]
LINES = re.findall(r"^kernelwright (.+)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
CHECKED = next(line for line in LINES if line.startswith("check "))


@pytest.mark.parametrize("line", LINES)
def test_the_command_understands_it_and_the_files_are_there(line, monkeypatch):
    monkeypatch.chdir(ROOT)
    verb, *arguments = shlex.split(line, comments=True)
    command(verb).make_context(verb, arguments)
    assert all((ROOT / word).is_file() for word in arguments if word.startswith("examples/"))


@pytest.mark.matrix
def test_the_kernel_that_it_checks_is_right(warm_referee):
    _, task, kernel = shlex.split(CHECKED, comments=True)
    referee = warm_referee.under(Policy())
    admitted = asyncio.run(referee.admit(read_task(ROOT / task), api.CPU))
    found = asyncio.run(referee.evaluate(admitted, api.read_kernel(ROOT / kernel), "verify"))
    assert found.outcome == "verified"
