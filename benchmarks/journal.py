"""What a training's journal of a million rows costs: `python benchmarks/journal.py --out FILE`.

Writes steps and rollouts that never happened, with the functions that a training writes them with, then the report, each in a
process of its own. Written down: rows a second, the largest resident memory in MB, and sizes. The files lie in memory, where a
row that is on the disk when `append` returns costs no wait; what the disk costs is a row of its own, of fewer rows.
"""

import os
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

from campaign import Campaign, Row, command

from kernelwright.records.base import Record
from kernelwright.store.files import latest_lines, open_lines
from kernelwright.train.recipe import PROGRESS, ROLLOUTS, Progress, Rollout
from kernelwright.train.session import CURVES, REPORT, latest_steps, write_report

REPLY = "".join(f"    y[{n}] = x[{n}] * 2;\n" for n in range(24))
"""About as long as a short kernel."""
ON_DISK = 2000
MEMORY = Path("/dev/shm")


def write(file: Path, rows: int) -> None:
    """So many rows of the file's kind."""
    kind, made = (Progress, _step) if file.name == PROGRESS else (Rollout, _rollout)
    with open_lines(kind, file) as lines:  # type: ignore[type-var]
        for number in range(rows):
            lines.append(made(number, rows))


def _step(number: int, of: int) -> Record:
    figures = dict.fromkeys(CURVES, number * 7919 % 1000 / 1000)
    return Progress(step=number, of=of, seconds=float(number), figures=figures)


def _rollout(number: int, of: int) -> Record:
    return Rollout(step=number, task=f"task {number % 97}", turn=0, reward=1.0, outcome="measured", reply=REPLY)


def read(file: Path) -> None:
    """All rows, one by one."""
    for _ in latest_steps(file.parent) if file.name == PROGRESS else latest_lines(Rollout, file):
        pass


def report(file: Path) -> None:
    """The page of the whole run."""
    write_report(file.parent)


def cost_of(call: Callable[..., None], *arguments: object) -> Row:
    """Seconds and largest resident MB of a call in a fresh process."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (call, arguments))


def _measured(call: Callable[..., None], arguments: tuple[object, ...]) -> Row:
    before, begun = _peak_mb(), time.perf_counter()
    call(*arguments)
    return {"seconds": round(time.perf_counter() - begun, 2), "resident_mb": _peak_mb(), "before_mb": before}


def _peak_mb() -> int:
    """The largest that this process was; the kernel's other counter also has who began it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


async def measure(campaign: Campaign, rows: int, place: Path) -> None:
    """A row for each way and each length: memory must not grow with the second."""
    await campaign.begin_on_device()
    for count in (rows // 100, rows):
        folder = place / str(count)
        folder.mkdir()
        (folder / "recipe.json").write_text("{}", encoding="utf-8")
        for name in (PROGRESS, ROLLOUTS):
            for call, how in ((write, (count,)), (read, ())):
                found = cost_of(call, folder / name, *how)
                row = {"of": f"{count} rows", "what": f"{call.__name__} {name}", "rows": count, **found}
                campaign.put({**row, "file_mb": round((folder / name).stat().st_size / 1e6, 1)})
        found = cost_of(report, folder / PROGRESS)
        page = round((folder / REPORT).stat().st_size / 1e6, 2)
        campaign.put({"of": f"{count} rows", "what": "report", "rows": 2 * count, **found, "page_mb": page})
    with tempfile.TemporaryDirectory() as disk:
        found = cost_of(write, Path(disk) / ROLLOUTS, ON_DISK)
        campaign.put({"of": f"{ON_DISK} rows", "what": "write to the disk", "rows": ON_DISK, **found})


def table(rows: list[Row]) -> str:
    """A line for each."""
    return "\n".join(
        f"{r['of']:14} {r['what']:24} {r['seconds']:8} s {r['rows'] / max(r['seconds'], 0.01):10.0f} rows/s "
        f"{r['resident_mb']:5} MB ({r['before_mb']} before)"
        for r in rows
    )


if __name__ == "__main__":
    options = command(__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    asked = options.parse_args()
    campaign = Campaign(asked, key=("of", "what"))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        campaign.run(lambda: measure(campaign, asked.rows, Path(folder)))
    campaign.show(table)
