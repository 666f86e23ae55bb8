"""No defence without its cheat, and no cheat of a defence that is not there."""

import re
from pathlib import Path
from typing import get_args

from kernelwright.records.policy import Defence

HERE = Path(__file__).parent
MARKED = re.compile(r'@pytest\.mark\.defence\("(\w+)"\)\ndef test_')
SWITCHED = re.compile(r'\bdefence="(\w+)"')
ON_A_GPU = {
    "exact_shape",
    "two_results",
    "capture",
    "watched",
    "stream_order",
    "cold_cache",
    "source",
    "ablation",
    "own_share",
    "memcheck",
    "racecheck",
    "device_state",
}
"""What only a device shows the worth of."""


def named(folder, files, pattern):
    return {name for file in folder.glob(files) for name in pattern.findall(file.read_text())}


def test_every_defence_has_its_cheat():
    assert named(HERE, "test_cheat_*.py", MARKED) == set(get_args(Defence)) - ON_A_GPU


def test_what_only_a_device_shows_has_its_cheat_there():
    found = named(HERE.parent / "gpu", "*cheats*.py", SWITCHED)
    assert found >= ON_A_GPU
    assert found <= set(get_args(Defence))
