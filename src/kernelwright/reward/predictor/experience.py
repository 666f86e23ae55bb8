"""Experience: what became of candidates, as rows that a predictor learns from.

A row's features are a candidate, its task and what the compiler said about it, as named numbers: text and compilers'
facts, never an outcome. A missing feature is missing, not zero. The file is plain JSON lines: data that anybody may
read, and no program that runs when it is loaded.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from math import log2, prod
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from kernelwright.errors import StoreError
from kernelwright.languages import language
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured, Refused, failed_to_build, is_right
from kernelwright.records.measure import BuildFacts
from kernelwright.records.task import Task

MARKS: Mapping[str, str] = {
    "parallel": r"#pragma omp parallel", "simd": r"#pragma omp[^\n]*simd", "static": r"schedule\(static",
    "loops": r"\bfor\b", "branches": r"\bif\b", "restrict": r"__restrict", "intrinsics": r"\b_mm\d*_",
    "streaming": r"stream", "alloca": r"\bnew\b|malloc|vector<", "float4": r"float4|float2|uint4",
    "shared": r"__shared__", "barriers": r"__syncthreads|debug_barrier", "shuffles": r"__shfl", "atomics": r"atomic",
    "unroll": r"unroll|static_range", "loads": r"tl\.load|__ldg|ldmatrix", "stores": r"tl\.store",
    "dots": r"tl\.dot|wmma|mma\.",
    "sums": r"tl\.sum|tl\.max|reduce", "masks": r"mask\s*=", "divisions": r"/", "exponentials": r"\bexp|\btanh|\blog|sqrt",
    "double": r"\bdouble\b|float64", "half": r"half|bfloat16|float16", "evict": r"evict", "autotune": r"autotune",
    "accumulators": r"\bacc\w*|\bsum\w*", "returns": r"\breturn\b", "torch": r"\btorch\.",
    "dynamic": r"schedule\(dynamic", "one thread": r"num_threads\(1\)", "some threads": r"num_threads\([a-z]",
    "prefetches": r"prefetch", "evict first": r"evict_first", "evict last": r"evict_last", "persistent": r"num_programs",
    "plus": r" \+ ", "minus": r" - ", "times": r" \* ", "over": r" / ", "less": r" < ", "at most": r" <= ", "adds": r" \+= ",
    "sets": r" = ", "parentheses": r"\(", "largest": r"max", "smallest": r"\bmin\b|std::min",
    "decimals": r"(?<![\w.])\d+\.\d+",
}  # fmt: skip
"""What is counted in a source. A count of operators says little alone; next to those of siblings it tells which differs."""
_CHUNK = re.compile(r"schedule\(\w+, (\d{1,9})\)")
_CALLED = re.compile(r"\b(tl\.\w+|std::\w+|__\w+|_mm\w+|torch\.\w+)\s*(?=[(<])")
_FLAG = re.compile(r"(-[\w+-]+?)(?:=?(\d+))?$")
_NAMED = re.compile(r"(?:#\s*define\s+|\b)([A-Za-z_]\w*)\s*(?:=|\s)\s*(\d{1,9})\b")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


def features(task: Task, candidate: Candidate, built: Evaluation | None) -> dict[str, float]:
    """Everything that is known before a candidate is run; `built` may be any evaluation, of which the build is taken."""
    found = {f"task {name}": value for name, value in _of_task(task).items()}
    found |= {f"source {name}": value for name, value in _of_source(candidate.source).items()}
    found |= {f"set {define.name.lower()}": log2(1 + abs(define.value)) for define in candidate.defines}
    found |= _of_sizes(task, candidate)
    found |= {
        f"flag {name}": log2(1 + int(value or 1)) for flag in candidate.flags for name, value in _FLAG.findall(flag)
    }
    found[f"language {candidate.language}"] = 1.0
    return found | {f"build {name}": value for name, value in _of_build(built).items()}


def _of_task(task: Task) -> dict[str, float]:
    nodes = task.graph.nodes
    return {
        "bytes": log2(1 + task.workload.compulsory_bytes),
        "flops": log2(1 + sum(node.flops for node in nodes)),
        "operations": float(len(nodes)),
        "inputs": float(len(task.workload.tensors)),
        "output": log2(1 + sum(out.nbytes for out in task.workload.outputs)),
    }


def _of_sizes(task: Task, candidate: Candidate) -> dict[str, float]:
    """Sizes next to each other, as logarithms: what one program or thread takes, and how that divides the task's rows."""
    named = {name.upper(): int(value) for name, value in _NAMED.findall(candidate.source) if int(value)}
    named |= {define.name.upper(): define.value for define in candidate.defines if define.value > 0}
    largest = max((t.shape for t in task.workload.tensors), key=prod, default=())
    if "BLOCK" not in named or not largest:
        return {}
    # A program in Python takes a tile, and a thread of C a piece of one row.
    rows = named.get("ROWS", 1) if language(candidate.language).syntax == "python" else 1
    tile = log2(named["BLOCK"]) + log2(rows)
    found = {
        "size tile": tile,
        "size block in row": log2(named["BLOCK"]) - log2(max(1, largest[-1])),
        "size tiles": log2(max(1, prod(largest))) - tile,
    }
    warps = named.get("WARPS", named.get("NUM_WARPS"))
    return found | ({"size of a thread": tile - log2(32 * warps)} if warps else {})


def _of_source(source: str) -> dict[str, float]:
    found = {name: float(len(re.findall(mark, source))) for name, mark in MARKS.items()}
    found |= {f"{name} =": log2(1 + int(value)) for name, value in _NAMED.findall(source)}
    numbers = [int(number[:9]) for number in _NUMBER.findall(source)]
    found |= {f"calls {name}": float(count) for name, count in Counter(_CALLED.findall(source)).items()}
    chunks = _CHUNK.findall(source)
    found |= {"chunk": log2(1 + int(chunks[0]))} if chunks else {}
    depth = [len(line) - len(line.lstrip()) for line in source.splitlines() if line.strip()]
    return found | {
        "characters": log2(1 + len(source)),
        "lines": float(len(depth)),
        "depth": float(max(depth, default=0)),
        "largest number": log2(1 + max(numbers, default=0)),
        "braces open": float(source.count("{") - source.count("}") + source.count("(") - source.count(")")),
    }


def _of_build(built: Evaluation | None) -> dict[str, float]:
    """Nothing of how it ended, only of how it was built: a wrong kernel's facts look like a right one's."""
    if built is None:
        return {}
    if isinstance(built, Refused) or failed_to_build(built):
        return {"made": 0.0}
    facts = getattr(built, "build", None)
    return {"made": 1.0, **(_of_facts(facts) if facts is not None else {})}


def _of_facts(facts: BuildFacts) -> dict[str, float]:
    kernels = facts.kernels
    found = {"kernels": float(len(kernels)), "warned": float(bool(facts.warnings))}
    if facts.binary_bytes is not None:
        found["bytes"] = log2(1 + facts.binary_bytes)
    for name in ("registers", "spill_bytes", "shared_bytes", "warps", "occupancy"):
        known = [value for kernel in kernels if (value := getattr(kernel, name)) is not None]
        if known:
            found[name] = float(max(known) if name != "occupancy" else min(known))
    return found


UNSURE = 1.5
"""Ratio of the ends of a speedup's interval beyond which it says nothing of which kernel is faster."""


class Row(Record):
    """One candidate, once judged."""

    task: str
    """The task's id: rows of one task are compared with each other, and kept together when a predictor is tested."""
    features: dict[str, float]
    valid: bool
    speed: float | None
    """log2 of the speedup over eager; None where it was not timed, or on a machine too busy to say."""
    preset: str = ""
    """The name of the search's reward; empty: it had none."""
    reward: float | None = None
    """What it came to."""


class NamedReward(NamedTuple):
    """What an attempt earned in a search: a reward by its name, and what it came to."""

    preset: str
    reward: float


def row_of(task: Task, attempt: Attempt, paid: NamedReward | None = None) -> Row | None:
    """What an attempt taught; None where nothing can be said of its validity (built for a device that is not here).

    What feedback says in words is in `valid` and `speed` as labels.
    """
    found = attempt.evaluation
    if found.outcome == "compiled":
        return None
    return Row(
        task=task.id,
        features=features(task, attempt.proposal.candidate, found),
        valid=is_right(found),
        speed=speed_of(found),
        preset=paid.preset if paid else "",
        reward=paid.reward if paid else None,
    )


def speed_of(found: Evaluation) -> float | None:
    """log2 of the speedup over eager, where the clock was sure enough to tell kernels apart."""
    versus = found.timing.against("eager") if isinstance(found, Measured) else None
    if versus is None or not 0 < versus.speedup.high <= UNSURE * versus.speedup.low:
        return None
    return log2(versus.speedup.median)


def text_of(rows: Iterable[Row]) -> str:
    """Experience as JSON lines, for `read_rows`."""
    return "".join(row.model_dump_json() + "\n" for row in rows)


def read_rows(file: Path) -> tuple[Row, ...]:
    """Experience that was written.

    Raises:
        StoreError: the file is missing, or a line of it is no row.
    """
    try:
        return tuple(Row.model_validate_json(line) for line in file.read_text(encoding="utf-8").splitlines() if line)
    except OSError as error:
        raise StoreError(f"experience {str(file)!r} cannot be read ({error.strerror}): check --predictor") from None
    except (ValidationError, UnicodeDecodeError):
        raise StoreError(
            f"experience {str(file)!r} has a line that is no row: write it anew with `kernelwright learn`"
        ) from None
