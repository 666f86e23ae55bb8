"""Each degree of freedom of the Triton schedule, alone, changes the source and stays right, interpreted."""

import importlib.metadata
import json
import os
import subprocess
import sys

import pytest
from author_cases import case, model

from kernelwright.errors import ProposeError
from kernelwright.export.model_new import fixed
from kernelwright.propose.author.families.rows import triton_decoupled
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import TritonSchedule, triton_default, triton_space
from kernelwright.propose.author.families.rows.triton import write_triton
from kernelwright.propose.author.search.designs import triton_design
from kernelwright.records.candidate import Define
from lanes import sampled

MOVES = {
    "block": ("mse", {"block": 512}), "rows": ("softmax", {"rows": 4}), "warps": ("softmax", {"warps": 4}),
    "stages": ("mse", {"stages": 4, "grid": "persistent"}),
    "unroll": ("mse", {"unroll": 4, "grid": "persistent"}),
    "grid": ("softmax", {"grid": "persistent"}), "waves": ("mse", {"waves": 1, "grid": "persistent"}),
    "passes": ("softmax", {"passes": "separate"}),
    "order": ("softmax", {"order": "alternate", "passes": "separate", "block": 256}),
    "combine": ("mse", {"combine": "atomic"}),
    "eviction": ("mse", {"eviction": "evict-first"}), "division": ("softmax", {"division": "reciprocal"}),
}  # fmt: skip
FUSED = {
    "online": ("softmax", {"passes": "online", "block": 256, "rows": 2}),
    "welford": ("layer_norm", {"passes": "online", "block": 256, "rows": 4, "grid": "persistent"}),
    "a row's softmax by several programs": ("softmax", {"passes": "decoupled", "block": 128}),
    "a row's norm by several programs": ("layer_norm", {"passes": "decoupled", "block": 64}),
    "a masked row's softmax by several programs": ("masked", {"passes": "decoupled", "block": 128}),
    "a row's sums by several programs": ("norms", {"passes": "decoupled", "block": 128}),
    "rows of few laps one after another": ("layer_norm", {"passes": "decoupled", "block": 64}),
    "rows with wide factors side by side": ("layer_norm", {"passes": "decoupled", "block": 128}),
    "read once more": ("layer_norm", {"passes": "separate", "eviction": "evict-first", "block": 256}),
    "backwards": ("layer_norm", {"passes": "separate", "order": "alternate", "block": 256}),
    "labels": ("cross_entropy", {"passes": "online", "block": 128, "rows": 2, "combine": "atomic"}),
    "whole labels": ("cross_entropy", {"rows": 4}),
    "looping labels": ("cross_entropy", {"rows": 2, "grid": "persistent", "stages": 2}),
    "gelu": ("gelu", {"eviction": "evict-first", "passes": "separate", "block": 512}),
    "activations": ("activations", {"passes": "separate"}),
    "rows": ("rows", {"rows": 2}),
    "totals": ("totals", {"block": 64}),
}

CONSTANTS = {
    "rows of few laps one after another": {"LAP": 1300},
    "rows with wide factors side by side": {"WIDE": 600, "TOGETHER": 4},
}
"""What is as it would be for larger rows. Of nine rows of 601 elements two are in a lap, or four; of three two, or all."""

JUDGE = """
import importlib.util, json, sys, warnings
import torch
warnings.simplefilter("ignore")
for name, path in json.load(open(sys.argv[1])).items():
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    inputs, used = torch.load(path + ".pt"), []
    model = module.ModelNew(*module.get_init_inputs()).eval()
    run = module._run
    module._run = lambda *t: used.append(1) or run(*t)
    worst = 0.0
    for rows in (len(inputs[0]), 3):
        few = [t[:rows] if len(t) == len(inputs[0]) else t for t in inputs]
        with torch.no_grad():
            found = model(*few)
            wide = [t.double() if t.is_floating_point() else t for t in few]
            wanted = module.Model.forward(model.double(), *wide)
            model.float()
        pairs = zip(found, wanted) if isinstance(found, tuple) else [(found, wanted)]
        for a, b in pairs:
            assert a.shape == b.shape and a.dtype == torch.float32, (a.shape, b.shape, a.dtype)
            scale = (b.abs() + b.abs().median()).clamp_min(1e-30)
            worst = max(worst, float(((a.double() - b).abs() / scale).nan_to_num(nan=1e9).max()))
    print(json.dumps([name, worst, len(used)]))
"""


@pytest.fixture(scope="module")
def cases():
    x = "torch.randn(9, 601)"
    texts = {
        "softmax": model("torch.softmax(x, dim=-1)", x),
        "masked": model(
            "torch.softmax(x, dim=-1)", f"torch.cat([torch.full((9, 300), -float('inf')), {x}[:, :301]], 1)"
        ),
        "norms": model("x / x.abs().sum(-1, keepdim=True) + x.amax(-1, keepdim=True)", x),
        "layer_norm": model("self.n(x)", x + " + 5", "self.n = nn.LayerNorm(n)", "[601]", signature="self, n"),
        "mse": model("F.mse_loss(x, y)", f"{x}, {x}", arguments="x, y"),
        "gelu": model("F.gelu(x + self.b) + y", f"{x}, {x}", "self.b = nn.Parameter(torch.ones(601))", "[]", "x, y"),
        "cross_entropy": model("F.cross_entropy(x / 0.8, y)", f"{x}, torch.randint(0, 601, (9,))", arguments="x, y"),
        "activations": model(
            "torch.tanh(x), torch.sigmoid(x), F.elu(x), F.softplus(x), F.mish(x), x.abs().log1p(), -x, 1 - x,"
            " torch.where(x > 0, x, 2 * x), torch.clamp(x, -1, 1), (x > 0).float()",
            x,
        ),
        "rows": model("x.log_softmax(-1), torch.logsumexp(x, -1), x.mean(-1, keepdim=True), x.var(-1), x.amax(-1)", x),
        "totals": model("x.sum(), x.max(), x.min(), x.pow(2).mean().sqrt()", x),
    }
    return {name: case(text, name, "cuda") for name, text in texts.items()}


@pytest.fixture(scope="module")
def judged(cases, tmp_path_factory):
    import torch  # noqa: PLC0415 (this file is read where torch is not)

    folder = tmp_path_factory.mktemp("triton")
    paths = {}
    for name, (task, options) in {**MOVES, **FUSED}.items():
        path = folder / f"{name.replace(' ', '_')}.py"
        plan = lower(cases[task].task)
        schedule = TritonSchedule(**({"block": 1024} | options))
        with pytest.MonkeyPatch.context() as patch:
            for constant, value in CONSTANTS.get(name, {}).items():
                patch.setattr(triton_decoupled, constant, value)
            path.write_text(write_triton(cases[task].task, plan, schedule).source)
        torch.save(cases[task].inputs, f"{path}.pt")
        paths[name] = str(path)
    (folder / "paths.json").write_text(json.dumps(paths))
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(folder / "paths.json")],
        env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: (worst, used) for name, worst, used in rows}


def test_every_field_is_tested_here():
    assert set(TritonSchedule.model_fields) == set(MOVES)
    assert len(MOVES) >= 8


@pytest.mark.parametrize("option", MOVES)
def test_a_dial_alone_changes_the_source(cases, option):
    name, options = MOVES[option]
    plan = lower(cases[name].task)
    assert option in triton_space(plan).by_name
    base = {**options}
    del base[option]
    changed = write_triton(cases[name].task, plan, TritonSchedule(**options))
    assert changed.source != write_triton(cases[name].task, plan, TritonSchedule(**base)).source


@pytest.mark.parametrize("name", sampled([*MOVES, *FUSED], lambda name: name != "block"))
def test_right_in_the_interpreter_on_the_kernel_path(judged, name):
    worst, launches = judged[name]
    assert launches == 2
    assert worst < 2e-6


def test_rows_whose_factors_no_cache_holds_are_stored_side_by_side():
    """A norm over slabs of four million elements reads 33 MB of factors, for each slab or for eight at once."""
    wide = "self.n = nn.LayerNorm(n)", "[{n}]", "self, n"
    for columns, beside in ((4_000_000, True), (1_000_000, False)):
        made, arguments, signature = wide
        text = model("self.n(x)", f"torch.zeros(2, {columns})", made, arguments.format(n=columns), signature=signature)
        found = case(text, "norm", "cuda")
        source = write_triton(found.task, lower(found.task), TritonSchedule(passes="decoupled", block=8192)).source
        assert ("group = min(rows, 8)" in source, "turn % GROUP" in source) == (beside, beside)


def test_lines_are_short_and_a_tunable_is_a_module_level_integer(cases):
    for name, found in cases.items():
        plan = lower(found.task)
        space = triton_space(plan)
        for seed in range(10):
            candidate = write_triton(found.task, plan, space.scattered(triton_default(plan), seed, 6))
            compile(candidate.source, name, "exec")
            ours = candidate.source.split("WARPS =")[1]
            assert [line for line in ours.splitlines() if len(line) > 100] == []
            assert len(list(candidate.points())) <= 4
            point = list(candidate.points())[-1]
            (define,) = point.defines
            assert f"\n{define.name} = {define.value}\n" in fixed(point)


def test_an_unknown_tunable_is_refused(cases):
    found = cases["mse"]
    candidate = write_triton(found.task, lower(found.task), TritonSchedule())
    with pytest.raises(ProposeError, match="NOTHING"):
        fixed(candidate.at((Define(name="NOTHING", value=1),)))


def test_a_name_that_the_task_took_is_refused():
    text = "WARPS = 2.0\n" + model("x * WARPS", "torch.randn(3, 4)")
    found = case(text, "taken", "cuda")
    with pytest.raises(ProposeError, match="WARPS"):
        write_triton(found.task, lower(found.task), TritonSchedule())


def test_triton_is_installed_in_a_version_that_is_supported():
    major, minor = importlib.metadata.version("triton").split(".")[:2]
    assert (int(major), int(minor)) >= (3, 5)


def test_a_window_beyond_the_edge_is_read_as_what_its_reduction_begins_with():
    for forward, start in (
        ("F.avg_pool2d(x, 3, 2, 1)", "0.0"),
        ("F.max_pool2d(x, 3, 2, 1)", '-float("inf")'),
        ("F.adaptive_avg_pool2d(x, (5, 4))", "0.0"),
    ):
        design = triton_design(case(model(forward, "torch.randn(2, 3, 21, 19)"), kind="cuda").task)
        source = design.write(design.default).source
        assert f", other={start})" in source
        assert "tl.where(holds" not in source


@pytest.mark.parametrize(("passes", "rows"), [("whole", 256), ("steps", 512)])
def test_no_tile_is_larger_than_triton_takes(passes, rows):
    design = triton_design(case(model("x.flip(0).prod(1)", "torch.randn(2, 4096, 400)"), "wide", "cuda").task)
    most = design.default.model_copy(update={"rows": 512, "passes": passes})
    assert f"ROWS = {rows}\n" in design.write(most).source
