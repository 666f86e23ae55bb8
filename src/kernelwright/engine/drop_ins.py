"""A candidate as a drop-in, with what its file needs of the referee's: the launches worked out, NVRTC's headers."""

import re

from kernelwright.export import model_new
from kernelwright.knowledge.hardware import hardware
from kernelwright.languages import language
from kernelwright.records.candidate import Candidate
from kernelwright.records.free_sizes import OtherSizes
from kernelwright.records.launch import Launching
from kernelwright.records.task import Task
from kernelwright.tasks.launch_function import launch_at

_INCLUDED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)", re.MULTILINE)


def drop_in(task: Task, candidate: Candidate, other: OtherSizes | None) -> str:
    """The file's text.

    Raises:
        ProposeError: it can be no drop-in.
    """
    launched = language(candidate.language).drop_in == "launched"
    return model_new.wrap(task, candidate, other, launching(task, candidate) if launched else None)


def launching(task: Task, candidate: Candidate) -> Launching:
    """The launches for the task's shapes and device."""
    # The referee's modules are not loaded to say what a command can do.
    from kernelwright.evaluate import toolkit  # noqa: PLC0415
    from kernelwright.evaluate.entrypoints.tools.nvrtc import device_headers  # noqa: PLC0415
    from kernelwright.evaluate.languages.cuda.recipe import resolve  # noqa: PLC0415

    device = hardware(task.target.arch)
    resolved = resolve(candidate, task.workload, device)
    headers = device_headers(toolkit.include_directories())
    included = any(name in headers for name in _INCLUDED.findall(candidate.source))
    return Launching(
        plan=resolved.plan,
        macros=resolved.macros,
        host=launch_at(candidate.source),
        headers=headers if included else {},  # they include each other
        multiprocessors=device.multiprocessors,
    )
