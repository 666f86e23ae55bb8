"""Several processes of one measurement on one machine, each with a part of its items and a referee of its own.

They build beside each other and take turns on the device by its lock. Each has a file of its own beside the campaign's, which
takes their rows over as they come, so that a call that is cut loses nothing. A row must not change once it is put.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.execution.turns import SHARED

if TYPE_CHECKING:
    from campaign import Campaign

LOOK_S = 2.0
GRACE_S = 45.0
"""What an item may take that was begun before the time was over."""
OPEN_TASKS = 40
"""Of all processes: their references share one user's limit on threads."""


def side_by_side(campaign: "Campaign") -> None:
    """Run this very command once for each process, until all have ended."""
    campaign.take_known()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.json" for number in range(campaign.asked.processes)]
        environment = os.environ | {SHARED: folder, "KERNELWRIGHT_OPEN_TASKS": str(max(1, OPEN_TASKS // len(files)))}
        running = [
            subprocess.Popen(_command(campaign, number, file), env=environment, stdout=subprocess.DEVNULL)
            for number, file in enumerate(files)
        ]
        try:
            while any(each.poll() is None for each in running) and time.monotonic() < campaign.until + GRACE_S:
                time.sleep(LOOK_S)
                _take_over(campaign, files)
        finally:
            for each in running:
                _end(each)
        _take_over(campaign, files)


def _command(campaign: "Campaign", number: int, file: Path) -> list[str]:
    """The same command for one part of the part; what is known already stands in its file."""
    if campaign.rows:
        file.write_text(campaign.text())
    first, step = (int(n) for n in campaign.asked.part.split("/"))
    part = f"{first + number * step}/{step * campaign.asked.processes}"
    own = [f"--out={file}", "--processes=1", f"--part={part}", f"--seconds={campaign.until - time.monotonic():.0f}"]
    return [sys.executable, *(word for word in sys.argv if word != "--anew"), *own]


def _take_over(campaign: "Campaign", files: list[Path]) -> None:
    before = len(campaign.rows)
    campaign.take([file for file in files if file.exists()])
    if len(campaign.rows) > before:
        campaign.write()


def _end(running: subprocess.Popen[bytes]) -> None:
    """An item that takes no end is lost; the same command begins it again."""
    running.terminate()
    try:
        running.wait(10)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()
