"""Other forms of a random module compute the same, are many, and follow from their seed."""

import pytest
import torch

from kernelwright.testing.samples import sample_attempt, sample_task
from kernelwright.train.admission import assignments_of
from kernelwright.train.data.forms import restyled
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.prompts import rows
from kernelwright.train.data.sample import Judged, Sample


def computed(source, inputs):
    namespace = {}
    exec(compile(source, "<module>", "exec"), namespace)
    return namespace["Model"]()(*inputs), [tuple(made.shape) for made in namespace["get_inputs"]()]


@pytest.mark.parametrize("seed", range(40))
def test_it_computes_the_same_on_inputs_of_the_same_shapes(seed):
    plain = random_module(seed, depth=1 + seed % 9).source
    namespace = {}
    exec(compile(plain, "<module>", "exec"), namespace)
    torch.manual_seed(seed)
    inputs = namespace["get_inputs"]()
    expected, shapes = computed(plain, inputs)
    for form in range(4):
        found, others = computed(restyled(plain, form), inputs)
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
        assert others == shapes


def test_samples_take_forms_in_turn_and_keep_their_kernels():
    kernel = sample_attempt().proposal.candidate
    task = sample_task().model_copy(update={"source": random_module(3, depth=6)})
    made = [
        Sample(origin="author", task=task, candidate=kernel, judged=Judged(outcome="verified"), structure="s", depth=6)
    ] * 4
    plain, formed = list(rows(made, "frontend")), list(rows(made, "frontend", forms=2))
    assert [reply for _, reply in formed] == [reply for _, reply in plain]
    assert [prompt == plain[0][0] for prompt, _ in formed] == [True, False, True, False]


def test_tasks_take_forms_in_turn():
    plain = [random_module(seed, depth=6) for seed in range(4)]
    kernel = sample_attempt().proposal.candidate
    made = [
        Sample(origin="author", task=task, candidate=kernel, judged=Judged(outcome="verified"), structure="s", depth=6)
        for task in (sample_task().model_copy(update={"source": source}) for source in plain)
    ]
    asked = [assignment.task.source.source for assignment in assignments_of(made, made[0].task.target, forms=2)]
    assert asked == [restyled(one.source, n % 2) if n % 2 else one.source for n, one in enumerate(plain)]


def test_forms_are_many_and_each_follows_from_its_seed():
    plain = random_module(3, depth=6).source
    forms = {restyled(plain, seed) for seed in range(60)}
    assert len(forms) > 40
    assert restyled(plain, 5) == restyled(plain, 5)
    text = "".join(forms)
    for sign in ('"""', ": torch.Tensor", "COLUMNS", "h = "):
        assert sign in text
