"""Autotuned kernels under capture: no times exist, so each configuration is captured and a device may choose.

A capture takes each tuner's first configuration that compiles, and for one tuner at a time every other one. As in every
call after Triton has tuned, `reset_to_zero`, `restore_value` and the tuner's own hooks do nothing, and a
configuration's `pre_hook` runs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources, PTXASError

from kernelwright.evaluate.triton.untyped import Untyped, replaced

MOST = 64
"""Configurations of a candidate that are captured."""
PASSED_OVER = (OutOfResources, PTXASError, CompileTimeAssertionFailure)
"""What Triton takes for a configuration that is infinitely slow."""


class RejectedError(Exception):
    """A configuration does not compile or fit; another one may."""

    def __init__(self, tuner: int, index: int, cause: Exception) -> None:
        super().__init__(str(cause))
        self.tuner, self.index, self.cause = tuner, index, cause


@dataclass(frozen=True)
class Choice:
    """The configuration that each tuner takes, by the tuner's order of appearance; the first one where none is named."""

    indices: tuple[tuple[int, int], ...] = ()

    def of(self, tuner: int) -> int:
        """The index for one tuner."""
        return dict(self.indices).get(tuner, 0)

    def having(self, tuner: int, index: int) -> "Choice":
        """The same but for one tuner."""
        return Choice(tuple(sorted({**dict(self.indices), tuner: index}.items())))


@dataclass
class Tuners:
    """The tuners that a model runs, as they appear: one for every kernel and tuning key."""

    choice: Choice = Choice()
    counts: list[int] = field(default_factory=list)
    """How many configurations each has, after pruning."""
    labels: list[str] = field(default_factory=list)
    """What each took last."""
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Within it, a tuner runs the configuration that was chosen."""

        def run(tuner: Autotuner, *args: object, **named: object) -> object:
            tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
            try:
                return self._run(tuner, args, named)
            finally:
                tuner.nargs = None

        with replaced(Autotuner, run=run):
            yield

    def others(self, first: Choice) -> list[Choice]:
        """Every other configuration of one tuner at a time, at most `MOST` with the first."""
        found = [
            first.having(tuner, index)
            for tuner, count in enumerate(self.counts)
            for index in range(first.of(tuner) + 1, count)
        ]
        return found[: MOST - 1]

    def label(self) -> str:
        """What tells the configurations of this capture from those of another."""
        return "; ".join(filter(None, self.labels))

    def _run(self, tuner: Untyped, args: tuple[object, ...], named: dict[str, object]) -> object:
        configs = tuner.prune_configs(named) if len(tuner.configs) > 1 else tuner.configs
        number = self._number(tuner, named, len(configs))
        index = self.choice.of(number)
        config = tuner.best_config = configs[index]
        chosen = config.all_kwargs()
        if len(configs) > 1:
            self.labels[number] = ", ".join(f"{k}={v}" for k, v in chosen.items())
        if config.pre_hook is not None:
            config.pre_hook({**tuner.nargs, **named, **chosen})
        run: Callable[..., object] = tuner.fn.run
        try:
            return run(*args, **named, **chosen)
        except PASSED_OVER as error:
            raise RejectedError(number, index, error) from error

    def _number(self, tuner: Untyped, named: dict[str, object], count: int) -> int:
        """The tuner's place; the same kernel with another tuning key is another one."""
        given = {k: v for k, v in {**tuner.nargs, **named}.items() if k in tuner.arg_names}
        dtypes = [str(v.dtype) for v in given.values() if hasattr(v, "dtype")]
        key = (id(tuner), *(repr(given.get(k)) for k in tuner.keys), *dtypes)
        if key not in self._known:
            self._known[key] = len(self.counts)
            self.counts.append(count)
            self.labels.append("")
        return self._known[key]
