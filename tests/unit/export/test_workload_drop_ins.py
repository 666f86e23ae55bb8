"""Drop-ins over a task's axes: workloads by table, other sizes by rule, some by PyTorch, and what `retune` measured here."""

import asyncio
import importlib.util
import json
import sys
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "propose" / "author"))
from axes_cases import CASES, error, over_workloads

from kernelwright.engine.retune import retune
from kernelwright.errors import MachineError, TaskError, UsageError
from kernelwright.export.model_new import unwrap, wrap
from kernelwright.propose.author.author import Author
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.candidate import ORIGINAL
from kernelwright.tasks.free_axes import declared


def drop_in(name, before=""):
    """The task's cases and its drop-in's text, as a run writes it; `before`: what stands before the kernel's source."""
    task, cases = over_workloads(CASES[name])
    brief = Brief(task, ProposalRequest(number=0, intent="seed"), parents=(), feedback=(), seed=0)
    (proposal,) = asyncio.run(Author().propose(brief))
    chosen = next(proposal.candidate.points())
    chosen = chosen.model_copy(update={"source": before + chosen.source})
    other = Author().other_sizes(
        task, Attempt.model_construct(proposal=proposal.model_copy(update={"candidate": chosen}))
    )
    named = task.main.source.model_copy(update={"name": name})
    main = task.main.model_copy(update={"parts": task.parts, "free": declared(task), "source": named})
    return cases, wrap(main, chosen, other)


def loaded(file):
    spec = importlib.util.spec_from_file_location(f"drop_in_{abs(hash(str(file)))}", file)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(autouse=True)
def _no_choice_of_another_test(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(name, folder, before=""):
    cases, text = drop_in(name, before)
    file = folder / f"{name}.py"
    file.write_text(text)
    return cases, file


def module_for(made, one):
    """The drop-in as one workload makes it."""
    scope = {}
    exec(compile(one.task.source.source, "task", "exec"), scope)
    new = made.ModelNew(*scope["get_init_inputs"]())
    new.load_state_dict(one.module.state_dict())
    return new


@pytest.mark.parametrize("name", ["columns", "rms_norm"])
def test_each_workload_is_served_by_table_whatever_the_constructor_gets_there(name, tmp_path):
    cases, file = written(name, tmp_path)
    made = loaded(file)
    for one in cases:
        with torch.no_grad():
            assert error(module_for(made, one)(*one.inputs), one.reference()[0]) < 1e-4
    assert made.ModelNew.stats() == {"kernel": 3, "table": 3, "rule": 0, "reference": {}}
    assert unwrap(file.read_text()).source.count("AXIS_")


def test_other_sizes_are_served_by_rule_and_those_left_to_pytorch_by_it(tmp_path):
    _, file = written("columns", tmp_path, f"// {ORIGINAL}b < 3\n")
    made = loaded(file)
    new = made.ModelNew()
    new.check_new_sizes(False)
    with torch.no_grad():
        for sizes in ((5, 40, 60), (2, 40, 60), (4, 64, 640)):
            x = torch.randn(sizes)
            torch.testing.assert_close(new(x), made.Model.forward(new, x), atol=1e-5, rtol=1e-4)
    stats = new.stats()
    assert (stats["table"], stats["rule"]) == (1, 1)
    assert stats["reference"] == {"sizes at which Model is as fast as the kernel, or faster": 1}


def test_axes_may_be_called_as_variables_of_the_kernel_are(tmp_path):
    _, file = written("named_as_in_kernels", tmp_path)
    made = loaded(file)
    new = made.ModelNew()
    new.check_new_sizes(False)
    columns = made.AXES[1][2]
    with torch.no_grad():
        x, y = torch.randn(7, columns), torch.randn(columns)
        torch.testing.assert_close(new(x, y), made.Model.forward(new, x, y), atol=1e-5, rtol=1e-4)
    assert new.stats()["rule"] == 1


def test_what_was_measured_here_serves_the_nearest_sizes_and_is_of_this_machine_alone(tmp_path):
    _, file = written("columns", tmp_path)
    found = retune(file, 30.0, {"b": [4, 40], "h": [64], "w": [100]})
    assert [row.axes["b"] for row in found.rows] == [4, 40] and not any(row.wrong for row in found.rows)
    assert all({"original", "rule"} <= row.us.keys() and row.chosen in row.us for row in found.rows)
    kept = json.loads(Path(found.kept).read_text())
    kept["sizes"] = [{"sizes": [4, 64, 100], "chosen": "original"}, {"sizes": [40, 64, 100], "chosen": "rule"}]
    Path(found.kept).write_text(json.dumps(kept))
    new = loaded(file).ModelNew()
    new.check_new_sizes(False)
    with torch.no_grad():
        for b in (3, 5, 41):
            new(torch.randn(b, 64, 100))
    assert new.stats()["rule"] == 1 and sum(new.stats()["reference"].values()) == 2
    Path(found.kept).write_text("no JSON")
    again = loaded(file).ModelNew()
    again.check_new_sizes(False)
    with torch.no_grad():
        again(torch.randn(3, 64, 100))
    assert again.stats()["rule"] == 1


def test_a_way_that_is_wrong_is_never_chosen(tmp_path):
    _, file = written("columns", tmp_path)
    text = file.read_text()
    head, rest = text.split("OTHER_SIZES = r'''", 1)
    file.write_text(
        head + "OTHER_SIZES = r'''" + rest.replace("row_amax[j - begin] - row_sum", "row_amax[j - begin] + row_sum", 1)
    )
    found = retune(file, 30.0, {"b": [3], "h": [64], "w": [100]})
    assert found.rows[0].wrong == ("rule",) and found.rows[0].chosen == "original"


@pytest.mark.matrix
def test_what_cannot_be_retuned_says_why(tmp_path):
    other = tmp_path / "other.py"
    other.write_text("class ModelNew: ...\n")
    with pytest.raises(TaskError, match="no drop-in"):
        retune(other, 5.0, {})
    _, file = written("columns", tmp_path)
    with pytest.raises(UsageError, match="no axis 'batch': it has b, h, w"):
        retune(file, 5.0, {"batch": [3]})
    with pytest.raises(MachineError, match="nothing is kept"):
        retune(file, 5.0, {"b": [1 << 20], "h": [1 << 10], "w": [1 << 10]})
    file.write_text(file.read_text() + "\nraise RuntimeError('broken on purpose')\n")
    with pytest.raises(MachineError, match="broken on purpose"):
        retune(file, 5.0, {})
