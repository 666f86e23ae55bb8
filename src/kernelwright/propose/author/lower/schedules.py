"""One schedule for a whole program: the fields of its kernels' schedules, each with the number of its kernel."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pydantic import create_model

from kernelwright.propose.author.families.family import Family
from kernelwright.propose.author.ir.program import Kernel, Program
from kernelwright.propose.author.ir.space import Option, Space
from kernelwright.records.base import Record


class Schedules:
    """The schedules of one program."""

    def __init__(self, program: Program, families: Sequence[Family]) -> None:
        self.program = program
        self._families = {f.name: f for f in families}
        self._prefixes = [f"k{n}_" for n in range(len(program.kernels))] if len(program.kernels) > 1 else [""]
        self._costs: dict[tuple[int, Record], float] = {}
        self._records: dict[tuple[int, tuple[object, ...]], Record] = {}

    @cached_property
    def record(self) -> type[Record]:
        """The record that has every field."""
        fields: dict[str, Any] = {}
        for prefix, kernel in self.pairs():
            start = self.family(kernel).default(kernel.plan)
            for name, info in type(start).model_fields.items():
                fields[prefix + name] = (info.annotation, getattr(start, name))
        made: type[Record] = create_model("ProgramSchedule", __base__=Record, **fields)
        return made

    @property
    def default(self) -> Record:
        """Where a person would start."""
        return self.record.model_validate({})

    def space(self) -> Space[Record]:
        """The options of all kernels."""
        options = [
            Option(prefix + option.name, option.values, option.eases)
            for prefix, kernel in self.pairs()
            for option in self.family(kernel).space(kernel.plan)
        ]
        return Space(self.record, tuple(options))

    def of(self, schedule: Record, number: int) -> Record:
        """The schedule of one kernel."""
        prefix, record = self._prefixes[number], self.family(self.program.kernels[number]).schedule
        given = tuple(getattr(schedule, prefix + name) for name in record.model_fields)
        if (number, given) not in self._records:
            self._records[number, given] = record.model_validate(dict(zip(record.model_fields, given, strict=True)))
        return self._records[number, given]

    @property
    def claimed(self) -> Family | None:
        """The family that took the task as a whole; None where kernels are written side by side."""
        family = self.family(self.program.kernels[0]) if self.program.kernels else None
        return family if family and family.claim else None

    def cost(self, schedule: Record) -> float:
        """Estimated microseconds of the program's kernels, of which schedules that are compared have most in common."""
        return sum(self._cost(number, self.of(schedule, number)) for number in range(len(self.program.kernels)))

    def _cost(self, number: int, schedule: Record) -> float:
        if (number, schedule) not in self._costs:
            kernel = self.program.kernels[number]
            self._costs[number, schedule] = self.family(kernel).cost(kernel.plan, schedule)
        return self._costs[number, schedule]

    def family(self, kernel: Kernel) -> Family:
        """Who made a kernel."""
        return self._families[kernel.family]

    def pairs(self) -> list[tuple[str, Kernel]]:
        """The kernels, each with what stands before its fields."""
        return list(zip(self._prefixes, self.program.kernels, strict=True))
