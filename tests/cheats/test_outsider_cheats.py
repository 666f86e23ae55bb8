"""Cheats by somebody who has read only the public pages; each .cpp in `outsider` says what it tries and what it gets.

A kernel that ends `measured` with `through: yes` is a gap that is known, not a defence: once closed, its line changes.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "outsider"
SOURCE = Path(__file__).parents[2] / "src"
COMMAND = "import sys; from kernelwright.interfaces.cli.main import main; sys.exit(main())"


def fields(kernel: Path) -> dict[str, str]:
    return dict(re.findall(r"^// (task|through|expect): (.*)$", kernel.read_text(), re.MULTILINE))


def names(honest: bool) -> list[str]:
    kernels = sorted(FOLDER.glob("*.cpp"))
    twins = {fields(path)["task"].replace(".py", "_honest") for path in kernels}
    return [path.stem for path in kernels if (path.stem in twins) == honest]


def judged(kernel: Path) -> dict:
    task = FOLDER / fields(kernel)["task"]
    command = [sys.executable, "-c", COMMAND, "check", str(task), str(kernel), "--target", "cpu", "--quick", "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(SOURCE)}, check=False
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [*names(honest=False), *names(honest=True)])
def test_kernel_ends_as_it_says(name: str) -> None:
    kernel = FOLDER / f"{name}.cpp"
    outcome, _, reason = fields(kernel)["expect"].partition(" | ")
    verdict = judged(kernel)
    assert verdict["outcome"] == outcome, verdict["reason"]
    assert reason in verdict["reason"]
