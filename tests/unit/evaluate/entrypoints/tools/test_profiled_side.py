"""The side that is profiled: inputs of every domain, traces summed, tools run in the jail, loopback of its own."""

import os
from pathlib import Path

import pytest
import torch

import kernelwright
from kernelwright.evaluate.entrypoints.tools import profile_target
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import (
    CountUnder,
    ModuleSubject,
    PrepareProfile,
    ProfileOrder,
    ProgramSubject,
    Trace,
    Traced,
)
from kernelwright.evaluate.sandbox.process import ChildRaisedError, Process, ProcessOptions
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.launch import Launch, LaunchPlan
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

MODULE = """
import torch

FACTOR = 2


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x, scale):
        return x * self.weight * scale * FACTOR
"""
X = TensorSpec(name="x", shape=(3, 4), dtype="float32")
WORKLOAD = Workload(
    inputs=(X, Scalar(name="scale", value=0.5)),
    parameters=(TensorSpec(name="weight", shape=(4,), dtype="float32"),),
    outputs=(X,),
)
CANDIDATE = Candidate(language="triton", source=MODULE, defines=(Define(name="FACTOR", value=3),))
INIT = "def get_init_inputs():\n    return [4]\n"
SUBJECT = ModuleSubject(workload=WORKLOAD, candidate=CANDIDATE, init=INIT, device="cpu")


def test_a_module_is_called_with_its_tunables_its_parameters_and_scalars():
    result = profile_target.subject(SUBJECT)()
    torch.manual_seed(profile_target.SEED)
    x, weight = torch.randn(3, 4), torch.randn(4)
    assert torch.allclose(result, x * weight * 1.5)


@pytest.mark.parametrize(
    ("domain", "dtype", "admits"),
    [
        (Domain.REAL, "float16", lambda t: t.isfinite().all() and (t < 0).any()),
        (Domain.REAL, "int8", lambda t: ((t >= 0) & (t < 2)).all()),
        (Domain.NON_NEGATIVE, "bfloat16", lambda t: (t >= 0).all()),
        (Domain.PROBABILITY, "float32", lambda t: torch.allclose(t.sum(-1), torch.ones(64))),
        (Domain.MASK, "bool", lambda t: t.any() and not t.all()),
        (Domain.MASK, "float32", lambda t: ((t == 0) | (t == 1)).all() and t.any()),
        (Domain.LABEL, "float32", lambda t: (t == t.round()).all() and (t >= 0).all()),
        (Domain.INDEX, "int64", lambda t: ((t >= 0) & (t < 7)).all() and (t > 1).any()),
    ],
)
def test_inputs_are_of_their_domain(domain, dtype, admits):
    spec = TensorSpec(name="t", shape=(64, 9), dtype=dtype, domain=domain, bound=7 if domain is Domain.INDEX else None)
    drawn = profile_target.draw(spec, "cpu")
    assert (tuple(drawn.shape), str(drawn.dtype)) == ((64, 9), f"torch.{dtype}")
    assert admits(drawn)


def event(name="k", us=2.0, cat="kernel", **told):
    return {"ph": "X", "cat": cat, "name": name, "dur": us, "args": {"grid": [1, 1, 1], "block": [32, 1, 1], **told}}


def test_equal_launches_are_summed_and_only_the_devices_activities_count():
    events = [
        event(),
        event(us=3.0),
        event("Memset (Device)", 1.0, "gpu_memset"),
        event(cat="cuda_runtime"),
        "junk",
        {},
    ]
    found = profile_target.summed(events)
    assert [(e.name, e.us, e.count) for e in found] == [("k", 5.0, 2), ("Memset (Device)", 1.0, 1)]


def test_a_trace_of_thousands_of_kernels_fits_one_message():
    activities = profile_target.summed(event(f"{i:05}" + "k" * 5000) for i in range(2000))
    assert len(Traced(calls=1, activities=activities).model_dump_json()) < 1 << 19


@pytest.fixture
def child(warm):
    home = str(Path(kernelwright.__file__).parents[1])
    jail = Jail(
        directory="/",
        readable=(home,),
        may_execute=True,
        memory_bytes=64 << 30,
        loopback=True,
        environment={"PYTHONPATH": home},
    )
    found = Process(warm.spawn("profiled", jail), 60.0, ProcessOptions(freeze=False))
    yield found
    found.close()


def prepared(child, what=SUBJECT, **files):
    child.ask(PrepareProfile(order=ProfileOrder(subject=what), **files))


def counted(child, *argv):
    return child.ask(CountUnder(argv=argv, log="log.csv"))


def test_a_tool_runs_beside_the_order_and_its_log_comes_back(child):
    prepared(child, SUBJECT.model_copy(update={"init": "# here"}))
    found = counted(child, "sh", "-c", "grep -o here order.json > log.csv; echo said; exit 3", "sh")
    assert (found.status, found.written, found.said) == (3, "here\n", "said\n")


def test_binaries_lie_beside_the_order(child):
    image = os.memfd_create("image")
    os.write(image, b"cubin")
    plan = LaunchPlan(launches=(Launch(kernel="k", grid=(1, 1, 1), block=(1, 1, 1)),))
    prepared(child, ProgramSubject(workload=WORKLOAD, plan=plan, modules=1), files=(image,))
    os.close(image)
    assert counted(child, "sh", "-c", "cp module0.cubin log.csv", "sh").written == "cubin"


def test_processes_of_the_jail_talk_over_a_loopback_of_their_own(child):
    prepared(child)
    script = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "c = socket.create_connection(s.getsockname(), 5); open('log.csv', 'w').write('heard')"
    )
    found = counted(child, "python3", "-c", script)
    assert found.written == "heard", found


def test_the_target_is_started_in_the_jail_and_calls_the_candidate(child):
    prepared(child, SUBJECT.model_copy(update={"init": "raise RuntimeError('the candidate was called')\n"}))
    found = counted(child)
    assert (found.status, found.written) == (1, "")
    assert "the candidate was called" in found.said


def test_a_trace_without_a_device_is_an_answer_not_an_end(child):
    prepared(child)
    if torch.cuda.is_available():
        assert child.ask(Trace()).calls == profile_target.TRACED_CALLS
    else:
        with pytest.raises(ChildRaisedError):
            child.ask(Trace())
