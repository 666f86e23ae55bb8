"""Versions: what is asked for which target, and what does not answer."""

import pytest

from kernelwright.evaluate.backends.cuda.versions import driver, driver_versions, toolkit_versions
from kernelwright.evaluate.backends.host import ABSENT, common_versions
from kernelwright.evaluate.pipeline.service import EvaluationService
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
    service = EvaluationService(note=lambda _: None)
    try:
        cpu = service.versions(Target(kind="cpu", arch="native", present=True))
        absent = service.versions(Target(kind="cuda", arch="sm_90", present=False))
    finally:
        service.close()
    assert (
        {"python", "torch", "triton", "numpy", "c++", "kernel", "kernelwright"}
        == cpu.keys()
        == common_versions().keys()
    )
    assert absent.keys() - cpu.keys() == {"nvrtc", "cuda toolkit of torch"} == toolkit_versions().keys()
    assert driver_versions().keys() == {"driver", "cuda driver api"}
    assert all(isinstance(v, str) and v for v in (*absent.values(), *driver_versions().values()))
