"""Which other sizes a kernel over rows is for: those with which its source would give what the reference gives."""

import importlib.util

import pytest
from author_cases import case, model

from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import TritonSchedule, triton_default
from kernelwright.propose.author.families.rows.triton import write_triton

torch = pytest.importorskip("torch")
SIZES = {
    "more rows": ("x.softmax(-1)", (4, 64), (5, 64), True),
    "longer rows": ("x.softmax(-1)", (4, 64), (4, 99), True),
    "more rows before a dimension of one": ("x.softmax(-1)", (4, 1, 65), (7, 1, 65), True),
    "rows where there was one along a dimension": ("x.softmax(-1)", (4, 1, 65), (2, 2, 65), False),
    "more along what was reduced": ("x.log_softmax(1)", (4, 1, 65), (4, 6, 65), False),
    "results of the task's shape": ("x.softmax(-1), x.sum(-1)", (4, 1, 65), (7, 1, 65), False),
    "flattened elements": ("x.flatten(1) + 1", (4, 3, 5), (5, 3, 5), False),
    "rows that begin within a dimension": ("x.unflatten(-1, (8, 8)).softmax(-1)", (4, 64), (5, 64), False),
    "a length as a number": ("(x * x.shape[-1] ** -0.5).softmax(-1)", (4, 64), (4, 16), False),
}


def written(forward, shape, schedule=None):
    found = case(model(forward, f"torch.randn{shape}"), "sizes", "cuda")
    plan = lower(found.task)
    return write_triton(found.task, plan, schedule or triton_default(plan)).source


@pytest.mark.parametrize("name", SIZES)
def test_other_sizes_fit_where_the_kernel_is_theirs_too(name, tmp_path):
    forward, shape, other, wanted = SIZES[name]
    path = tmp_path / "candidate.py"
    path.write_text(written(forward, shape))
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.INTERPRETED = True
    assert module._fits(torch.randn(shape))
    assert module._fits(torch.randn(other)) is wanted


def test_columns_of_rows_with_more_elements_than_fit_32_bits_have_64():
    source = written("x.softmax(-1)", (4, 64), TritonSchedule(passes="decoupled", block=16))
    assert "part = turn % PARTS if cols < 2**30 else tl.cast(turn % PARTS, tl.int64)" in source
