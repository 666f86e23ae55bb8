"""Large windows: of whole lines where they are few, one side after the other where they are many and that is cheaper."""

import pytest
from author_cases import case, model

from kernelwright.propose.author.rules.rule import Rule
from kernelwright.propose.author.search.designs import cpp_design, triton_design

torch = pytest.importorskip("torch")
LARGE = "torch.randn(8, 64, 128, 128)"
LINES = {
    "windows of many lengths": ("F.adaptive_avg_pool2d(x, 7)", LARGE),
    "the largest of them": ("F.adaptive_max_pool2d(x, (5, 9))", LARGE),
    "few large windows": ("F.avg_pool2d(x, 11)", LARGE),
}
APART = {
    "many large windows": ("F.avg_pool2d(x, 14, 7)", "torch.zeros(64, 64, 128, 128)"),
    "large ones that overlap": ("F.max_pool2d(x, 13, 1, 6)", LARGE),
}
AT_ONCE = {
    "windows that share nothing": ("F.avg_pool2d(x, 7)", "torch.zeros(64, 64, 128, 128)"),
    "small windows": ("F.max_pool2d(x, 3, 2, 1)", LARGE),
    "a tensor that is no work": ("F.adaptive_avg_pool2d(x, 7)", "torch.randn(2, 3, 30, 30)"),
    "one side": ("F.avg_pool1d(x, 40)", "torch.randn(8, 64, 16384)"),
    "parts of equal length": ("F.adaptive_avg_pool2d(x, 8)", LARGE),
}
ALWAYS = {
    "padding behind a filter": "F.conv2d(x, x[:4, :, :3, :3], padding=1)",
    "a window of another dimension": "x.unfold(1, 3, 1).amax((0, 4))",
}


def kernels(forward, inputs, design=triton_design, kind="cuda"):
    return design(case(model(forward, inputs), "windows", kind).task).program.kernels


@pytest.mark.parametrize("name", LINES)
def test_few_large_windows_along_a_line_are_made_of_one_reading_of_it(name):
    design = triton_design(case(model(*LINES[name]), "windows", "cuda").task)
    (kernel,) = design.program.kernels
    assert (design.default.passes, design.default.rows * design.default.block) == ("lines", 1024)
    whole = design.default.model_copy(update={"passes": "whole", "rows": 2})
    assert design.cost(design.default) < design.cost(whole)
    assert kernel.plan.lines.length == 128


@pytest.mark.parametrize("name", APART)
def test_large_windows_are_reduced_over_one_side_after_the_other(name):
    first, second = kernels(*APART[name])
    (left,) = first.part.writes
    assert left in second.part.reads
    assert left.shape[-1] == 128


@pytest.mark.parametrize("name", AT_ONCE)
def test_where_two_kernels_take_longer_one_does_it(name):
    assert len(kernels(*AT_ONCE[name])) == 1


def test_a_cpu_reads_a_window_from_its_caches():
    assert len(kernels("F.adaptive_avg_pool2d(x, 7)", "torch.randn(8, 16, 128, 128)", cpp_design, "cpu")) == 1


@pytest.mark.parametrize("name", ALWAYS)
def test_what_is_no_pooling_stays_as_it_is(name, monkeypatch):
    before = kernels(ALWAYS[name], "torch.randn(8, 16, 24, 24)")
    monkeypatch.setattr(Rule, "pays", lambda *_: True)
    after = kernels(ALWAYS[name], "torch.randn(8, 16, 24, 24)")
    assert [k.part.roots for k in before] == [k.part.roots for k in after]
