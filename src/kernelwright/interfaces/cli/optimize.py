"""`kernelwright optimize TASK`: search for a faster kernel."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.errors import ProposeError
from kernelwright.interfaces.cli.console import ERRORS, given, watched
from kernelwright.interfaces.cli.options import Execution, Json, Output, RayAddress, Target, TaskFile

if TYPE_CHECKING:
    from pydantic import JsonValue

CAP = "A hard cap on what was answered; a request that timed out may still be billed."


def _option(words: str, *names: str, metavar: str | None = None) -> object:
    return typer.Option(*names, metavar=metavar, help=words, show_default=False)


Strategy = Annotated[str | None, _option("How to search: {strategies}. A variant follows a colon: tritongym:agent.")]
Proposers = Annotated[
    str | None,
    _option(
        "Who writes the kernels, with commas between: author, inductor (what torch.compile writes), graph (steps of the "
        "technique graph), llm or llm:VARIANT. Default: llm with --model, else author,inductor."
    ),
]
Models = Annotated[
    list[str] | None,
    _option(
        "PROVIDER:NAME, such as openai:gpt-5, or PROVIDER:NAME@URL; ROLE=… for one role. May be repeated. "
        "Needs the extra of that name: pip install 'kernelwright[openai]', [anthropic], [huggingface] or [small].",
        metavar="MODEL",
    ),
]
Thinking = Annotated[
    str | None,
    _option("How much reasoning models think: none, minimal, low, medium, high or xhigh. Default: the endpoint's own."),
]
Work = Annotated[
    str | None,
    _option(
        "How much work the search does: quick, standard or thorough. Default: standard. Other options go before it."
    ),
]
Ranking = Annotated[
    str | None,
    _option(
        "Rank proposals before they are evaluated: a file that `learn` wrote, or online: learn from this run "
        "(ranks after 8 attempts). Needs: pip install 'kernelwright[predictor]'."
    ),
]
Language = Annotated[
    str | None,
    _option("Language to write: {languages}. Default: the proposer's choice."),
]
Proposals = Annotated[int | None, _option("How many proposals the search may make.")]
DeviceSeconds = Annotated[float | None, _option("Seconds that evaluating may take in total.")]
MaxSeconds = Annotated[float | None, _option("Seconds that the search may take, whatever is in flight.")]
MaxTokens = Annotated[int | None, _option(f"Tokens that all models may use. {CAP}")]
MaxUsd = Annotated[float | None, _option(f"US dollars that all models may cost. {CAP}")]
TargetUs = Annotated[float | None, _option("Stop when one call takes at most this many microseconds.")]
Seed = Annotated[int | None, _option("Seed of the search's random choices; also sent to the models. Default: 0.")]
Config = Annotated[Path | None, _option("Read settings from this TOML file. Flags override it.")]
RunDir = Annotated[Path, typer.Option(help="Create the run's folder here.")]
Precision = Annotated[
    str | None,
    _option(
        "PyTorch's precision flags: as-is, its defaults; strict, fp32 without TF32; tf32, also in matrix products.",
        "--numerics",
    ),
]
Isolation = Annotated[str | None, _option("auto, or strict: refuse to judge in a weakened sandbox.")]
Final = Annotated[bool | None, _option("Measure the best again at the end, with fresh inputs.")]
Least = Annotated[
    float | None,
    typer.Option(min=0, help="Write a kernel only if it is surely faster than eager by more than this. Default: 1."),
]
Slower = Annotated[bool, _option("Write the best kernel however slow it is.", "--keep-slower")]
Cache = Annotated[bool | None, _option("Reuse what earlier runs found for the same kernel.")]


def optimize(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    task: TaskFile,
    target: Target = None,
    strategy: Strategy = None,
    proposers: Proposers = None,
    model: Models = None,
    effort: Work = None,
    reasoning_effort: Thinking = None,
    predictor: Ranking = None,
    language: Language = None,
    budget: Proposals = None,
    device_seconds: DeviceSeconds = None,
    max_seconds: MaxSeconds = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    target_us: TargetUs = None,
    seed: Seed = None,
    config: Config = None,
    run_dir: RunDir = Path("runs"),
    isolation: Isolation = None,
    numerics: Precision = None,
    final: Final = None,
    min_speedup: Least = None,
    keep_slower: Slower = False,
    cache: Cache = None,
    execution: Execution = None,
    ray_address: RayAddress = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Search for a faster kernel, prove it and measure it."""
    from kernelwright import api
    from kernelwright.interfaces.cli.ending import end

    place = api.place_of(execution or "", ray_address)
    flags: dict[str, JsonValue] = {
        "strategy": dict(api.spelled(strategy)) if strategy else None,
        "proposer": proposers.replace(",", "+") if proposers else "llm" if model else None,
        "models": _models(model, reasoning_effort),
        "effort": effort,
        "language": language,
        "predictor": {"experience": None if predictor == "online" else predictor} if predictor else None,
        "target_us": target_us,
        "seed": seed,
        "cache": cache,
        "budget": given(proposals=budget, device_s=device_seconds, tokens=max_tokens, usd=max_usd, wall_s=max_seconds),
        "policy": given(isolation=isolation, numerics=numerics),
        "remeasurement": given(enabled=final, min_speedup=min_speedup, keep_slower=keep_slower or None),
        "execution": place.name or None,
        "ray_address": place.address,
    }
    request = api.OptimizeRequest(task, target, api.load_config(config, given(**flags), tell=ERRORS.print), run_dir)
    _places_can_be_written(task, run_dir, output)
    with watched(context, "the run had not begun, nothing is left behind") as suppliers, _offers(task, target, model):
        result = api.optimize(request, suppliers)
    end(result, json=json, output=output)


def _models(named: list[str] | None, effort: str | None) -> "dict[str, JsonValue]":
    """Each role's model, with the effort that is asked of all of them."""
    from kernelwright import api
    from kernelwright.errors import UsageError

    if effort is not None and not named:
        raise UsageError(
            "--reasoning-effort is of a model, and no model is named: name one with --model, or leave it out"
        )
    asked = {"effort": effort} if effort is not None else {}
    return {role: one.model_dump(exclude_unset=True) | asked for role, one in api.read_models(named or ()).items()}


@contextmanager
def _offers(task: Path, target: str | None, model: list[str] | None) -> Iterator[None]:
    """Where the built-in author cannot write the task: the command lines with which somebody else can."""
    from kernelwright.pages import page

    try:
        yield
    except ProposeError as error:
        if not model:
            on = f" --target {target}" if target else ""
            named, folder = shlex.quote(str(task)), shlex.quote(str(task.parent))
            error.add_note(f"a language model can:  kernelwright optimize {named}{on} --model openai:NAME")
            error.add_note(f"a coding agent can:    kernelwright mcp --root {folder}{on}")
            error.add_note(f"a kernel of your own:  kernelwright check {named} KERNEL{on}")
            error.add_note(f"setup: {page('models.md')}, {page('mcp.md')}, {page('candidate.md')}")
        raise


def _places_can_be_written(task: Path, run_dir: Path, output: Path | None) -> None:
    """Asked before the search, which takes minutes."""
    from kernelwright import api
    from kernelwright.interfaces.cli.ending import must_spare

    api.must_take_folders(run_dir, "--run-dir")
    if output is not None:
        api.must_be_writable(output, "-o")
        must_spare(task, output)
