"""Every family of kernels is right: in Triton's interpreter, and as C++ through the system's compiler."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from author_cases import build, call, case, error, model
from programs import CASES, X, found_case

from kernelwright.errors import ProposeError
from kernelwright.propose.author.search.designs import cpp_design, triton_design
from lanes import asked_for, sampled

torch = pytest.importorskip("torch")
LONG = ("the first of long rows", "moments of tiles", "windows above one another")
"""What takes Triton's interpreter as long as all the others; shorter rows are sorted in every run."""
SHORTER = ("statistics of tiles", "laid out for tiles and rounded", "windows above one another along long lines")
"""Of the kinds of the last two, and in every run."""
INTERPRETED = [*[*CASES][::10], *SHORTER]
"""In a quick run."""
COMPILED = [*CASES][1::10]
"""Whose C++ is compiled and judged in a quick run."""
TF32 = 2.0**-9
"""What factors of eleven bits may err."""
ON_CPU = [name for name in CASES if name not in ("kept", "dropped", "odd rows folded")]
"""The last is for a GPU alone: its sums of 256 are one after the other on a CPU."""


@pytest.fixture(scope="module")
def interpreted(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("programs.py"), str(folder), *asked_for(request, test_triton_is_right)],
        env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: (fits, errors) for name, fits, errors in map(json.loads, done.stdout.splitlines())}


@pytest.mark.timeout(700)
@pytest.mark.parametrize("name", sampled(CASES, lambda name: name in INTERPRETED and name not in LONG))
def test_triton_is_right(interpreted, name):
    fits, errors = interpreted[name]
    assert fits
    own = TF32 if "rounded" in name else 0.0
    for got, eager, alike in errors:
        assert alike
        assert own / 100 <= got < 4 * eager + 4e-7 + own


def test_what_is_one_value_again_is_one_kernel_with_its_product():
    kernels = [kernel.family for kernel in triton_design(found_case("one value again", "cuda").task).program.kernels]
    assert sorted(kernels) == ["product", "product", "product", "strided"]


def families(design, forward, inputs, arguments, kind):
    found = case(model(forward, inputs, arguments=arguments), "t", kind)
    return [kernel.family for kernel in design(found.task).program.kernels]


def test_what_is_computed_before_a_convolution_is_stored_where_it_would_be_computed_again():
    given = ("torch.randn(2, 32, 20, 20), torch.rand(32, 1, 1), torch.randn(64, 32, 3, 3)", "x, w, k")
    assert families(triton_design, "F.conv2d(torch.relu(x * w), k)", *given, "cuda") == ["strided", "product"]
    # A CPU's products compute each element of a factor once, as they pack it.
    assert families(cpp_design, "F.conv2d(torch.relu(x * w), k)", *given, "cpu") == ["product"]
    few = ("torch.randn(2, 32, 20, 20), torch.rand(32, 1, 1), torch.randn(4, 32, 1, 1)", "x, w, k")
    assert "strided" not in families(triton_design, "F.conv2d(x * w, k.repeat(2, 1, 1, 1))", *few, "cuda")


@pytest.mark.parametrize(("height", "outer"), [(30, True), (31, False)])
def test_moments_of_a_batch_are_read_once_by_a_program_whose_rows_are_all_of_it(height, outer):
    given = f"torch.randn(3, 8, {height}, 34), torch.randn(8)"
    found = case(model("torch.logsumexp(F.group_norm(x, 2, w, w) + x, 1)", given, arguments="x, w"), "t", "cuda")
    design = triton_design(found.task)
    # 1,020 rows leave four places of 1,024 empty; 1,054 would leave half of two tiles.
    assert ("outer = tile // tiles" in design.write(design.default).at(()).source) == outer


@pytest.mark.parametrize("padding", [0, 1])
def test_a_step_of_a_convolution_adds_one_number_to_its_pointers_and_looks_its_padding_up(padding):
    given = "torch.randn(2, 32, 40, 40), torch.randn(64, 32, 3, 3)"
    found = case(model(f"F.conv2d(x, k, padding={padding})", given, arguments="x, k"), "t", "cuda")
    design = triton_design(found.task)
    source = design.write(design.default.model_copy(update={"packed": True, "precision": "tf32"})).at(()).source
    step = source[source.index("in tl.range(0, 288") : source.index("total = tl.dot")]
    width = 38 + 2 * padding
    assert f"column // {width}" in source and f"// {width}" not in step and "i * 1280 + j * 32 + below" in step
    assert ("right_exists" in step) == ("tl.static_range(9)" in source) == bool(padding)


@pytest.mark.parametrize(
    ("forward", "shape", "grouped"),
    [
        ("x.topk(512)[0]", "2 ** 22", True),
        ("x.topk(100)[1]", "100, 2 ** 16", True),
        ("x.topk(512)[0]", "2 ** 16", False),  # a device sorts 32 pieces at once
        (
            "x.topk(512)[0]",
            "100, 2 ** 16",
            False,
        ),  # groups of eight, and as many of their elements, are a quarter of all
        ("x.topk(512, largest=False)[0]", "2 ** 22", False),  # minima that are no NaN where an element is
        ("x.topk(512)[0]", "2 ** 22 - 1", False),
    ],
)
def test_of_very_long_rows_the_groups_that_have_the_first_places_are_found_before_these(forward, shape, grouped):
    found = families(triton_design, forward, f"torch.empty({shape})", "x", "cuda")
    assert found.count("strided") == grouped
    assert found.count("order") > 1


def test_joins_are_stored_apart_from_what_they_join():
    given = ("torch.randn(2, 16, 20, 20), torch.randn(16, 16, 3, 3)", "x, k")
    joined = families(triton_design, "torch.cat([x, F.conv2d(x, k, padding=1)], 1)", *given, "cuda")
    assert joined == ["product", "strided"]


@pytest.mark.parametrize("name", sampled(ON_CPU, lambda name: name in COMPILED))
def test_cpp_is_right(name, tmp_path):
    found = found_case(name)
    design = cpp_design(found.task)
    candidate = design.write(design.default)
    (entry,) = build([candidate], tmp_path)
    outputs = [
        torch.full(o.shape, 77).to(getattr(torch, o.dtype)) for o in found.task.workload.outputs
    ]  # fmt: skip
    scratch = torch.empty(candidate.workspace_bytes + 1, dtype=torch.uint8)
    given = [*found.inputs, *found.module.state_dict().values()]
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (*given, *outputs)]
    entry(*pointers, *([ctypes.c_void_p(scratch.data_ptr())] if candidate.workspace_bytes else []))
    for got, wanted, own in zip(outputs, found.reference(), found.eager(), strict=True):
        assert error(got, wanted) < 4 * error(own, wanted) + 4e-7


def test_what_pytorch_does_stays_around_the_kernels():
    found = case(model("torch.linalg.solve(x, x.sum(1)) * 2", "torch.randn(9, 9)"), "solved", "cuda")
    design = triton_design(found.task)
    assert [step.node.op for step in design.program.kept] == ["aten.linalg_solve.default"]
    assert "torch.ops.aten.linalg_solve.default(A=x" in design.write(design.default).source


def test_only_the_seed_of_a_dropout_is_left_to_pytorch():
    source = model("F.gelu(F.dropout(x @ w, 0.1, True))", "torch.randn(64, 32), torch.randn(32, 48)", arguments="x, w")
    task = case(source, "dropped", "cuda").task
    assert [type(step).__name__ for step in triton_design(task).program.steps] == ["Kept", "Kernel"]
    assert [step.node.op for step in triton_design(task).program.kept] == ["aten.randint.default"]
    with pytest.raises(ProposeError, match=r"aten\.dropout"):
        cpp_design(case(source, "dropped", "cpu").task)


@pytest.mark.parametrize("kind", ["cuda", "cpu"])
@pytest.mark.parametrize(
    "how", ["F.dropout(y, 0.3, False, True)", "F.dropout2d(y, 0.3, False)", "F.alpha_dropout(y, 0.3)"]
)
def test_what_drops_nothing_is_what_it_is_given_though_a_view_of_that_was_taken(kind, how):
    forward = f"(lambda y: {how} + y.flatten(1).view(3, 8, 10, 12))((x * 2).view(3, 8, 10, 12))"
    design = (triton_design if kind == "cuda" else cpp_design)(case(model(forward, X), "whole", kind).task)
    assert [kernel.family for kernel in design.program.kernels] == ["rows"]


def test_the_share_that_stays_with_pytorch_is_told():
    found = case(model("torch.linalg.solve(x, x.sum(1)) * 2", "torch.randn(9, 9)"), "solved", "cuda")
    costs = {"aten.linalg_solve.default": 300}
    nodes = [n.model_copy(update={"bytes": costs.get(n.op, 50)}) for n in found.task.graph.nodes]
    task = found.task.model_copy(update={"graph": found.task.graph.model_copy(update={"nodes": tuple(nodes)})})
    assert triton_design(task).stays(task) == "PyTorch keeps aten.linalg_solve.default, about 75% of the work"
    alone = case(model("x + 1", "torch.randn(9)"), "alone", "cuda").task
    assert triton_design(alone).stays(alone) == ""


def test_where_pytorch_would_do_everything_the_author_declines():
    found = case(model("torch.linalg.inv(x)", "torch.randn(9, 9)"), "inverse", "cuda")
    with pytest.raises(ProposeError, match=r"linalg_inv.*PyTorch would do all of it"):
        triton_design(found.task)


def test_a_product_is_one_kernel_with_all_that_becomes_of_it():
    source = model("F.gelu(x.tril() @ w + b) * 2 + x", "torch.randn(64, 64), torch.randn(64, 64), torch.randn(64)",
                   arguments="x, w, b")  # fmt: skip
    design = triton_design(case(source, "fused", "cuda").task)
    assert [kernel.family for kernel in design.program.kernels] == ["product"]


@pytest.mark.parametrize(
    "forward", ["x.flip(0).sum() * 2", "x.flip(0).cumsum(0)", "x.sort(0)[0]", "x.flip(0).softmax(0)"]
)
def test_where_no_axis_has_rows_a_program_takes_one(forward):
    design = triton_design(case(model(forward, "torch.randn(40)"), "alone", "cuda").task)
    names = [name for name in type(design.default).model_fields if name.endswith("rows")]
    source = design.write(design.default.model_copy(update=dict.fromkeys(names, 64))).source
    assert "ROWS = 1\n" in source
    assert "ROWS = 64" not in source


@pytest.mark.parametrize(("samples", "wide"), [(1200, True), (900, False)])
def test_positions_in_factors_that_zeros_made_too_long_for_32_bits_have_64(samples, wide):
    given = f"torch.empty({samples}, 3, 512, 512, device='meta').half(), torch.empty(16, 3, 4, 4, device='meta').half()"
    design = triton_design(case(model("F.conv2d(x, w, stride=4)", given, arguments="x, w"), "long", "cuda").task)
    source = design.write(design.default.model_copy(update={"packed": True})).source
    assert ("batch = tl.cast(tl.program_id(0) // (down * across), tl.int64)" in source) is wide


@pytest.mark.parametrize(("places", "alone"), [(127, True), (70, False), (53, True), (54, False)])
def test_a_tile_has_results_of_one_row_of_windows_where_that_wastes_little(places, alone):
    given = f"torch.randn(3, 16, {places}), torch.randn(24, 16, 3)"
    design = triton_design(case(model("F.conv1d(x, w, padding=1)", given, arguments="x, w"), "windows", "cuda").task)
    source = design.write(design.default).source
    assert (f"+ row * {places} + column, total" in source) is alone
    assert (f"column % {places}" not in source) is alone


def test_the_cheapest_by_estimate_come_first_and_differ():
    source = model("x @ w", "torch.randn(512, 512), torch.randn(512, 512)", arguments="x, w")
    design = triton_design(case(source, "ordered", "cuda").task)
    tries = design.tries(6)
    assert tries[0] == design.default
    assert len({design.write(s).id for s in tries}) == 6
    assert [design.cost(s) for s in tries[1:]] == sorted(design.cost(s) for s in tries[1:])


def norm(train):
    source = model("self.a(x)", "torch.randn(8192, 64)", "self.a = nn.BatchNorm1d(64)")
    return triton_design(case(source, "norm", "cuda", train=train).task)


def test_what_reduces_the_same_rows_is_one_kernel_with_several_results():
    kernels = norm(train=True).program.kernels
    assert [len(kernel.part.roots) for kernel in kernels] == [2, 4, 1, 1]
    parts, statistics = (kernel.part for kernel in kernels[:2])
    assert {t.name for t in parts.writes} < {t.name for t in statistics.reads}


def test_what_reads_what_another_kernel_makes_stays_behind_it():
    source = model("x.softmax(0), (x.softmax(0) @ w).sum(1) + x.softmax(0).sum(1)",
                   "torch.randn(64, 64), torch.randn(64, 64)", arguments="x, w")  # fmt: skip
    program = triton_design(case(source, "ordered", "cuda").task).program
    made = {t.name for t in program.arguments}
    for kernel in program.kernels:
        assert {t.name for t in kernel.part.reads} <= made
        made |= {t.name for t in kernel.part.writes}


def test_what_is_turned_round_twice_is_read_where_it_lies():
    """Positions that fall are no wide load: a compiler does not see that 16 - (16 - n) is n."""
    task = case(model("x.flip(1).cumsum(1).flip(1) + x.flip(1).flip(1)", "torch.randn(4, 64)"), "turned", "cuda").task
    design = triton_design(task)
    assert "tl.load(x_ptr + row * 64 + column)" in design.write(design.default).source


def test_what_is_cast_to_half_is_multiplied_as_half():
    """Stored first, with sixteen bits: tensor cores take it as it is, and PyTorch does no less."""
    given = ("torch.randn(64, 64), torch.randn(64, 64)", "x, w")
    assert families(triton_design, "(x.half() @ w.half()).float()", *given, "cuda") == ["strided", "strided", "product"]
    task = case(model("(x.half() @ w.half()).float()", given[0], arguments=given[1]), "task", "cuda").task
    source = triton_design(task).write(triton_design(task).default).source
    assert "dtype=torch.float16" in source
    assert "input_precision" not in source
    assert families(cpp_design, "(x.half() @ w.half()).float()", *given, "cpu") == ["product"]
    for x in ("torch.relu(x.half())", "x.half().t()", "(x * 2).half().tanh()"):
        text = f"({x} @ w.half()).float()"
        assert families(triton_design, text, *given, "cuda") == ["strided", "strided", "product"], x
    narrow = ("torch.randn(64, 64).half(), torch.randn(64, 64).half()", "x, w")
    assert families(triton_design, "torch.relu(x) @ w", *narrow, "cuda") == ["product"]


@pytest.mark.parametrize(
    ("forward", "position"),
    [("x.sum(0)", "column"), ("x.softmax(0)", "column"), ("x.cumsum(0)", "column"), ("x.t() @ x", "deep")],
)
def test_positions_in_large_tensors_have_64_bits(forward, position, monkeypatch):
    """Times their stride: a column of 65536 rows of as many elements is beyond what 32 bits count."""
    task = case(model(forward, "torch.randn(128, 128)"), "large", "cuda").task
    design = triton_design(task)
    wide = f"tl.cast({position}, tl.int64) * 128"
    assert wide not in design.write(design.default).source
    monkeypatch.setattr("kernelwright.propose.author.emit.tile.SMALL", 128 * 128)
    assert wide in design.write(design.default).source


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_cpp_rounds_to_eight_bits_and_reads_them_as_pytorch_does(dtype, tmp_path):
    steps = "1, 1.0625, 1.125, 1.1875, -1.25, 1.375, 1.875, -1.9999, 1.9375"
    ends = f"torch.cat([2.0 ** torch.arange(-20, 17) * n for n in ({steps})])"
    given = f"{ends}, torch.arange(256, dtype=torch.uint8).view(torch.{dtype})"
    found = case(model(f"x.to(torch.{dtype}), x.to(torch.{dtype}).float(), y.float()", given, arguments="x, y"))
    candidate = cpp_design(found.task).write(cpp_design(found.task).default)
    (entry,) = build([candidate], tmp_path)
    for got, wanted in zip(call(entry, found, workspace=candidate.workspace_bytes), found.eager(), strict=True):
        torch.testing.assert_close(got.float(), wanted.float(), rtol=0, atol=0, equal_nan=True)
