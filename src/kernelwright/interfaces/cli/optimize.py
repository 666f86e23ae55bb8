"""`kernelwright optimize TASK`: search for a faster kernel."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.interfaces.cli.console import watched

if TYPE_CHECKING:
    from pydantic import JsonValue

Ranking = Annotated[
    str | None,
    typer.Option(
        help="Rank proposals before they are evaluated: a file that `learn` wrote, or online: learn from this run "
        "(ranks after 8 attempts).",
        show_default=False,
    ),
]
CAP = "A hard cap on what was answered; a request that timed out may still be billed."


def optimize(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    task: Annotated[
        Path, typer.Argument(metavar="TASK", help="The task: a file with Model and get_inputs.", show_default=False)
    ],
    target: Annotated[
        str | None,
        typer.Option(help="cpu, cuda, or an architecture such as sm_90. Default: the GPU if there is one, else cpu."),
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="How to search: tritongym, cudaforge, fsr, frontend_midend, direct or best_of_n.")
    ] = None,
    proposer: Annotated[
        str | None,
        typer.Option(
            help="Who writes the kernels: author, llm or llm:VARIANT. Default: llm with --model, else author."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="PROVIDER:NAME, such as openai:gpt-5, or PROVIDER:NAME@URL; ROLE=… for one role. May be repeated.",
        ),
    ] = None,
    predictor: Ranking = None,
    language: Annotated[
        str | None,
        typer.Option(help="Language to write: cpp, triton, cuda, cuda_host or python. Default: the proposer's choice."),
    ] = None,
    budget: Annotated[int | None, typer.Option(help="How many proposals the search may make.")] = None,
    device_seconds: Annotated[float | None, typer.Option(help="Seconds that evaluating may take in total.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help=f"Tokens that all models may use. {CAP}")] = None,
    max_usd: Annotated[float | None, typer.Option(help=f"US dollars that all models may cost. {CAP}")] = None,
    target_us: Annotated[
        float | None, typer.Option(help="Stop when one call takes at most this many microseconds.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the search's random choices; also sent to the models. Default: 0.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Read settings from this TOML file. Flags override it.")] = None,
    run_dir: Annotated[Path, typer.Option(help="Create the run's folder here.")] = Path("runs"),
    isolation: Annotated[
        str | None, typer.Option(help="auto, or strict: refuse to judge in a weakened sandbox.")
    ] = None,
    final: Annotated[bool | None, typer.Option(help="Measure the best again at the end, with fresh inputs.")] = None,
    cache: Annotated[
        bool | None, typer.Option("--cache/--no-cache", help="Reuse what earlier runs found for the same kernel.")
    ] = None,
    execution: Annotated[
        str | None, typer.Option(help="Where to judge kernels: local, or ray for a Ray cluster.")
    ] = None,
    ray_address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster's head. Default: RAY_ADDRESS, or a new cluster here.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the best kernel to this file, as a drop-in ModelNew.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Search for a faster kernel, prove it and measure it."""
    from kernelwright import api
    from kernelwright.interfaces.cli.ending import end

    flags: dict[str, JsonValue] = {
        "strategy": dict(api.spelled(strategy)) if strategy else None,
        "proposer": proposer or ("llm" if model else None),
        "models": {
            role: config.model_dump(exclude_unset=True) for role, config in api.read_models(model or ()).items()
        },
        "language": language,
        "predictor": {"experience": None if predictor == "online" else predictor} if predictor else None,
        "target_us": target_us,
        "seed": seed,
        "cache": cache,
        "budget": _given(proposals=budget, device_s=device_seconds, tokens=max_tokens, usd=max_usd),
        "policy": _given(isolation=isolation),
        "finals": _given(enabled=final),
        "execution": execution,
        "ray_address": ray_address,
    }
    request = api.OptimizeRequest(task, target, api.load_config(config, _given(**flags)), run_dir)
    with watched(context, "the run had not begun, nothing is left behind") as suppliers:
        result = api.optimize(request, suppliers)
    end(result, json=json, output=output)


def _given(**flags: "JsonValue") -> "dict[str, JsonValue]":
    """The flags that were given."""
    return {name: value for name, value in flags.items() if value is not None and value != {}}
