"""The service: what a coding agent's tools do, before any protocol; and what a client must be told to start its server.

It works on one task at a time, and opens evaluator and run when they are first needed. The forms of the clients'
configuration files are those of the clients' own documentation; docs/mcp.md shows them with the other clients'.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from kernelwright import api
from kernelwright.api import Event, Judged, Phase, Proposed, Warned
from kernelwright.errors import UsageError
from kernelwright.pages import page
from kernelwright.records.base import Record
from kernelwright.records.names import LanguageName

LOOK_S = 0.25
"""Seconds between two looks."""
HEARTBEAT_S = 5.0
"""Seconds of silence after which the last words are said again: clients give up on servers that say nothing."""
LONGEST = 200


class Waiting(Protocol):
    """A client's request that is being answered."""

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client, if it asked to be told."""
        ...


class Herald:
    """A listener of the engine's events."""

    def __init__(self) -> None:
        self._said, self._words = 0, "working"

    def __call__(self, event: Event) -> None:
        """Remember what an event says."""
        words = _words(event)
        if words:
            self._said, self._words = self._said + 1, words[:LONGEST]

    @asynccontextmanager
    async def progress(self, waiting: Waiting) -> AsyncIterator[None]:
        """Pass on what is said while the block runs."""
        progress = asyncio.create_task(self._tell(waiting))
        try:
            yield
        finally:
            progress.cancel()
            await asyncio.gather(progress, return_exceptions=True)

    async def _tell(self, waiting: Waiting) -> None:
        text, silent, steps = self._said, HEARTBEAT_S, 0
        while True:
            if self._said != text or silent >= HEARTBEAT_S:
                text, silent, steps = self._said, 0.0, steps + 1
                await waiting.report_progress(steps, None, self._words)
            await asyncio.sleep(LOOK_S)
            silent += LOOK_S


def _words(event: Event) -> str:
    match event:
        case Phase(text=text) | Warned(text=text):
            return text
        case Proposed(replayed=False):
            return "judging the kernel: compile, verify, measure"
        case Judged(attempt=attempt, outcome=outcome):
            return f"attempt {attempt}: {outcome}"
    return ""


LONGEST_PATH = 1024
"""Characters of a path."""


class Roots:
    """Some folders and what is below them."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folder.resolve() for folder in folders)

    def find(self, name: str) -> Path:
        """The file of that name, relative to one of the folders or absolute.

        Raises:
            UsageError: it is not there, or leads outside.
        """
        for folder in self._folders:
            found = _real(folder, name)
            if found is not None and any(found.is_relative_to(allowed) for allowed in self._folders):
                return found
        raise UsageError(
            f"task {name[:LONGEST]!r} is no file below {' or '.join(map(str, self._folders))}: put it there, pass its "
            "text instead, or start the server with --root and the folder that it is in"
        )


def _real(folder: Path, name: str) -> Path | None:
    if not name or len(name) > LONGEST_PATH:
        return None
    try:
        found = (folder / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # not there; NUL, or what no file system can say; a loop of links
        return None
    return found if found.is_file() else None


@dataclass(frozen=True)
class Settings:
    """How the server was started."""

    config: api.RunConfig
    """The configuration of every run. Its budget of proposals is the most trials that an agent may ask for."""
    roots: Sequence[Path] = (Path(),)
    runs: Path = Path("runs")
    target: str | None = None
    resume: Path | None = None
    """The run to continue, until a task is loaded."""


class Wanted(Record):
    """A task as an agent asks for it."""

    path: str = ""
    text: str = ""
    """The task itself, instead of a path."""
    name: str = "task"
    """The name of a task that came as text. Its ending says what the text is; without one it is Python."""
    trials: int | None = None
    language: LanguageName | None = None


class Submission(api.Figures):
    """How a run ended, with the figures of what won."""

    task: str
    target: str
    device: str
    attempt: int | None
    """The attempt that won; None if nothing was right, or if nothing held when it was measured again."""
    final: bool
    """Its figures were measured again with fresh inputs."""
    attempts: int
    said: str
    """What may be said of it, in a line."""
    why: str
    """What that rests on, and what to do where it does not stand."""
    stopped: str
    """Why the search ended."""
    kernel_file: str | None
    """The winner as a drop-in `ModelNew` module."""
    receipt: str | None
    """For `kernelwright verify`."""
    report: str


class Service:
    """One agent's work. All methods belong to one event loop."""

    def __init__(self, settings: Settings, suppliers: api.Suppliers | None = None) -> None:
        self.herald = Herald()
        self._settings, self._suppliers = settings, replace(suppliers or api.Suppliers(), listener=self.herald)
        self._roots = Roots(settings.roots)
        self._workbench: api.Workbench | None = None
        self._opening = asyncio.Lock()

    async def load(self, wanted: Wanted) -> api.Assignment:
        """Begin a run. The one before it is left as it is, and can be resumed.

        Raises:
            KernelwrightError: the task cannot be had, or cannot be judged.
        """
        if bool(wanted.path) == bool(wanted.text):
            raise UsageError("name either `path` or `text` of the task")
        async with self._opening:
            await self._leave()
            with tempfile.TemporaryDirectory() as folder:
                file = self._roots.find(wanted.path) if wanted.path else _write_task(Path(folder), wanted)
                request = api.OptimizeRequest(
                    file, self._settings.target, self._config(wanted), self._settings.runs.absolute()
                )
                self._workbench = await api.open_workbench(request, self._suppliers)
        return self._workbench.assignment

    async def workbench(self) -> api.Workbench:
        """The current run.

        Raises:
            UsageError: no task was loaded.
            KernelwrightError: the run cannot be resumed.
        """
        async with self._opening:
            if self._workbench is None and self._settings.resume is not None:
                self._workbench = await api.open_workbench(self._settings.resume, self._suppliers)
            if self._workbench is None:
                raise UsageError("no task is loaded: call load_task first")
            return self._workbench

    async def submit(self, code: str, language: LanguageName | None) -> Submission:
        """End the run.

        Raises:
            KernelwrightError: there is nothing to submit, or the run broke.
        """
        return _submission(await (await self.workbench()).submit(code, language))

    async def close(self) -> None:
        """Leave the run as it is."""
        async with self._opening:
            await self._leave()

    async def _leave(self) -> None:
        workbench, self._workbench = self._workbench, None
        if workbench is not None:
            await workbench.close()

    def _config(self, wanted: Wanted) -> api.RunConfig:
        config = self._settings.config
        most = config.budget.proposals
        if wanted.trials is not None and wanted.trials > most:
            raise UsageError(f"{wanted.trials} trials are more than this server allows: ask for at most {most}")
        budget = config.budget.model_copy(update={"proposals": wanted.trials or most})
        return config.model_copy(update={"budget": budget, "language": wanted.language or config.language})


NAME = re.compile(r"[A-Za-z]\w{0,63}(\.(py|toml|md))?", re.ASCII)
"""Of a task that comes as text."""


def _write_task(folder: Path, wanted: Wanted) -> Path:
    if not NAME.fullmatch(wanted.name):
        raise UsageError(f"{wanted.name[:LONGEST]!r} is no name of a task: letters and digits, and .py, .toml or .md")
    file = folder / (wanted.name if "." in wanted.name else f"{wanted.name}.py")
    try:
        file.write_text(wanted.text, encoding="utf-8")
    except UnicodeEncodeError:
        raise UsageError("the task's text holds characters that UTF-8 cannot say: send plain text") from None
    return file


def _submission(result: api.OptimizeResult) -> Submission:
    summary, best = result.summary, result.summary.best
    figures = best or api.Figures(answer=summary.answer)
    return Submission(
        task=summary.task,
        target=summary.target.name,
        device=summary.device,
        attempt=best.attempt if best else None,
        final=best is not None and best.final,
        **{name: getattr(figures, name) for name in api.Figures.model_fields},
        attempts=summary.attempts,
        said=summary.said,
        why=summary.why,
        stopped=summary.stopped,
        kernel_file=str(result.kernel or result.source) if result.kernel or result.source else None,
        receipt=str(result.receipt) if result.receipt else None,
        report=str(result.report),
    )


def skill() -> str:
    """The text of SKILL.md."""
    return files("kernelwright.interfaces.mcp").joinpath("SKILL.md").read_text(encoding="utf-8")


START_S, CALL_S = 30, 900
"""Seconds that a client must wait for the server's start, and for a check."""


@dataclass(frozen=True)
class Client:
    """One client's configuration."""

    file: str
    """Where it belongs."""
    text: Callable[[Sequence[str]], str]
    """From the server's command line."""


def _json_file(key: str, **also: object) -> Callable[[Sequence[str]], str]:
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
    "claude": Client(".mcp.json", _json_file("mcpServers", type="stdio", timeout=CALL_S * 1000)),
    "codex": Client("~/.codex/config.toml", _codex),
    "cursor": Client(".cursor/mcp.json", _json_file("mcpServers")),
    "vscode": Client(".vscode/mcp.json", _json_file("servers", type="stdio")),
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
