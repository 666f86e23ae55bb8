"""Writes verdicts in the JSON of FlashInfer-Bench and SOL-ExecBench, so that others' tools read them (docs/formats.md).

A trace is one workload of one definition with what a kernel came to on it. Errors are ours: relative to the size of the
result, against fp64; there is no absolute one, which the format calls NaN. A verdict without a word there becomes the nearest.
"""

import json
import re
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

from pydantic import JsonValue

from kernelwright.languages import language
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import (
    BuildFailed,
    Evaluation,
    Incorrect,
    Measured,
    TimedOut,
    Verified,
    WorkloadResult,
    failed_to_build,
)
from kernelwright.records.reasons import reason_of
from kernelwright.records.run import Environment
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec
from kernelwright.records.workloads import WorkloadPoint
from kernelwright.tasks.definition import workloads_beside
from kernelwright.tasks.definitions.schema import Definition, Workload
from kernelwright.tasks.files import read_text

Form = Literal["flashinfer-trace", "sol"]
FORMS: tuple[Form, ...] = ("flashinfer-trace", "sol")
_RUN = """

_MODEL = []


def run(*inputs):
    if not _MODEL:
        _MODEL.append({entry}())
    return _MODEL[0](*inputs)
"""


class Emitted(NamedTuple):
    """A verdict with what it is about."""

    task: Task
    file: Path
    """The task's."""
    candidate: Candidate
    name: str
    """The kernel's."""
    environment: Environment
    evaluation: Evaluation
    created: str
    """ISO 8601."""


def trace_files(form: Form, told: Emitted) -> dict[str, str]:
    """Texts by their paths within a data set: traces, the kernel as a solution where it can be one, and the definition."""
    name, file = _as_file(told.task.name), told.file
    definition = file if file.suffix == ".json" else None
    text = read_text(definition, "definition") if definition is not None else ""
    within = Definition.model_validate_json(text).workloads if text else ()
    known = {w.uuid: w for w in (*within, *workloads_beside(told.task.name, file)[0])} if text else {}
    traces = "".join(f"{json.dumps(line)}\n" for line in _traces(form, told, known))
    solution = _solution(told)
    folders = {"definition": "definitions/ops", "solution": "solutions/ops", "traces": "traces/ops"}
    texts = {"traces": (traces, ".jsonl")}
    if solution is not None:
        texts["solution"] = (json.dumps(solution, indent=1), ".json")
    if text:
        texts["definition"] = (text, ".json")
    if form == "sol":
        return {f"{name}/{what}{ending}": text for what, (text, ending) in texts.items()}
    names = {"solution": _as_file(told.name)}
    return {f"{folders[what]}/{names.get(what, name)}{ending}": text for what, (text, ending) in texts.items()}


def _as_file(name: str) -> str:
    """A name as a file's, whatever it has of folders."""
    return re.sub(r"[^\w.-]+", "_", name).strip(".") or "unnamed"


def _traces(form: Form, told: Emitted, known: dict[str, Workload]) -> list[dict[str, JsonValue]]:
    rows = [row for row in told.evaluation.workloads if not row.drawn]
    if not told.evaluation.workloads:
        rows = [WorkloadResult(point=WorkloadPoint(name=told.task.id, axes={}), evaluation=told.evaluation)]
    return [
        {
            "definition": told.task.name,
            "workload": _workload(told.task, row.point, known.get(row.point.name)),
            "solution": told.name,
            "evaluation": _evaluation(form, told, row.evaluation),
        }
        for row in rows
        if row.evaluation is not None
    ]


def _workload(task: Task, point: WorkloadPoint, known: Workload | None) -> JsonValue:
    """As it was read; of another task's the inputs are called random."""
    if known is not None:
        return known.model_dump(mode="json", exclude_unset=True)
    inputs: dict[str, JsonValue] = {
        spec.name: {"type": "random"} if isinstance(spec, TensorSpec) else {"type": "scalar", "value": spec.value}
        for spec in task.workload.inputs
    }
    return {"uuid": point.name, "axes": dict(point.axes), "inputs": inputs}


def _evaluation(form: Form, told: Emitted, found: Evaluation) -> JsonValue:
    status = _status(found)
    device = told.environment.device.name
    libs: dict[str, JsonValue] = dict(told.environment.versions)
    return {
        "status": status,
        "environment": {"hardware": device, "libs": libs},
        "timestamp": told.created,
        "log": reason_of(found),
        "correctness": _correctness(found) if status in ("PASSED", "INCORRECT_NUMERICAL") else None,
        "performance": _performance(found) if status == "PASSED" else None,
    }


def _status(found: Evaluation) -> str:
    match found:
        case Measured() | Verified():
            return "PASSED"
        case Incorrect(because="shape" | "count"):
            return "INCORRECT_SHAPE"
        case Incorrect(because="dtype"):
            return "INCORRECT_DTYPE"
        case Incorrect():
            return "INCORRECT_NUMERICAL"
        case TimedOut():
            return "TIMEOUT"
        case BuildFailed():
            return "COMPILE_ERROR"
    return "COMPILE_ERROR" if failed_to_build(found) else "RUNTIME_ERROR"


def _correctness(found: Evaluation) -> JsonValue:
    accuracy = found.accuracy if isinstance(found, Measured | Verified | Incorrect) else None
    worst = max((case.error for case in accuracy.cases), default=0.0) if accuracy else 0.0
    told: dict[str, JsonValue] = {"judge": "kernelwright", "relative_to": "size of the fp64 result"}
    return {"max_relative_error": worst, "max_absolute_error": "NaN", "extra": told}


def _performance(found: Evaluation) -> JsonValue:
    """Milliseconds; zeros of what was not timed, which is how the format says so."""
    eager = found.timing.against("eager") if isinstance(found, Measured) else None
    if not isinstance(found, Measured) or eager is None:
        return {"latency_ms": 0.0, "reference_latency_ms": 0.0, "speedup_factor": 0.0}
    samples = next((arm.samples_us for arm in found.timing.arms if arm.name == "eager"), ())
    reference = median(samples) if samples else found.timing.latency_us * eager.speedup.median
    return {
        "latency_ms": found.timing.latency_us / 1e3,
        "reference_latency_ms": reference / 1e3,
        "speedup_factor": eager.speedup.median,
    }


def _solution(told: Emitted) -> dict[str, JsonValue] | None:
    """The kernel as a solution; None where its language has no binding there, or its model is built with arguments."""
    written = language(told.candidate.language)
    if written.form != "module":
        return None
    spec: dict[str, JsonValue] = {
        "language": "triton" if told.candidate.language == "triton" else "python",
        "target_hardware": [told.environment.device.name],
        "entry_point": "main.py::run",
        "dependencies": ["torch"],
        "destination_passing_style": False,
    }
    content = told.candidate.source.rstrip("\n") + _RUN.format(entry=told.candidate.entry)
    return {
        "name": told.name,
        "definition": told.task.name,
        "author": "kernelwright",
        "spec": spec,
        "sources": [{"path": "main.py", "content": content}],
    }
