"""The drop-ins of a bench in an inference script: `python benchmarks/inference.py FOLDER --size small`.

Of every cell with a right kernel, `ModelNew` takes the place of `Model` with its weights, under `torch.no_grad`: in a plain
call, on a stream of its own, within a graph and within `torch.compile`. A cell that kept PyTorch, since its kernel was not
faster, has its drop-in written here. What is not right is shown, and FOLDER/inference.json has a row for each. Exit code 0:
all of them are right, and by their kernels.
"""

import argparse
import importlib.util
import json
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelwright.engine.drop_ins import drop_in
from kernelwright.engine.stored_runs import KERNEL, best_attempt
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.tasks.table import read_task

TASKS = Path(__file__).parents[1] / "tasks"


def main() -> None:
    """Try each of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", default="small")
    parser.add_argument("--device", default="cuda")
    asked = parser.parse_args()
    rows = [row(file, asked.size, asked.device) for file in drop_ins(asked.folder)]
    (asked.folder / "inference.json").write_text(json.dumps(rows, indent=1) + "\n")
    good = [each for each in rows if all(each["ways"].values()) and each["kernel"]]
    for each in rows:
        if each not in good:
            sys.stdout.write(f"{each}\n")
    sys.stdout.write(f"{len(good)} of {len(rows)} drop-ins are right in every way, by their kernels\n")
    sys.exit(len(good) < len(rows) or not rows)


def drop_ins(folder: Path) -> list[Path]:
    """The drop-in of every cell that has a right kernel."""
    cells = {file.parent.parts[-2:]: file.parent for file in folder.glob(f"**/cells/*/*/{FILE}")}
    return [file for _, cell in sorted(cells.items()) if (file := written(cell)) is not None]


def written(cell: Path) -> Path | None:
    """The drop-in of a cell; None: nothing was right."""
    file, best = cell / KERNEL, best_attempt(cell)
    if not file.exists() and best is not None:
        with closing(RunStore.open(cell)) as store:
            file.write_text(drop_in(store.card.task, best.proposal.candidate, None))
    return file if file.exists() else None


def row(file: Path, size: str, device: str) -> dict[str, object]:
    """What became of one."""
    task, arm = file.parts[-3], file.parts[-2]
    text = file.read_text()
    language = "CUDA C++" if "LAUNCHES = [" in text else "Triton" if "@triton.jit" in text else "C++"
    found: dict[str, object] = {"task": task, "arm": arm, "language": language, "ways": {"loaded": False}, "kernel": 0}
    try:
        found |= tried(module_of(file), task, size, device)
    except Exception as error:  # noqa: BLE001 (whatever a stranger's file does is its row)
        found["error"] = f"{type(error).__name__}: {str(error)[:300]}"
    return found


def module_of(file: Path) -> ModuleType:
    """The drop-in, as a program imports it."""
    spec = importlib.util.spec_from_file_location(f"drop_in_{abs(hash(file))}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tried(module: ModuleType, task: str, size: str, device: str) -> dict[str, object]:
    """Every way of calling it."""
    source = next(file for folder in ("fsr", "own") if (file := TASKS / folder / f"{task}.py").exists())
    ours: dict[str, Any] = {}
    exec(read_task(Path(f"{source}@{size}")).source, ours)  # noqa: S102 (a task of this repository)
    given = ours["get_init_inputs"]()
    model, new = module.Model(*given).to(device).eval(), module.ModelNew(*given).to(device).eval()
    new.load_state_dict(model.state_dict())
    inputs = [each.to(device) if isinstance(each, torch.Tensor) else each for each in ours["get_inputs"]()]
    with torch.no_grad():
        wanted = model(*inputs)

        def right(found: torch.Tensor) -> bool:
            return torch.allclose(found, wanted, rtol=2e-3, atol=2e-3 * float(wanted.abs().mean()))

        ways = {"plain": right(new(*inputs)), "again": right(new(*inputs))}
        if device == "cuda":
            ways |= {"stream": right(on_a_stream(new, inputs)), "graph": right(in_a_graph(new, inputs))}
        ways["compiled"] = right(torch.compile(new, fullgraph=True)(*inputs))
    return {"ways": ways, "kernel": new.stats()["kernel"] if hasattr(new, "stats") else 1}


def on_a_stream(new: torch.nn.Module, inputs: list[torch.Tensor]) -> torch.Tensor:
    """On a stream of its own."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        found = new(*inputs)
    torch.cuda.current_stream().wait_stream(stream)
    return found


def in_a_graph(new: torch.nn.Module, inputs: list[torch.Tensor]) -> torch.Tensor:
    """Captured once, and replayed."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = new(*inputs)
    found.zero_()
    graph.replay()
    return found


if __name__ == "__main__":
    main()
