"""The size check finds what is too long, and the house passes it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def sizes(*roots):
    command = [sys.executable, str(ROOT / ".ci" / "sizes.py"), *map(str, roots)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_the_house_is_in_order():
    assert sizes(ROOT / "src", ROOT / "benchmarks", ROOT / ".ci") == (0, "")


def test_what_is_too_long_is_named(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n" + "    x = 1\n" * 60)
    (tmp_path / "b.py").write_text("x = 1\n" * 501)
    status, told = sizes(tmp_path)
    assert status == 1
    assert "a.py:1 f: 61 lines, at most 60" in told
    assert "b.py: 501 lines, at most 500" in told
