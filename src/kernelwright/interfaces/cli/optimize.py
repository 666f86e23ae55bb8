"""`kernelwright optimize TASK`: search for a faster kernel."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from kernelwright import api
from kernelwright.interfaces.cli.app import ERRORS, suppliers_of
from kernelwright.interfaces.cli.ending import end
from kernelwright.interfaces.cli.guard import interruptible
from kernelwright.interfaces.cli.screen import Screen

Ranking = Annotated[
    str | None,
    typer.Option(
        help="Rank proposals first: a file that `learn` wrote, or online (after 8 attempts of this run).",
        show_default=False,
    ),
]
Least = Annotated[
    float | None, typer.Option(min=0, help="Write a kernel only if it is surely faster than eager by more than this.")
]
Slower = Annotated[bool, typer.Option("--keep-slower", help="Write the best kernel however slow it is.")]
CAP = "a hard cap on what is answered; a try that timed out may be billed beside it"


def optimize(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    task: Annotated[Path, typer.Argument(help="A file with Model and get_inputs.", show_default=False)],
    target: Annotated[
        str | None, typer.Option(help="cpu, cuda, or sm_80 … sm_120. Default: the GPU if there is one.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="tritongym, cudaforge, fsr, frontend_midend, direct or best_of_n.")
    ] = None,
    proposer: Annotated[str | None, typer.Option(help="Who writes the kernels.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="PROVIDER:NAME or ROLE=PROVIDER:NAME, as openai:gpt-5@http://…; may be repeated."),
    ] = None,
    predictor: Ranking = None,
    language: Annotated[str | None, typer.Option(help="cpp, triton, cuda, cuda_host or python.")] = None,
    budget: Annotated[int | None, typer.Option(help="Proposals.")] = None,
    device_seconds: Annotated[float | None, typer.Option(help="Seconds of evaluation.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help=f"Tokens of all models: {CAP}.")] = None,
    max_usd: Annotated[float | None, typer.Option(help=f"Money for all models: {CAP}.")] = None,
    target_us: Annotated[float | None, typer.Option(help="Stop at this call time.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the search.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file; flags win over it.")] = None,
    run_dir: Annotated[Path, typer.Option(help="Where the run's folder is made.")] = Path("runs"),
    isolation: Annotated[str | None, typer.Option(help="auto, or strict: refuse a weaker sandbox.")] = None,
    final: Annotated[bool | None, typer.Option(help="Measure the best again with fresh inputs.")] = None,
    min_speedup: Least = None,
    keep_slower: Slower = False,
    cache: Annotated[
        bool | None, typer.Option("--cache/--no-cache", help="Take over what earlier runs' searches found.")
    ] = None,
    execution: Annotated[str | None, typer.Option(help="Where kernels are judged: local, or ray.")] = None,
    ray_address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster's head. Default: RAY_ADDRESS, or a new one here.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the best kernel here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Search for a faster kernel, prove it and measure it."""
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
        "finals": _given(enabled=final, min_speedup=min_speedup, keep_slower=keep_slower or None),
        "execution": execution,
        "ray_address": ray_address,
    }
    request = api.OptimizeRequest(task, target, api.load_config(config, _given(**flags)), run_dir)
    with interruptible("the run had not begun, nothing is left behind"), Screen(ERRORS) as screen:
        result = api.optimize(request, replace(suppliers_of(context), listener=screen))
    end(result, json=json, output=output)


def _given(**flags: JsonValue) -> dict[str, JsonValue]:
    """The flags that were given."""
    return {name: value for name, value in flags.items() if value is not None and value != {}}
