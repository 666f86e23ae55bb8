"""Other forms of a module compute the same, are many, and follow from their seed; a copy is as right as its pair."""

import json
import random
import subprocess
import sys

import pytest
import torch

from kernelwright.testing.samples import sample_attempt, sample_task
from kernelwright.train.admission import assignments_of
from kernelwright.train.data.forms import SAME, restyled
from kernelwright.train.data.kernels import in_form
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.prompts import rows
from kernelwright.train.data.sample import Judged, Sample
from kernelwright.train.data.wide import KINDS, wide_module


def namespace_of(source):
    found = {}
    exec(compile(source, "<module>", "exec"), found)
    return found


def computed(source, inputs):
    found = namespace_of(source)
    made = [tuple(each.shape) for each in found["get_inputs"]()]
    return found["Model"](*found["get_init_inputs"]())(*inputs), made


def assert_forms_alike(plain, forms):
    torch.manual_seed(0)
    inputs = [each.double() for each in namespace_of(plain)["get_inputs"]()]
    expected, shapes = computed(plain, inputs)
    for form in forms:
        found, others = computed(restyled(plain, form), inputs)
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9, equal_nan=True)
        assert others == shapes


@pytest.mark.parametrize("seed", range(40))
def test_a_chain_computes_the_same_on_inputs_of_the_same_shapes(seed):
    assert_forms_alike(random_module(seed, depth=1 + seed % 9).source, range(4))


@pytest.mark.parametrize("seed", range(60))
def test_so_does_a_module_of_any_kind(seed):
    assert_forms_alike(wide_module(seed).source, range(2))


@pytest.mark.parametrize("row", SAME, ids=lambda row: row[0])
def test_every_spelling_of_a_row_means_the_same(row):
    torch.manual_seed(0)
    known = {"a": torch.rand(2, 3, 8, 8).double() + 0.1, "b": torch.rand(2, 3, 8, 8).double(), "c": 2, "d": 2, "e": 1}
    known["a"] = known["a"][0] if "pool1d" in row[0] else known["a"]
    known |= {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    expected, *others = (eval(text, known) for text in row)
    for found in others:
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_forms_are_many_and_each_follows_from_its_seed():
    plain = random_module(3, depth=6).source
    forms = {restyled(plain, seed) for seed in range(60)}
    assert len(forms) > 55
    assert restyled(plain, 5) == restyled(plain, 5)
    text = "".join(forms)
    for sign in (
        '"""',
        ": torch.Tensor",
        "COLUMNS",
        "h = ",
        "super(",
        "nn.Softplus()",
        "self.scale",
        "# ",
        "torch.rand(",
    ):
        assert sign in text


def test_modules_of_every_kind_are_drawn_and_follow_from_their_seed():
    assert wide_module(7) == wide_module(7)
    text = "".join(wide_module(seed).source for seed in range(400))
    for sign in ("cumsum", "pool2d", "chunk", "_loss", " @ ", "argmax", "normalize", "torch.roll", "bfloat16"):
        assert sign in text
    assert all(kind(random.Random(seed)).lines for kind in KINDS for seed in range(20))


def sample_of(source):
    kernel = sample_attempt().proposal.candidate
    task = sample_task().model_copy(update={"source": source})
    return Sample(
        origin="author", task=task, candidate=kernel, judged=Judged(outcome="verified"), structure="s", depth=6
    )


def test_samples_take_forms_in_turn():
    made = [sample_of(random_module(3, depth=6))] * 4
    plain, formed = list(rows(made, "frontend")), list(rows(made, "frontend", forms=2))
    assert [prompt == plain[0][0] for prompt, _ in formed] == [True, False, True, False]


def test_tasks_take_forms_in_turn():
    made = [sample_of(random_module(seed, depth=6)) for seed in range(4)]
    asked = [assignment.task.source.source for assignment in assignments_of(made, made[0].task.target, forms=2)]
    assert asked == [in_form(one, n % 2).task.source.source for n, one in enumerate(made)]


JUDGED = """
import json, os, warnings
os.environ["TRITON_INTERPRET"] = "1"
warnings.simplefilter("ignore")
from kernelwright.train.data.kernels import copied, in_form
from kernelwright.train.data.sample import Sample
from kernelwright.train.recipes.pairs import make, module_of, traced, wrong
for wide, seed in [(False, 0), (False, 1), (False, 2), (True, 0), (True, 1), (True, 3), (True, 5)]:
    one = Sample.model_validate_json(make("author", wide, seed).line)
    assert one.task.source == module_of(seed, wide)
    for copy in range(1, 4):
        found = in_form(copied(one, copy), copy)
        side, task = traced(found.task.source)
        names = [i.name for i in task.workload.inputs] == [i.name for i in found.task.workload.inputs]
        print(json.dumps([one.task.source.name, copy, wrong(side, task, found.candidate), names]))
"""


@pytest.mark.matrix
def test_copies_of_pairs_of_either_kind_are_right():
    """In a process of their own, since Triton asks once whether it interprets."""
    done = subprocess.run([sys.executable, "-c", JUDGED], capture_output=True, text=True, check=True)
    judged = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(judged) == 21
    assert [one for one in judged if one[2:] != ["", True]] == []


def test_a_kernel_takes_what_the_constructor_of_a_form_takes():
    kernel = "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x\n"
    one = sample_of(random_module(3, depth=6))
    one = one.model_copy(update={"candidate": one.candidate.model_copy(update={"source": kernel})})
    forms = [in_form(one, form) for form in range(1, 60)]
    given = [namespace_of(each.task.source.source)["get_init_inputs"]() for each in forms]
    assert {len(each) for each in given} >= {0, 1, 2}
    for form, arguments in zip(forms, given, strict=True):
        found = {"nn": torch.nn}
        exec(form.candidate.source, found)
        found["ModelNew"](*arguments)
