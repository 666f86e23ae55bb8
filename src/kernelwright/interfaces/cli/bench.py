"""`kernelwright bench DIR`: compare strategies, proposers and rewards on a set of tasks."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from kernelwright.errors import UsageError
from kernelwright.interfaces.cli.console import ERRORS, OUTPUT, given, interruptible, suppliers_of
from kernelwright.interfaces.cli.options import Target

if TYPE_CHECKING:
    from kernelwright import api

_WHAT, _BUDGET = "What to compare", "What each cell may spend (one task, strategy, proposer, model, reward and seed)"
_KERNELBENCH = "Take the tasks from a checkout of KernelBench"


def _option(words: str, panel: str | None = None, metavar: str | None = None, also: tuple[str, ...] = ()) -> object:
    """An option with its words; `also`: its spellings, where it has others than the parameter's name."""
    return typer.Option(*also, metavar=metavar, help=words, rich_help_panel=panel)


def _list(words: str, plural: str, singular: str) -> object:
    """An option that takes a list, and whoever gives one calls it as `optimize` does."""
    return _option(words, _WHAT, also=(f"--{plural}", f"--{singular}"))


Tasks = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="PATH",
        help="Task files or directories of them; DIR@SIZE picks a size, such as tasks/fsr@large.",
        show_default=False,
    ),
]
Strategies = Annotated[
    str | None,
    _list("Strategies, separated by commas: {spellings}. Default: all, each as it is.", "strategies", "strategy"),
]
Proposers = Annotated[
    str | None,
    _list(
        "author, inductor, graph, llm or llm:VARIANT, separated by commas. Default: llm with --model, else author.",
        "proposers",
        "proposer",
    ),
]
Rewards = Annotated[
    str,
    _list(
        "Rewards, separated by commas, for every strategy alike. Default: each strategy its own.", "rewards", "reward"
    ),
]
Seeds = Annotated[
    str, _list("Seeds of the search's random choices, separated by commas; each is a repetition.", "seeds", "seed")
]
Sample = Annotated[int | None, _option("Use only this many of the tasks.", _WHAT)]
Models = Annotated[
    list[str] | None,
    _option(
        "PROVIDER:NAME or PROVIDER:NAME@URL. Repeat it to compare models. ROLE=… sets one role; LABEL/ROLE=… sets it "
        "for one of the models compared.",
        _WHAT,
        "MODEL",
    ),
]
Direct = Annotated[
    bool,
    typer.Option(
        "--direct/--no-direct", help="Also run direct, which gives models no feedback.", rich_help_panel=_WHAT
    ),
]
NaiveKernels = Annotated[
    Path | None, _option("A directory with one naive kernel per task: TASK.cu, TASK.cpp or TASK.py.", _WHAT)
]
Proposals = Annotated[int | None, _option("How many proposals the search may make.", _BUDGET)]
DeviceSeconds = Annotated[float | None, _option("Seconds that evaluating may take.", _BUDGET)]
MaxSeconds = Annotated[float | None, _option("Seconds that the search may take, whatever is in flight.", _BUDGET)]
MaxTokens = Annotated[int | None, _option("Tokens that the models may use.", _BUDGET)]
MaxUsd = Annotated[float | None, _option("US dollars that the models may cost.", _BUDGET)]
TokensTotal = Annotated[int | None, _option("Tokens for all cells together.", _BUDGET)]
UsdTotal = Annotated[float | None, _option("US dollars for all cells together.", _BUDGET)]
Checkout = Annotated[Path | None, _option("Folder of the checkout.", _KERNELBENCH)]
Level = Annotated[int, _option("KernelBench's level, 1 to 4.", _KERNELBENCH)]
Problems = Annotated[str, _option("Numbers of the problems, such as 1,5-9. Default: all.", _KERNELBENCH)]
InPrecision = Annotated[Literal["fp32", "fp16", "bf16"], _option("Type of the model and its inputs.", _KERNELBENCH)]
IncludeUnfit = Annotated[
    bool,
    typer.Option(
        "--include-unfit/--unfit", help="Also run problems that are known to be unfit.", rich_help_panel=_KERNELBENCH
    ),
]
Config = Annotated[Path | None, _option("Read every cell's settings from this TOML file. Flags override it.")]
RunDir = Annotated[
    Path | None, _option("The bench's folder; a bench that is already there continues. Default: bench-runs/DATE.")
]
Precision = Annotated[
    str | None,
    _option(
        "PyTorch's precision flags: as-is, its defaults; strict, fp32 without TF32; tf32, also in matrix products."
    ),
]
Isolation = Annotated[str | None, _option("auto, or strict: refuse to judge in a weakened sandbox.")]
Retry = Annotated[
    bool, typer.Option("--retry", help="Run every failed cell again, also where the task itself was the reason.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")]


def bench(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    tasks: Tasks = None,
    strategies: Strategies = None,
    proposers: Proposers = None,
    rewards: Rewards = "",
    seeds: Seeds = "0",
    sample: Sample = None,
    model: Models = None,
    direct: Direct = True,
    naive: NaiveKernels = None,
    budget: Proposals = None,
    device_seconds: DeviceSeconds = None,
    max_seconds: MaxSeconds = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_tokens_total: TokensTotal = None,
    max_usd_total: UsdTotal = None,
    kernelbench: Checkout = None,
    level: Level = 1,
    problems: Problems = "",
    precision: InPrecision = "fp32",
    include_unfit: IncludeUnfit = False,
    target: Target = None,
    config: Config = None,
    run_dir: RunDir = None,
    isolation: Isolation = None,
    numerics: Precision = None,
    retry: Retry = False,
    json: Json = False,
) -> None:
    """Compare strategies on a set of tasks: which are right, how fast, and at what cost."""
    from kernelwright import api

    checkout = api.KernelBench(kernelbench, level, precision, problems, include_unfit) if kernelbench else None
    model_sets = api.read_model_sets(model or ())
    flags: api.Settings = {
        "budget": given(proposals=budget, device_s=device_seconds, tokens=max_tokens, usd=max_usd, wall_s=max_seconds),
        "models": {role: one.model_dump(exclude_unset=True) for role, one in model_sets.common.items()},
        "policy": given(isolation=isolation, numerics=numerics),
    }
    written, compared = _compared(proposers or ("llm" if model else "author"), strategies)
    request = api.BenchRequest(
        suite=_suite(tasks, checkout),
        folder=run_dir or Path("bench-runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}",
        strategies=_with_baseline(compared, written) if direct else compared,
        proposers=written,
        rewards=_listed(rewards),
        seeds=_numbers(seeds),
        target=target,
        config=api.load_config(config, given(**flags), tell=ERRORS.print),
        model_sets=model_sets.compared,
        total=api.Total(max_tokens_total, max_usd_total),
        sample=sample,
        naive=naive,
        retry=retry,
    )
    _play(context, request, json=json)


def _play(context: typer.Context, request: "api.BenchRequest", *, json: bool) -> None:
    from kernelwright import api
    from kernelwright.interfaces.cli.screen import BenchScreen

    with interruptible(lambda: "the bench had not begun, or could not be summed up"), BenchScreen(ERRORS) as screen:
        result = api.bench(request, replace(suppliers_of(context), listener=screen), screen.tell)
    _end(result, request.folder, json=json)


def _compared(proposers: str, strategies: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The proposers and the strategies that are compared: all strategies where none is named."""
    from kernelwright.api import listed

    return _listed(proposers), _listed(strategies) if strategies is not None else listed()


def _end(result: "api.BenchResult", folder: Path, *, json: bool) -> None:
    if json:
        print(result.comparison.model_dump_json(indent=1))
    else:
        OUTPUT.print(result.shown)
        OUTPUT.print(f"json {escape(str(result.json))}")
        OUTPUT.print(f"page {escape(str(result.page))}")
        OUTPUT.print(f"csv  {escape(str(folder / 'bench.csv'))}; figures {escape(str(folder / 'figures'))}")
    if not result.comparison.complete:
        ERRORS.print(f"continue with the same command and --run-dir {escape(str(folder))}")
    raise typer.Exit(result.exit_code)


def _with_baseline(strategies: tuple[str, ...], proposers: tuple[str, ...]) -> tuple[str, ...]:
    """Where models write, also run them without feedback: the difference is what a loop is worth."""
    from kernelwright.api import BASELINE

    if BASELINE in strategies or not strategies or not any(name.partition(":")[0] == "llm" for name in proposers):
        return strategies
    ERRORS.print(f"{BASELINE} is compared too, as what models write without feedback; --no-{BASELINE} leaves it out")
    return (BASELINE, *strategies)


def _suite(tasks: list[Path] | None, kernelbench: "api.KernelBench | None") -> "tuple[Path, ...] | api.KernelBench":
    if bool(tasks) == (kernelbench is not None):
        raise UsageError("name either a directory of tasks or --kernelbench and its folder")
    return kernelbench if kernelbench is not None else tuple(tasks or ())


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in _listed(text))
    except ValueError:
        raise UsageError(f"seeds {text!r} must be whole numbers with commas between, such as 0,1,2") from None
