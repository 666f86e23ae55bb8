"""The doctor: everything is here and fine; each thing that is not is named with its cure."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple

import pytest

from kernelwright.errors import MachineError
from kernelwright.evaluate import doctor
from kernelwright.evaluate.backends import look
from kernelwright.evaluate.backends.cpu import doctor as cpu
from kernelwright.evaluate.backends.cuda import doctor as cuda
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import LOST

HERE = """
import json, sys
from kernelwright.evaluate.doctor import examine
found = [c.model_dump(mode="json") for c in examine()]
loaded = [m for m in ("torch", "triton", "numpy") if m in sys.modules]
print(json.dumps({"checks": found, "loaded": loaded}))
"""


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH with nothing on it but what a test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(name, text):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)

    return put


def test_this_machine_is_fit_and_torch_is_not_imported_here():
    done = subprocess.run([sys.executable, "-c", HERE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    checks = {c["name"]: c for c in said["checks"]}
    assert said["loaded"] == []
    wanted = {"python", "torch", "numpy", "triton", "gpu", "amd gpu", "c++ compiler", "openmp", "disk"}
    assert wanted | {f"sandbox: {part}" for part in LOST} <= set(checks)
    for name in ("python", "torch", "numpy", "triton", "c++ compiler", "openmp"):
        assert checks[name]["status"] == "ok", checks[name]
    assert all(c["detail"] for c in checks.values())
    assert all(c["fix"] for c in checks.values() if c["status"] != "ok")
    assert not any(c["fix"] for c in checks.values() if c["status"] == "ok")


# --- places -------------------------------------------------------------------------------------------------------


def test_places_that_do_not_do_are_named_with_their_cure(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert [check.status for check in doctor._places()] == ["ok", "ok"]
    (tmp_path / "state" / "kernelwright" / "secret").chmod(0o644)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    temporary, secret = doctor._places()
    assert (temporary.status, secret.status) == ("missing", "missing")
    assert "TMPDIR" in temporary.fix and "chmod" in secret.fix
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    unkept = doctor._places()[1]
    assert (unkept.status, "XDG_STATE_HOME" in unkept.fix) == ("lost", True)


# --- compilers ----------------------------------------------------------------------------------------------------


def test_without_a_compiler(programs):
    (check,) = cpu.checks()
    assert (check.name, check.status) == ("c++ compiler", "missing")
    assert "g++" in check.fix


def test_a_compiler_that_does_not_work(programs):
    programs("g++", "echo internal compiler error >&2; exit 1")
    (check,) = cpu.checks()
    assert check.status == "missing"
    assert "internal compiler error" in check.detail


def test_a_compiler_without_openmp(programs):
    real = shutil.which("g++", path=os.defpath)
    programs(
        "g++",
        f'case "$*" in *-fopenmp*) echo cannot find -lgomp >&2; exit 1;; esac\nPATH=/usr/bin:/bin exec {real} "$@"',
    )
    compiler, openmp = cpu.checks()
    assert compiler.status == "ok"
    assert openmp.status == "missing"
    assert "cannot find -lgomp" in openmp.detail
    assert "libgomp1" in openmp.fix


def test_a_compiler_that_never_ends(programs, monkeypatch):
    monkeypatch.setattr(look, "LIMIT_S", 0.2)
    programs("g++", "exec /bin/sleep 1000")
    (check,) = cpu.checks()
    assert check.status == "missing"


# --- GPU and packages ---------------------------------------------------------------------------------------------


def test_without_a_gpu_the_cpu_remains(programs):
    check = cuda._gpu()
    assert check.status == "lost"
    assert "sm_90" in check.detail


def test_a_gpu_is_told_with_its_architecture_and_driver(programs):
    programs(
        "nvidia-smi", "echo 'NVIDIA H200, 9.0, 143771 MiB, 570.86.15'; echo 'NVIDIA H200, 9.0, 143771 MiB, 570.86.15'"
    )
    check = cuda._gpu()
    assert check.status == "ok"
    assert check.detail.count("NVIDIA H200 (sm_90, 143771 MiB), driver 570.86.15") == 2


@pytest.mark.parametrize("text", ["echo 'Driver/library version mismatch'; exit 18", "exit 0", "exec /bin/sleep 1000"])
def test_a_driver_that_does_not_answer(programs, monkeypatch, text):
    monkeypatch.setattr(look, "LIMIT_S", 0.5)
    programs("nvidia-smi", text)
    check = cuda._gpu()
    assert check.status == "lost"
    assert "nvidia-smi failed" in check.detail
    assert "driver" in check.fix


def test_a_package_that_is_not_here_or_broken(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("raise OSError('libcudart.so.13: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    absent, broken = look.package("nowhere.bindings"), look.package("broken_package", "lost")
    assert absent.status == "missing"
    assert "No module named 'nowhere'" in absent.detail
    assert "pip install nowhere-bindings" in absent.fix
    assert broken.status == "lost"
    assert "libcudart.so.13" in broken.detail


def test_a_toolkit_without_nvrtc_for_python_is_named_with_its_pip_line(programs, monkeypatch):
    programs("nvcc", "echo release 13.0")
    run = look.run
    lacking = ["import sys; sys.modules['cuda.bindings'] = None; "]
    monkeypatch.setattr(
        look, "run", lambda argv: run([*argv[:2], lacking[0] + argv[2], *argv[3:]]) if len(argv) > 3 else None
    )
    check = cuda._nvrtc()
    assert (check.status, check.fix) == ("lost", "For CUDA C++: pip install 'kernelwright[cuda]'.")
    lacking[0] = ""
    assert cuda._nvrtc().status == "ok"


@pytest.mark.parametrize(("gpu", "lack"), [(True, "missing"), (False, "lost")])
def test_triton_and_the_bindings_are_needed_where_a_gpu_is(programs, monkeypatch, gpu, lack):
    if gpu:
        programs("nvidia-smi", "echo 'NVIDIA L4, 8.9, 23034 MiB, 570.1'")
    monkeypatch.setattr(look, "run", told_by(look.run, without={"triton", "cuda.bindings"}))
    checks = {c.name: c for c in (*doctor._packages(), *cuda.checks())}
    assert checks["torch"].status == "ok"
    assert checks["triton"].status == lack
    assert ("cuda.bindings" in checks) == ("counters" in checks) == gpu
    if gpu:
        assert checks["cuda.bindings"].status == "missing"
        assert "cuda-bindings" in checks["cuda.bindings"].fix


COUNTED = """echo '"ID","Kernel Name","Block Size","Grid Size","sm__cycles_active.avg"'
echo '"","","","","cycle"'
echo '"0","probe","(32, 1, 1)","(1, 1, 1)","900"'"""


@pytest.mark.parametrize(
    ("ncu", "status", "fix"),
    [
        (None, "lost", "Install Nsight Compute"),
        (COUNTED, "ok", ""),
        ("echo '==ERROR== ERR_NVGPUCTRPERM - no permission'; exit 1", "lost", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("echo '==ERROR== a driver resource was unavailable'; exit 1", "lost", "dcgmi profile --pause"),
        ("exit 9", "lost", "ncu reported no kernel"),
        ("exec /bin/sleep 1000", "lost", "ncu reported no kernel"),
    ],
)
def test_counters_are_asked_for_really(programs, monkeypatch, tmp_path, ncu, status, fix):
    monkeypatch.setattr(look, "LIMIT_S", 0.5)
    monkeypatch.setattr("kernelwright.evaluate.profile.ncu.PLACES", ())
    monkeypatch.setattr("kernelwright.evaluate.profile.ncu.ADMIN_ONLY", str(tmp_path / "params"))
    if ncu is not None:
        programs("ncu", ncu)
    check = cuda._counters()
    assert (check.name, check.status) == ("counters", status)
    assert fix in check.fix


def test_counters_for_the_administrator_only_are_half_a_thing(programs, monkeypatch, tmp_path):
    (tmp_path / "params").write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
    monkeypatch.setattr("kernelwright.evaluate.profile.ncu.ADMIN_ONLY", str(tmp_path / "params"))
    programs("ncu", COUNTED)
    check = cuda._counters()
    assert check.status == "lost"
    assert "administrator only" in check.detail


def told_by(run, without):
    """Runs commands, but imports nothing: every package but some is there."""

    def answer(command):
        if command[0] != sys.executable:
            return run(command)
        name = command[2].split()[1].rstrip(";")
        code = 1 if name in without else 0
        return subprocess.CompletedProcess(command, code, "1.0\n", f"ModuleNotFoundError: No module named {name!r}\n")

    return answer


# --- sandbox and disk ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", LOST)
def test_each_part_that_the_host_denies_is_named_with_what_is_lost(monkeypatch, part):
    monkeypatch.setattr(doctor, "_denied", lambda: [part])
    found = {c.name: c for c in doctor._sandbox()}
    denied = found.pop(f"sandbox: {part}")
    assert denied.status == "lost"
    assert LOST[part] in denied.detail
    assert denied.fix
    assert {c.status for c in found.values()} == {"ok"}


def test_there_is_a_cure_for_every_part():
    assert set(doctor.FIXES) == set(LOST)


@pytest.mark.parametrize("error", [
    MachineError("the warm interpreter did not start"), ChildGoneError("killed by SIGSYS", ""), ChildSlowError(1.0),
    PermissionError(13, "no directory for temporary files"),
])  # fmt: skip
def test_a_child_that_cannot_be_confined_at_all(monkeypatch, error):
    def fails():
        raise error

    monkeypatch.setattr(doctor, "_denied", fails)
    (check,) = doctor._sandbox()
    assert (check.name, check.status) == ("sandbox", "missing")
    assert str(error) in check.detail
    assert check.fix


@pytest.mark.parametrize(
    ("free", "status"), [(50 << 30, "ok"), (500 << 20, "lost"), (1 << 20, "missing"), (0, "missing")]
)
def test_the_disk(monkeypatch, tmp_path, free, status):
    monkeypatch.chdir(tmp_path)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: usage(100 << 30, 0, free))
    (check,) = doctor._disk()
    assert check.status == status
    assert str(tmp_path) in check.detail
    assert bool(check.fix) == (status != "ok")
