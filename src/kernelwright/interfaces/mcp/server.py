"""The MCP server: the service's tools in the words of the protocol, over stdio.

Our errors become the tool's error, with the fix and without a traceback. Everything else that is printed goes to
stderr, because stdout belongs to the protocol (the SDK sees to that).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from kernelwright import api
from kernelwright.errors import KernelwrightError
from kernelwright.interfaces.mcp.service import NAME, Service, Settings, Submission, Wanted, skill
from kernelwright.records.feedback import Bottleneck
from kernelwright.records.tools import (
    CODE_CHARACTERS,
    MOST_CARDS,
    QUERY_CHARACTERS,
    CompileResult,
    EvaluateResult,
    LanguageChoice,
    ProfileResult,
    SearchArguments,
    SearchResult,
    VerifyResult,
    named,
)
from kernelwright.version import __version__

INSTRUCTIONS = (
    "Write fast kernels for a PyTorch reference. load_task, then check_kernel with whole sources until the trials are spent; "
    "compile_kernel and verify_kernel say whether a kernel is right and cost no trial; "
    "profile_kernel and search_techniques say what to change; submit ends the work and measures the best again. "
    "Read the resource kernelwright://skill for the rules."
)
TaskPath = Annotated[
    str, Field(description="Of a task file below the server's roots: KernelBench-format .py, or a text task.")
]
TaskText = Annotated[str, Field(max_length=CODE_CHARACTERS, description="The file's text, instead of a path.")]
TaskName = Annotated[
    str,
    Field(
        pattern=f"^{NAME.pattern}$",
        description="Name of a task given as text, with the ending of its format: task.py, or a text task's .toml or .md.",
    ),
]
Trials = Annotated[int | None, Field(ge=1, description="Kernels that may be checked; default: all allowed.")]
Code = Annotated[
    str, Field(max_length=CODE_CHARACTERS, description="The whole source of the kernel, not a part or a diff.")
]
LastCode = Annotated[Code, Field(description="A last kernel, judged first; empty: the best so far.")]
Note = Annotated[str, Field(max_length=500, description="What was changed and why, in one line.")]
Attempt = Annotated[int | None, Field(ge=0, description="Number of an attempt of this run.")]
Query = Annotated[str, Field(max_length=QUERY_CHARACTERS, description="An operation, a symptom, a technique.")]
Symptom = Annotated[Bottleneck, Field(description="What a profile named; only cards that ease it.")]
Cards = Annotated[int, Field(ge=1, le=MOST_CARDS)]
LOOKS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
WORKS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)


def make_server(settings: Settings, suppliers: api.Suppliers | None = None) -> "MCPServer[None]":
    """A server with a service of its own."""
    service = Service(settings, suppliers)

    @asynccontextmanager
    async def lifespan(_: "MCPServer[None]") -> AsyncIterator[None]:
        try:
            yield
        finally:
            # The client is gone, and with it the scope in which this runs; the run must still be left in order.
            with anyio.CancelScope(shield=True):
                await service.close()

    server = MCPServer(
        "kernelwright", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING", lifespan=lifespan
    )
    _add_task(server, service)
    _add_trials(server, service)
    _add_looks(server, service)
    _add_resources(server, service)
    return server


def serve(settings: Settings, suppliers: api.Suppliers | None = None) -> None:
    """Answer on stdin and stdout until the client is gone."""
    make_server(settings, suppliers).run("stdio")


def _add_task(server: "MCPServer[None]", service: Service) -> None:
    @server.tool(annotations=WORKS)
    async def load_task(
        ctx: Context,
        path: TaskPath = "",
        text: TaskText = "",
        name: TaskName = "task.py",
        trials: Trials = None,
        language: LanguageChoice = "auto",
    ) -> api.Assignment:
        """Load a task and begin a run on it. Answers the reference, shapes, device, languages, contracts and rules."""
        async with _answering(service, ctx):
            return await service.load(Wanted(path=path, text=text, name=name, trials=trials, language=named(language)))


def _add_trials(server: "MCPServer[None]", service: Service) -> None:
    @server.tool(annotations=WORKS)
    async def check_kernel(
        ctx: Context, code: Code, language: LanguageChoice = "auto", note: Note = ""
    ) -> EvaluateResult:
        """Judge a kernel: builds, right or wrong with evidence, latency, speedups, what limits it. Costs one trial."""
        async with _answering(service, ctx):
            return await (await service.workbench()).check(code, named(language), note)

    @server.tool(annotations=WORKS)
    async def submit(ctx: Context, code: LastCode = "", language: LanguageChoice = "auto") -> Submission:
        """End the run: the best kernel is measured again with fresh inputs. Answers its figures, receipt and report."""
        async with _answering(service, ctx):
            return await service.submit(code, named(language))


def _add_looks(server: "MCPServer[None]", service: Service) -> None:
    @server.tool(annotations=LOOKS)
    async def compile_kernel(ctx: Context, code: Code, language: LanguageChoice = "auto") -> CompileResult:
        """Whether a kernel builds: the compiler's log, registers and spills of each kernel. Not a trial."""
        async with _answering(service, ctx):
            return await (await service.workbench()).compile(code, named(language))

    @server.tool(annotations=LOOKS)
    async def verify_kernel(ctx: Context, code: Code, language: LanguageChoice = "auto") -> VerifyResult:
        """Right or wrong on fresh secret inputs, with evidence and every case's error; no time is taken. Not a trial."""
        async with _answering(service, ctx):
            return await (await service.workbench()).verify(code, named(language))

    @server.tool(annotations=LOOKS)
    async def profile_kernel(
        ctx: Context, code: Code = "", attempt: Attempt = None, language: LanguageChoice = "auto"
    ) -> ProfileResult:
        """Where the time of a kernel goes and what holds it back. Name an attempt of this run, or give code. Not a trial."""
        async with _answering(service, ctx):
            return await (await service.workbench()).profile(code, attempt, named(language))

    @server.tool(annotations=LOOKS)
    async def search_techniques(
        ctx: Context, query: Query, bottleneck: Symptom = "unknown", limit: Cards = 3
    ) -> SearchResult:
        """Look up optimisation techniques for this target: when each applies, pitfalls, before and after. Not a trial."""
        async with _answering(service, ctx):
            asked = SearchArguments(query=query, bottleneck=bottleneck, limit=limit)
            return (await service.workbench()).techniques(asked)

    @server.tool(annotations=LOOKS)
    async def status(ctx: Context) -> api.WorkbenchStatus:
        """Trials left, the best so far, and every attempt with its outcome."""
        async with _answering(service, ctx):
            return (await service.workbench()).status()


def _add_resources(server: "MCPServer[None]", service: Service) -> None:
    @server.resource("kernelwright://skill", mime_type="text/markdown", description="How to work with these tools.")
    def _skill() -> str:
        return skill()

    @server.resource("kernelwright://attempts/{number}", mime_type="text/plain", description="Source of an attempt.")
    async def _attempt(ctx: Context, number: int) -> str:
        async with _answering(service, ctx):
            return (await service.workbench()).kernel(number)


@asynccontextmanager
async def _answering(service: Service, ctx: Context) -> AsyncIterator[None]:
    """The client is told what goes on; our errors are the tool's, with the cure."""
    async with service.herald.progress(ctx):
        try:
            yield
        except KernelwrightError as error:
            raise ToolError(str(error)) from None
