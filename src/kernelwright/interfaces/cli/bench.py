"""`kernelwright bench DIR`: compare strategies, proposers and rewards on a set of tasks."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kernelwright import api
from kernelwright.errors import UsageError
from kernelwright.interfaces.cli.app import ERRORS, OUTPUT, suppliers_of
from kernelwright.interfaces.cli.bench_screen import BenchScreen
from kernelwright.interfaces.cli.guard import interruptible

if TYPE_CHECKING:
    from pydantic import JsonValue

STRATEGIES = ",".join(api.listed())
_VARIANTS = [name for name in api.spellings() if ":" in name]
_WHAT, _BUDGET = "What is compared", "What each cell may spend"
_KERNELBENCH = "A checkout of KernelBench instead of a directory"


def _option(words: str, panel: str | None = None) -> object:
    return typer.Option(help=words, rich_help_panel=panel)


Tasks = Annotated[
    list[Path] | None,
    typer.Argument(help="Directories of tasks, or files; with a size as in tasks/fsr@large.", show_default=False),
]
Strategies = Annotated[
    str, _option(f"With commas between, each with a variant if it has any: {', '.join(_VARIANTS)}.", _WHAT)
]
Proposers = Annotated[str | None, _option("author, llm, llm:VARIANT. Default: llm with a model, else author.", _WHAT)]
Rewards = Annotated[str, _option("Of the search.", _WHAT)]
Seeds = Annotated[str, _option("Of the search, with commas.", _WHAT)]
Sample = Annotated[int | None, _option("Only so many tasks.", _WHAT)]
Models = Annotated[
    list[str] | None,
    _option(
        "PROVIDER:NAME or PROVIDER:NAME@URL; again, to compare. ROLE=… for one role, LABEL/ROLE=… in one of those.",
        _WHAT,
    ),
]
Direct = Annotated[
    bool,
    typer.Option("--direct/--no-direct", help=f"With {api.BASELINE} beside what models write.", rich_help_panel=_WHAT),
]
NaiveKernels = Annotated[Path | None, _option("A directory with a naive kernel a task: TASK.cu, TASK.cpp.", _WHAT)]
Proposals = Annotated[int | None, _option("Proposals.", _BUDGET)]
DeviceSeconds = Annotated[float | None, _option("Seconds of evaluation.", _BUDGET)]
MaxTokens = Annotated[int | None, _option("Tokens of the models.", _BUDGET)]
MaxUsd = Annotated[float | None, _option("US dollars.", _BUDGET)]
TokensTotal = Annotated[int | None, _option("Tokens of all cells together.", _BUDGET)]
UsdTotal = Annotated[float | None, _option("US dollars of all cells together.", _BUDGET)]
Checkout = Annotated[Path | None, _option("The checkout's folder.", _KERNELBENCH)]
Level = Annotated[int, _option("1 to 4.", _KERNELBENCH)]
Problems = Annotated[str, _option("Such as 1,5-9. Default: all.", _KERNELBENCH)]
InPrecision = Annotated[api.Precision, _option("Of model and inputs.", _KERNELBENCH)]
IncludeUnfit = Annotated[
    bool, typer.Option("--include-unfit/--unfit", help="Also those known as unfit.", rich_help_panel=_KERNELBENCH)
]
TargetName = Annotated[str | None, _option("cpu, cuda, or sm_80 … sm_120. Default: the GPU if there is one.")]
Config = Annotated[Path | None, _option("TOML file for every cell; flags win over it.")]
RunDir = Annotated[Path | None, _option("The bench's folder; one that is there goes on. Default: bench-runs/DATE.")]
Isolation = Annotated[str | None, _option("auto, or strict: refuse a weaker sandbox.")]
Retry = Annotated[bool, typer.Option("--retry", help="Try failed cells again, also where nothing broke.")]
Json = Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")]


def bench(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    tasks: Tasks = None,
    strategies: Strategies = STRATEGIES,
    proposers: Proposers = None,
    rewards: Rewards = "tritongym",
    seeds: Seeds = "0",
    sample: Sample = None,
    model: Models = None,
    direct: Direct = True,
    naive: NaiveKernels = None,
    budget: Proposals = None,
    device_seconds: DeviceSeconds = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_tokens_total: TokensTotal = None,
    max_usd_total: UsdTotal = None,
    kernelbench: Checkout = None,
    level: Level = 1,
    problems: Problems = "",
    precision: InPrecision = "fp32",
    include_unfit: IncludeUnfit = False,
    target: TargetName = None,
    config: Config = None,
    run_dir: RunDir = None,
    isolation: Isolation = None,
    retry: Retry = False,
    json: Json = False,
) -> None:
    """Compare strategies on a set of tasks: right, fast, and at what cost."""
    checkout = api.KernelBench(kernelbench, level, precision, problems, include_unfit) if kernelbench else None
    crews = api.read_crews(model or ())
    flags: api.Settings = {
        "budget": _given(proposals=budget, device_s=device_seconds, tokens=max_tokens, usd=max_usd),
        "models": {role: one.model_dump(exclude_unset=True) for role, one in crews.common.items()},
        "policy": _given(isolation=isolation),
    }
    written = _listed(proposers or ("llm" if model else "author"))
    request = api.BenchRequest(
        suite=_suite(tasks, checkout),
        folder=run_dir or Path("bench-runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}",
        strategies=_with_direct(_listed(strategies), written) if direct else _listed(strategies),
        proposers=written,
        rewards=_listed(rewards),
        seeds=_numbers(seeds),
        target=target,
        config=api.load_config(config, {name: value for name, value in flags.items() if value}),
        crews=crews.compared,
        total=api.Total(max_tokens_total, max_usd_total),
        sample=sample,
        naive=naive,
        retry=retry,
    )
    with interruptible("the bench had not begun, or could not be summed up"), BenchScreen(ERRORS) as screen:
        result = api.bench(request, replace(suppliers_of(context), listener=screen), screen.tell)
    _end(result, request.folder, json=json)


def _end(result: api.BenchResult, folder: Path, *, json: bool) -> None:
    if json:
        print(result.comparison.model_dump_json(indent=1))
    else:
        OUTPUT.print(result.shown)
        OUTPUT.print(f"json {escape(str(result.json))}")
        OUTPUT.print(f"page {escape(str(result.page))}")
    if not result.comparison.complete:
        ERRORS.print(f"go on with the same command and --run-dir {escape(str(folder))}")
    raise typer.Exit(result.exit_code)


def _with_direct(strategies: tuple[str, ...], proposers: tuple[str, ...]) -> tuple[str, ...]:
    """Where models write, their answers without any feedback are a column too: what the loops are worth is seen beside it."""
    if api.BASELINE in strategies or not strategies or not any(name.partition(":")[0] == "llm" for name in proposers):
        return strategies
    ERRORS.print(f"{api.BASELINE} is compared too, as what models write without feedback; --no-direct leaves it out")
    return (api.BASELINE, *strategies)


def _suite(tasks: list[Path] | None, kernelbench: api.KernelBench | None) -> tuple[Path, ...] | api.KernelBench:
    if bool(tasks) == (kernelbench is not None):
        raise UsageError("name either a directory of tasks or --kernelbench and its folder")
    return kernelbench if kernelbench is not None else tuple(tasks or ())


def _given(**flags: str | float | None) -> "dict[str, JsonValue]":
    """The flags that were given."""
    return {name: value for name, value in flags.items() if value is not None}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in _listed(text))
    except ValueError:
        raise UsageError(f"seeds {text!r} must be whole numbers with commas between, such as 0,1,2") from None
