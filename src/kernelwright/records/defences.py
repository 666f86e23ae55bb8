"""The referee's defences: one row each, with what it does and which parts of the sandbox it is.

`Policy.disabled` names those that a test switches off, to see that its cheat gets through without it. It is read once, into
`Defences`, and that is what the referee hands down.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal


def _row(what: str, *, sandbox: tuple[str, ...] = (), gpu: bool = False, probe: bool = False) -> Any:  # noqa: ANN401 (a field of bool)
    """A defence that is on unless a policy disables it; `gpu`: only a GPU shows what it is worth; `probe`: of a new best."""
    return field(default=True, metadata={"what": what, "sandbox": sandbox, "gpu": gpu, "probe": probe})


@dataclass(frozen=True)
class Defences:
    """Which defences are on."""

    # Inputs and results.
    fresh_inputs: bool = _row("timed calls have inputs that are new in each round")
    random_parameters: bool = _row("timed calls have random parameters of their own")
    read_only_inputs: bool = _row("inputs are mapped without write access")
    poison: bool = _row("what an earlier call left where results lie is overwritten")
    own_memory: bool = _row("results lie in pages that are the process's own, where no input could be mapped")
    guard: bool = _row("nothing may be written before or behind a result")
    exact_shape: bool = _row("results have exactly the dtype and shape of the reference's", gpu=True)
    regimes: bool = _row("cases are drawn from every distribution that the inputs' domains admit")
    secret_seeds: bool = _row("seeds of cases are drawn anew and told to nobody")
    admission: bool = _row("a task that a trivial answer passes is refused")
    calibrated: bool = _row("results may err by a multiple of the reference's own error")
    exact: bool = _row("the exact comparator")
    set: bool = _row("the comparator of sets")
    statistical: bool = _row("the statistical comparator")

    # Time.
    timed_outputs: bool = _row("results of timed calls are compared with eager's")
    outside_clock: bool = _row("the grader's own clock bounds what a process says of its time")
    whole_cost: bool = _row("a process's processor time is accounted for by its calls")
    one_by_one: bool = _row("some calls are handed over one at a time")
    floor: bool = _row("no time is less than moving the compulsory bytes takes")

    # The sandbox.
    freeze: bool = _row("a process stands still between questions")
    honest_reply: bool = _row("an answer names its question, and results share no memory")
    no_processes: bool = _row("a candidate starts no processes", sandbox=("seccomp",))
    file_system: bool = _row("a candidate sees no files but its own", sandbox=("landlock",))
    network: bool = _row("a candidate has no network", sandbox=("namespaces",))
    limits: bool = _row("memory, processes and files are limited", sandbox=("limits",))
    reference_hidden: bool = _row(
        "a candidate can neither see nor trace the reference's process", sandbox=("namespaces", "landlock", "nobody")
    )

    # Probes of a new best.
    races: bool = _row("results are the same beside other work", probe=True)
    perturbation: bool = _row("results follow small changes of inputs", probe=True)
    new_values: bool = _row("results follow new values where the old ones lay", probe=True)
    new_storage: bool = _row("results are right where inputs lie elsewhere", probe=True)
    two_results: bool = _row("an earlier result outlives the next call", gpu=True, probe=True)
    source: bool = _row("the candidate's source does what its captured plan does", gpu=True, probe=True)
    ablation: bool = _row("results are wrong without the candidate's own kernels", gpu=True, probe=True)
    own_share: bool = _row("own kernels take the device's time where library calls are forbidden", gpu=True, probe=True)
    memcheck: bool = _row("compute-sanitizer finds no access out of bounds", gpu=True, probe=True)
    racecheck: bool = _row("compute-sanitizer finds no race", gpu=True, probe=True)

    # Of a GPU alone.
    capture: bool = _row("launches are captured, and made by the referee's own host code", gpu=True)
    watched: bool = _row("work on other streams counts", gpu=True)
    stream_order: bool = _row("results are complete on the stream that their call was made on", gpu=True)
    cold_cache: bool = _row("the L2 is emptied before each timed call", gpu=True)
    device_state: bool = _row("variables and workspaces on the device are put back before each call", gpu=True)

    @property
    def sandbox_off(self) -> tuple[str, ...]:
        """The parts of the sandbox that are switched off."""
        return tuple(part for row in fields(self) if not getattr(self, row.name) for part in row.metadata["sandbox"])

    def on(self, names: Iterable[str]) -> list[str]:
        """Those of these defences that are on."""
        return [name for name in names if getattr(self, name)]

    def compares(self, comparator: str) -> bool:
        """Whether outputs with a comparator of this kind are looked at."""
        switched = {"exact": self.exact, "set": self.set, "statistical": self.statistical}
        return switched.get(comparator, True)


DEFENCES = {row.name: row.metadata for row in fields(Defences)}
"""What each defence is, by its name: `what`, its parts of the `sandbox`, and whether it is of a `gpu` or a `probe`."""


@cache
def defences_without(disabled: tuple[str, ...]) -> Defences:
    """All defences but these."""
    return Defences(**dict.fromkeys(disabled, False))


if TYPE_CHECKING:
    Defence = str
    ProbeName = str
else:
    Defence = Literal[tuple(DEFENCES)]
    """A defence's name."""
    ProbeName = Literal[tuple(name for name, row in DEFENCES.items() if row["probe"])]
    """A probe's, which is its defence's."""
