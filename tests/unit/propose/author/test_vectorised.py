"""The compiler's own report: every vector loop that the author writes is vector code.

A pointwise operation alone is where it shows: `std::max` with a constant once made a ReLU fifty times slower.
"""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from author_cases import case, model
from pointwise_cases import cases
from test_families import FAMILIES

from kernelwright.propose.author.families.rows.cpp import write_cpp
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import cpp_default
from kernelwright.propose.author.search.designs import cpp_design

PROGRAMS = {
    "product": ("F.gelu(x @ y)", "x, y", "torch.randn(96, 200), torch.randn(200, 160)"),
    "convolution": ("F.conv2d(x, y, padding=1)", "x, y", "torch.randn(2, 8, 28, 28), torch.randn(16, 8, 3, 3)"),
    "pooling": ("F.max_pool2d(x, 3, 1, 1)", "x", "torch.randn(2, 8, 64, 64)"),
    "scan across": ("torch.sigmoid(x).cumsum(0) * 2", "x", "torch.randn(64, 600)"),
    "scan along": ("torch.sigmoid(x).cumsum(1) * 2", "x", "torch.randn(64, 600)"),
    "extrema": ("x.amax(1)", "x", "torch.randn(16, 40, 600)"),
}  # fmt: skip
JUSTIFIED: dict[str, str] = {}
"""Loops that are not vector code, and why."""


WITHOUT_MASKED_GATHER = {"convolution": ["for (int lane = 0; lane < fast::WIDE; ++lane) {"]}
"""GCC 12 has no masked gather for AVX-512, though it has one for AVX2: packing what lies beyond an edge stays scalar there,
but for a Zen 4, whose vectors it takes for AVX2's."""

WITHOUT_SCATTER = {"convolution": ["for (int lane = 0; lane < width; ++lane) {"]}
"""AVX2 stores to places that lie apart one by one."""


def scalar_here():
    """Loops of programs that this machine's compiler may leave as they are, by program."""
    asked = ["g++", "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"]
    known = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    if "__AVX512F__" not in known:
        return WITHOUT_SCATTER
    old = int(re.search(r"__GNUC__ (\d+)", known)[1]) <= 12
    return WITHOUT_MASKED_GATHER if old else {}


def missed(candidate, folder):
    """Source lines of vector loops of which the compiler made none."""
    source = folder / f"{candidate.entry}.cpp"
    source.write_text(candidate.source)
    command = ["g++", "-O3", "-march=native", "-std=c++17", "-fopenmp", "-fPIC", "-c", *candidate.flags]
    done = subprocess.run(
        [*command, "-fopt-info-optimized", str(source), "-o", str(source.with_suffix(".o"))],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # A loop that only copies becomes a call of memcpy.
    good = r"loop vectorized|Loop \d+ distributed: split to 0 loops and \d+ library call"
    vector = {int(n) for n in re.findall(rf"{source.name}:(\d+):\d+: optimized: +(?:{good})", done.stderr)}
    lines = candidate.source.splitlines()
    starts = [n for n, line in enumerate(lines, 1) if line.startswith("#pragma omp simd")]
    assert starts
    return [lines[n] for n in starts if not vector & set(range(n, _end(lines, n)))]


def _end(lines, pragma):
    """The line after the loop below the pragma at line `pragma`, counted from one."""
    first = next(n for n in range(pragma, len(lines)) if lines[n].lstrip().startswith("for"))
    depth = len(lines[first]) - len(lines[first].lstrip())
    return next(n for n in range(first + 1, len(lines)) if lines[n].startswith(" " * depth + "}")) + 2


def written(task):
    plan = lower(task)
    return write_cpp(plan, cpp_default(plan))


@pytest.mark.matrix
def test_every_pointwise_operation_is_vector_code(tmp_path):
    found = {c.name: written(c.task) for c in cases((64, 1024))}
    with ThreadPoolExecutor(2) as pool:
        loops = dict(zip(found, pool.map(lambda c: missed(c, tmp_path), found.values()), strict=True))
    slow = {name: lines for name, lines in loops.items() if lines}
    assert slow.keys() == JUSTIFIED.keys(), slow


@pytest.mark.parametrize("family", ["rows", "totals", "labels", "losses", "divergence"])
def test_every_loop_of_a_family_is_vector_code(family, tmp_path):
    forward, arguments, inputs = (text.replace("37", "4001") for text in FAMILIES[family])
    assert not missed(written(case(model(forward, inputs, arguments=arguments), family).task), tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_loop_of_a_program_is_vector_code(name, tmp_path):
    forward, arguments, inputs = PROGRAMS[name]
    design = cpp_design(case(model(forward, inputs, arguments=arguments), name.replace(" ", "_")).task)
    found = [line.strip() for line in missed(design.write(design.default), tmp_path)]
    assert set(found) <= set(scalar_here().get(name, []))
