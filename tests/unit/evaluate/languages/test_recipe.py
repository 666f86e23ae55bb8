"""Recipes resolved against shapes: grids, arguments, macros, and what a device cannot launch."""

from pathlib import Path

import pytest

from kernelwright.evaluate.languages.cuda.arguments import size_of
from kernelwright.evaluate.languages.cuda.expression import RecipeError
from kernelwright.evaluate.languages.cuda.recipe import resolve
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.candidate import Candidate, Define, Recipe, RecipeConstant, RecipeLaunch, RecipeWorkspace
from kernelwright.records.launch import Null, Number, Pointer
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Scalar, TensorSpec
from kernelwright.tasks.kernel_file import read_kernel

KERNELS = Path(__file__).parent / "cuda_kernels"
X = TensorSpec(name="x", shape=(64, 1000), dtype="float32")
WORKLOAD = Workload(inputs=(X, Scalar(name="eps", value=1e-5), X), parameters=(X,), outputs=(X,))
H200 = hardware("sm_90")


def launch(**fields):
    given = {"kernel": "k", "grid": ("1", "1", "1"), "block": ("32", "1", "1"), **fields}
    return RecipeLaunch(**given)


def resolved(*launches, device=H200, **fields):
    candidate = Candidate(language="cuda", source="", recipe=Recipe(launches=launches or (launch(),), **fields))
    return resolve(candidate, WORKLOAD, device)


def argument(text):
    plan = resolved(launch(arguments=(text,)), workspaces=(RecipeWorkspace(nbytes="64"),)).plan
    return plan.launches[0].arguments[0]


def test_two_launches_with_a_workspace():
    plan, macros = resolve(read_kernel(KERNELS / "mse.cu"), WORKLOAD, H200)
    first, second = plan.launches
    assert macros == {"BLOCK": 256, "PARTS": 250}
    assert [w.nbytes for w in plan.workspaces] == [1000]
    assert (first.grid, first.block, first.shared_bytes) == ((250, 1, 1), (256, 1, 1), 1024)
    assert first.arguments[2:] == (Pointer(buffer="workspace", index=0), Number(type="i64", value=64000))
    assert second.arguments[2] == Number(type="f32", value=1 / 64000)


def test_chosen_tunables_take_the_place_of_the_first_values():
    kernel = read_kernel(KERNELS / "scale.cu")
    plan, macros = resolve(kernel.at((Define(name="BLOCK", value=256),)), WORKLOAD, H200)
    assert macros == {"BLOCK": 256}
    assert (plan.launches[0].kernel, plan.launches[0].grid) == ("scale<float, 256, 2>", (250, 1, 1))
    assert resolve(kernel, WORKLOAD, H200).macros == {"BLOCK": 128}


def test_constants_of_the_source_are_no_macros():
    constants = (RecipeConstant(name="T", value="8", in_source=True), RecipeConstant(name="N", value="T * 2"))
    plan, macros = resolved(launch(grid=("N", "T", "1")), constants=constants)
    assert (plan.launches[0].grid, macros) == ((16, 8, 1), {"N": 16})


@pytest.mark.parametrize(
    ("text", "wanted", "size"),
    [
        ("in1", Pointer(buffer="input", index=1), 8),
        ("param0", Pointer(buffer="parameter", index=0), 8),
        ("byte_offset(work0, 4 * 8)", Pointer(buffer="workspace", index=0, offset=32), 8),
        ("null", Null(), 8),
        ("i32(in0.shape[1])", Number(type="i32", value=1000), 4),
        ("u8(255)", Number(type="u8", value=255), 1),
        ("f32(scalar0)", Number(type="f32", value=1e-5), 4),
        ("f64(-1.0 / 3)", Number(type="f64", value=-1 / 3), 8),
        ("f16(2)", Number(type="f16", value=2), 2),
    ],
)
def test_arguments(text, wanted, size):
    assert argument(text) == wanted
    assert size_of(wanted) == size


def test_a_tensor_map_is_innermost_first():
    found = argument("tensor_map(in0, box=(16, 8), swizzle=32)")
    assert (found.shape, found.strides_bytes, found.box) == ((1000, 64), (4000,), (8, 16))
    assert (found.dtype, found.swizzle, found.nan_fill, size_of(found)) == (7, 1, False, 128)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("in2", "there is no in2: the number of input buffers is 2"),
        ("work1", "no work1"),
        ("in0.numel", "is not understood: say a buffer"),
        ("x", "is not understood"),
        ("i32(in0.nbytes * 16384)", "which i32 cannot hold: take a wider type"),
        ("u32(-1)", "cannot hold"),
        ("i64(1.5)", "the fraction 1.5"),
        ("f32(1e39)", "f32 cannot hold"),
        ("f16(70000)", "f16 cannot hold"),
        ("byte_offset(work0, 65)", "lies outside work0, which has 64 bytes"),
        ("byte_offset(work0, -1)", "lies outside"),
        ("tensor_map(in0)", "takes box"),
        ("tensor_map(work0, box=(1,))", "not of 'work0'"),
        ("tensor_map(in0, box=(1, 3))", "multiples of 16 bytes"),
        ("tensor_map(in0, box=(1, 512))", "outside 1 to 256"),
        ("tensor_map(in0, box=(64,))", "same rank"),
        ("tensor_map(in0, box=(64, 16), swizzle=32)", "more than the swizzle"),
        ("tensor_map(in0, box=(4, 4), shape=(640, 1000))", "is larger than in0"),
        ("tensor_map(in0, box=(4, 4), **1)", "is no expression|takes box"),
    ],
)
def test_arguments_that_cannot_be_are_told(text, said):
    with pytest.raises(RecipeError, match=f"launch 0 \\(k\\): argument 0: .*({said})"):
        argument(text)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"block": ("1025", "1", "1")}, "block x is 1025; it must be 1 to 1024"),
        ({"block": ("32", "33", "1")}, "has 1056 threads; a device takes at most 1024"),
        ({"block": ("1", "1", "65")}, "block z is 65"),
        ({"grid": ("in0.numel - in0.numel", "1", "1")}, "grid x is 0"),
        ({"grid": ("1", "65536", "1")}, "grid y is 65536"),
        ({"grid": ("M", "1", "1")}, "unknown name 'M'"),
        ({"shared_bytes": "232449"}, "at most 232448"),
        ({"cluster": ("2", "1", "1")}, "no multiple of the cluster"),
        ({"cluster": ("4", "4", "1"), "grid": ("4", "4", "1")}, "more than 8 blocks"),
    ],
)
def test_launches_that_cannot_be_are_told(fields, said):
    with pytest.raises(RecipeError, match=said):
        resolved(launch(**fields))


def test_limits_are_the_device_s():
    shared = launch(shared_bytes="100000")
    assert resolved(shared, device=hardware("sm_80")).plan.launches[0].shared_bytes == 100000
    with pytest.raises(RecipeError, match="sm_75 has at most 65536"):
        resolved(shared, device=hardware("sm_75"))
    with pytest.raises(RecipeError, match="sm_80 has no clusters"):
        resolved(launch(cluster=("2", "1", "1"), grid=("2", "1", "1")), device=hardware("sm_80"))


@pytest.mark.parametrize("name", ["in0", "in7", "out3", "null", "multiprocessors", "a b", "X=1 -I/", "", "é"])
def test_a_macro_has_a_name_of_its_own(name):
    with pytest.raises(RecipeError, match=r"name of|cannot be a macro"):
        resolved(constants=(RecipeConstant(name=name, value="1"),))


def test_outputs_to_zero_and_workspaces_are_checked():
    assert resolved(zeroed_outputs=(0, 0)).plan.zeroed_outputs == (0,)
    with pytest.raises(RecipeError, match="names output 1; there are 1"):
        resolved(zeroed_outputs=(1,))
    with pytest.raises(RecipeError, match="it must have 1 to"):
        resolved(workspaces=(RecipeWorkspace(nbytes="0"),))


def test_without_a_plan_the_author_is_told_to_write_one():
    with pytest.raises(RecipeError, match=r"begin it with a comment /\* kernelwright"):
        resolve(Candidate(language="cuda", source=""), WORKLOAD, H200)
