"""What the doctor looks at for NVIDIA's GPUs: Triton, NVRTC, the driver, its bindings, hardware counters."""

import shutil
import sys
from pathlib import Path

from kernelwright.evaluate import toolkit
from kernelwright.evaluate.backends import look
from kernelwright.evaluate.profile import ncu, ncu_output
from kernelwright.evaluate.sandbox.messages.entrypoints import MODULES
from kernelwright.records.run import Check


def checks() -> list[Check]:
    """Without a GPU nothing of it is missing: C++ kernels for this CPU remain, and kernels are compiled all the same."""
    gpu = _gpu()
    here = gpu.status == "ok"
    bindings = [look.package("cuda.bindings"), _counters()] if here else []
    return [look.package("triton", "missing" if here else "lost"), _nvrtc(), gpu, *bindings]


def _nvrtc() -> Check:
    """What compiles CUDA C++ with a launch plan, here or for a GPU that is not here. nvcc does not bring its bindings."""
    code = f"import sys; from {MODULES['nvrtc']} import Compilation; print(Compilation(sys.argv[1] or None).version)"
    done = look.run([sys.executable, "-c", code, toolkit.nvrtc_library() or ""])
    if done is not None and not done.returncode:
        return Check(name="nvrtc", status="ok", detail=done.stdout.strip())
    told = "not found, or not its bindings for Python: a `.cu` kernel cannot be compiled, for no target"
    return Check(name="nvrtc", status="lost", detail=told, fix=f"For CUDA C++: {toolkit.FIX}.")


def _counters() -> Check:
    """Whether kernels can be profiled with hardware counters; without them a trace and the compiler's facts remain."""
    tool = ncu.find()
    if tool is None:
        fix = "Install Nsight Compute, a part of the CUDA toolkit, and put `ncu` on PATH."
        return Check(name="counters", status="lost", detail="ncu is not here: kernels are only traced", fix=fix)
    done = look.run([tool, "--csv", "--page", "raw", "--metrics", ncu.METRIC, sys.executable, "-c", ncu.PROBE])
    output = ncu_output.read(done.stdout + done.stderr) if done else ncu_output.read("")
    refusal = ncu.refusal(output)
    if refusal:
        return Check(
            name="counters", status="lost", detail=f"{tool} counts nothing: kernels are only traced", fix=refusal
        )
    return _for_whom(tool)


def _for_whom(tool: str) -> Check:
    params = Path(ncu.ADMIN_ONLY)
    if params.exists() and "RmProfilingAdminOnly: 1" in params.read_text(errors="replace"):
        told = f"{tool} counts for the administrator only: kernels with host code of their own are only traced"
        return Check(name="counters", status="lost", detail=told, fix=ncu.DENIED)
    return Check(name="counters", status="ok", detail=f"{tool} counts")


def _gpu() -> Check:
    query = ["--query-gpu=name,compute_cap,memory.total,driver_version", "--format=csv,noheader"]
    tool = shutil.which("nvidia-smi")
    if tool is None:
        told = "no NVIDIA driver answers: kernels are timed on this CPU, and compiled for a GPU with --target sm_90"
        return Check(name="gpu", status="lost", detail=told, fix="For --target cuda: an NVIDIA GPU and its driver.")
    done = look.run([tool, *query])
    if done is None or done.returncode or not done.stdout.strip():
        said = (done.stderr or done.stdout).strip() if done else f"no answer in {look.LIMIT_S:.0f} s"
        fix = "Reinstall the NVIDIA driver, or start the container with --gpus all."
        return Check(name="gpu", status="lost", detail=f"nvidia-smi failed: {said}", fix=fix)
    lines = [_gpu_words(line) for line in done.stdout.strip().splitlines()]
    return Check(name="gpu", status="ok", detail="; ".join(lines))


def _gpu_words(line: str) -> str:
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != 4:
        return line.strip()
    name, capability, memory, driver = fields
    return f"{name} (sm_{capability.replace('.', '')}, {memory}), driver {driver}"
