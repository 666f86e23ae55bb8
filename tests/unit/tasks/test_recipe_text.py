"""Launch plans in comments of `.cu` files, and which language a file is."""

from pathlib import Path

import pytest

from kernelwright.errors import UsageError
from kernelwright.languages import language_of
from kernelwright.records.candidate import Candidate, Tunable
from kernelwright.tasks.kernel_file import parse_kernel, read_kernel

KERNELS = Path(__file__).parents[1] / "evaluate/languages/cuda_kernels"
PLAN = """/* kernelwright
{}
*/
__global__ void k(float* x) {{ x[0] = 1; }}
"""
LAUNCH = """[[launch]]
kernel = "k"
grid = 1
block = [32, 2]
arguments = ["out0"]
"""


def plan(text):
    return parse_kernel(PLAN.format(text), ".cu")


def test_a_plan_becomes_a_recipe():
    found = read_kernel(KERNELS / "mse.cu")
    assert (found.language, found.entry, found.workspace_bytes) == ("cuda", "partial_sums", 0)
    assert found.tunables == (Tunable(name="BLOCK", values=(256, 512)),)
    recipe = found.recipe
    assert [launch.kernel for launch in recipe.launches] == ["partial_sums", "total"]
    assert recipe.launches[0].grid == ("PARTS", "1", "1")
    assert recipe.launches[1].arguments[2] == "f32(1.0 / in0.numel)"
    assert [w.nbytes for w in recipe.workspaces] == ["4 * PARTS"]
    assert [(c.name, c.in_source) for c in recipe.constants] == [("PARTS", False)]
    assert Candidate.model_validate_json(found.model_dump_json()) == found


def test_a_plan_changes_a_candidate_s_identity_and_only_then():
    one, other = plan(LAUNCH), plan(LAUNCH.replace("grid = 1", "grid = 2"))
    same_text = one.model_copy(update={"recipe": other.recipe})
    assert one.id != same_text.id
    assert Candidate(language="cpp", source="x").id == Candidate(language="cpp", source="x", recipe=None).id


def test_macros_and_constants_of_the_source_are_known_unless_they_are_ambiguous():
    source = PLAN.format(LAUNCH) + (
        "#define TILE 16\n// #define OLD 1\n#define TWICE 1\n#define TWICE 2\n#define F(x) x\nconstexpr int WIDE = 64;\n"
    )
    constants = parse_kernel(source, ".cu").recipe.constants
    assert [(c.name, c.value, c.in_source) for c in constants] == [("TILE", "16", True), ("WIDE", "64", True)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"no \[\[launch\]\]"),
        ("launch = 3", "double brackets"),
        ("[[launch]]\nkernel = 'k'\nblock = 1", "lacks 'grid'"),
        ("[[launch]]\nkernel = 'k'\ngrid = [1, 1, 1, 1]\nblock = 1", "one to three extents"),
        ("[[launch]]\nkernel = 'k'\ngrid = 1.5\nblock = 1", "an integer or an expression"),
        (LAUNCH + "blocks = 2", "'blocks', which is not known"),
        (LAUNCH + "[tunables]\nBLOCK = 256", "list of integers"),
        (LAUNCH + "[[workspace]]\nsize = 3", "'size', which is not known"),
        ("zeroed_outputs = ['a']\n" + LAUNCH, "list of positions"),
        ("kernel = ", "no TOML"),
        ("x = " + "[" * 5000, "no TOML"),
        ("[[launch]]\nkernel = 'k'\ngrid = 1\nblock = '" + "1+" * 300 + "1'", "at most 400"),
    ],
)
def test_a_plan_that_cannot_be_read_is_told_with_its_cure(text, said):
    with pytest.raises(UsageError, match=said):
        plan(text)


@pytest.mark.parametrize(
    ("source", "suffix", "language"),
    [
        (PLAN.format(LAUNCH), ".cu", "cuda"),
        ('extern "C" void f(float* x) {}', ".cu", "cuda_host"),
        ('extern "C" __global__ void f(float* x) {}', ".cu", "cuda"),
        ("from torch.utils.cpp_extension import load_inline", ".py", "python"),
        ("# no load_inline here\nimport triton", ".py", "triton"),
    ],
)
def test_the_language_is_what_the_file_says(source, suffix, language):
    assert language_of(source, suffix).name == language


def test_kernels_without_a_plan_are_told_to_have_one(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k() {}")
    with pytest.raises(UsageError, match=r"k\.cu.*no launch plan.*void launch"):
        read_kernel(path)


def test_host_code_is_found_by_its_function():
    found = read_kernel(KERNELS / "host_relu.cu")
    assert (found.language, found.entry, found.recipe) == ("cuda_host", "relu_host", None)
