"""Where the Triton author starts, by the shape of the work."""

import re

import pytest
from author_cases import case, model

from kernelwright.errors import ProposeError
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import triton_default
from kernelwright.propose.author.families.rows.triton import write_triton
from kernelwright.propose.author.search.designs import cpp_design, triton_design
from kernelwright.records.task import Target

DESIGNS = {"cpu": cpp_design, "cuda": triton_design}


def found(forward, columns, arguments="x", rows=64):
    inputs = ", ".join([f"torch.randn({rows}, {columns})"] * len(arguments.split(", ")))
    return case(model(forward, inputs, arguments=arguments), "task", "cuda").task


@pytest.mark.parametrize(
    ("columns", "rows", "warps"),
    [(100, 8, 4), (128, 8, 4), (1024, 1, 4), (4096, 1, 8), (8192, 1, 16), (32768, 1, 32)],
)
def test_a_row_that_fits_is_held_whole_and_short_rows_go_together(columns, rows, warps):
    schedule = triton_default(lower(found("x.softmax(-1)", columns)))
    assert (schedule.passes, schedule.grid) == ("whole", "tiles")
    assert (schedule.rows, schedule.warps) == (rows, warps)


@pytest.mark.parametrize(
    ("forward", "passes"),
    [
        ("x.softmax(-1)", "decoupled"),
        ("x / x.amax(-1, keepdim=True)", "decoupled"),
        ("(x - x.amax(-1, keepdim=True)).abs().sum(-1)", "separate"),
        ("x.logsumexp(-1)", "online"),
        ("x.sum(-1)", "separate"),
    ],
)
def test_a_longer_row_is_read_once_where_its_blocks_need_tell_each_other_one_thing_alone(forward, passes):
    assert triton_default(lower(found(forward, 40000, rows=2))).passes == passes


def test_a_long_row_with_a_factor_for_each_channel_is_read_once_too():
    """A factor runs over a part of a row, of several channels, and of the rows, of several groups."""
    shape = "torch.randn(2, 4, 136, 128), torch.randn(4)"
    task = case(model("F.group_norm(x, 2, w, w)", shape, arguments="x, w"), "task", "cuda").task
    with pytest.raises(ProposeError, match="other than the trailing axes"):
        lower(task)
    design = triton_design(task)
    assert design.default.passes == "decoupled"
    assert design.space.by_name["passes"].values == ("decoupled",)
    assert "w.shape == (4,)" in design.write(design.default).source
    short = case(model("F.group_norm(x, 2, w, w)", shape.replace("136", "16"), arguments="x, w"), "task", "cuda").task
    assert triton_design(short).program.kernels[0].family != "rows"


def test_only_a_total_of_everything_loops_over_its_tiles():
    assert triton_default(lower(found("F.mse_loss(x, y)", 100, "x, y"))).grid == "persistent"
    assert triton_default(lower(found("F.silu(x) * y", 100, "x, y"))).grid == "tiles"


def test_a_total_of_costly_elements_leaves_registers_for_more_warps():
    costly, plain = (
        triton_default(lower(found(f"F.{loss}(x, y)", 100, "x, y")))
        for loss in ("binary_cross_entropy_with_logits", "mse_loss")
    )
    assert (costly.block * costly.unroll, plain.block * plain.unroll) == (4096, 16384)
    assert (costly.grid, costly.warps) == (plain.grid, plain.warps)


@pytest.mark.parametrize(
    ("forward", "rows", "each"),
    [
        ("F.cross_entropy(x, y)", 65536, 64),
        ("F.cross_entropy(x, y)", 1 << 20, 256),
        ("x.softmax(-1) + y[:, None]", 1 << 20, 64),
    ],
)
def test_programs_of_short_rows_take_more_of_them_where_their_shares_of_a_total_are_many(forward, rows, each):
    inputs = f"torch.empty({rows}, 10), torch.zeros({rows}, dtype=torch.long)"
    schedule = triton_default(lower(case(model(forward, inputs, arguments="x, y"), "t", "cuda").task))
    assert (schedule.rows, schedule.warps) == (each, 8 if each == 256 else 4)


def test_what_memory_holds_is_asked_for_before_anything_is_worked_out():
    task = case(
        model("F.cross_entropy(x, y)", "torch.randn(4, 512), torch.randint(0, 512, (4,))", arguments="x, y"),
        "t",
        "cuda",
    ).task
    plan = lower(task)
    kernel = write_triton(task, plan, triton_default(plan)).source.split("def _kernel")[1].split("@triton.jit")[0]
    assert kernel.rindex("tl.load") < kernel.index("tl.max(")
    assert kernel.index("x_ptr + at") < kernel.index("y_ptr + row")


def test_a_constant_divisor_is_a_factor():
    task = found("(x / 0.8).softmax(-1)", 512)
    plan = lower(task)
    source = write_triton(task, plan, triton_default(plan)).source
    assert "x_value * 1.25" in source
    assert "/ 0.8" not in source.split("@triton.jit")[1]


def test_what_a_schedule_does_not_use_is_not_written():
    task = found("x.softmax(-1)", 512)
    plan = lower(task)
    source = write_triton(task, plan, triton_default(plan)).source
    assert not {"STAGES", "WAVES", "UNROLL", "tiles ="} & set(source.replace("(", " ").split())


def kernels(forward, shape, kind):
    return [
        k.family for k in DESIGNS[kind](case(model(forward, f"torch.randn({shape})"), "t", kind).task).program.kernels
    ]


def test_a_cpu_passes_over_whole_rows_where_they_are_enough_for_its_cores():
    assert kernels("F.group_norm(x, 8, x[0, :, 0, 0])", "8, 64, 32, 32", "cpu") == ["loops"]
    assert len(kernels("F.group_norm(x, 8, x[0, :, 0, 0])", "8, 64, 32, 32", "cuda")) > 1


def test_few_long_sums_are_shared_out_on_either():
    assert kernels("x.amax((0, 2))", "64, 4, 4096", "cpu") == ["loops", "loops"]
    assert kernels("x.amax((0, 2))", "64, 4, 4096", "cuda") == ["strided", "strided"]


def test_a_part_of_rows_that_lie_apart_is_held_where_it_is_needed_twice():
    design = triton_design(case(model("x.std(0)", "torch.randn(8192, 512)"), "t", "cuda").task)
    assert [kernel.family for kernel in design.program.kernels] == ["strided", "strided"]
    assert (design.default.k0_passes, design.default.k1_passes) == ("whole", "whole")
    assert design.write(design.default).source.count("tl.load(x_ptr") == 1
    blocks = design.default.model_copy(update={"k0_passes": "blocks", "k0_block": 32})
    assert design.write(blocks).source.count("tl.load(x_ptr") == 2
    assert design.cost(design.default) < design.cost(blocks)
    assert triton_default_of("x.sum(0)", "8192, 512").k0_passes == "blocks"


def triton_default_of(forward, shape):
    return triton_design(case(model(forward, f"torch.randn({shape})"), "t", "cuda").task).default


def attention(width, how="", dtype="half", queries=300):
    inputs = f"torch.randn(2, 2, {queries}, {width}).{dtype}(), torch.randn(2, 2, 256, {width}).{dtype}()"
    return triton_design(
        case(model(f"F.scaled_dot_product_attention(q, k, k{how})", inputs, arguments="q, k"), "t", "cuda").task
    )


@pytest.mark.parametrize(
    ("width", "dtype", "queries", "expected"),
    [
        (64, "half", 300, (128, 128, 3, 8, 128)), (128, "half", 300, (128, 64, 2, 8, 128)),
        (128, "half", 60, (64, 64, 3, 4, 0)), (256, "half", 300, (64, 32, 2, 8, 0)), (64, "float", 300, (128, 32, 2, 8, 0)),
        (128, "float", 300, (128, 32, 2, 8, 0)), (128, "float", 60, (64, 32, 2, 4, 0)),
    ],
)  # fmt: skip
def test_attention_begins_with_blocks_that_registers_and_shared_memory_hold(width, dtype, queries, expected):
    start = attention(width, dtype=dtype, queries=queries).default
    assert (start.block_m, start.block_n, start.stages, start.warps, start.registers) == expected


@pytest.mark.parametrize(("block", "warps"), [(64, 4), (128, 8), (32, 8)])
def test_each_warp_has_rows_of_its_own_where_float32_is_taken_apart(block, warps):
    design = attention(128, dtype="float")
    source = design.write(design.default.model_copy(update={"block_m": block, "warps": 8})).source
    assert f"WARPS = {warps}\n" in source


@pytest.mark.parametrize(("shape", "expected"), [("128, 128", (64, 3, 0)), ("1, 128", (64, 2, 128))])
def test_attention_leaves_room_for_what_meets_its_scores(shape, expected):
    given = f"*[torch.randn(2, 2, 128, 128).half()] * 2, torch.randn({shape})"
    source = model("F.scaled_dot_product_attention(q, k, k, m.half() + 1)", given, arguments="q, k, m")
    start = triton_design(case(source, "t", "cuda").task).default
    assert (start.block_n, start.stages, start.registers) == expected


def test_only_the_last_steps_of_attention_look_at_what_is_hidden():
    written = {how: attention(64, how) for how in ("", ", is_causal=True")}
    whole, causal = (design.write(design.default).source for design in written.values())
    assert "tl.where" not in whole.split("def _run")[0]
    assert causal.count("for start in") == 1
    assert "if start + BLOCK_N > block * BLOCK_M:\n            products = tl.where(key <= row, products" in causal


def test_a_scale_of_attention_is_taken_from_the_largest_product_alone_unless_it_turns_the_order():
    for scale, found in ((0.5, True), (-0.5, False)):
        design = attention(64, f", scale={scale}")
        assert ("tl.max(products" in design.write(design.default).source) is found


def test_attention_by_eight_warps_in_small_steps_is_thought_slower_unless_two_programs_share_a_multiprocessor():
    design = attention(128)
    alone = design.default.model_copy(update={"registers": 0})
    assert design.cost(alone) > design.cost(design.default)
    assert design.cost(alone) > design.cost(alone.model_copy(update={"block_n": 128}))


def test_no_early_try_of_a_product_has_more_sums_than_registers():
    """256 by 256 sums of eight warps are 256 of a thread's 255 registers."""
    inputs = "torch.ones(4096, 64, dtype=torch.bfloat16), torch.ones(64, 2304, dtype=torch.bfloat16)"
    design = triton_design(case(model("x @ w", inputs, arguments="x, w"), "product", "cuda").task)
    tried = [
        dict(re.findall(r"^(BLOCK_M|BLOCK_N|WARPS) = (\d+)$", design.write(s).source, re.M)) for s in design.tries(6)
    ]
    sums = [int(one["BLOCK_M"]) * int(one["BLOCK_N"]) / int(one["WARPS"]) / 32 for one in tried]
    assert max(sums) <= 128, tried


def half_product(arch, epilogue="", size=4096):
    inputs = f"*[torch.empty({size}, {size}, dtype=torch.half, device='meta')] * 2"
    task = case(model(f"x @ w{epilogue}", inputs, arguments="x, w"), "product", "cuda").task
    return triton_design(task.model_copy(update={"target": task.target.model_copy(update={"arch": arch})}))


@pytest.mark.parametrize(
    ("arch", "epilogue", "size", "grid"),
    [
        ("sm_90", "", 4096, "persistent"), ("sm_100", "", 4096, "persistent"), ("sm_80", "", 4096, "tiles"),
        ("sm_90", " + 1", 4096, "persistent"), ("sm_80", " + 1", 4096, "tiles"),
    ],
)  # fmt: skip
def test_programs_stay_for_large_products_of_half_precision_where_the_hardware_copies_blocks(
    arch, epilogue, size, grid
):
    design = half_product(arch, epilogue, size)
    assert design.default.grid == grid
    assert "persistent" in design.space.by_name["grid"].values


@pytest.mark.parametrize(
    ("last", "batch", "rows"), [(4095, 128, 256), (4095, 8, 64), (4092, 128, 256), (4088, 128, 64), (20, 20000, 64)]
)
def test_a_program_takes_more_rows_where_lines_begin_within_a_sector_and_rows_are_many(last, batch, rows):
    inputs = f"torch.empty({batch}, 4096, {last}, device='meta')"
    start = triton_design(case(model("x.sum(1)", inputs), "sum", "cuda").task).default
    assert (getattr(start, "k0_rows", 0) or start.rows) == rows


@pytest.mark.parametrize(("size", "first", "last"), [(2048, "fp16x3", "bf16x6"), (64, "bf16x6", None)])
def test_a_large_product_begins_in_scaled_float16_and_one_try_is_without(size, first, last):
    inputs = f"torch.empty({size}, {size}, device='meta'), torch.empty({size}, {size}, device='meta')"
    task = case(model("x @ w", inputs, arguments="x, w"), "product", "cuda").task
    design = triton_design(task.model_copy(update={"target": task.target.model_copy(update={"present": True})}))
    tries = design.tries(4)
    assert design.default.precision == first
    assert [one.precision for one in tries[1:] if one.precision != first] == ([last] if last else [])
    assert last is None or tries[-1].precision == last
    assert ("_brought_back(" in design.write(design.default).source) == (first == "fp16x3")


def test_short_sums_may_be_made_in_scaled_float16_but_do_not_begin_so():
    inputs = "torch.empty(8192, 96, device='meta'), torch.empty(96, 8192, device='meta')"
    task = case(model("x @ w", inputs, arguments="x, w"), "product", "cuda").task
    design = triton_design(task.model_copy(update={"target": task.target.model_copy(update={"present": True})}))
    assert design.default.precision == "bf16x6"
    assert "fp16x3" in design.space.by_name["precision"].values


def test_a_wider_tile_costs_less_where_the_cache_is_the_limit():
    inputs = "torch.empty(16, 64, 256, 256, device='meta'), torch.empty(128, 64, 3, 3, device='meta')"
    task = case(model("F.conv2d(x, w)", inputs, arguments="x, w"), "convolution", "cuda").task
    design = triton_design(task)
    packed = design.default.model_copy(
        update={"packed": True, "precision": "tf32", "block_m": 128, "block_n": 128, "warps": 8}
    )
    assert design.cost(packed.model_copy(update={"block_n": 256})) < design.cost(packed)
    alone = packed.model_copy(update={"stages": 1})
    assert design.cost(alone) > design.cost(packed)


@pytest.mark.parametrize(("columns", "late"), [(8192, False), (32768, True)])
def test_factors_of_the_longest_rows_are_read_when_their_sums_are_known(columns, late):
    """1024 threads have 64 registers each: with 32 elements of the row and of each factor they spilled 436 bytes."""
    inputs = f"torch.randn(2, {columns}), torch.ones({columns})"
    source = model(f"F.layer_norm(x, ({columns},), w, w + 1)", inputs, arguments="x, w")
    design = triton_design(case(source, "norm", "cuda").task)
    source = design.write(design.default).source
    assert (source.index("tl.load(w_ptr") > source.rindex("tl.sum")) is late


@pytest.mark.parametrize(("axis", "rows", "block"), [(2, 16, 128), (1, 32, 64), (0, 32, 4)])
def test_a_scan_takes_as_many_rows_as_memory_hands_out_at_once_where_their_elements_lie_apart(axis, rows, block):
    start = triton_design(case(model(f"x.cumsum({axis})", "torch.randn(4, 100, 128)"), "scan", "cuda").task).default
    assert (start.rows, start.block) == (rows, block)


@pytest.mark.parametrize(
    ("forward", "inputs", "start"),
    [
        ("x.cumsum(0)", "torch.randn(4194304)", (1, 2048, 512)),
        ("torch.cumsum(x, 0, dtype=torch.float64).to(x.dtype)", "torch.randn(2 ** 20)", (1, 2048, 256)),
        ("x.cumprod(1)", "torch.randn(100, 65536)", (1, 2048, 4)),
        ("x.cumsum(1)", "torch.randn(100, 32768)", (1, 8192, 1)),
        ("x.cumsum(1)", "torch.randn(300, 65536)", (1, 8192, 1)),
        ("x.cummax(0)[0]", "torch.randn(4096, 100)", (32, 64, 32)),
        ("x.cumsum(0)", "torch.randn(4096, 3)", (4, 64, 32)),
    ],
)
def test_many_programs_share_long_rows_of_a_scan_where_rows_are_few(forward, inputs, start):
    design = triton_design(case(model(forward, inputs), "scan", "cuda").task)
    assert (design.default.rows, design.default.block, design.default.parts) == start
    assert ("parts" in design.space.by_name) == (start[2] > 1)
    assert design.cost(design.default) <= design.cost(design.default.model_copy(update={"parts": 1}))


@pytest.mark.parametrize("parts", [7, 64, 100])
def test_no_part_of_a_shared_row_is_empty(parts):
    design = triton_design(case(model("x.cumsum(0)", "torch.randn(70000)"), "scan", "cuda").task)
    source = design.write(design.default.model_copy(update={"parts": parts})).at(()).source
    written, share = (int(re.search(word, source)[1]) for word in (r"PARTS = (\d+)", r"part \* (\d+), end"))
    assert (written - 1) * share < 70000 <= written * share


@pytest.mark.parametrize(("forward", "columns"), [("x.softmax(-1)", 32768), ("x.abs().sum()", 32768)])
def test_no_block_has_more_threads_than_a_device_allows(forward, columns):
    task = found(forward, columns)
    there = triton_design(task.model_copy(update={"target": Target(kind="hip", arch="gfx942", present=False)}))
    here = triton_design(task)
    names = [name for name in type(here.default).model_fields if name.endswith("warps")]
    for design, most in ((here, 32), (there, 16)):
        tried = [s for s in (design.default, *design.tries(8)) for name in names if getattr(s, name) > most]
        assert tried == []
        assert max(v for name in names for v in design.space.by_name[name].values) == most
