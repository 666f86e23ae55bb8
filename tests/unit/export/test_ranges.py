"""Positions that Model refuses are Model's to refuse: the drop-in hands them on."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from kernelwright.export.model_new import wrap
from kernelwright.export.ranges import ranges
from kernelwright.records.candidate import Candidate

sys.path.append(str(Path(__file__).parents[1] / "propose" / "author"))
from author_cases import case, model

IDS = "torch.randint(0, 9, (5,))"
FORMS = {
    "embedding": ("F.embedding(x, y)", f"{IDS}, torch.randn(9, 3)", [(0, False, (1, 0), None)]),
    "of a table of the module": ("self.t(x)", IDS, [(0, False, (1, 0), None)]),
    "a loss": ("F.cross_entropy(y, x)", f"{IDS}, torch.randn(5, 9)", [(0, False, (1, 1), -100)]),
    "a loss of what is computed": (
        "F.nll_loss(F.log_softmax(y * 2, 1), x, ignore_index=7)", f"{IDS}, torch.randn(5, 9)", [(0, False, 9, 7)]),
    "gather": ("y.gather(1, x.unsqueeze(1))", f"{IDS}, torch.randn(5, 9)", [(0, False, (1, 1), None)]),
    "index": ("y[x]", f"{IDS}, torch.randn(9, 2)", [(0, True, (1, 0), None)]),
    "one_hot": ("F.one_hot(x.view(-1), 9)", IDS, [(0, False, 9, None)]),
    "what is computed first": ("F.embedding(x.clamp(max=8), y)", f"{IDS}, torch.randn(9, 3)", []),
    "no positions": ("x * y", f"{IDS}, torch.randn(5)", []),
}  # fmt: skip


def told(name):
    forward, inputs, _ = FORMS[name]
    arguments = "x, y" if "y" in forward else "x"
    init = "self.t = nn.Embedding(9, 3)" if "self.t" in forward else "pass"
    return case(model(forward, inputs, init=init, arguments=arguments), "ranged", "cpu").task


@pytest.mark.parametrize("name", FORMS)
def test_what_the_reference_demands_is_read_from_its_operations(name):
    assert [tuple(one) for one in ranges(told(name))] == FORMS[name][2]


@pytest.fixture(scope="module")
def drop_in():
    task = told("a loss")
    kernel = 'extern "C" void loss(const long long* x, const float* y, float* out) { out[0] = 7.0f; }'
    made = ModuleType("ranged")
    exec(wrap(task, Candidate(language="cpp", source=kernel, entry="loss")), vars(made))
    return made


def test_positions_in_range_run_the_kernel_and_others_are_answered_by_model(drop_in):
    new, labels, scores = drop_in.ModelNew().eval(), torch.randint(0, 9, (5,)), torch.randn(5, 9)
    with torch.no_grad():
        new.check_new_sizes(False)
        assert new(labels, scores) == 7
        assert new(labels.index_fill(0, torch.tensor([2]), -100), scores) == 7, "losses leave this label out"
        for wrong in (9, -1, -101):
            with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
                new(labels.index_fill(0, torch.tensor([2]), wrong), scores)
        assert new(labels, scores) == 7
    assert new.stats()["kernel"] == 3


def test_within_torch_compile_the_operator_refuses_them(drop_in):
    with pytest.raises(IndexError, match="tensor 0 of the call has positions out of range for 9"):
        drop_in._operator(torch.full((5,), 9), torch.randn(5, 9))


@pytest.mark.parametrize("wraps", [True, False])
def test_on_a_device_pytorch_s_own_reading_stops_at_them(drop_in, wraps):
    fine, low = torch.tensor([0, 8, -100]), torch.tensor([-1])
    drop_in._assert_on_device(fine, wraps, 9, -100)
    for wrong in (torch.tensor([9]), *(() if wraps else (low,))):
        with pytest.raises((IndexError, RuntimeError)):
            drop_in._assert_on_device(wrong, wraps, 9, None)


def test_an_argument_that_is_no_plain_tensor_is_named_with_its_type_and_a_cure(drop_in):
    class Marked(torch.Tensor):
        pass

    labels, scores = torch.randint(0, 9, (5,)), torch.randn(5, 9).as_subclass(Marked)
    why = drop_in._unfit((labels, scores))
    assert why.startswith("tensor 1 of the call is of the type")
    assert "Marked" in why and "as_subclass(torch.Tensor)" in why
    assert "nested tensor" in drop_in._unfit((torch.nested.nested_tensor([labels], layout=torch.jagged), scores))
    assert "list" in drop_in._unfit(([1, 2], scores)) and "torch.as_tensor" in drop_in._unfit(([1, 2], scores))
