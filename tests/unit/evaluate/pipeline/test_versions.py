"""Versions: what is asked for which target, and what does not answer."""

import pytest

from kernelwright.evaluate.pipeline.versions import ABSENT, driver, versions
from kernelwright.records.task import Target

OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build  (dvs)\nGCC version: 12.2.0"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54  Thu Feb 22 01:44:30 UTC 2024\n"


@pytest.mark.parametrize(("text", "version"), [(OPEN, "570.133.20"), (CLOSED, "550.54"), ("no numbers", ABSENT)])
def test_the_driver_s_text(tmp_path, text, version):
    file = tmp_path / "version"
    file.write_text(text)
    assert driver(file) == version


def test_a_machine_without_a_driver(tmp_path):
    assert driver(tmp_path / "none") == ABSENT


def test_a_new_driver_does_not_change_what_a_cpu_measures():
    cpu = versions(Target(kind="cpu", arch="native", present=True))
    absent = versions(Target(kind="cuda", arch="sm_90", present=False))
    present = versions(Target(kind="cuda", arch="sm_90", present=True))
    assert {"python", "torch", "triton", "numpy", "c++", "kernel", "kernelwright"} == cpu.keys()
    assert absent.keys() - cpu.keys() == {"nvrtc", "cuda toolkit of torch"}
    assert present.keys() - absent.keys() == {"driver", "cuda driver api"}
    assert all(isinstance(v, str) and v for v in present.values())
