"""No defence without its cheat, and no cheat of a defence that is not there."""

import re
from pathlib import Path
from typing import get_args

from kernelwright.records.policy import Defence

MARKED = re.compile(r'@pytest\.mark\.defence\("(\w+)"\)\ndef test_')


def test_every_defence_has_its_cheat():
    files = Path(__file__).parent.glob("test_cheat_*.py")
    tested = {name for file in files for name in MARKED.findall(file.read_text())}
    assert tested == set(get_args(Defence))
