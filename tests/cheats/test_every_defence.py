"""No defence without its cheat, no cheat of a defence that is not there, and none that aims at a module that has moved."""

import importlib
import re
from pathlib import Path

from cheat_files import CHEATS
from test_cheat_comparators import COMPARED

from kernelwright.records.defences import DEFENCES

HERE = Path(__file__).parent
MARKED = re.compile(r'@pytest\.mark\.defence\("(\w+)"\)\ndef test_')
SWITCHED = re.compile(r'\bdefence="(\w+)"')
AIMED = re.compile(
    r"from (kernelwright[.\w]+) import (\w+(?:, \w+)*)|(?:modules\[|import_module\()['\"]+(kernelwright[.\w]+)"
)
ON_A_GPU = {name for name, row in DEFENCES.items() if row["gpu"]}
"""What only a device shows the worth of."""


def named(folder, files, pattern):
    return {name for file in folder.glob(files) for name in pattern.findall(file.read_text())}


def test_every_defence_has_its_cheat():
    in_files = {cheat.says["defence"] for cheat in CHEATS.values() if "defence" in cheat.says}
    assert named(HERE, "test_cheat_*.py", MARKED) | in_files | set(COMPARED) == DEFENCES.keys() - ON_A_GPU


def test_what_only_a_device_shows_has_its_cheat_there():
    found = named(HERE.parent / "gpu", "*cheats*.py", SWITCHED)
    assert found >= ON_A_GPU
    assert found <= DEFENCES.keys()


def test_what_a_cheat_reaches_for_in_its_process_is_there():
    """Otherwise it only crashes, and nobody learns whether it would get through."""
    texts = [
        *named(HERE, "**/*.cpp", AIMED),
        *named(HERE, "*.py", AIMED),
        *named(HERE.parent / "gpu", "*cheats*.py", AIMED),
    ]
    assert len(texts) > 5
    for package, names, module in texts:
        found = importlib.import_module(package or module)
        for name in filter(None, names.split(", ")):
            assert hasattr(found, name) or importlib.import_module(f"{package}.{name}")
