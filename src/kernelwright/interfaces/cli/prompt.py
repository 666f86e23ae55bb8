"""`kernelwright prompt TASK`: what a model would be asked first, word for word."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kernelwright.errors import ProposeError
from kernelwright.interfaces.cli.console import ERRORS, given, watched
from kernelwright.interfaces.cli.optimize import Config, Language, Models, Strategy
from kernelwright.interfaces.cli.options import Json, Target, TaskFile
from kernelwright.interfaces.cli.words import plain

if TYPE_CHECKING:
    from pydantic import JsonValue

    from kernelwright.api import FirstPrompt


def prompt(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    task: TaskFile,
    target: Target = None,
    strategy: Strategy = None,
    model: Models = None,
    language: Language = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show what a model would be asked first, with its tokens and their price. Nobody is asked."""
    from kernelwright import api

    flags: dict[str, JsonValue] = {
        "strategy": dict(api.spelled(strategy)) if strategy else None,
        "proposer": "llm",
        "models": {role: one.model_dump(exclude_unset=True) for role, one in api.read_models(model or ()).items()},
        "language": language,
    }
    request = api.OptimizeRequest(
        task, target, api.load_config(config, given(**flags), tell=ERRORS.print), Path("runs")
    )
    with watched(context, "nothing is left behind") as suppliers:
        found = api.first_prompts(request, suppliers)
    if not found:
        raise ProposeError(f"{request.config.strategy.name} asks no model first: it begins without one")
    _show(found, json=json)


def _show(found: "tuple[FirstPrompt, ...]", *, json: bool) -> None:
    if json:
        print("[" + ",\n".join(one.model_dump_json(indent=1) for one in found) + "]")
        return
    for message in found[0].request.messages:
        print(f"---- {message.role} ----\n{plain(message.text)}")
    first = found[0]
    price = "" if first.usd is None else f", ${first.usd:.4f} at the price of {first.model}"
    more = f"; {len(found)} such questions at once" if len(found) > 1 else ""
    ERRORS.print(f"about {first.tokens:,} tokens{price}, without the reply{more}")
