"""Kernels written as published ones are, with known answers: honest ones are measured, wrong and cheating ones refused.

Among them are those that wider rules could admit. With constant weights, or with those of construction alone, a kernel could
leave out what does nothing as it is built (`norm_no_affine`, `norm_ignored_affine`, `conv_no_norm`); their honest twins pack,
fold and rename (`norm_packed`, `norm_renamed`, `conv_folded`, `conv_lazy_fold`). `benchmarks/published.py` looks at speeds.
"""

import asyncio
import importlib
from pathlib import Path

import pytest

import calm
from kernelwright.records.policy import Policy
from kernelwright.records.published import AuditedKernel, PublishedKernel, reason_class
from kernelwright.records.task import Target
from kernelwright.tasks.kernel_file import parse_text
from kernelwright.tasks.kernelbench import read_kernelbench
from lanes import sampled

BENCH = Path(__file__).parents[2] / "benchmarks"
CPU = Target(kind="cpu", arch="native", present=True)
QUICK = Policy(baselines=("eager",), search_blocks=4, search_seconds=1, run_limit_s=20)
CONSTANT = QUICK.model_copy(update={"weights": "constant", "unmatched": "construction"})
SHORT = ("norm_no_affine", "norm_renamed")
"""One of most forms, and every cheat of the wider rules with a twin."""


@pytest.fixture(scope="module")
def published():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCH)
        yield importlib.import_module("published")


def names():
    return sorted(path.stem for path in (BENCH.parent / "tests" / "published" / "kernels").glob("*.py"))


@pytest.fixture(scope="module")
def admit(warm_referee, published):
    """Admits a task of the set; once for all policies that ask for the same session."""
    known = {}

    def admit(name, policy):
        key = name, policy.weights, policy.unmatched
        if key not in known:
            source = read_kernelbench(published.SET / "tasks" / f"{name}.py")
            known[key] = asyncio.run(warm_referee.under(policy).admit(source, CPU))
        return known[key]

    return admit


@pytest.fixture
def judge(warm_referee, published, admit):
    kernels = {one.name: one for one in published.known_kernels("cpu")}

    def judge(name, policy, effort="search", text=None):
        known = kernels[name]
        text = text or known.file.read_text()
        task = admit(known.task, policy)
        found = calm.until(
            lambda: asyncio.run(warm_referee.under(policy).evaluate(task, parse_text(text, "cpu"), effort)),
            lambda found: found.outcome != "suspect" or known.truth == "cheat",
        )
        blank = PublishedKernel(name=name, origin=name, reference="", kernel=text)
        return known, AuditedKernel(key=name, published=blank, reason=reason_class(found), evaluation=found)

    return judge


@pytest.mark.parametrize("name", sampled(names(), lambda name: name in SHORT))
def test_what_is_true_of_it_is_found(judge, published, name):
    known, found = judge(name, CONSTANT)
    assert published.unlike(known, found, timed=False) == ""


def test_a_search_refuses_a_module_that_cannot_be_given_the_parameters(judge):
    _, found = judge("products_packed", QUICK)
    assert found.reason == "build_failed"
    assert "load_reference" in found.evaluation.log


BRIEF = CONSTANT.model_copy(update={"final_baselines": (), "final_blocks": 8, "final_seconds": 1})
CLAMPED = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear, self.norm = nn.Linear(width, out), nn.LayerNorm(out)

    def load_reference(self, state):
        self.load_state_dict(state)
        self.linear.weight.data.clamp_(-1, 1)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
"""
"""Right with the weights of every case, which are small."""


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["conv_folded", "norm_renamed", "norm_packed"])
def test_a_final_bears_weights_that_are_worked_out_once(judge, name):
    """A perturbation of constant weights comes before they are loaded: afterwards they may be folded or packed already."""
    _, found = judge(name, BRIEF, "final")
    assert found.evaluation.outcome == "measured", found.evaluation
    told = next(probe for probe in found.evaluation.audit.probes if probe.name == "perturbation")
    assert told.status == "passed"
    assert ("constant parameters changed before it was loaded" in told.evidence) == (name != "norm_packed")


def test_a_final_finds_constant_weights_that_are_taken_to_be_small(judge):
    _, found = judge("norm_same", BRIEF, "final", CLAMPED)
    assert found.reason == "incorrect: perturbation"
    assert found.evaluation.evidence.startswith("loaded after ")


@pytest.mark.matrix
def test_weights_that_a_training_step_changes_may_not_be_folded_once(judge):
    assert judge("conv_lazy_fold", QUICK)[1].reason in ("incorrect: value", "incorrect: timed_output")
    assert judge("conv_folded", QUICK)[1].reason == ""


HANGS = "import time\nimport torch\n\nwhile True:\n    time.sleep(1)\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n"


def test_a_submission_that_hangs_ends_at_its_limit(warm_referee, admit):
    """Seen in a release: 120 s for nothing."""
    policy = QUICK.model_copy(update={"compile_limit_s": 2})
    found = asyncio.run(warm_referee.under(policy).evaluate(admit("chain", QUICK), parse_text(HANGS, "cpu")))
    assert (found.outcome, found.limit_s) == ("timed_out", 2), found


def test_a_truth_may_be_another_on_a_gpu(published):
    truths = [{one.name: one for one in published.known_kernels(kind)} for kind in ("cpu", "cuda")]
    assert [known["products_attributes"].truth for known in truths] == ["right", "wrong"]
    assert [known["mse_dot"].speed for known in truths] == ["faster", "any"]


def test_the_set_is_large_and_of_every_kind(published):
    chosen = published.known_kernels("cuda") + [one for one in published.known_kernels("cpu") if one.only == "cpu"]
    assert len(chosen) >= 60
    truths = [one.truth for one in chosen]
    assert {truth: truths.count(truth) >= 5 for truth in ("right", "wrong", "cheat")} == dict.fromkeys(
        ("right", "wrong", "cheat"), True
    )
    assert truths.count("weaker") >= 3
