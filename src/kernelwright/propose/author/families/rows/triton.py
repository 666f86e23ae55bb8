"""A plan and a schedule as a Triton module: the kernels, their launch for any number of rows, and what they are for.

Autograd, other dtypes, other ranks and other constructor arguments are the reference's.
"""

import re

from kernelwright.errors import ProposeError
from kernelwright.export.reference import Reference, dtypes_are, fits, reference
from kernelwright.propose.author.emit.scope import Writer
from kernelwright.propose.author.emit.triton import START
from kernelwright.propose.author.emit.triton_file import HELPERS, INTERPRETED, helpers_in, triton_file, tunable_warps
from kernelwright.propose.author.families.family import Family, no_part
from kernelwright.propose.author.families.rows.plan import Output, Plan, rows_of, with_reciprocals
from kernelwright.propose.author.families.rows.schedule import (
    SHARES,
    WHOLE_LIMIT,
    TritonSchedule,
    triton_default,
    triton_space,
)
from kernelwright.propose.author.families.rows.triton_decoupled import DecoupledKernel
from kernelwright.propose.author.families.rows.triton_kernel import MainKernel, finish_kernel, finish_reads
from kernelwright.propose.author.families.strided.plan import FEW, TOO_LONG
from kernelwright.propose.author.ir.expr import COL, ROW
from kernelwright.propose.author.ir.program import Tensor
from kernelwright.propose.author.read.read import Reading
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task

STAGED_BYTES = 160 * 1024
"""Shared memory that loads in flight may take."""
LAUNCHED = {"PARTS": "parts", "GROUP": "group", "SHARES": "triton.next_power_of_2(parts)"}
"""Compile-time arguments that the launch works out."""
MEASURES = re.compile(r"\.(shape|size|numel)\b|\blen\(")
"""What a task's source may take a length with, which is then a number in its kernels."""


def write_triton(task: Task, plan: Plan, schedule: TritonSchedule) -> Candidate:
    """The kernel as a candidate.

    Raises:
        ProposeError: the task's source has names that the file needs.
    """
    if schedule.division == "reciprocal":
        plan = with_reciprocals(plan)
    return Candidate(
        language="triton",
        source=_Module(task, plan, schedule).text(),
        tunables=(tunable_warps(schedule.warps),),
    )


class _Module:
    """One Triton module in the making."""

    def __init__(self, task: Task, plan: Plan, schedule: TritonSchedule) -> None:
        self.task = task
        self.plan = plan
        self.schedule = schedule
        self.found: Reference = reference(task.source.source)
        self.main = DecoupledKernel(plan, schedule) if schedule.passes == "decoupled" else MainKernel(plan, schedule)
        self.output_check = next(t for t in plan.arguments if len(t.along) == 2)
        self.writer = Writer("    ")

    def text(self) -> str:
        kernel = self.main.text("_kernel")
        finish = finish_kernel(self.plan, self.main.totals, "_finish") if self.plan.totals else ""
        helpers = [HELPERS[name] for name in helpers_in(kernel + finish)]
        parts = [self._constants(kernel), *helpers, kernel, finish, self._launch(), self._fits()]
        names = {"_kernel", "_finish", "_programs", *HELPERS, *self._settings()}
        return triton_file(self.task, self.found, self._idea(), parts, names)

    def _idea(self) -> str:
        if self.plan.flat:
            return "one pass over all elements, in Triton."
        if isinstance(self.main, DecoupledKernel):
            return f"rows of {self.plan.cols} elements by several programs each, in Triton."
        return f"one kernel for all passes over rows of {self.plan.cols} elements, in Triton."

    def _settings(self) -> dict[str, int]:
        s = self.schedule
        values = {"STAGES": self._stages(), "UNROLL": s.unroll, "ROWS": s.rows, "BLOCK": s.block}
        used = {name: value for name, value in values.items() if name in self.main.constants}
        return {"WARPS": s.warps} | used | ({"WAVES": s.waves} if s.grid == "persistent" else {})

    def _stages(self) -> int:
        """As many stages as shared memory has room for; whole rows are measured when they are launched."""
        if self.whole:
            return self.schedule.stages
        together = self.schedule.unroll if self.plan.flat else self.schedule.rows
        tile_bytes = 4 * len(self.main.reads) * self.schedule.block * together
        return max(1, min(self.schedule.stages, STAGED_BYTES // tile_bytes))

    def _constants(self, kernel: str) -> str:
        settings = self._settings()
        if self.whole:
            settings.pop("BLOCK")
        lines = [f"{name} = {value}" for name, value in settings.items()]
        policy = self.schedule.eviction.replace("-", "_")
        lines += [f'EVICTION = tl.constexpr("{policy}")'] * ("EVICTION" in kernel)
        return "\n".join([*lines, INTERPRETED])

    @property
    def whole(self) -> bool:
        """Whether a program holds whole rows."""
        return not self.plan.flat and self.schedule.passes == "whole"

    # The launch.

    def _launch(self) -> str:
        w = self.writer
        names = [t.identifier for t in self.plan.arguments]
        if not isinstance(self.main, DecoupledKernel):
            self._count_programs()
        w.line("@torch.compiler.disable")
        with w.block(f"def _run({', '.join(names)}):"):
            w.line('"""Run the kernels on tensors that fit."""')
            for tensor in self.plan.arguments:
                if tensor.along or tensor.placed:
                    w.line(f"{tensor.identifier} = {tensor.identifier}.contiguous()")
            self._sizes()
            for output in self.plan.outputs:
                w.line(self._allocation(output))
            self._calls()
            results = ", ".join(o.tensor.identifier for o in self.plan.outputs)
            w.line(f"return {results}")
        return w.text()

    def _count_programs(self) -> None:
        w = self.writer
        with w.block("def _programs(tiles, device):"):
            w.line('"""How many programs to launch for so many tiles."""')
            if self.schedule.grid == "tiles":
                w.line("return tiles")
            else:
                w.line('known = torch.cuda.is_available() and device.type == "cuda"')
                w.line("count = torch.cuda.get_device_properties(device).multi_processor_count if known else 1")
                w.line("return min(tiles, WAVES * count)")
        w.lines += ["", ""]

    def _sizes(self) -> None:
        w, first = self.writer, self.output_check.identifier
        if self.plan.flat:
            w.line(f"numel = {first}.numel()")
            w.line("programs = _programs(triton.cdiv(numel, BLOCK), " + first + ".device)")
            return
        lead = self._leading(self.output_check)
        w.line(f"cols = {self.plan.cols if lead is None else f'{first}.shape[{lead}:].numel()'}")
        w.line(f"rows = {first}.numel() // cols")
        if isinstance(self.main, DecoupledKernel):
            self._laps(self.main)
            return
        w.line(f"programs = _programs(triton.cdiv(rows, ROWS), {first}.device)")
        if self.whole:
            w.line("block = triton.next_power_of_2(cols)")
        if self.whole and "STAGES" in self.main.constants:
            wide = sum(1 for t in self.main.reads if len(t.along) == 2)
            w.line(f"stages = max(1, min(STAGES, {STAGED_BYTES} // ({4 * wide} * ROWS * block)))")

    def _laps(self, kernel: DecoupledKernel) -> None:
        """How many rows' blocks are reduced, or stored, in a lap; and what blocks leave for each other."""
        w, device = self.writer, f"device={self.output_check.identifier}.device"
        w.line("parts = triton.cdiv(cols, BLOCK)")
        w.line(f"group = {kernel.rows_of_lap}")
        w.line("laps = 2 * triton.cdiv(rows, group)")
        w.line("programs = laps * group * parts")
        for name in kernel.shares.values():
            w.line(f"{name} = torch.empty((rows, parts), dtype=torch.float32, {device})")
        w.line(f"ready = torch.zeros(laps // 2 * group, dtype=torch.int32, {device})")

    def _leading(self, tensor: Tensor) -> int | None:
        """How many of the tensor's dimensions are rows'; None where a row begins within a dimension, as views may have it."""
        count, size = 0, 1
        while size < self.plan.rows:
            size *= tensor.shape[count]
            count += 1
        return count if size == self.plan.rows else None

    def _allocation(self, output: Output) -> str:
        tensor, first = output.tensor, self.output_check.identifier
        shape = self._shape(tensor) or repr(tensor.shape)
        return f"{tensor.identifier} = torch.empty({shape}, dtype=torch.{tensor.dtype}, device={first}.device)"

    def _shape(self, tensor: Tensor) -> str | None:
        """An output's shape by that of what is read; None where only the task's own is known."""
        lead, base = self._leading(self.output_check) if not self.plan.flat else 0, self.output_check.shape
        first = self.output_check.identifier
        if tensor.shape == base:
            return f"{first}.shape"
        if self.plan.flat or lead is None:
            return None
        ones = len(base) - lead
        if tensor.shape not in (base[:lead], base[:lead] + (1,) * ones):
            return None
        return f"{first}.shape[:{lead}]" if len(tensor.shape) == lead else f"(*{first}.shape[:{lead}]{', 1' * ones})"

    def _calls(self) -> None:
        w, first = self.writer, self.output_check.identifier
        atomic = self.schedule.combine == "atomic"
        for total, name in zip(self.plan.totals, self.main.totals, strict=True):
            if atomic:
                start = START[total.op]
                w.line(f"{name} = torch.full((1,), {start}, dtype=torch.float32, device={first}.device)")
            else:
                w.line(f"{name} = torch.empty(programs, dtype=torch.float32, device={first}.device)")
        given = [p.removesuffix("_ptr") for p in self.main.pointers] + self.main.sizes
        values = {"BLOCK": "block", "STAGES": "stages"} if self.whole else LAUNCHED
        given += [f"{c}={values.get(c, c)}" for c in self.main.constants]
        with w.block(f"with torch.cuda.device_of({first}):"):
            self._call("_kernel[(programs,)]", [*given, "num_warps=WARPS"])
            if self.plan.totals:
                reads = [t.identifier for t in finish_reads(self.plan)]
                outputs = [o.tensor.identifier for o in self.plan.scalars]
                count = "1" if atomic else "programs"
                size = "1" if atomic else f"min({SHARES}, triton.next_power_of_2(programs))"
                sizes = ["numel"] if self.plan.flat else ["rows", "cols"]
                given = [*self.main.totals, *reads, *outputs, count, *sizes, f"SIZE={size}"]
                self._call("_finish[(1,)]", given)

    def _call(self, head: str, given: list[str]) -> None:
        with self.writer.block(f"{head}(", ")"):
            for text in given:
                self.writer.line(f"{text},")

    # What the kernels are for.

    def _fits(self) -> str:
        names = [t.identifier for t in self.plan.arguments]
        return fits(names, self.output_check.identifier, self._shape_lines(), "shapes and dtypes")

    def _own_lengths(self, first: Tensor) -> list[str]:
        """What must be as long as in the task: everything where its own lengths are in the results' shapes or in numbers.

        So it is where a row begins within a dimension. Otherwise dimensions of length one, which may be a row's or none, and
        over which a reduction is nothing.
        """
        within = not self.plan.flat and self._leading(first) is None
        own = within or any(o.tensor.shape and self._shape(o.tensor) is None for o in self.plan.outputs)
        if own or self.plan.placed or MEASURES.search(self.found.body):
            return [f"shapes = shapes and {first.identifier}.shape == {first.shape!r}"]
        places = [place for place, size in enumerate(first.shape) if size == 1]
        return [f"shapes = shapes and all({first.identifier}.shape[n] == 1 for n in {places})"] if places else []

    def _shape_lines(self) -> list[str]:
        first = self.output_check
        lines = [dtypes_are([t.dtype for t in self.plan.arguments])]
        ranks = ", ".join(str(len(t.shape)) for t in self.plan.arguments)
        lines.append(f"shapes = [t.dim() for t in tensors] == [{ranks}] and {first.identifier}.numel() > 0")
        lead = 0 if self.plan.flat else self._leading(first)
        lines += self._own_lengths(first)
        read = {t.identifier for t in (*self.main.reads, *finish_reads(self.plan))}
        for tensor in self.plan.arguments:
            if tensor == first or tensor.identifier not in read:  # of tied parameters one is read
                continue
            if tensor.placed:
                lines.append(f"shapes = shapes and {tensor.identifier}.shape == {tensor.shape!r}")
                continue
            size = {
                (): "1",
                (ROW,): f"{self.plan.rows}" if lead is None else f"{first.identifier}.shape[:{lead}].numel()",
                (COL,): f"{self.plan.cols}" if lead is None else f"{first.identifier}.shape[{lead}:].numel()",
                (ROW, COL): f"{first.identifier}.numel()",
            }[tensor.along]
            if tensor.shape == first.shape:
                lines.append(f"shapes = shapes and {tensor.identifier}.shape == {first.identifier}.shape")
            else:
                lines.append(f"shapes = shapes and {tensor.identifier}.numel() == {size}")
        return lines


def _claimed(task: Task, reading: Reading) -> Plan | None:
    """The plan, unless programs of tiles are better: rows too long for one program, too few for the device, and not shared.

    Long rows that are read once may have factors for parts of them, as group norm has for channels.
    """
    try:
        plan = rows_of(task, reading)
        alone = not plan.flat and bool(plan.passes) and plan.rows < FEW and plan.cols > TOO_LONG and not plan.meets_once
        return None if alone else plan
    except ProposeError:
        pass
    try:
        plan = rows_of(task, reading, placed=True)
    except ProposeError:
        return None
    return plan if plan.meets_once and plan.cols > WHOLE_LIMIT else None


ROWS = Family(
    "rows", no_part, TritonSchedule, triton_default, lambda plan: triton_space(plan).options, write_triton,
    claim=_claimed,
)  # fmt: skip
