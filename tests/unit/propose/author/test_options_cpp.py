"""Each degree of freedom of the C++ schedule, alone, changes the source or the flags and stays right."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from author_cases import build, call, error

from kernelwright.propose.author.families.rows.cpp import write_cpp
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import CppSchedule, cpp_space
from kernelwright.records.candidate import Define
from lanes import sampled

STYLE = Path(__file__).parents[4] / ".clang-format"
MOVES = {
    "threads": ("mse", "half"), "distribution": ("mse", "dynamic"), "chunk": ("softmax", 4),
    "block": ("mse", 1024),
    "accumulators": ("softmax", 4), "order": ("gelu", "columns"), "passes": ("softmax", "online"),
    "cache": ("softmax", "keep"), "stores": ("gelu", "streaming"), "exp": ("gelu", "libm"),
    "division": ("softmax", "reciprocal"), "combine": ("mse", "atomic"), "prefetch": ("layer_norm", "next"),
    "vector_bits": ("gelu", 512), "unroll": ("layer_norm", "loops"),
}  # fmt: skip
FUSED = {
    "welford": ("layer_norm", {"passes": "online", "block": 1024, "accumulators": 2}),
    "online": ("cross_entropy", {"passes": "online", "block": 1024, "accumulators": 4, "threads": "one"}),
    "everything": (
        "softmax",
        {"cache": "keep", "stores": "streaming", "accumulators": 2, "block": 1024, "division": "reciprocal"},
    ),
    "atomic": ("cross_entropy", {"combine": "atomic", "distribution": "dynamic", "chunk": 1}),
    "columns": ("gelu", {"order": "columns", "stores": "streaming", "block": 1024}),
}


@pytest.fixture(scope="module")
def cases(softmax, layer_norm, mse, gelu, cross_entropy):
    return {c.task.name: c for c in (softmax, layer_norm, mse, gelu, cross_entropy)}


@pytest.fixture(scope="module")
def built(cases, tmp_path_factory):
    wanted = {option: (name, {option: value}) for option, (name, value) in MOVES.items()} | FUSED
    candidates = {k: write_cpp(lower(cases[n].task), CppSchedule(**d)) for k, (n, d) in wanted.items()}
    entries = build(list(candidates.values()), tmp_path_factory.mktemp("options"))
    return {k: (cases[wanted[k][0]], c, e) for (k, c), e in zip(candidates.items(), entries, strict=True)}


def test_every_field_is_a_dial_of_some_plan_and_tested_here():
    assert set(CppSchedule.model_fields) == set(MOVES)
    assert len(MOVES) >= 8


@pytest.mark.parametrize("option", sampled(MOVES, lambda option: option != "threads"))
def test_a_dial_alone_changes_the_candidate_and_nothing_else(cases, built, option):
    found, candidate, entry = built[option]
    plan = lower(found.task)
    assert option in cpp_space(plan).by_name
    default = write_cpp(plan, CppSchedule())
    assert (candidate.source, candidate.flags) != (default.source, default.flags)
    for got, wanted in zip(call(entry, found), found.reference(), strict=True):
        assert error(got, wanted) < 1.5e-6


@pytest.mark.parametrize("name", FUSED)
def test_dials_together_are_right_too(built, name):
    found, _, entry = built[name]
    for factor in (1.0, 1e3):
        inputs = [t * factor if t.is_floating_point() else t for t in found.inputs]
        for got, wanted in zip(call(entry, found, inputs), found.reference(inputs), strict=True):
            assert error(got, wanted) < 1.5e-6


def test_a_tunable_is_a_macro_of_the_source(cases, tmp_path):
    found = cases["mse"]
    candidate = write_cpp(lower(found.task), CppSchedule())
    (tunable,) = candidate.tunables
    assert tunable.name == "BLOCK"
    assert tunable.values[0] == CppSchedule().block
    assert len(list(candidate.points())) <= 4
    (entry,) = build([candidate.at((Define(name="BLOCK", value=777),))], tmp_path)
    assert error(call(entry, found)[0], found.reference()[0]) < 1e-6


def test_a_source_without_blocks_declares_no_tunable(cases):
    assert write_cpp(lower(cases["gelu"].task), CppSchedule()).tunables == ()


def test_flags_are_on_the_allow_list(cases):
    allowed = {
        "-fno-math-errno", "-fno-trapping-math", "-funroll-loops", "-mprefer-vector-width=512",
        "-mprefer-vector-width=256", "-ffp-contract=fast",
    }  # fmt: skip
    for found in cases.values():
        space = cpp_space(lower(found.task))
        for move in space.moves(CppSchedule()):
            assert set(write_cpp(lower(found.task), space.turned(CppSchedule(), move)).flags) <= allowed


def test_sources_are_formatted(cases, tmp_path):
    tool = shutil.which("clang-format", path=str(Path(sys.executable).parent))
    assert tool, "clang-format is a development dependency"
    sources = set()
    for found in cases.values():
        plan = lower(found.task)
        space = cpp_space(plan)
        schedules = [space.turned(CppSchedule(), move) for move in space.moves(CppSchedule())]
        schedules += [space.scattered(CppSchedule(), seed, 7) for seed in range(20)]
        sources |= {write_cpp(plan, s).source for s in [CppSchedule(), *schedules]}
    paths = [tmp_path / f"k{n}.cpp" for n in range(len(sources))]
    for path, source in zip(paths, sources, strict=True):
        path.write_text(source)
    done = subprocess.run(
        [tool, "--dry-run", "-Werror", f"--style=file:{STYLE}", *map(str, paths)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[:3000]
