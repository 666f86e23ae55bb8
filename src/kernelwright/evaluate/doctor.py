"""The examination behind `doctor`: what this machine can do, and the cure for what it cannot.

Decides what is looked at, and whether a lack only costs something (`lost`) or stops the work (`missing`). Nothing is
taken on trust: packages are imported in a process of their own, a program is compiled and run, a child is really
confined. Refuses to import torch here, or to know how a check is shown.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from kernelwright.errors import MachineError, RefereeError
from kernelwright.evaluate.profile import ncu, ncu_output, ncu_probe
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import LOST, Jail
from kernelwright.evaluate.sandbox.messages.tools import Execute
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.records.check import Check

LIMIT_S = 60.0
"""Longest that one look may take; a cold disk needs most of it to import torch."""
LEAST_FREE_BYTES, ENOUGH_FREE_BYTES = 64 << 20, 1 << 30
"""Free disk below which a run cannot be kept, and below which it will soon be full."""

PROGRAM = """\
#include <omp.h>
int main() { int n = 0; _Pragma("omp parallel reduction(+ : n)") n += omp_get_num_threads() > 0; return n ? 0 : 1; }
"""
"""Two lines that only an OpenMP compiler with its runtime can build and run."""
PLAIN = "int main() { return 0; }\n"

CURES = {
    "namespaces": "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, and on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0), or start the container with --security-opt seccomp=unconfined.",
    "tmpfs": "It needs the namespaces, and a host that allows mounts in them.",
    "landlock": "Use Linux 5.13 or newer with `landlock` among the active security modules (/sys/kernel/security/lsm).",
    "seccomp": "Use an x86-64 kernel with CONFIG_SECCOMP_FILTER.",
    "nobody": "Start as root to give candidates another user; namespaces and Landlock do not need it.",
}
"""How each part of the sandbox is got back."""


def examine() -> list[Check]:
    """Look at everything, side by side. Takes seconds; raises nothing for what is not here."""
    with ThreadPoolExecutor() as pool:
        looks = [pool.submit(look) for look in (_python, _packages, _compilers, _sandbox, _disk)]
        return [check for look in looks for check in look.result()]


def _python() -> list[Check]:
    return [Check(name="python", status="ok", detail=f"{platform.python_version()} at {sys.executable}")]


def _packages() -> list[Check]:
    gpu = _gpu()
    # Without Triton and without a GPU, C++ kernels for this CPU remain.
    needed = [_package("torch"), _package("numpy"), _package("triton", "missing" if gpu.status == "ok" else "lost")]
    bindings = [_package("cuda.bindings"), _counters()] if gpu.status == "ok" else []
    return [*needed, gpu, *bindings]


def _counters() -> Check:
    """Whether kernels can be profiled with hardware counters; without them a trace and the compiler's facts remain."""
    tool = ncu.find()
    if tool is None:
        cure = "Install Nsight Compute, a part of the CUDA toolkit, and put `ncu` on PATH."
        return Check(name="counters", status="lost", detail="ncu is not here: kernels are only traced", cure=cure)
    done = _run([tool, "--csv", "--page", "raw", "--metrics", ncu_probe.METRIC, sys.executable, "-c", ncu_probe.PROBE])
    output = ncu_output.read(done.stdout + done.stderr) if done else ncu_output.read("")
    refusal = ncu.refusal(output)
    if refusal:
        return Check(
            name="counters", status="lost", detail=f"{tool} counts nothing: kernels are only traced", cure=refusal
        )
    return _for_whom(tool)


def _for_whom(tool: str) -> Check:
    params = Path(ncu_probe.ADMIN_ONLY)
    if params.exists() and "RmProfilingAdminOnly: 1" in params.read_text(errors="replace"):
        told = f"{tool} counts for the administrator only: kernels with host code of their own are only traced"
        return Check(name="counters", status="lost", detail=told, cure=ncu.DENIED)
    return Check(name="counters", status="ok", detail=f"{tool} counts")


def _package(name: str, lack: Literal["lost", "missing"] = "missing") -> Check:
    done = _run([sys.executable, "-c", f"import {name}; print(getattr({name}, '__version__', 'installed'))"])
    if done is not None and not done.returncode:
        return Check(name=name, status="ok", detail=done.stdout.strip())
    lines = done.stderr.strip().splitlines() if done else []
    told = f"cannot be imported: {lines[-1] if lines else 'the interpreter did not answer'}"
    cure = f"Install it for {sys.executable}: pip install {name.replace('.', '-')}"
    return Check(name=name, status=lack, detail=told, cure=cure)


def _gpu() -> Check:
    query = ["--query-gpu=name,compute_cap,memory.total,driver_version", "--format=csv,noheader"]
    tool = shutil.which("nvidia-smi")
    if tool is None:
        told = "no NVIDIA driver answers: kernels are timed on this CPU, and compiled for a GPU with --target sm_90"
        return Check(name="gpu", status="lost", detail=told, cure="For --target cuda: an NVIDIA GPU and its driver.")
    done = _run([tool, *query])
    if done is None or done.returncode or not done.stdout.strip():
        said = (done.stderr or done.stdout).strip() if done else f"no answer in {LIMIT_S:.0f} s"
        cure = "Reinstall the NVIDIA driver, or start the container with --gpus all."
        return Check(name="gpu", status="lost", detail=f"nvidia-smi failed: {said}", cure=cure)
    lines = [_gpu_words(line) for line in done.stdout.strip().splitlines()]
    return Check(name="gpu", status="ok", detail="; ".join(lines))


def _gpu_words(line: str) -> str:
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != 4:
        return line.strip()
    name, capability, memory, driver = fields
    return f"{name} (sm_{capability.replace('.', '')}, {memory}), driver {driver}"


def _compilers() -> list[Check]:
    compiler = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")
    cure = "Install one: apt-get install g++"
    if compiler is None:
        return [Check(name="c++ compiler", status="missing", detail="none of g++, c++, clang++ is here", cure=cure)]
    if (log := _tried(compiler, PLAIN, [])) is not None:
        return [Check(name="c++ compiler", status="missing", detail=f"{compiler} does not work: {log}", cure=cure)]
    version = _run([compiler, "--version"])
    line = version.stdout.splitlines()[0] if version and version.stdout else "of unknown version"
    found = Check(name="c++ compiler", status="ok", detail=f"{compiler}: {line}")
    return [found, _openmp(compiler)]


def _openmp(compiler: str) -> Check:
    log = _tried(compiler, PROGRAM, ["-fopenmp"])
    if log is None:
        return Check(name="openmp", status="ok", detail=f"works with {len(os.sched_getaffinity(0))} threads")
    cure = "Install the compiler's OpenMP runtime: libgomp1 for g++, libomp-dev for clang++."
    return Check(name="openmp", status="missing", detail=f"{compiler} -fopenmp does not work: {log}", cure=cure)


def _tried(compiler: str, program: str, flags: Sequence[str]) -> str | None:
    """What went wrong when a program was compiled and run; None if it worked."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "program.cpp"), Path(folder, "program")
        source.write_text(program)
        for command in ([compiler, *flags, str(source), "-o", str(made)], [str(made)]):
            done = _run(command)
            if done is None:
                return f"no end after {LIMIT_S:.0f} s"
            if done.returncode:
                said = (done.stdout + done.stderr).strip()[-400:]
                return said or f"{command[0]} ended with status {done.returncode}"
    return None


def _sandbox() -> list[Check]:
    """One check for each part of the sandbox, from a child that was really confined."""
    try:
        denied = _denied()
    except (MachineError, RefereeError, ChildGoneError, OSError) as error:
        told = f"no child could be confined: {error}"
        cure = "Nothing can be judged without one; see what the message says, and whether torch can be imported."
        return [Check(name="sandbox", status="missing", detail=told, cure=cure)]
    except ChildSlowError:
        told = f"a confined child did not answer within {LIMIT_S:.0f} s"
        return [Check(name="sandbox", status="missing", detail=told, cure="Try again when the machine is less busy.")]
    return [_part(part, denied) for part in LOST]


def _denied() -> list[str]:
    with Warm() as warm:
        child = warm.spawn("tool", Jail(directory="/", may_execute=True))
        try:
            child.ask(Execute(argv=("true",), texts={}), LIMIT_S)
            return list(child.denied)
        finally:
            child.close()


def _part(part: str, denied: Sequence[str]) -> Check:
    if part not in denied:
        return Check(name=f"sandbox: {part}", status="ok", detail="in force")
    told = f"the host denies it: {LOST[part]}"
    return Check(name=f"sandbox: {part}", status="lost", detail=told, cure=CURES[part])


def _disk() -> list[Check]:
    here = Path.cwd()
    free = shutil.disk_usage(here).free
    told = f"{free / 1e9:.1f} GB free for runs in {here}"
    if free >= ENOUGH_FREE_BYTES:
        return [Check(name="disk", status="ok", detail=told)]
    cure = "Free some space, or put runs elsewhere with --run-dir."
    return [Check(name="disk", status="lost" if free >= LEAST_FREE_BYTES else "missing", detail=told, cure=cure)]


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    """A finished command; None if it cannot be started or does not end."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
