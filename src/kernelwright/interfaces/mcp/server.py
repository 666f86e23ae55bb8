"""The MCP server: the service's tools in the words of the protocol, over stdio.

Decides names, descriptions and bounds of the tools. Errors of ours become the tool's error with the cure and no
traceback; whatever else is printed goes to stderr, since stdout is the protocol's (the SDK sees to that).
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Literal

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from kernelwright import __version__, api
from kernelwright.errors import KernelwrightError
from kernelwright.interfaces.mcp.service import Service, Settings, Submission, Wanted
from kernelwright.interfaces.mcp.skill import skill
from kernelwright.records.candidate import Language
from kernelwright.records.feedback import Bottleneck
from kernelwright.records.tools import (
    CODE_CHARACTERS,
    MOST_CARDS,
    QUERY_CHARACTERS,
    EvaluateResult,
    ProfileResult,
    SearchArguments,
    SearchResult,
)

INSTRUCTIONS = (
    "Write fast kernels for a PyTorch reference. load_task, then check_kernel with whole sources until the trials are spent; "
    "profile_kernel and search_techniques say what to change; submit ends the work and measures the best again. "
    "Read the resource kernelwright://skill for the rules."
)
NOTE_CHARACTERS = 500

Code = Annotated[
    str, Field(max_length=CODE_CHARACTERS, description="The whole source of the kernel, not a part or a diff.")
]
Chosen = Annotated[
    Literal["auto", "cpp", "triton", "cuda", "cuda_host", "python"],
    Field(description="Which contract the source follows; auto: told by the source and the target."),
]
Attempt = Annotated[int | None, Field(ge=0, description="Number of an attempt of this run.")]
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
    _add_work(server, service)
    _add_looks(server, service)
    _add_resources(server, service)
    return server


def serve(settings: Settings, suppliers: api.Suppliers | None = None) -> None:
    """Answer on stdin and stdout until the client is gone."""
    make_server(settings, suppliers).run("stdio")


def _add_work(server: "MCPServer[None]", service: Service) -> None:
    @server.tool(annotations=WORKS)
    async def load_task(
        ctx: Context,
        path: Annotated[
            str, Field(description="Of a task file below the server's roots: KernelBench-format .py, or a text task.")
        ] = "",
        text: Annotated[str, Field(max_length=CODE_CHARACTERS, description="The file's text, instead of a path.")] = "",
        name: Annotated[
            str, Field(pattern=r"^[A-Za-z]\w{0,63}$", description="Name of a task given as text.")
        ] = "task",
        trials: Annotated[
            int | None, Field(ge=1, description="Kernels that may be checked; default: all allowed.")
        ] = None,
        language: Chosen = "auto",
    ) -> api.Assignment:
        """Load a task and begin a run on it. Answers the reference, shapes, device, languages, contracts and rules."""
        wanted = Wanted(path=path, text=text, name=name, trials=trials, language=_named(language))
        async with service.herald.telling(ctx):
            with _explained():
                return await service.load(wanted)

    @server.tool(annotations=WORKS)
    async def check_kernel(
        ctx: Context,
        code: Code,
        language: Chosen = "auto",
        note: Annotated[
            str, Field(max_length=NOTE_CHARACTERS, description="What was changed and why, in one line.")
        ] = "",
    ) -> EvaluateResult:
        """Judge a kernel: builds, right or wrong with evidence, latency, speedups, what limits it. Costs one trial."""
        async with service.herald.telling(ctx):
            with _explained():
                return await (await service.workbench()).check(code, _named(language), note)

    @server.tool(annotations=WORKS)
    async def submit(
        ctx: Context,
        code: Annotated[Code, Field(description="A last kernel, judged first; empty: the best so far.")] = "",
        language: Chosen = "auto",
    ) -> Submission:
        """End the run: the best kernel is measured again with fresh inputs. Answers its figures, receipt and report."""
        async with service.herald.telling(ctx):
            with _explained():
                return await service.submit(code, _named(language))


def _add_looks(server: "MCPServer[None]", service: Service) -> None:
    @server.tool(annotations=LOOKS)
    async def profile_kernel(
        ctx: Context, code: Code = "", attempt: Attempt = None, language: Chosen = "auto"
    ) -> ProfileResult:
        """Where the time of a kernel goes and what holds it back. Name an attempt of this run, or give code. Not a trial."""
        async with service.herald.telling(ctx):
            with _explained():
                return await (await service.workbench()).profile(code, attempt, _named(language))

    @server.tool(annotations=LOOKS)
    async def search_techniques(
        query: Annotated[str, Field(max_length=QUERY_CHARACTERS, description="An operation, a symptom, a technique.")],
        bottleneck: Annotated[
            Bottleneck, Field(description="What a profile named; only cards that ease it.")
        ] = "unknown",
        limit: Annotated[int, Field(ge=1, le=MOST_CARDS)] = 3,
    ) -> SearchResult:
        """Look up optimisation techniques for this target: when each applies, pitfalls, before and after. Not a trial."""
        with _explained():
            asked = SearchArguments(query=query, bottleneck=bottleneck, limit=limit)
            return (await service.workbench()).techniques(asked)

    @server.tool(annotations=LOOKS)
    async def status(ctx: Context) -> api.WorkbenchStatus:
        """Trials left, the best so far, and every attempt with its outcome."""
        async with service.herald.telling(ctx):
            with _explained():
                return (await service.workbench()).status()


def _add_resources(server: "MCPServer[None]", service: Service) -> None:
    @server.resource("kernelwright://skill", mime_type="text/markdown", description="How to work with these tools.")
    def _skill() -> str:
        return skill()

    @server.resource("kernelwright://attempts/{number}", mime_type="text/plain", description="Source of an attempt.")
    async def _attempt(number: int) -> str:
        with _explained():
            return (await service.workbench()).kernel(number)


def _named(language: str) -> Language | None:
    return None if language == "auto" else language  # type: ignore[return-value]


@contextmanager
def _explained() -> Iterator[None]:
    """Our errors as the tool's, with the cure."""
    try:
        yield
    except KernelwrightError as error:
        raise ToolError(str(error)) from None
