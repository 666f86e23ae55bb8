"""What a coding agent's client must be told to start this server: a configuration file for each client, as text.

The forms are those of the clients' own documentation; docs/mcp.md shows them with the other clients'.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.errors import UsageError
from kernelwright.pages import page

START_S, CALL_S = 30, 900
"""Seconds that a client must wait for the server's start, and for a check."""


@dataclass(frozen=True)
class Client:
    """One client's configuration."""

    file: str
    """Where it belongs."""
    text: Callable[[Sequence[str]], str]
    """From the server's command line."""


def _named(key: str, **also: object) -> Callable[[Sequence[str]], str]:
    """A JSON file with the server below a key."""

    def text(command: Sequence[str]) -> str:
        server = {**also, "command": command[0], "args": list(command[1:])}
        return json.dumps({key: {"kernelwright": server}}, indent=2)

    return text


def _codex(command: Sequence[str]) -> str:
    return "\n".join([
        "[mcp_servers.kernelwright]",
        f"command = {json.dumps(command[0])}",
        f"args = {json.dumps(list(command[1:]))}",
        f"startup_timeout_sec = {START_S}",
        f"tool_timeout_sec = {CALL_S}",
    ])  # fmt: skip


CLIENTS = {
    "claude": Client(".mcp.json", _named("mcpServers", type="stdio", timeout=CALL_S * 1000)),
    "codex": Client("~/.codex/config.toml", _codex),
    "cursor": Client(".cursor/mcp.json", _named("mcpServers")),
    "vscode": Client(".vscode/mcp.json", _named("servers", type="stdio")),
}


def configuration(client: str, command: Sequence[str]) -> tuple[str, str]:
    """The file that a client reads, and what must stand in it.

    Raises:
        UsageError: the client is not one of `CLIENTS`.
    """
    if client not in CLIENTS:
        raise UsageError(
            f"--print-config takes one of {', '.join(CLIENTS)}, not {client[:40]!r}; {page('mcp.md')} has others"
        )
    found = CLIENTS[client]
    return found.file, found.text(command)
