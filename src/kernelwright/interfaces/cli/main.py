"""The command `kernelwright`: its list of verbs, and one message and exit code for every error.

Each verb is a function of that name in a module of this package, mostly of the same name. The module is imported when
the verb is used, never for the list, so that `kernelwright --help` takes no longer than Python and typer do.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

import typer
from typer.core import TyperCommand, TyperGroup

from kernelwright.errors import KernelwrightError
from kernelwright.version import __version__

if TYPE_CHECKING:
    from kernelwright.api import Suppliers

VERBS = {
    "optimize": "Search for a faster kernel, prove it and measure it.",
    "prompt": "Show what a model would be asked first, with its tokens and their price. Nobody is asked.",
    "bench": "Compare strategies on a set of tasks: which are right, how fast, and at what cost.",
    "check": "Judge a kernel: is it right, and how fast is it?",
    "profile": "Show where a kernel's time goes and what limits it.",
    "verify": "Measure a receipt's kernel again and say whether its verdict still holds.",
    "retune": "Measure again on this machine which sizes a drop-in's kernel serves.",
    "recheck": "Judge a run's kernels again after the device, driver or a library changed.",
    "resume": "Continue a run. No finished attempt is lost or evaluated twice.",
    "report": "Print a run's summary and write its report as one HTML file; of several runs, compare them.",
    "runs": "List the runs in a folder.",
    "audit": "Judge kernels that were published: what was claimed beside what is measured.",
    "admit": "Examine tasks: which can be judged, and why not the others?",
    "serial": "Begin a task from a serial function.",
    "train": "Make a data set of verified kernels, or train a model on one and on measured rewards.",
    "graph": "Grow, look at and examine the graph of techniques.",
    "techniques": "Look up what to try next.",
    "learn": "Collect what past runs taught, for `optimize --predictor`.",
    "doctor": "Check this machine's compilers, GPU and sandbox.",
    "farm": "Show the devices that judge: who holds them, what waits, and how much is done.",
    "mcp": "Serve a coding agent over the Model Context Protocol.",
}
"""Each verb's line in the list; its own help begins with the same words."""
HOMES = {
    "resume": "runs", "report": "runs", "learn": "runs", "profile": "check", "recheck": "verify", "techniques": "graph",
}  # fmt: skip
"""The modules of verbs that have none of their own."""
WIDTH = 120


@runtime_checkable
class _Misspelled(Protocol):
    """typer's own error for an unknown option, which it keeps private."""

    option_name: str
    possibilities: Sequence[str] | None


def _near(one: str, other: str) -> bool:
    from difflib import get_close_matches

    return bool(get_close_matches(one.lstrip("-"), [other.lstrip("-")]))


class Command(TyperCommand):
    """Plain help, with the options under the headings that they name. typer's own rich help takes 60 ms to import."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401  typer keeps the type private
        """The words after the command's name; typer puts required arguments in braces."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401
        """The same, but an unknown option is answered with those alone whose words are near: dashes are alike in all."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if isinstance(error, _Misspelled):
                error.possibilities = [n for n in error.possibilities or () if _near(error.option_name, n)]
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write arguments and options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                record = record[0], _fill_in_names(record[1])
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                heading = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(heading, []).append(record)
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def _fill_in_names(words: str) -> str:
    """An option's help with the names that tables hold. Each table is imported for its own names alone."""
    return re.sub(r"\{(\w+)\}", lambda found: NAMES[found[1]](), words)


def _strategies() -> str:
    from kernelwright.api import listed

    return ", ".join(listed())


def _spellings() -> str:
    from kernelwright.api import spellings

    return ", ".join(spellings())


def _languages() -> str:
    from kernelwright.languages import names

    return _join_or(*names())


def _endings() -> str:
    from kernelwright.languages import languages

    return _join_or(*dict.fromkeys(each.suffix for each in languages()))


def _targets() -> str:
    from kernelwright.devices import kinds

    here = ", ".join(kind.name for kind in kinds().values() if kind.timed)
    return f"{here}, or an architecture such as {_join_or(*(kind.usual for kind in kinds().values() if kind.gpu))}"


def _join_or(*names: str) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


NAMES = {
    "strategies": _strategies,
    "spellings": _spellings,
    "languages": _languages,
    "endings": _endings,
    "targets": _targets,
}
"""What stands in braces in an option's help."""


class Verb(TyperCommand):
    """A verb's name and line in the list. It becomes the real command when it is used."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: Any = None,  # noqa: ANN401
        **extra: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Import the verb's module and hand over to its command."""
        return command(str(self.name)).make_context(info_name, args, parent, **extra)


class Verbs(TyperGroup):
    """The list of verbs."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401
        super().__init__(**attributes)
        for name, line in VERBS.items():
            self.add_command(Verb(name, short_help=line))


_SETTINGS = {"max_content_width": WIDTH, "help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="kernelwright",
    cls=Verbs,
    help="Write, prove and speed up GPU kernels, in a closed loop with measured feedback.",
    epilog="Exit codes: 0 right kernel, 1 no right kernel, 2 usage, 3 task, 4 machine, 5 run folder, 6 referee, "
    "7 proposer, 8 receipt, 9 a verdict no longer holds, 10 no answer from a model, 11 PyTorch stays, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_SETTINGS,
)


def command(verb: str) -> Any:  # noqa: ANN401
    """The command of one verb; imports its module."""
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    module = import_module(f"{__package__}.{HOMES.get(verb, verb)}")
    one.command(verb, cls=Command, context_settings=_SETTINGS)(getattr(module, verb))
    return typer.main.get_command(one)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"kernelwright {__version__}")
        raise typer.Exit


@app.callback()
def frame(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks. Goes before the verb.")] = False,
    no_turns: Annotated[
        bool, typer.Option("--no-turns", help="Do not wait for others who time on this device. Goes before the verb.")
    ] = False,
) -> None:
    """Options before the verb; `invoke` reads --debug when something fails."""
    if no_turns:
        os.environ["KERNELWRIGHT_DEVICE_LOCK"] = ""


def main() -> None:
    """What the command `kernelwright` does."""
    from kernelwright.interfaces.cli.signals import terminate_as_interrupt, under_init

    def run() -> int:
        terminate_as_interrupt()
        return invoke(sys.argv[1:])

    sys.exit(under_init(run) if os.getpid() == 1 else run())


def invoke(arguments: Sequence[str], suppliers: "Suppliers | None" = None) -> int:
    """Run one command line; returns its exit code."""
    try:
        app(list(arguments), obj=suppliers)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except KernelwrightError as error:
        if "--debug" in arguments:
            raise
        _show_error(error)
        return error.exit_code
    return 0


def _show_error(error: KernelwrightError) -> None:
    from rich.markup import escape

    from kernelwright.interfaces.cli.console import ERRORS
    from kernelwright.interfaces.cli.words import plain

    ERRORS.print(f"[bold red]error:[/] {escape(plain(str(error)))}")
    for note in getattr(error, "__notes__", ()):
        ERRORS.print(f"  {escape(plain(note))}")
