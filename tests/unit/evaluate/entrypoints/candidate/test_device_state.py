"""Variables of device code, found in a binary by its sections."""

import subprocess

import pytest
import torch

from kernelwright.evaluate.entrypoints.candidate.device_state import DeviceState, Variable, variables

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


def test_variables_are_told_with_their_sizes(image):
    found = variables(image)
    assert {Variable("calls", 4), Variable("table", 400)} <= set(found)
    assert "elsewhere" not in {variable.name for variable in found}


def test_each_variable_is_put_back_where_the_driver_has_it(image):
    memory = torch.arange(2048, dtype=torch.uint8)
    places = {"calls": 1024, "table": 256}  # in another order and further apart than in the binary
    state = DeviceState(lambda at, nbytes: memory[at : at + nbytes])
    state.keep(image, places.get)
    before = memory.clone()
    memory.zero_()
    state.put_back([])
    assert torch.equal(memory[256:656], before[256:656])
    assert torch.equal(memory[1024:1028], before[1024:1028])
    assert memory.count_nonzero() <= 404
    assert state.unknown == 0


def test_of_two_variables_with_one_name_the_second_is_unknown(image):
    state = DeviceState(lambda at, nbytes: torch.zeros(nbytes, dtype=torch.uint8))
    state.keep(image, lambda name: 0)
    assert state.unknown in (4, 400)


@pytest.mark.parametrize("text", [b"", b"//\n.version 8.8\n", b"\x7fELF"])
def test_what_is_no_binary_has_none(text):
    assert variables(text) == []
