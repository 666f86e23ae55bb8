"""Verdicts are written in others' formats, and what was written is read again: the same workloads, claims and kernel."""

import json

import pytest

from definitions_table import CUSTOM, STORED, TABLE, write_problem
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Crashed, Incorrect, TimedOut, Verified, WorkloadResult
from kernelwright.tasks.definitions.schema import Definition, Workload
from kernelwright.tasks.published.table import read_published
from kernelwright.tasks.published.traces import FORMS, Emitted, trace_files
from kernelwright.tasks.table import read_task
from kernelwright.testing.samples import ACCURACY, BUILD, sample_environment, sample_measured, sample_task

KERNEL = Candidate(
    language="python",
    source="import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x\n",
)


def emitted(folder, one, found=None, candidate=KERNEL):
    file = write_problem(folder, one)
    source = read_task(file)
    rows = tuple(
        WorkloadResult(point=point, evaluation=found or sample_measured(2.0 + n))
        for n, point in enumerate(source.workloads.points)
    )
    drawn = WorkloadResult(point=source.workloads.points[0], drawn=True, evaluation=sample_measured())
    whole = (found or sample_measured(2.0)).model_copy(update={"workloads": (drawn, *rows)})
    task = sample_task(name=source.name).model_copy(update={"source": source})
    return Emitted(task, file, candidate, "mine", sample_environment(), whole, "2026-11-30T00:00:00+00:00")


@pytest.mark.parametrize("one", [TABLE[0], CUSTOM, STORED], ids=lambda one: one.name)
def test_workloads_come_back_as_they_were_read(tmp_path, one):
    for form in FORMS:
        files = trace_files(form, emitted(tmp_path, one))
        traces = [json.loads(line) for path, text in files.items() if "traces" in path for line in text.splitlines()]
        assert [Workload.model_validate(trace["workload"]) for trace in traces] == [
            Workload.model_validate(w) for w in one.workloads
        ]
        (definition,) = (text for path, text in files.items() if "definition" in path)
        assert Definition.model_validate_json(definition) == Definition.model_validate(one.definition)


def test_a_data_set_that_was_written_is_read_as_published_kernels_with_their_claims(tmp_path):
    for path, text in trace_files("flashinfer-trace", emitted(tmp_path / "from", TABLE[0])).items():
        (tmp_path / "to" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "to" / path).write_text(text)
    (one,) = read_published(tmp_path / "to")
    assert (one.name, one.claimed, one.missing) == ("mine", 2.5, "")
    assert read_task(tmp_path / "from/definition.json").source == one.reference


@pytest.mark.parametrize("name", ["../../up", "/up", ".."])
def test_no_name_leads_out_of_its_data_set(tmp_path, name):
    told = emitted(tmp_path, TABLE[0])
    told = told._replace(task=told.task.model_copy(update={"name": name}), name=name)
    paths = [path for form in FORMS for path in trace_files(form, told)]
    assert all((tmp_path / path).resolve().is_relative_to(tmp_path) for path in paths), paths


def test_a_trace_says_times_in_milliseconds_and_where(tmp_path):
    files = trace_files("sol", emitted(tmp_path, TABLE[0]))
    first = json.loads(files[f"{TABLE[0].name}/traces.jsonl"].splitlines()[0])["evaluation"]
    assert first["performance"] == {"latency_ms": 0.05, "reference_latency_ms": 0.1, "speedup_factor": 2.0}
    assert first["environment"] == {"hardware": "Scripted CPU", "libs": {"python": "3.11"}}
    assert first["correctness"]["max_relative_error"] == 1e-7 and first["correctness"]["max_absolute_error"] == "NaN"


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (Verified(build=BUILD, accuracy=ACCURACY, how="untimed"), "PASSED"),
        (Incorrect(because="value", case="c", evidence="off"), "INCORRECT_NUMERICAL"),
        (Incorrect(because="shape", case="c", evidence="off"), "INCORRECT_SHAPE"),
        (Incorrect(because="dtype", case="c", evidence="off"), "INCORRECT_DTYPE"),
        (BuildFailed(log="no"), "COMPILE_ERROR"),
        (Crashed(stage="compile", reason="SIGKILL"), "COMPILE_ERROR"),
        (Crashed(stage="verify", reason="SIGSEGV"), "RUNTIME_ERROR"),
        (TimedOut(stage="verify", limit_s=30), "TIMEOUT"),
    ],
)
def test_every_outcome_has_a_status_with_the_parts_that_it_may_have(tmp_path, found, status):
    files = trace_files("flashinfer-trace", emitted(tmp_path, TABLE[0], found))
    told = json.loads(files[f"traces/ops/{TABLE[0].name}.jsonl"].splitlines()[0])["evaluation"]
    assert told["status"] == status
    assert (told["correctness"] is not None) == (status in ("PASSED", "INCORRECT_NUMERICAL"))
    assert (told["performance"] is not None) == (status == "PASSED")


def test_a_kernel_without_a_binding_there_is_named_and_not_written(tmp_path):
    files = trace_files("sol", emitted(tmp_path, TABLE[0], candidate=Candidate(language="cpp", source="", entry="k")))
    assert {path.rpartition("/")[2] for path in files} == {"definition.json", "traces.jsonl"}
