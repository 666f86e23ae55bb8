"""Admission through the real sandbox: what can be judged, and what is refused for which reason."""

from contextlib import closing
from pathlib import Path

import pytest
import torch

from kernelwright.errors import TaskError
from kernelwright.evaluate.backends import host
from kernelwright.evaluate.pipeline import admit, timing
from kernelwright.evaluate.pipeline.examine import examine
from kernelwright.evaluate.sandbox.process import DeviceFullError
from kernelwright.records.numerics import Numerics
from kernelwright.records.policy import Policy
from kernelwright.records.task import DeclaredDomain, Target, TaskSource
from kernelwright.records.tensor import Domain
from kernelwright.tasks.table import read_task

CPU = Target(kind="cpu", arch="native", present=True)
ORDINARY = "[torch.randn(8, 16), torch.randn(8, 16)]"


@pytest.fixture
def opened(backend):
    """Open a session for a forward given as an expression of x and y; it is closed behind the test."""
    sessions = []

    def begin(expression, inputs=ORDINARY, more="", policy=None, **fields):
        source = (
            "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
            f"    def forward(self, x, y=None):\n        {more}\n        return {expression}\n\n\n"
            f"def get_inputs():\n    return {inputs}\n"
        )
        task = TaskSource(name="tiny", format="kernelbench", source=source, **fields)
        policy = Policy(seeds=3, **(policy or {}))
        sessions.append(admit.open_session(backend, task, CPU, policy, close_oldest=print))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.close()


def test_exact_operations_are_asked_for_equality_on_integers_and_declared_domains_win(opened):
    session = opened("(x * y).sum(-1)", domains=(DeclaredDomain(position=1, domain=Domain.NON_NEGATIVE),))
    assert [t.domain for t in session.inputs] == [Domain.REAL, Domain.NON_NEGATIVE]
    exact = {case.distribution: case.exact for case in session.cases}
    assert exact.pop("small integers")
    assert not any(exact.values())
    (integers,) = (case for case in session.cases if case.distribution == "small integers")
    assert integers.expected[0].allowed == 0.0


def held_memory():
    """The arenas that this process has open."""
    links = (descriptor.readlink() for descriptor in Path("/proc/self/fd").iterdir() if descriptor.exists())
    return sum("memfd:arena" in str(link) for link in links)


@pytest.mark.parametrize(
    ("expression", "inputs"),
    [("x.sum() * 0 + y", ORDINARY), ("x * float('nan')", ORDINARY), ("x * 2", ORDINARY)],
    ids=["refused after its inputs were placed", "refused before", "an input that plays no part"],
)
def test_a_refused_task_leaves_no_memory_behind(opened, backend, expression, inputs):
    before = held_memory()
    with pytest.raises(TaskError):
        opened(expression, inputs)
    assert held_memory() == before


def test_what_only_missing_cases_could_tell_is_a_full_device(opened, monkeypatch):
    positive = "[torch.rand(8, 16)]"
    assert not opened("torch.relu(x)", positive).dropped

    def full(*_):
        raise torch.OutOfMemoryError

    monkeypatch.setattr("kernelwright.evaluate.backends.cpu.memory.HostMemory.place_distribution", full)
    with pytest.raises(DeviceFullError, match="the input itself would pass in all others"):
        opened("torch.relu(x)", positive)


def test_a_copy_may_be_met_by_its_input(opened):
    assert opened("x.clone(), y.contiguous()").cases


def test_where_the_mean_is_what_is_asked_for_it_is_no_shortcut(opened):
    assert opened("x.mean()", "[torch.rand(8, 16)]").cases


def test_an_input_that_matters_to_small_values_alone_is_none_to_remove(opened):
    """As a mean of losses, which is the same for all targets that were drawn without regard to the predictions."""
    session = opened("torch.where(x.mean() > 0.1, x, x * y)", "[torch.rand(8, 16), torch.rand(8, 16)]")
    assert "times 0.01" in [case.distribution for case in session.cases]


@pytest.mark.parametrize(
    ("expression", "inputs", "reason"),
    [
        ("x * 0 + y", ORDINARY, "does not depend on input 'x'"),
        ("x * 1.0", "[torch.randn(8, 16)]", "the input itself would pass"),
        ("x.mean() * 1.0", "[torch.randn(8, 16)]", "an input's mean would pass"),
    ],
)
def test_what_a_trivial_answer_meets_is_refused(opened, expression, inputs, reason):
    with pytest.raises(TaskError, match=reason):
        opened(expression, inputs)


def test_what_a_serial_function_writes_need_not_be_read(backend, tmp_path):
    """The second of two fields that take turns is scratch, whatever it holds at first."""
    file = tmp_path / "turns.c"
    file.write_text(
        "/* kernelwright\n[sizes]\nn = 64\n[arguments]\na = { shape = ['n'], inout = true }\n"
        "b = { shape = ['n'], inout = true }\n*/\n"
        "void turns(float *a, float *b, int n) {\n"
        "  for (int i = 0; i < n; i++) b[i] = 2 * a[n - 1 - i];\n"
        "  for (int i = 0; i < n; i++) a[i] = b[i] + 1;\n}\n"
    )
    with closing(admit.open_session(backend, read_task(file), CPU, Policy(seeds=2), close_oldest=print)) as session:
        assert session.cases


def test_cases_that_lead_a_serial_function_out_of_its_memory_are_dropped_and_timed_calls_have_none(backend, tmp_path):
    file = tmp_path / "bins.c"
    file.write_text(
        "/* kernelwright\n[sizes]\nn = 400\n[arguments]\nx = { shape = ['n'], values = 'uniform' }\n"
        "h = { shape = [32] }\n*/\n"
        "void bins(const float *x, int *h, int n) { for (int i = 0; i < n; i++) h[(int)(x[i] * 32.0f)]++; }\n"
    )
    policy = Policy(seeds=2)
    with closing(admit.open_session(backend, read_task(file), CPU, policy, close_oldest=print)) as session:
        assert any(told.startswith("times 3: the reference raises") for told in session.dropped)
        assert session.led_astray
        assert not timing.fresh_inputs(session, policy).bears_challenge


@pytest.mark.parametrize(
    ("expression", "more", "reason"),
    [
        ("x + y + torch.rand(8, 16)", "", "not deterministic"),
        ("(x - x) / (y - y)", "", "NaN on its own inputs: output 0"),
        ("x / (y - y)", "", "does not depend on input 'y'"),
        ("x + y + missing", "", "NameError: name 'missing'"),
        ("x + y", "import os; os._exit(3)", "exited with status 3"),
        ("'text'", "", "has no elements, or is no tensor"),
        ("x + y", "self.register_buffer('steps', torch.zeros(1))", "adds parameters or buffers in forward"),
    ],
)
def test_a_reference_that_cannot_be_judged_is_refused(opened, expression, more, reason):
    with pytest.raises(TaskError, match=reason) as refused:
        opened(expression, more=more or "pass")
    assert "'tiny'" in str(refused.value)


SHIPPED = {"float32_matmul_precision": "highest", "cudnn.allow_tf32": True}


@pytest.mark.parametrize(
    ("numerics", "more", "flags"),
    [
        ("as-is", "pass", SHIPPED),
        ("strict", "pass", SHIPPED | {"cudnn.allow_tf32": False}),
        ("as-is", "torch.backends.cudnn.benchmark = True", SHIPPED | {"cudnn.benchmark": True}),
    ],
)  # fmt: skip
def test_a_reference_runs_under_the_flags_that_pytorch_ships_or_its_own_code_sets(opened, numerics, more, flags):
    task = opened("x + y", more=more, policy={"numerics": numerics}).task
    assert task.numerics == Numerics(mode=numerics, flags=flags)


def test_cached_baselines_are_kept_where_caches_belong(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = host.cache_directory()
    assert folder == tmp_path / "kernelwright" / "inductor"
    jail = host.reference_jail(1 << 30)
    assert jail.writable == (str(folder),)
    assert jail.may_execute


def test_a_result_without_elements_is_told_as_such(opened):
    with pytest.raises(TaskError, match=r"its result has no elements.*inputs that are not empty") as raised:
        opened("x * y", inputs="[torch.randn(0, 16), torch.randn(0, 16)]")
    assert raised.value.reason == "trivial"


def test_an_input_that_hardly_matters_is_not_said_to_be_none(opened):
    """As the state that a long recurrence begins with: it matters less than rounding, and not to read it gains nothing."""
    session = opened("x.exp() + torch.tanh(y) * 1e-9", "[torch.randn(400, 8, 16), torch.randn(16)]")
    (found,) = (c for c in examine(session, None).checks if c.name == "depends on y")
    assert found.status == "warned"
    assert "a kernel that does not read it is right" in found.figure
    with pytest.raises(TaskError, match=r"no case by more than rounding may.* does not read it") as refused:
        opened("x.exp() + y * 1e-12", "[torch.randn(64, 64), torch.rand(64, 64)]")
    assert refused.value.reason == "trivial"
