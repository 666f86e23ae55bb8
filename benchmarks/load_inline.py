"""What `load_inline` costs, plain and on the fast path: `python benchmarks/load_inline.py OUT.json`.

Three candidates as people write them (benchmarks/extensions) are each built in a fresh process with a fresh folder, side by
side: first by torch's own `load_inline`, then by the referee's. Written down: seconds from the candidate's import to its
extension being there, torch's import apart; how each file was compiled; whether the result on the GPU is right; and once,
the seconds for the header that the fast path needs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from provenance import provenance

from kernelwright.evaluate.python_extension.fast_path import FastPath
from kernelwright.evaluate.python_extension.precompiled import precompile
from kernelwright.evaluate.triton.model import load_module, private_path
from kernelwright.records.run import Device, Environment

CANDIDATES = Path(__file__).parent / "extensions"
REPEATS = 3


def main(out: Path) -> None:
    """Measure and write."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        headers = precompile(Path(folder))
        header_s = time.perf_counter() - start
        rows = [_row(path, headers) for path in sorted(CANDIDATES.glob("*.py"))]
    document = {**provenance(_environment()), "precompiled_header_s": header_s, "candidates": rows}
    out.write_text(json.dumps(document, indent=1) + "\n")


def _row(path: Path, headers: Path) -> dict[str, object]:
    plain = _measured("plain", path, headers)
    fast = [_measured("fast", path, headers) for _ in range(REPEATS)]
    seconds = sorted(float(str(f["seconds"])) for f in fast)[REPEATS // 2]
    share = seconds / float(str(plain["seconds"]))
    sys.stderr.write(f"{path.stem}: plain {plain['seconds']:.1f} s, fast {seconds:.1f} s, {share:.2f} of it\n")
    return {"candidate": path.stem, "plain": plain, "fast": fast, "share": share}


def _measured(way: str, path: Path, headers: Path) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        fresh = {"TORCH_EXTENSIONS_DIR": folder, "TMPDIR": folder}
        done = subprocess.run(
            [sys.executable, __file__, way, str(path), str(headers)],
            capture_output=True, text=True, env={**os.environ, **fresh}, check=False,
        )  # fmt: skip
    if done.returncode:
        sys.exit(f"{path.stem}, {way}: {done.stderr[-3000:]}")
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def one(way: str, path: Path, headers: Path) -> None:
    """In a process of its own: import a candidate, and say how long that took and whether it computes."""
    here = torch.cuda.is_available()
    major, minor = torch.cuda.get_device_capability() if here else (9, 0)
    fast = FastPath(headers, f"sm_{major}{minor}" + "a" * (major >= 9))
    if way == "fast":
        fast.install()
    else:
        os.environ.setdefault("TORCH_CUDA_ARCH_LIST", f"{major}.{minor}")
    start = time.perf_counter()
    module = load_module(private_path("kernel"), path.read_text(encoding="utf-8"))
    seconds = time.perf_counter() - start
    right = None
    if here:
        x = torch.randn(1000, 1000, device="cuda")
        right = torch.allclose(module.ModelNew()(x), module.Model()(x), rtol=1e-3, atol=1e-3)
    ways = [w for made in fast.builds for w in made.ways]
    sys.stdout.write("\n" + json.dumps({"seconds": seconds, "right": right, "ways": ways}) + "\n")


def _environment() -> Environment:
    cuda = torch.cuda.is_available()
    name = torch.cuda.get_device_name() if cuda else "no GPU"
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return Environment(
        device=Device(kind="cuda" if cuda else "cpu", name=name, cores=os.cpu_count() or 1, cache_bytes=0),
        versions={"torch": torch.__version__, "g++": compiler},
        isolation=(),
        denied=(),
    )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        one(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
