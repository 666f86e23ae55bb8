"""Few-shot pairs: each language has them, the nearest is shown, and none gives a task's own answer away."""

import pytest

from kernelwright.knowledge.library import SHAPES, nearest_pair, pairs
from kernelwright.languages import language
from kernelwright.records.graph import FAMILIES
from kernelwright.tasks.kernel_file import parse_kernel
from kernelwright.tasks.serial import OTHER_FAMILIES

LANGUAGES = ("cpp", "triton", "cuda", "cuda_host", "python")


def test_every_family_has_one_shape():
    known = [family for families in SHAPES.values() for family in families]
    assert sorted(known) == sorted({*FAMILIES, *OTHER_FAMILIES})


@pytest.mark.parametrize("name", ["cpp", "triton", "cuda"])
def test_a_language_has_a_pair_of_every_shape(name):
    assert {pair.shape for pair in pairs() if pair.language == name} == set(SHAPES)


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_family_has_a_pair_in_every_language(name):
    for family in (*FAMILIES, *OTHER_FAMILIES, "a family of tomorrow"):
        assert nearest_pair(family, name).language == name


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: f"{pair.shape}-{pair.language}")
def test_a_pair_is_a_module_and_a_kernel_in_its_language(pair):
    assert "class Model(" in pair.module
    assert parse_kernel(pair.kernel, language(pair.language).suffix).language == pair.language
