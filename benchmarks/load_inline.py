"""What `load_inline` costs, plain and on the fast path: `python benchmarks/load_inline.py --out FILE`.

Three candidates as people write them, around the sources in benchmarks/extensions, are each built in a fresh process with a
fresh folder: first by torch's own `load_inline`, then by the referee's. Written down: seconds from the candidate's import to
its extension being there, torch's import apart; how each file was compiled; whether the result on the GPU is right; and once,
the seconds for the header that the fast path needs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from campaign import Campaign, Row, command
from provenance import commit_and_date

from kernelwright.evaluate.python_extension.fast_path import FastPath
from kernelwright.evaluate.python_extension.precompiled import precompile
from kernelwright.evaluate.triton.model import load_module, private_path

SOURCES = Path(__file__).parent / "extensions"
REPEATS = 3
CANDIDATE = """
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r'''SOURCE TEXT'''
BUILT = load_inline(
    name="NAME",
    cpp_sources="torch::Tensor FUNCTION(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["FUNCTION"],
    verbose=True,
    extra_cflags=["-O3"],
)


class Model(torch.nn.Module):
    def forward(self, x):
        return REFERENCE


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return BUILT.FUNCTION(x)
"""


def candidate(file: Path) -> str:
    """A module around a source, whose first line names its function and says what it computes."""
    first, _, source = file.read_text().partition("\n")
    found = re.search(r"(\w+): (.+)$", first)
    assert found is not None, file
    text = CANDIDATE.replace("NAME", file.stem).replace("FUNCTION", found[1]).replace("REFERENCE", found[2])
    return text.replace("SOURCE TEXT", source)


async def measure(campaign: Campaign) -> None:
    """Build each candidate, plain once and fast a few times."""
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    head = {"device": device, "versions": {"torch": torch.__version__, "triton": "", "g++": compiler}}
    campaign.begin({**head, **commit_and_date()})
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        headers = precompile(Path(folder))
        campaign.head["precompiled_header_s"] = time.perf_counter() - start
        for name in campaign.left(campaign.chosen([file.stem for file in sorted(SOURCES.glob("*.cu"))])):
            plain, *fast = (_measured(way, name, headers) for way in ("plain", *["fast"] * REPEATS))
            seconds = sorted(each["seconds"] for each in fast)[REPEATS // 2]
            campaign.put({"candidate": name, "plain": plain, "fast": fast, "share": seconds / plain["seconds"]})


def _measured(way: str, name: str, headers: Path) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        fresh = {**os.environ, "TORCH_EXTENSIONS_DIR": folder, "TMPDIR": folder}
        (path := Path(folder) / f"{name}.py").write_text(candidate(SOURCES / f"{name}.cu"))
        order = [sys.executable, __file__, way, str(path), str(headers)]
        done = subprocess.run(order, capture_output=True, text=True, env=fresh, check=False)
    if done.returncode:
        sys.exit(f"{name}, {way}: {done.stderr[-3000:]}")
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def build(way: str, path: Path, headers: Path) -> None:
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


def table(rows: list[Row]) -> str:
    """A line for each candidate."""
    return "\n".join(
        f"{row['candidate']:12} plain {row['plain']['seconds']:.1f} s, {row['share']:.2f} of it" for row in rows
    )


if __name__ == "__main__":
    if sys.argv[1:2] in (["plain"], ["fast"]):
        build(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        campaign = Campaign(command(__doc__, "cuda").parse_args(), key=("candidate",))
        campaign.run(lambda: measure(campaign))
        campaign.show(table)
