"""`kernelwright farm status`: devices, queue, rate, losses and utilisation, of a Ray cluster or of this machine."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from kernelwright.interfaces.cli.console import OUTPUT, plain_table, print_result
from kernelwright.interfaces.cli.options import Execution, Json, RayAddress
from kernelwright.interfaces.cli.words import flat

if TYPE_CHECKING:
    from kernelwright import api

NOTHING = "-"
TASKS = 3
"""So many tasks are named for each command."""


def farm(
    action: Annotated[Literal["status"], typer.Argument(help="What to do.", show_default=False)],
    execution: Execution = None,
    ray_address: RayAddress = None,
    json: Json = False,
) -> None:
    """Show the devices that judge: who holds them, what waits, and how much is done.

    Without a cluster: the turns on this machine's devices.

    Exit code 2: it is not said which cluster. 4: no cluster answers there.
    """
    from kernelwright import api

    assert action == "status"
    named = execution or ("ray" if ray_address else "local")
    print_result(api.farm_status(api.place_of(named, ray_address)), json, _show)


def _show(found: "api.FarmStatus") -> None:
    OUTPUT.print(_devices(found))
    OUTPUT.print()
    if found.commands:
        OUTPUT.print(_commands(found))
    else:
        OUTPUT.print("nobody is at work")
    if found.utilisation is not None:
        OUTPUT.print()
        OUTPUT.print(
            f"{found.verdicts_a_minute:g} verdicts a minute, {found.utilisation:.0%} of the devices in use were busy "
            f"(last five minutes); {found.waiting} jobs wait; {found.workers_lost} workers were lost, "
            f"{found.jobs_retried} jobs begun again"
        )


def _devices(found: "api.FarmStatus") -> Table:
    """Alike ones of one machine are one row."""
    table = plain_table("node", "kind", "devices", "state", "holder")
    alike = Counter((each.node, each.kind, each.busy, each.holder) for each in found.devices)
    for (node, kind, busy, holder), count in alike.items():
        state = "[green]busy[/]" if busy else "idle" if holder else "[dim]free[/]"
        table.add_row(escape(flat(node)), escape(flat(kind)), str(count), state, escape(flat(holder)) or NOTHING)
    return table


def _commands(found: "api.FarmStatus") -> Table:
    table = plain_table("user", "command", "at", "workers", "at work", "waiting", "a minute", "lost", "waits for")
    for each in found.commands:
        of = f" of {each.share}" if each.share is not None else ""
        named = [f"{flat(task)} {count}" for task, count in list(each.tasks.items())[:TASKS]]
        more = [f"{len(each.tasks) - TASKS} more"] if len(each.tasks) > TASKS else []
        weight = f" (weighs {each.weight:g})" if each.weight != 1 else ""
        table.add_row(
            escape(flat(each.user + weight)) or NOTHING,
            escape(flat(each.command)),
            escape(flat(each.where)),
            f"{each.workers}{of}",
            str(each.at_work),
            str(each.waiting),
            NOTHING if each.verdicts_a_minute is None else f"{each.verdicts_a_minute:g}",
            NOTHING if each.workers_lost is None else str(each.workers_lost),
            escape(", ".join(named + more)) or NOTHING,
        )
    return table
