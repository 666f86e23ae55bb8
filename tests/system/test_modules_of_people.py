"""Modules as people bring them (tasks/modules): whatever the built-in author can or cannot do, the answer helps.

The answer is a kernel, which may leave parts to PyTorch, or a refusal that names the operations and the command lines with
which somebody else writes the kernel; a refusal measures nothing and leaves nothing behind.
"""

import asyncio
import sys
from pathlib import Path

import pytest

from kernelwright import api
from kernelwright.errors import ProposeError
from kernelwright.interfaces.cli.main import invoke
from kernelwright.propose.author.author import Author
from kernelwright.propose.author.search.designs import DESIGNS
from kernelwright.records.policy import Policy
from kernelwright.tasks.files import sizes_of
from kernelwright.tasks.table import read_task
from lanes import sampled

FOLDER = Path(__file__).parents[2] / "tasks" / "modules"
sys.path.append(str(FOLDER.parents[1] / "tests" / "unit" / "propose" / "author"))
from author_cases import case  # noqa: E402

LANGUAGES = ("cpp", "triton")
ANSWERS = {
    "attention": (4, 4),
    "conv_bn_relu": (1, 1),
    "decayed_scan": (1, 1),
    "embedding_layer_norm": (1, 1),
    "expert_router": (5, 5),
    "focal_loss": (1, 1),
    "group_norm_silu": (1, 1),
    "int8_product": (1, 1),
    "rotary_positions": (2, 2),
    "rotary_scores": (2, 4),
    "swiglu_mlp": (3, 3),
    "transformer_layer": (8, 8),
}
"""By module, in C++ and in Triton: how many kernels, which operations stay PyTorch's beside them, or why it is refused."""
MODULES = list(ANSWERS)
QUICK = ("focal_loss", "rotary_positions")
WRITTEN, PYTORCH_STAYS, REFUSED = 0, 11, 7


def at_small(name):
    return FOLDER / f"{name}.py@small"


def test_the_list_names_every_file_and_each_has_three_sizes():
    assert sorted(MODULES) == sorted(file.stem for file in FOLDER.glob("*.py"))
    for name in MODULES:
        assert list(sizes_of(read_task(FOLDER / f"{name}.py").source)) == ["small", "medium", "large"]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize(("at", "kind"), [(0, "cpu"), (1, "cuda")], ids=("cpp", "triton"))
def test_the_author_writes_a_module_whole_in_part_or_says_what_it_cannot(name, at, kind):
    task = case(read_task(at_small(name)).source, name, kind).task
    try:
        design = DESIGNS[LANGUAGES[at]](task)
    except ProposeError as error:
        assert str(ANSWERS[name][at]) in str(error)
        return
    assert design.write(design.default).source
    kept = [step.node.op for step in design.program.kept] if design.program else []
    kernels = len(design.program.kernels) if design.program else 1
    assert ANSWERS[name][at] == (kept or kernels)


def test_a_refusal_for_the_cpu_says_that_a_gpu_s_kernel_can_be_written():
    path = FOLDER.parent / "fsr" / "ordinary_least_squares.py@small"
    task = case(read_task(path).source, "ordinary_least_squares", "cpu").task
    words = r"For a GPU it writes it: --target sm_90 \(aten.linalg_solve.default stays PyTorch's\)"
    with pytest.raises(ProposeError, match=f"cannot write this task: .*{words}"):
        Author().refuse(task, None)


@pytest.mark.parametrize("name", sampled(MODULES, quick=lambda name: name in QUICK))
def test_a_module_is_admitted_and_the_author_answers_as_without_a_referee(name, warm_referee):
    task = asyncio.run(warm_referee.under(Policy()).admit(read_task(at_small(name)), api.CPU))
    try:
        Author().refuse(task, None)
    except ProposeError as error:
        assert str(ANSWERS[name][0]) in str(error)
    else:
        assert isinstance(ANSWERS[name][0], int)


@pytest.mark.parametrize("name", sampled(MODULES, quick=lambda name: False))
def test_the_whole_answer_is_a_kernel_or_a_refusal_that_helps(name, warm_referee, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = invoke(
        ["optimize", str(at_small(name)), "--target", "cpu", "--budget", "1", "--no-cache"], warm_referee.suppliers()
    )
    said = capsys.readouterr()
    written = isinstance(ANSWERS[name][0], int)
    assert code in ((WRITTEN, PYTORCH_STAYS) if written else (REFUSED,)), said.err
    if code == REFUSED:
        assert "the built-in author cannot write this task" in said.err
        assert f"kernelwright optimize {at_small(name)} --target cpu --model openai:NAME" in said.err
        assert "kernelwright mcp --root" in said.err
        assert "memory bandwidth" not in said.err
        assert "resume" not in said.err
        assert not (tmp_path / "runs").exists()
    else:
        (run,) = api.list_runs(tmp_path / "runs")
        assert run.outcomes.get("measured") == 1
        assert run.best is not None and run.best.load is not None
