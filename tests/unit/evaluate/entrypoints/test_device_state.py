"""Variables of device code, found in a binary by its sections."""

import subprocess

import pytest

from kernelwright.evaluate.entrypoints.device_state import Section, sections

SOURCE = """
#define VARIABLE __attribute__((section(".nv.global")))
VARIABLE int calls = 3;
static VARIABLE float table[100] = {1};
int elsewhere = 5;
float use() { return table[calls]; }
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("object")
    (folder / "state.c").write_text(SOURCE)
    subprocess.run(["gcc", "-c", "state.c", "-o", "state.o"], cwd=folder, check=True)
    return (folder / "state.o").read_bytes()


def test_variables_are_told_with_their_section(image):
    (found,) = sections(image)
    assert isinstance(found, Section)
    assert found.nbytes >= 404
    named = dict(found.names)
    assert {"calls", "table"} <= set(named)
    assert "elsewhere" not in named
    assert named["table"] - named["calls"] in range(4, 64)


@pytest.mark.parametrize("text", [b"", b"//\n.version 8.8\n", b"\x7fELF"])
def test_what_is_no_binary_has_none(text):
    assert sections(text) == []
