"""What a task imports from its folder is written into it: its text is complete in itself."""

import pytest
import torch

from kernelwright.errors import TaskError
from kernelwright.tasks.kernelbench import read_kernelbench

TASK = """import math
import torch
{}
from parts.blocks import Block


class Model(torch.nn.Module):
    def forward(self, x):
        return scaled(x) + Block()(x) * math.pi


def get_inputs():
    return [torch.ones(2, 3)]
"""
HELPER = '''"""Words."""
from __future__ import annotations

import functools
import torch

SCALE = 3.0
raise RuntimeError("never run")


@functools.cache
def factor() -> Unknown:
    return SCALE


def scaled(x):
    return x * factor()


def get_inputs():
    return unrelated


if __name__ == "__main__":
    print(scaled(1))
'''
BLOCKS = "import torch\nfrom .base import Base\nfrom helper import SCALE\n\n\nclass Block(Base):\n    scale = SCALE\n"
BASE = (
    "import torch\n\n\nclass Base(torch.nn.Module):\n    def forward(self, x):\n        return x.exp() * self.scale\n"
)


@pytest.fixture
def read(tmp_path):
    def begin(line="from helper import scaled", **files):
        (tmp_path / "parts").mkdir(exist_ok=True)
        (tmp_path / "parts" / "blocks.py").write_text(BLOCKS)
        (tmp_path / "parts" / "base.py").write_text(BASE)
        (tmp_path / "helper.py").write_text(HELPER)
        (tmp_path / "torch.py").write_text("raise RuntimeError\n")
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        (tmp_path / "task.py").write_text(TASK.format(line))
        return read_kernelbench(tmp_path / "task.py").source

    return begin


def ran(source):
    space = {"__name__": "task"}
    exec(source, space)
    return space["Model"]()(*space["get_inputs"]())


@pytest.mark.parametrize("line", ["from helper import scaled", "from helper import (\n    scaled,\n)"])
def test_functions_classes_and_what_they_need_travel(read, line):
    source, x = read(line), torch.ones(2, 3)
    assert torch.allclose(ran(source), x * 3 + x.exp() * 3 * torch.pi)
    assert source.count("SCALE = 3.0") == 1
    assert source.count("def get_inputs") == 1
    assert not any(left in source for left in ("helper", "never run", "unrelated"))


def test_another_name_stays_another_name(read):
    assert "times = scaled" in read("from helper import scaled as times")


def test_a_name_of_two_meanings_is_refused(read):
    with pytest.raises(TaskError, match=r"task.py' and helper.py beside it both define scaled: put all into one file"):
        read("from helper import scaled as times\nscaled = 2")


def test_a_file_without_neighbours_is_left_as_it_is(tmp_path):
    text = "import torch, os\nModel = torch.relu\ndef get_inputs(): return [torch.ones(2)]"
    (tmp_path / "task.py").write_text(text)
    assert read_kernelbench(tmp_path / "task.py").source == text


@pytest.mark.parametrize("line", ["import helper", "from helper import *"])
def test_a_module_as_a_whole_is_refused_with_the_cure(read, line):
    with pytest.raises(TaskError, match=r"from helper import NAME.*one file, or hand the module itself"):
        read(line)


def test_what_lies_outside_the_folder_is_not_read(read, tmp_path):
    (tmp_path.parent / "outside.py").write_text("scaled = 1\n")
    (tmp_path / "linked.py").symlink_to(tmp_path.parent / "outside.py")
    assert "from linked import scaled" in read("from linked import scaled")
    assert "from ..outside import scaled" in read("from ..outside import scaled")
