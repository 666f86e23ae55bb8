"""What is written in each format is read again equal: definitions, workloads, claims, and solutions that compute the same."""

import json
import sys

import pytest

from definitions_combined import TOGETHER
from definitions_table import TABLE, run, write_problem, write_trace_set
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import WorkloadResult
from kernelwright.tasks.published.table import read_published
from kernelwright.tasks.published.traces import FORMS, Emitted, trace_files
from kernelwright.tasks.table import read_task
from kernelwright.testing.samples import sample_environment, sample_measured, sample_task

GIVEN = """

def kernel(*given):
    import torch

    found = run(**dict(zip({names}, given)))
    found = [found[name] for name in {outputs}] if isinstance(found, dict) else found
    for one, other in zip(given[len({names}):], found if isinstance(found, (tuple, list)) else [found], strict=True):
        one.copy_(torch.as_tensor(other))
"""
AXIS_OF_RESULTS_ALONE = "axis_of_outputs_alone"
ALL = [*TABLE[::6], *TOGETHER]


def by_name(one):
    """Whether `run` can be called with the names of the inputs."""
    return f"def run({', '.join(one.definition['inputs'])})" in one.definition["reference"].replace("*, ", "")


def written(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def same(torch, one, other):
    """Equal in value, place of infinities, shape and dtype."""
    pairs = zip(*(each if isinstance(each, tuple) else (each,) for each in (one, other)), strict=True)
    return all(a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.float(), b.float()) for a, b in pairs)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_again_as_the_same_task(tmp_path, form):
    for one in ALL:
        file = write_problem(tmp_path / "from" / one.name, one)
        source = read_task(file)
        rows = tuple(WorkloadResult(point=p, evaluation=sample_measured(2.0)) for p in source.workloads.points)
        told = Emitted(
            sample_task(name=source.name).model_copy(update={"source": source}),
            file,
            Candidate(language="python", source="class ModelNew: ..."),
            f"kernel of {one.name}",
            sample_environment(),
            sample_measured(2.0).model_copy(update={"workloads": rows}),
            "2026-11-30T00:00:00+00:00",
        )
        files = trace_files(form, told)
        (traces,) = (text for path, text in files.items() if path.endswith(".jsonl"))
        assert [json.loads(line)["workload"] for line in traces.splitlines()] == one.workloads
        (definition,) = (text for path, text in files.items() if "definition" in path)
        again = tmp_path / form / one.name
        write_problem(again, one)
        (again / "definition.json").write_text(definition)
        (again / "workload.jsonl").write_text(traces)
        assert read_task(again / "definition.json") == source
        if form == "flashinfer-trace":
            written(tmp_path / "set" / one.name, files)
            (published,) = read_published(tmp_path / "set" / one.name)
            assert (published.claimed, published.name) == (2.0, f"kernel of {one.name}")


@pytest.mark.parametrize("given", [False, True], ids=["returned", "given"])
def test_a_solution_computes_what_its_definition_does_with_results_returned_and_given(tmp_path, given, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(sys, "path", list(sys.path))
    for one in filter(by_name, ALL):
        names, outputs = list(one.definition["inputs"]), list(one.definition["outputs"])
        text = one.definition["reference"] + (GIVEN.format(names=names, outputs=outputs) if given else "")
        spec = {"language": "python", "entry_point": f"{one.name}_{given}.py::{'kernel' if given else 'run'}"}
        spec |= {"destination_passing_style": given, "target_hardware": ["any"]}
        if not given and "*, " in text:
            continue
        solution = {"name": "own", "definition": one.name, "author": "us", "spec": spec}
        solution["sources"] = [{"path": f"{one.name}_{given}.py", "content": text}]
        file = write_trace_set(tmp_path / one.name, one)
        written(tmp_path / one.name, {"solutions/own.json": json.dumps(solution)})
        (published,) = read_published(tmp_path / one.name)
        if given and one.name == AXIS_OF_RESULTS_ALONE:
            assert "no input has the axis classes" in published.missing
            continue
        assert published.missing == "", one.name
        space = {}
        exec(published.kernel, space)
        source = read_task(file)
        for point in source.workloads.points:
            inputs, expected, _ = run(source, point)
            assert same(torch, space["ModelNew"]()(*inputs), expected), one.name
