"""The schedule of a product in C++, and its space."""

from typing import Literal

from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.families.strided.cpp_schedule import CpuSchedule
from kernelwright.propose.author.schedule.space import Option

TILES = 8
"""Tiles that keep the threads of a small machine busy."""


class PanelSchedule(CpuSchedule):
    """Degrees of freedom; none changes the result beyond rounding."""

    rows: Literal[60, 120, 240, 480] = 240
    """Rows of a tile: whole register tiles of six or twelve."""
    columns: Literal[32, 64, 128, 256] = 128
    """Columns of a tile, which are packed together."""
    depth: Literal[64, 128, 256, 512] = 256
    """Products that are added up before the next panels are packed."""
    vector_bits: Literal[256, 512] = 512


def panel_default(plan: Product) -> PanelSchedule:
    """The largest tiles that leave no core idle."""
    batch, rows, columns, _ = plan.extents
    found = PanelSchedule()
    for wide, tall in ((128, 240), (64, 240), (64, 120), (32, 120), (32, 60)):
        found = PanelSchedule(columns=wide, rows=tall)
        if batch * -(-rows // tall) * -(-columns // wide) >= TILES:
            break
    return found


def panel_space(plan: Product) -> list[Option]:
    """The options that mean something for this plan."""
    return [
        Option("rows", (60, 120, 240, 480), "memory"),
        Option("columns", (32, 64, 128, 256), "memory"),
        Option("depth", (64, 128, 256, 512), "memory"),
        Option("distribution", ("static", "dynamic"), "latency"),
        Option("vector_bits", (256, 512), "compute"),
    ]


def panel_cost(plan: Product, schedule: PanelSchedule) -> float:
    """No estimate: every schedule costs the same."""
    return 0.0
