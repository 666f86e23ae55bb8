"""Keeping PyTorch is one of a run's answers, and `check` says who does the work."""

from dataclasses import replace

import pytest

from kernelwright.errors import ProposeError
from kernelwright.interfaces.cli.main import invoke
from kernelwright.records.measure import KernelFacts
from kernelwright.testing.samples import sample_evaluation, sample_measured
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers

CPU = ("--target", "cpu")
MODULE = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.abs()\n"


class Always(ScriptedEvaluator):
    """Every kernel comes out like this."""

    def __init__(self, evaluation):
        super().__init__()
        self.evaluation = evaluation

    async def evaluate(self, task, candidate, effort="search"):
        return self.evaluation


@pytest.mark.parametrize("speedup", [0.25, 1.0])
def test_a_kernel_that_is_not_faster_is_not_written(kernelwright, task, tmp_path, speedup):
    said = kernelwright("optimize", task, *CPU, "-o", "best.py", evaluator=Always(sample_measured(speedup, final=True)))
    assert said.code == 11
    assert not (tmp_path / "best.py").exists()
    (run,) = (tmp_path / "runs").iterdir()
    assert not (run / "model_new.py").exists()
    assert "PyTorch stays" in " ".join(said.err.split())


def test_that_no_drop_in_can_be_written_is_said_before_the_search(kernelwright, task):
    task.write_text(task.read_text().replace("class Model(", "class Net(") + "\n\nModel = Net()\n")
    said = kernelwright("optimize", task, *CPU, "-o", "best.py").err
    assert said.index("can be no drop-in") < said.index(" measured ")


def test_json_says_that_pytorch_stays_and_what_was_found(kernelwright, task):
    said = kernelwright("optimize", task, *CPU, "--json", evaluator=Always(sample_measured(0.25, final=True)))
    assert said.json["pytorch_stays"] is True
    assert said.json["kernel_file"] is None
    assert said.json["best"]["verdict"] == "slower"


def test_who_wants_a_slower_kernel_gets_it(kernelwright, task, tmp_path):
    slow = Always(sample_measured(0.25, final=True))
    said = kernelwright("optimize", task, *CPU, "-o", "best.py", "--keep-slower", evaluator=slow)
    assert said.code == 0
    assert (tmp_path / "best.py").exists()


@pytest.mark.parametrize(("least", "code"), [("1.5", 0), ("2.5", 11)])
def test_the_least_speedup_is_held_against_the_lower_end(kernelwright, task, least, code):
    found = Always(sample_measured(2.0, final=True))
    assert kernelwright("optimize", task, *CPU, "--min-speedup", least, evaluator=found).code == code


def test_what_no_clock_saw_is_written(kernelwright, task, tmp_path):
    verified = Always(sample_evaluation("verified"))
    said = kernelwright("optimize", task, "--target", "sm_90", "-o", "best.py", evaluator=verified)
    assert said.code == 0
    assert (tmp_path / "best.py").read_text().endswith("\n# For sm_90: verified, not timed.\n")
    assert "kernel best.py (verified, not timed)" in said.out


def with_kernels(*names):
    found = sample_evaluation("verified")
    kernels = tuple(KernelFacts(name=name) for name in names)
    return found.model_copy(update={"build": found.build.model_copy(update={"kernels": kernels})})


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "0 kernels of its own; PyTorch does it all"),
        (("relu",), "1 kernel of its own"),
        (("a", "b", "a"), "2 kernels of its own"),
    ],
)
def test_check_says_who_does_the_work(kernelwright, task, tmp_path, names, words):
    (tmp_path / "mine.py").write_text(MODULE)
    said = kernelwright("check", task, "mine.py", "--target", "sm_90", evaluator=Always(with_kernels(*names)))
    assert words in said.out
    told = kernelwright("check", task, "mine.py", "--target", "sm_90", "--json", evaluator=Always(with_kernels(*names)))
    assert told.json["own_kernels"] == len(set(names))


def test_the_policy_of_a_check_may_forbid_library_calls(kernelwright, task, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    asked = []
    monkeypatch.setattr("kernelwright.api.check", lambda request, suppliers: asked.append(request) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        kernelwright("check", task, "mine.py", "--library-calls", "forbid")
    assert asked[0].policy.library_calls == "forbid"


@pytest.mark.parametrize(("output", "written"), [("best.py", False), ("best.cpp", True)])
def test_a_kernel_that_can_be_no_drop_in_is_written_as_it_is(
    kernelwright, task, tmp_path, monkeypatch, output, written
):
    def wrap(task, candidate, other):
        raise ProposeError("no such drop-in")

    scripted = scripted_suppliers(Always(sample_measured(2.0, final=True)))
    monkeypatch.chdir(tmp_path)
    code = invoke(["optimize", str(task), *CPU, "-o", output], replace(scripted, wrap=wrap))
    assert code == 0
    assert (tmp_path / output).exists() == written
    (run,) = (tmp_path / "runs").iterdir()
    assert (run / "kernel.cpp").exists()
    assert not (run / "model_new.py").exists()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (MODULE, 0),
        (f"# no ctypes here\n{MODULE}", 0),
        (f"import ctypes\n{MODULE}", None),
        (MODULE.replace("x.abs()", "torch.compile(torch.abs)(x)"), None),
    ],
)
def test_a_module_that_only_calls_pytorch_has_no_kernel_of_its_own(kernelwright, task, tmp_path, text, count):
    (tmp_path / "mine.py").write_text(text)
    told = sample_measured(1.0).model_copy(update={"library_share": 0.98})
    said = kernelwright("check", task, "mine.py", *CPU, evaluator=Always(told))
    assert ("0 kernels of its own; PyTorch does it all, 98% of its time" in said.out) == (count == 0)
    assert "98% of its time is PyTorch's own operators'" in said.out
    told = kernelwright("check", task, "mine.py", *CPU, "--json", evaluator=Always(told))
    assert told.json["own_kernels"] == count
