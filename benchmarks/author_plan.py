"""What the built-in author would write of the suite, without judging: `python benchmarks/author_plan.py --out FILE`.

Each task is exported at its own size on tensors without memory, read and partitioned, and its default kernel is written;
nothing is admitted or run. Goes on where it was cut: a row is known as long as neither the package's code nor the task has
changed. The table counts the kernels by family and says why the rest was declined. `--compile` also compiles the Triton
kernels, for which no GPU is needed, and writes down registers, spilled bytes, shared memory and occupancy: a second or two a
task whose kernel's text is new. What spills, or does not compile, is in the table.

`--texts FILE` writes one hash a task and target instead: of the schedules' space, and of every file that the search would
try first. `--check FILE` plans the same again, names what differs and exits 1: a change of structure leaves all as is.
"""

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path

import torch
from author import tasks_of
from author_rows import shape_of
from figures import HERE
from provenance import commit_and_date
from pydantic import JsonValue
from suite import ROOT
from torch._subclasses.fake_tensor import FakeTensorMode

from kernelwright.calltree import arguments as called
from kernelwright.calltree import flatten as leaves_of
from kernelwright.errors import ProposeError
from kernelwright.evaluate.entrypoints.reference import export
from kernelwright.evaluate.entrypoints.reference.task_file import executed, init_arguments, module_of
from kernelwright.evaluate.triton.capture import Captured, capture
from kernelwright.evaluate.triton.model import flatten
from kernelwright.knowledge.hardware import hardware
from kernelwright.propose.author.search.designs import DESIGNS, Design
from kernelwright.records.candidate import Candidate
from kernelwright.records.graph import OpGraph, Ref
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import Domain, TensorSpec
from kernelwright.store.files import write_whole
from kernelwright.tasks.files import with_size
from kernelwright.tasks.table import read_task

Row = dict[str, JsonValue]
TARGETS = {
    "cpu": Target(kind="cpu", arch="native", present=True), "sm_90": Target(kind="cuda", arch="sm_90", present=True),
    "gfx942": Target(kind="hip", arch="gfx942", present=True),
}  # fmt: skip
LANGUAGES = {"cpu": "cpp", "cuda": "triton", "hip": "triton"}
USUAL = ("cpu", "sm_90")
FACTS = {"name", "registers", "spill_bytes", "shared_bytes", "warps", "occupancy"}
LONGEST = 300
"""Characters of a reason."""
TRIES = 8
"""Schedules of which texts are hashed, besides the default."""
Texts = dict[str, dict[str, str]]
"""By task and target."""


def main(arguments: argparse.Namespace) -> None:
    """Plan every task for every target that is not known yet, write the rows, and print the table.

    Raises:
        SystemExit: texts differ from those of `--check`.
    """
    if arguments.texts or arguments.check:
        _hash_texts(arguments)
        return
    out = Path(arguments.out) if arguments.out else None
    known: list[Row] = json.loads(out.read_text())["rows"] if out and out.exists() else []
    rows, code = {f"{row['task']}/{row['target']}": row for row in known}, _code()
    for listed in tasks_of(arguments.folder):
        for target in arguments.targets if arguments.only in listed.name else ():
            key = f"{listed.name}/{target}"
            before, made_of = rows.get(key, {}), _hash(code, (ROOT / f"{listed.name}.py").read_text())
            if before.get("code") != made_of or (arguments.compile and _uncompiled(before)):
                rows[key] = {**_row(listed.name, target, before, arguments.compile), "code": made_of}
                if out:
                    _write(out, list(rows.values()))
    for target in arguments.targets:
        sys.stdout.write(_table(target, [row for row in rows.values() if row["target"] == target]))


def _hash_texts(arguments: argparse.Namespace) -> None:
    listed = [task.name for task in tasks_of(arguments.folder) if arguments.only in task.name][:: arguments.stride]
    texts: Texts = {}
    with ProcessPoolExecutor(arguments.processes, multiprocessing.get_context("spawn")) as pool:
        for name, found in zip(listed, pool.map(texts_of, listed), strict=True):
            texts[name] = found
    if arguments.texts:
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in texts.items())
        head = f'"torch": {json.dumps(torch.__version__)},\n "tries": {TRIES}'
        write_whole(Path(arguments.texts), f'{{\n {head},\n "texts": {{\n{lines}\n }}\n}}\n')
    if arguments.check and (wrong := differences(json.loads(Path(arguments.check).read_text())["texts"], texts)):
        raise SystemExit("\n".join(wrong))


def differences(expected: Texts, texts: Texts) -> list[str]:
    """The rows of `texts` that are not as expected, by task and target."""
    rows = [(name, target) for name, found in texts.items() for target in found]
    return [f"{n} for {t} differs" for n, t in rows if expected.get(n, {}).get(t) != texts[n][t]]


def texts_of(name: str) -> dict[str, str]:
    """By target, a hash of all that the author offers for a task; `declined` where it writes nothing."""
    return {target: _text_of(name, target) for target in TARGETS}


def _text_of(name: str, target: str) -> str:
    try:
        _, design, _ = _designed(name, target)
    except ProposeError:
        return "declined"
    tries = [part for schedule in design.tries(1 + TRIES) for part in (schedule, design.write(schedule))]
    freedoms = [f"{option.name}: {option.values}" for option in design.space.options]
    return _hash(design.family, design.algebra, *freedoms, *(one.model_dump_json() for one in tries))[:12]


def _code() -> str:
    """What plans and writes: all of the package, and torch."""
    files = sorted((ROOT.parent / "src").rglob("*.py"))
    return _hash(torch.__version__, *(file.read_text() for file in files))


def _hash(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()[:16]


def _uncompiled(row: Row) -> bool:
    return bool(row["written"]) and row["target"] != "cpu" and "trouble" not in row


def _write(out: Path, rows: Sequence[Row]) -> None:
    targets = sorted({str(row["target"]) for row in rows})
    counts: dict[str, JsonValue] = {t: _counted([r for r in rows if r["target"] == t]) for t in targets}
    head: Row = {"how": " ".join(str(__doc__).split()), "torch": torch.__version__, **commit_and_date()}
    write_whole(out, json.dumps({**head, "counts": counts, "rows": list(rows)}, indent=1) + "\n")


def _row(name: str, target: str, before: Row, compiles: bool) -> Row:
    start = time.monotonic()
    row: Row = {"task": name, "target": target, "written": False}
    try:
        row |= _planned(name, target, before, compiles)
    except ProposeError as error:
        row["why"] = _short(str(error))
    except Exception as error:  # noqa: BLE001 (one task's fault, in its code or in ours, hinders no other)
        row["why"] = _short(f"a fault: {type(error).__name__}: {error}".replace(HERE, ""))
    return {**row, "seconds": round(time.monotonic() - start, 2)}


def _planned(name: str, target: str, before: Row, compiles: bool) -> Row:
    """What is written, and what a compiler says of it, unless it said so of the same text before.

    Raises:
        ProposeError: it is not the author's to write.
    """
    task, design, size = _designed(name, target)
    candidate = design.write(design.default)
    row: Row = {"written": True, **size, **shape_of(design), "text": _hash(candidate.at(()).source)}
    if before.get("text") == row["text"] and not _uncompiled(before):
        return row | {key: before[key] for key in ("facts", "trouble") if key in before}
    return row | (_compiled(candidate, task) if compiles and task.target.kind == "cuda" else {})


def _designed(name: str, target: str) -> tuple[Task, Design, Row]:
    """A task and what the author can write for it; and its size, where that is not its own.

    Raises:
        ProposeError: it is not the author's to write.
    """
    path, size = ROOT / f"{name}.py", Row()
    try:
        task = planned(read_task(path), TARGETS[target])
    except Exception:  # noqa: BLE001 (a task's own code may look at values, which these tensors do not have)
        task = planned(read_task(with_size(path, "small")), TARGETS[target], real=True)
        size["size"] = "small"
    return task, DESIGNS[LANGUAGES[task.target.kind]](task), size


def _compiled(candidate: Candidate, task: Task) -> Row:
    """What each kernel takes of a multiprocessor; or why the launches are not known without a GPU."""
    found = capture(candidate.at(()), task.source.source, task.workload, hardware(task.target.arch))
    if not isinstance(found, Captured):
        return {"trouble": [_short(found.log)]}
    kernels = found.facts.kernels
    spills: list[JsonValue] = [f"{k.name} spills {k.spill_bytes} bytes" for k in kernels if k.spill_bytes]
    return {"facts": [k.model_dump(include=FACTS) for k in kernels], "trouble": spills}


def planned(source: TaskSource, target: Target, *, real: bool = False) -> Task:
    """The task as admission would find it, from shapes alone unless it is `real`."""
    with torch.no_grad(), FakeTensorMode() if not real else torch.device("cpu"):
        scope = executed(source.source)
        model = module_of(scope.Model, init_arguments(scope))
        found, tree = leaves_of(scope.get_inputs(), ())
        specs = [_spec(name or f"in{n}", value) for n, (name, value) in enumerate(found)]
        args, kwargs = called(tree, [value for _, value in found])
        program, graph = export.graph(model, (args, kwargs), specs)
        outputs = flatten(model(*args, **kwargs))
    signature = program.graph_signature
    changes = {*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()}
    changes |= _written_in_place(graph, model)
    parameters = tuple(_spec(n, t) for n, t in model.state_dict().items())
    state = tuple(p for p in parameters if p.name in changes)
    results = [_spec(f"out{n}", t) for n, t in enumerate(outputs)]
    workload = Workload(
        inputs=tuple(specs), parameters=parameters, tree=tree, state=tuple(p.name for p in state),
        changes=(*(p.name for p in state), *sorted(changes - {p.name for p in parameters})),
        outputs=(*results, *(p.model_copy(update={"name": f"{p.name}.after"}) for p in state)),
    )  # fmt: skip
    return Task(source=source, target=target, workload=workload, graph=graph)


def _spec(name: str, value: object) -> TensorSpec:
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name!r} is no tensor")
    found = export.spec_of(name, value)
    return found if value.is_floating_point() else found.model_copy(update={"domain": Domain.INDEX})


def _written_in_place(graph: OpGraph, model: torch.nn.Module) -> set[str]:
    """Buffers that an operation in training mode updates without saying so in the signature."""
    buffers = {name for name, _ in model.named_buffers()}
    found: set[str] = set()
    for node in graph.nodes:
        refs = [a.value.ref for a in node.arguments if isinstance(a.value, Ref) and a.value.ref in buffers]
        packet = node.op.split(".")[1] if "." in node.op else node.op
        if packet.endswith("_") or node.argument("training") or node.argument("use_input_stats"):
            found |= set(refs)
    return found


def _counted(rows: Sequence[Row]) -> Row:
    folders = sorted({str(row["task"]).rsplit("/", 1)[0] for row in rows})
    return {f: [sum(bool(r["written"]) for r in rows if _in(r, f)), sum(_in(r, f) for r in rows)] for f in folders}


def _in(row: Row, folder: str) -> bool:
    return str(row["task"]).rsplit("/", 1)[0] == folder


def _table(target: str, rows: Sequence[Row]) -> str:
    written = [row for row in rows if row["written"]]
    lines = [f"{target}: {len(written)} of {len(rows)} written"]
    lines += [f"  {folder:16} {found[0]:4} of {found[1]}" for folder, found in _counted(rows).items()]  # type: ignore[index]
    families = Counter(str(k) for row in written for k in row["kernels"])  # type: ignore[union-attr]
    whole = sum(not row["kept"] for row in written)
    lines.append(
        f"  kernels: {', '.join(f'{n} {name}' for name, n in families.most_common())}; {whole} without PyTorch"
    )
    kept = Counter(str(op) for row in written for op in row["kept"])  # type: ignore[union-attr]
    if kept:
        lines.append(f"  PyTorch keeps: {', '.join(f'{n} {op}' for op, n in kept.most_common())}")
    troubles = [(row["task"], one) for row in written for one in row.get("trouble", [])]  # type: ignore[union-attr]
    lines += [f"  {task}: {trouble}" for task, trouble in troubles]
    lines += [f"  declined {row['task']}: {row['why']}" for row in rows if not row["written"]]
    return "\n".join(lines) + "\n"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", nargs="+", choices=tuple(TARGETS), default=USUAL)
    parser.add_argument("--out", default="")
    parser.add_argument("--folder", default="", help="a folder of tasks/; all of them without it")
    parser.add_argument("--only", default="")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--texts", default="", metavar="FILE", help="write hashes of texts")
    parser.add_argument(
        "--check", default="", metavar="FILE", help="plan again what `--texts` wrote; 1 where any differs"
    )
    parser.add_argument("--stride", type=int, default=1, help="every so many tasks: for a quick check")
    parser.add_argument("--processes", type=int, default=2, help="that plan for --texts and --check")
    return parser.parse_args()


if __name__ == "__main__":
    main(parsed())
