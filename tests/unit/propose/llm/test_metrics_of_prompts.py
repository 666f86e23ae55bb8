"""The metrics of a prompt: never an empty table, every name explained, every figure the record's own."""

import pytest

from kernelwright.propose.llm.metrics import NAMES, explained, figures
from kernelwright.records.profile import Ceilings, Counters, KernelProfile, LoopProfile, Profile
from kernelwright.records.run import Device
from kernelwright.testing.samples import sample_evaluation

DEVICE = Device(kind="cpu", name="A CPU", cores=8, vector_bits=256)


def test_every_figure_that_a_profile_can_have_is_explained():
    fields = {
        *KernelProfile.model_fields,
        *Counters.model_fields,
        *Ceilings.model_fields,
        *LoopProfile.model_fields,
    } - {
        "name",
        "counters",
        "origin",
    }
    assert fields <= NAMES.keys()


def test_without_a_profile_the_clock_fills_the_table():
    measured = sample_evaluation("measured", 2.0)
    call = figures(None, measured, DEVICE)["call"]
    took, roofline = measured.timing.latency_us, measured.roofline
    assert call["latency_us"] == pytest.approx(took, rel=1e-3)
    assert call["achieved_gbps"] == pytest.approx(roofline.bytes / took / 1e3, rel=1e-3)
    assert (call["cores"], call["vector_bits"]) == (8, 256)


def test_a_cpu_s_profile_has_its_ceilings_and_no_empty_list_of_kernels():
    profile = Profile(
        task="t", candidate="c", tier="compiler", device="A CPU", bytes=8192, ceilings=Ceilings(read_gbps=20.0)
    )
    shown = figures(profile, sample_evaluation("measured", 2.0), DEVICE)
    assert shown["call"]["ceilings"]["read_gbps"] == 20.0
    assert shown["call"]["bytes"] == 8192
    assert "kernels" not in shown


def test_each_name_is_explained_once_and_only_if_it_is_shown():
    kernels = (KernelProfile(name="a", registers=8), KernelProfile(name="b", registers=16))
    lines = explained(figures(Profile(task="t", candidate="c", tier="trace", device="d", kernels=kernels), None, None))
    assert [line for line in lines if line.startswith("registers")] == [f"registers: {NAMES['registers']}"]
    assert not any(line.startswith("waves") for line in lines)


def test_a_cpu_s_loops_are_shown_and_explained():
    loop = LoopProfile.model_validate(dict.fromkeys(LoopProfile.model_fields, 3))
    shown = figures(Profile(task="t", candidate="c", tier="compiler", device="d", loops=(loop,)), None, DEVICE)
    assert shown["loops"] == [loop.model_dump()]
    assert {line.partition(":")[0] for line in explained(shown)} >= {*LoopProfile.model_fields, "loops"}
