"""`kernelwright mcp` as a command: the page, the missing extra, and what it takes from its flags."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from kernelwright.interfaces.mcp.service import skill

TOP = Path(__file__).parents[3] / "SKILL.md"


def test_the_page_is_printed_as_it_stands_at_the_top(kernelwright):
    said = kernelwright("mcp", "--skill")
    assert (said.code, said.err) == (0, "")
    assert said.out == skill() == TOP.read_text()


def test_the_page_begins_as_a_skill_does():
    _, front, body = skill().split("---\n", 2)
    keys = [line.split(":", 1)[0] for line in front.strip().splitlines()]
    assert keys == ["name", "description"]
    assert len(front) < 1100
    assert body.strip().startswith("# ")


def test_the_page_names_every_tool():
    for tool in (
        "load_task",
        "check_kernel",
        "compile_kernel",
        "verify_kernel",
        "profile_kernel",
        "search_techniques",
        "submit",
        "status",
    ):
        assert f"`{tool}(" in skill()


@pytest.mark.parametrize(
    ("client", "key"),
    [("claude", "mcpServers"), ("codex", "mcp_servers"), ("cursor", "mcpServers"), ("vscode", "servers")],
)
def test_the_configuration_of_a_client_starts_this_server_on_these_roots(kernelwright, tmp_path, client, key):
    said = kernelwright("mcp", "--print-config", client, "--root", str(tmp_path), "--target", "cpu")
    server = (tomllib if client == "codex" else json).loads(said.out)[key]["kernelwright"]
    assert said.code == 0
    assert Path(server["command"]).name == "kernelwright"
    assert server["args"] == ["mcp", "--root", str(tmp_path), "--target", "cpu"]
    assert "this belongs into" in said.err


def test_a_client_that_nobody_knows_is_refused_with_those_that_are_known(kernelwright):
    said = kernelwright("mcp", "--print-config", "emacs")
    assert said.code == 2
    assert "claude, codex, cursor, vscode" in said.err


def test_without_the_sdk_the_cure_is_told(kernelwright, monkeypatch):
    monkeypatch.delitem(sys.modules, "kernelwright.interfaces.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    said = kernelwright("mcp")
    assert said.code == 4
    assert "pip install 'kernelwright[mcp]'" in said.err
    assert said.out == ""


def test_a_file_that_makes_no_run_is_refused_before_anything_is_served(kernelwright, tmp_path):
    (tmp_path / "run.toml").write_text("[budget]\nproposals = 0\n")
    said = kernelwright("mcp", "--config", "run.toml")
    assert said.code == 2
    assert "budget.proposals" in said.err
