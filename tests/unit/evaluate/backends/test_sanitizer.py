"""Reports of compute-sanitizer, as it writes them."""

import pytest

from kernelwright.evaluate.backends.cuda.instruments import read_report
from kernelwright.evaluate.entrypoints.tools.sanitized import DONE
from kernelwright.evaluate.session.loaded import NotRunError

CLEAN = f"========= COMPUTE-SANITIZER\n{DONE}\n========= ERROR SUMMARY: 0 errors\n"
INVALID = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at kernel(float *)+0x70
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f0000000000 is out of bounds
========= ERROR SUMMARY: 3 errors
"""
HAZARD = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at kernel(float *)+0x70
=========     and Read access at kernel(float *)+0xa0 [128 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_no_error_is_none():
    assert read_report(CLEAN).errors == 0
    assert read_report(f"{DONE}\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)").errors == 0


def test_the_first_error_is_told_with_its_place():
    found = read_report(INVALID)
    assert found.errors == 3
    assert found.first.startswith("Invalid __global__ write of size 4 bytes; at kernel(float *)+0x70; by thread")


def test_a_hazard_is_an_error():
    found = read_report(HAZARD)
    assert found.errors == 1
    assert "Race reported between Write access" in found.first


@pytest.mark.parametrize("text", ["", "Traceback\nImportError: no module", CLEAN.replace(DONE, "Killed")])
def test_a_program_that_did_not_get_to_its_end_says_nothing(text):
    with pytest.raises(NotRunError):
        read_report(text)
