"""Modules as people bring them (tasks/modules): whatever the built-in author can or cannot do, the answer helps.

The answer is a kernel, which may leave parts to PyTorch, or a refusal that names the operations and the command lines with
which somebody else writes the kernel; a refusal measures nothing and leaves nothing behind.
"""

import asyncio
from pathlib import Path

import pytest

from kernelwright import api
from kernelwright.errors import ProposeError
from kernelwright.interfaces.cli.main import invoke
from kernelwright.propose.author.author import Author
from kernelwright.records.policy import Policy
from kernelwright.tasks.files import sizes_of
from kernelwright.tasks.table import read_task
from lanes import sampled

FOLDER = Path(__file__).parents[2] / "tasks" / "modules"
MODULES = [
    "attention", "conv_bn_relu", "decayed_scan", "embedding_layer_norm", "expert_router", "focal_loss",
    "group_norm_silu", "int8_product", "rotary_positions", "rotary_scores", "swiglu_mlp", "transformer_layer",
]  # fmt: skip
QUICK = ("focal_loss", "rotary_positions")
WRITTEN, PYTORCH_STAYS, REFUSED = 0, 11, 7


def at_small(name):
    return FOLDER / f"{name}.py@small"


def test_the_list_names_every_file_and_each_has_three_sizes():
    assert sorted(MODULES) == sorted(file.stem for file in FOLDER.glob("*.py"))
    for name in MODULES:
        assert list(sizes_of(read_task(FOLDER / f"{name}.py").source)) == ["small", "medium", "large"]


@pytest.mark.parametrize("name", sampled(MODULES, quick=lambda name: name in QUICK))
def test_a_module_is_admitted_and_the_author_writes_it_or_names_what_it_cannot(name, warm_referee):
    task = asyncio.run(warm_referee.under(Policy()).admit(read_task(at_small(name)), api.CPU))
    try:
        Author().refuse(task, None)
    except ProposeError as error:
        assert name != "focal_loss", "a chain of pointwise operations and a sum is what the author writes"
        assert any(node.op in str(error) for node in task.graph.nodes)


@pytest.mark.parametrize("name", sampled(MODULES, quick=lambda name: False))
def test_the_whole_answer_is_a_kernel_or_a_refusal_that_helps(name, warm_referee, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = invoke(
        ["optimize", str(at_small(name)), "--target", "cpu", "--budget", "1", "--no-cache"], warm_referee.suppliers()
    )
    said = capsys.readouterr()
    assert code in (WRITTEN, PYTORCH_STAYS, REFUSED), said.err
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
