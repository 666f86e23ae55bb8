"""Views whose shape another tensor says, operations under other names, and classes against their numbers."""

import pytest
from author_cases import build, call, case, error, model

from kernelwright.propose.author.search.designs import DESIGNS

FORMS = {
    "view_as": ("(x * 2).view_as(y) + y", "torch.randn(4, 6), torch.randn(2, 2, 6)"),
    "reshape_as": ("(x + 1).reshape_as(y).ravel() * y.ravel()", "torch.randn(4, 6), torch.randn(24)"),
    "swapaxes": ("x.swapaxes(0, 1) * y + y.swapdims(0, 1).positive().t()", "torch.randn(4, 6), torch.randn(6, 4)"),
    "atleast_3d": ("torch.atleast_3d(x * 3) + y", "torch.randn(4, 6), torch.randn(4, 6, 1)"),
    "second names": (
        "torch.multiply(torch.max(x, y), torch.min(x, y)).absolute().clip(max=1.5)",
        "torch.randn(4, 6), torch.randn(4, 6)",
    ),
    "compared": (
        "torch.divide(x, 3).negative() * x.greater(y) + torch.subtract(x, y) * x.not_equal(0.0)",
        "torch.randn(4, 6), torch.randn(4, 6)",
    ),
    "one_hot": ("F.one_hot(x, 9)", "torch.randint(0, 9, (5, 4))"),
    "share of a class": ("F.one_hot(x, 9).float().mean(0) * y", "torch.randint(0, 9, (50,)), torch.randn(9)"),
    "of what is found": ("F.one_hot(x.argmax(1), 6).to(y) @ y", "torch.randn(8, 6), torch.randn(6, 3)"),
}


def task_of(name, kind):
    forward, inputs = FORMS[name]
    return case(model(forward, inputs, arguments="x, y" if "y" in forward else "x"), "told", kind)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    found = {name: task_of(name, "cpu") for name in FORMS}
    designs = {name: DESIGNS["cpp"](one.task) for name, one in found.items()}
    sources = [design.write(design.default) for design in designs.values()]
    entries = build(sources, tmp_path_factory.mktemp("told"), "-O0")
    rooms = [source.workspace_bytes for source in sources]
    return {name: (found[name], *one) for name, *one in zip(FORMS, entries, rooms, strict=True)}


@pytest.mark.parametrize("name", FORMS)
def test_it_is_what_pytorch_says(name, built):
    found, entry, room = built[name]
    for got, wanted in zip(call(entry, found, workspace=room), found.reference(), strict=True):
        assert got.shape == wanted.shape
        assert error(got, wanted) < 1e-5


@pytest.mark.parametrize("name", FORMS)
def test_a_gpu_s_kernel_leaves_nothing_of_it_to_pytorch(name):
    design = DESIGNS["triton"](task_of(name, "cuda").task)
    assert design.write(design.default).source
    assert not (design.program and design.program.kept)
