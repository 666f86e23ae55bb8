"""Modules whose authors renamed, re-registered or packed the reference's parameters, and what is found of them."""

import pytest
import torch

from kernelwright.evaluate.triton.binding import bind, held, loaded
from kernelwright.evaluate.triton.fault import BuildError
from kernelwright.evaluate.triton.model import seeded


class Reference(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv1d(3, 4, 2)
        self.norm = torch.nn.BatchNorm1d(4)


class Renamed(torch.nn.Module):
    """Other names in another order, and no counter of batches."""

    def __init__(self):
        super().__init__()
        conv = torch.nn.Conv1d(3, 4, 2)
        self.register_buffer("bias_of_conv", conv.bias.detach().clone())
        self.w = torch.nn.Parameter(conv.weight.detach().clone())
        self.scale, self.shift = torch.nn.Parameter(torch.ones(4)), torch.nn.Parameter(torch.zeros(4))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("var", torch.ones(4))


class Plain(torch.nn.Module):
    """Keeps its weights where torch does not see them, and one tensor of its own."""

    def __init__(self):
        super().__init__()
        self.weights = {"w": torch.nn.Conv1d(3, 4, 2).weight.detach()}
        self.table = torch.arange(4.0)


class Packed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        conv = torch.nn.Conv1d(3, 4, 2)
        self.register_buffer("packed", torch.cat([conv.weight.detach().flatten(), conv.bias.detach()]))


class Taking(Packed):
    def load_reference(self, state):
        self.packed = torch.cat([state["conv.weight"].flatten(), state["conv.bias"]])


def state():
    seeded()
    return {name: t.clone() for name, t in Reference().state_dict().items()}


def built(kind):
    seeded()
    return kind()


def other():
    return {name: torch.full_like(t, 3.0 + i) for i, (name, t) in enumerate(state().items())}


def test_equal_names_are_found_by_name():
    bound = bind(built(Reference), state())
    assert bound.told.by_name == 7
    assert (bound.told.left, bound.told.constant) == ((), ())
    bound.give(other())
    assert all(torch.equal(bound.model.state_dict()[name], value) for name, value in other().items())


def test_other_names_are_found_by_their_values_and_then_take_new_ones():
    bound = bind(built(Renamed), state())
    assert bound.told.by_value == (
        "w = conv.weight",
        "bias_of_conv = conv.bias",
        "scale = norm.weight",
        "shift = norm.bias",
        "mean = norm.running_mean",
        "var = norm.running_var",
    )
    assert (bound.told.left, bound.told.constant) == (("norm.num_batches_tracked",), ())
    bound.give(other())
    assert bound.model.w.unique().tolist() == [3.0]
    assert bound.model.shift.unique().tolist() == [6.0]


def test_plain_attributes_are_found_too():
    bound = bind(built(Plain), state())
    assert bound.told.by_value == ("weights['w'] = conv.weight",)
    assert bound.told.constant == ("table",)
    assert "conv.bias" in bound.told.left


def test_what_was_packed_is_left_over_on_both_sides():
    told = bind(built(Packed), state()).told
    assert told.constant == ("packed",)
    assert set(told.left) == set(state())


def test_a_model_may_take_them_itself():
    bound = bind(built(Taking), state())
    assert bound.told.by_method
    bound.give(other())
    assert bound.model.packed.unique().tolist() == [3.0, 4.0]


def test_load_reference_must_be_a_method():
    model = built(Packed)
    model.load_reference = 3
    with pytest.raises(BuildError, match="load_reference"):
        bind(model, state())


def test_tied_tensors_are_one():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(3, 3, bias=False)
            self.b = torch.nn.Linear(3, 3, bias=False)
            self.b.weight = self.a.weight

    class One(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Linear(3, 3, bias=False).weight

    wanted = built(Tied).state_dict()
    assert bind(built(One), wanted).told.by_value == ("w = a.weight", "w = b.weight")
    assert bind(built(Tied), wanted).told.by_name == 2


def test_the_rest_is_found_by_its_place_where_all_shapes_agree():
    class Zeros(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.x, self.y = torch.nn.Parameter(torch.zeros(4, 3, 2)), torch.nn.Parameter(torch.zeros(4))

    reference = {name: t for name, t in state().items() if name.startswith("conv")}
    assert bind(Zeros(), reference).told.by_order == ("x = conv.weight", "y = conv.bias")


def test_without_values_a_place_counts_only_where_no_two_shapes_are_the_same():
    two = {"a": torch.zeros(3), "b": torch.zeros(3)}

    class Other(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.y, self.x = torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(3))

    assert bind(Other(), two, valued=False).told.left == ("a", "b")


def test_without_values_a_last_name_counts_where_it_is_the_only_one():
    class Norm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias, self.weight = torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(3))

    one = {"norm.weight": torch.zeros(3), "norm.bias": torch.zeros(3)}
    assert bind(Norm(), one, valued=False).told.by_order == ("weight = norm.weight", "bias = norm.bias")
    two = {**one, "other.weight": torch.zeros(3), "other.bias": torch.zeros(3)}
    assert bind(Norm(), two, valued=False).told.left == tuple(two)


def test_a_model_without_a_place_for_a_parameter_is_refused_with_the_ways_out():
    with pytest.raises(BuildError, match=r"nothing in the model holds conv\.weight\[4, 3, 2\].*load_reference"):
        loaded(torch.nn.Identity(), state())


def test_hooks_see_the_first_parameters_and_no_later_ones():
    seen = []

    class Told(Reference):
        def _load_from_state_dict(self, given, *others):
            seen.append(len(given))
            super()._load_from_state_dict(given, *others)

    bound = bind(built(Told), state())
    bound.give(other())
    bound.give(state())
    assert len(seen) == 1
    assert torch.equal(bound.model.conv.weight, state()["conv.weight"])


def test_a_parameter_that_runs_code_of_its_own_is_refused():
    class Told(torch.nn.Parameter):
        pass

    model = built(Reference)
    model.conv.weight = torch.Tensor._make_subclass(Told, model.conv.weight.detach().clone(), True)
    with pytest.raises(BuildError, match=r"conv\.weight is a Told, not a plain tensor"):
        bind(model, state())


class Rotary(torch.nn.Module):
    """A parameter, a buffer that is not saved, and a plain attribute; one name stands for the parameter's memory."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(3))
        self.register_buffer("cos", torch.rand(4), persistent=False)
        self.table = [torch.rand(2), torch.rand(2, dtype=torch.complex64).conj()]
        self.same = [self.weight]


def test_a_module_holds_its_state_and_then_its_constants():
    model = Rotary()
    assert [name for name in held(model) if "table[1]" not in name] == ["weight", "cos", "table[0]"]
    assert held(model)["cos"].data_ptr() == model.cos.data_ptr()


def test_a_constant_needs_no_place_in_a_model():
    model = torch.nn.Linear(1, 3)
    wanted = {"weight": model.weight.detach().clone(), "bias": torch.rand(3), "cos": torch.rand(4)}
    assert bind(model, wanted).told.left == ("cos",)
    told = bind(model, wanted, constants=("cos",)).told
    assert (told.left, told.by_name) == ((), 2)
