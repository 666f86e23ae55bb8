"""Targets by name, on a machine with a GPU and on one without."""

import pytest

from kernelwright.engine import target
from kernelwright.errors import MachineError, UsageError
from kernelwright.execution.executor import Place
from kernelwright.records.task import Target

CPU = Target(kind="cpu", arch="native", present=True)


@pytest.mark.parametrize(
    ("here", "name", "found"),
    [
        (None, None, CPU),
        (None, "cpu", CPU),
        (None, "sm_90", Target(kind="cuda", arch="sm_90", present=False)),
        ("sm_90", None, Target(kind="cuda", arch="sm_90", present=True)),
        ("sm_90", "cuda", Target(kind="cuda", arch="sm_90", present=True)),
        ("sm_90", "sm_90", Target(kind="cuda", arch="sm_90", present=True)),
        ("sm_90", "sm_80", Target(kind="cuda", arch="sm_80", present=False)),
        ("sm_90", "cpu", CPU),
        (None, "CPU", CPU),
        ("sm_90", "sm_90a", Target(kind="cuda", arch="sm_90", present=True)),
        (None, "sm_103", Target(kind="cuda", arch="sm_103", present=False)),
        (None, "sm_110", Target(kind="cuda", arch="sm_110", present=False)),
        (None, "sm_121", Target(kind="cuda", arch="sm_121", present=False)),
        (None, "gfx942", Target(kind="hip", arch="gfx942", present=False)),
        ("sm_90", "gfx90a:sramecc+:xnack-", Target(kind="hip", arch="gfx90a", present=False)),
        ("sm_91", None, Target(kind="cuda", arch="sm_91", present=True)),
    ],
)
def test_a_name_becomes_a_target(monkeypatch, here, name, found):
    monkeypatch.setattr(target, "find_gpu", lambda: here)
    assert target.resolve_target(name) == found


def test_cuda_without_a_gpu_has_its_cure(monkeypatch):
    monkeypatch.setattr(target, "find_gpu", lambda: None)
    with pytest.raises(MachineError, match="--target cpu"):
        target.resolve_target("cuda")


def test_a_kind_that_cannot_be_used_yet_has_its_cure(monkeypatch):
    monkeypatch.setattr(target, "find_gpu", lambda: "sm_90")
    with pytest.raises(MachineError, match=r"AMD.*cannot be used yet.*--target gfx942"):
        target.resolve_target("hip")


def test_an_unknown_target_names_the_known_ones():
    with pytest.raises(UsageError, match=r"cpu, cuda, one of sm_75.*or a device such as 'H100.*Did you mean 'sm_90'"):
        target.resolve_target("sm_91")


def test_a_driver_that_does_not_answer_is_no_gpu(monkeypatch):
    monkeypatch.setattr(target, "_DEVICE_FILES", ("/",))
    monkeypatch.setattr(target, "_ASK_DRIVER", "raise SystemExit(1)")
    assert target.find_gpu() is None
    monkeypatch.setattr(target, "_ASK_DRIVER", "print('sm_90', end='')")
    assert target.find_gpu() == "sm_90"
    monkeypatch.setattr(target, "_ASK_DRIVER", "while True: pass")
    monkeypatch.setattr(target, "_ASK_LIMIT_S", 0.2)
    assert target.find_gpu() is None


def test_on_a_cluster_its_gpu_counts_and_not_the_one_that_is_here(monkeypatch):
    asked = []

    def ask(address, question):
        asked.append((address, question))
        return "sm_80"

    monkeypatch.setattr(target, "find_gpu", lambda: "sm_90")
    monkeypatch.setattr(target, "ask_a_gpu_s_node", ask)
    place = Place("ray", "head:6379")
    assert target.resolve_target("cuda", place) == Target(kind="cuda", arch="sm_80", present=True)
    assert target.resolve_target("sm_90", place) == Target(kind="cuda", arch="sm_90", present=False)
    assert target.resolve_target("cpu", place) == CPU
    assert asked == [("head:6379", target.find_gpu)] * 2
    assert target.resolve_target("cuda", Place()).arch == "sm_90"
