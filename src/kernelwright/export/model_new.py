"""A candidate as one self-contained Python file with a drop-in `ModelNew`.

A `triton` candidate is such a file already. A `cpp` candidate is embedded, compiled by the system's compiler on first
use and kept in a private cache. Nothing is run here.
"""

import re

from kernelwright.errors import ProposeError
from kernelwright.export.drop_in import drop_in
from kernelwright.export.reference import merged_imports, reference
from kernelwright.languages import language
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

IMPORTS = (
    "import ctypes", "import functools", "import hashlib", "import os", "import shutil", "import subprocess",
    "import tempfile", "import torch", "from pathlib import Path",
)  # fmt: skip
NAMES = frozenset(
    ("SOURCE", "FLAGS", "ENTRY", "TAKES", "GIVES", "WORKSPACE_BYTES", "_cache", "_kernel", "_fits", "_run")
)
"""What the file calls its own."""
FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC")

RUNTIME = '''\
def _cache():
    """A directory that only this user can write; a fresh one where there is none."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(home) / "kernelwright"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        if found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="kernelwright-"))


@functools.cache
def _kernel():
    """The compiled function. Built once for each compiler, processor and set of flags."""
    compiler = shutil.which(os.environ.get("CXX") or "g++")
    if compiler is None:
        raise RuntimeError("ModelNew compiles its kernel on first use: install g++, or set CXX")
    asked = [compiler, "-march=native", "-Q", "--help=target", "--version"]
    machine = subprocess.run(asked, capture_output=True, text=True).stdout
    key = hashlib.sha256(repr((SOURCE, FLAGS, compiler, machine)).encode()).hexdigest()[:24]
    library = _cache() / f"{ENTRY}-{key}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            source, built = Path(scratch) / "kernel.cpp", Path(scratch) / "kernel.so"
            source.write_text(SOURCE)
            command = [compiler, *FLAGS, str(source), "-o", str(built)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"ModelNew could not compile its kernel:\\n{done.stderr}")
            built.replace(library)
    return getattr(ctypes.CDLL(str(library)), ENTRY)


def _fits(*tensors):
    """Whether the kernel is for these tensors; it has no backward."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return False
    here = all(t.device.type == "cpu" and t.layout == torch.strided for t in tensors)
    return here and [(t.dtype, tuple(t.shape)) for t in tensors] == TAKES


@torch.compiler.disable
def _run(*tensors):
    """Call the kernel on tensors that fit."""
    dense = [t.contiguous() for t in tensors]
    outputs = [torch.empty(shape, dtype=dtype) for dtype, shape in GIVES]
    workspace = [torch.empty(WORKSPACE_BYTES, dtype=torch.uint8)] if WORKSPACE_BYTES else []
    _kernel()(*(ctypes.c_void_p(t.data_ptr()) for t in (*dense, *outputs, *workspace)))
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
'''


def wrap(task: Task, candidate: Candidate) -> str:
    """The file's text.

    Raises:
        ProposeError: the task's source has no usable `Model`, a name of it clashes with the file's own,
            or a tunable to be fixed is not in the source.
    """
    drop_in_as = language(candidate.language).drop_in
    if drop_in_as == "itself":
        return fixed(candidate)
    if not drop_in_as:
        raise ProposeError(f"a {candidate.language} kernel cannot be written as a ModelNew file yet: use it as it is")
    found = reference(task.source.source)
    ours = {
        "SOURCE",
        "FLAGS",
        "ENTRY",
        "TAKES",
        "GIVES",
        "WORKSPACE_BYTES",
        "_cache",
        "_kernel",
        "_fits",
        "_run",
    }
    clash = sorted(ours & found.names)
    if clash:
        raise ProposeError(f"the task's source has names that the kernel's file needs: {', '.join(clash)}")
    parts = [
        "\n".join([_title(task), "", *merged_imports(IMPORTS, found.imports)]),
        found.body,
        _constants(task, candidate),
        RUNTIME,
        drop_in(task, found),
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def fixed(candidate: Candidate) -> str:
    """A Triton source with its tunables at the chosen values.

    Raises:
        ProposeError: a tunable is not a module-level integer of the source.
    """
    text = candidate.source
    for define in candidate.defines:
        text, count = re.subn(rf"(?m)^{define.name} = -?\d+$", f"{define.name} = {define.value}", text)
        if count != 1:
            raise ProposeError(f"{define.name!r} is not a module-level integer of the candidate's source")
    return text


def _title(task: Task) -> str:
    return (
        f'"""{task.name}: a C++ kernel behind a drop-in `ModelNew`.\n\n'
        "Compiled on first use. The reference serves autograd and whatever else the kernel is not for:\n"
        'other shapes, dtypes, devices and constructor arguments.\n"""'
    )


def _constants(task: Task, candidate: Candidate) -> str:
    defines = [f"-D{d.name}={d.value}" for d in candidate.defines]
    flags = [*FLAGS, *candidate.flags, *defines]
    if "'''" in candidate.source:
        raise ProposeError("the candidate's source has three single quotes in a row")
    workload = task.workload
    return "\n".join(
        [
            f"ENTRY = {candidate.entry!r}",
            "FLAGS = (",
            *(f"    {flag!r}," for flag in flags),
            ")",
            f"WORKSPACE_BYTES = {candidate.workspace_bytes}",
            "TAKES = [",
            *(f"    {_spec(spec)},  # {spec.name}" for spec in (*workload.tensors, *workload.parameters)),
            "]",
            "GIVES = [",
            *(f"    {_spec(spec)}," for spec in workload.outputs),
            "]",
            f"SOURCE = r'''\n{candidate.source.rstrip()}\n'''",
        ]
    )


def _spec(spec: TensorSpec) -> str:
    return f"(torch.{spec.dtype}, {spec.shape!r})"
