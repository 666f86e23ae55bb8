"""What the author writes stays as it is, to the letter, however its code is arranged: hashes of a sample of the suite.

`python benchmarks/author_plan.py --check benchmarks/results/author-texts.json` compares all of it. A change that means to
write other kernels regenerates the file by `--texts`.
"""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
KNOWN = json.loads((ROOT / "benchmarks/results/author-texts.json").read_text())
SAMPLE = (
    "fsr/sigmoid",  # rows, flat
    "own/add_rms_norm",  # rows
    "own/heat_stencil",  # windows of neighbours
    "field/operators/argmin_middle",
    "field/operators/conv2d_grouped",  # a product
    "field/operators/cross_entropy_smoothed",
)


@pytest.fixture
def author_plan(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("author_plan")


@pytest.mark.parametrize("name", SAMPLE)
def test_texts_are_as_they_were(author_plan, name):
    found = {name: author_plan.texts_of(name)}
    assert set(found[name]) == {"cpu", "sm_90", "gfx942"}
    assert author_plan.differences(KNOWN["texts"], found) == []


def test_every_difference_is_named(author_plan):
    known = {"own/relu": {"cpu": "1", "sm_90": "2"}}
    found = {"own/relu": {"cpu": "1", "sm_90": "3"}, "own/new": {"cpu": "declined"}}
    assert author_plan.differences(known, found) == ["own/relu for sm_90 differs", "own/new for cpu differs"]
