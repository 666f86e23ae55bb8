"""What a search found, for a program or a notebook."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright import api
from kernelwright.errors import KernelwrightError, UsageError
from kernelwright.records.attempt import Attempt
from kernelwright.records.measure import Ratio, Verdict
from kernelwright.records.task import TaskSource

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


@dataclass(frozen=True, repr=False)
class Result:
    """How a search ended. The figures are those of the final measurement, with fresh inputs, if there is one."""

    best: Attempt | None
    """The attempt that speaks for the run, with its kernel and its evaluation; None: nothing was right."""
    summary: api.RunSummary
    """The run in figures."""
    folder: Path
    """The run on disk: its journal, the report, the kernel's file and its receipt."""
    source: TaskSource
    """The task as the referee got it."""
    kernel: Path | None = None
    """The best kernel as a file with a drop-in `ModelNew`; None: there is none."""
    error: KernelwrightError | None = None
    """What broke before the search was over; `best` is the best until then."""
    tensors: Mapping[str, "Tensor"] | None = None
    """The weights of the module that was handed in; None: a file was."""

    def module(self) -> "Module":
        """The best kernel as a drop-in `nn.Module` in eval mode, with the weights of the module that was handed in.

        The kernel's file is run in this process. It was judged in a sandbox; read it first if a model wrote it.

        Raises:
            UsageError: nothing right was found.
        """
        if self.kernel is None:
            raise UsageError(
                f"no kernel was found that is right ({self.summary.stopped.strip()}): give it a larger budget or another "
                f"strategy, and see {self.folder / 'report.html'}"
            )
        live: Any = import_module("kernelwright.interfaces.python.live")
        module: Module = live.load(self.kernel, self.source, self.tensors)
        return module

    def report(self, file: Path | None = None) -> Path:
        """Write the report, one HTML page that opens anywhere, and return its path: in the run's folder, or `file`.

        Raises:
            StoreError: the run is gone, or the page cannot be written.
        """
        return api.report(self.folder, file)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._rows())
        source = self.summary.best.kernel if self.summary.best else ""
        shown = f"<details><summary>kernel</summary><pre>{escape(source)}</pre></details>" if source else ""
        return f"<table>{rows}</table>{shown}"

    def _rows(self) -> list[tuple[str, str]]:
        summary, best = self.summary, self.summary.best
        rows = [("task", f"{summary.task} on {summary.target.name} ({summary.device})")]
        if best is None:
            rows.append(("best", "nothing was right"))
        elif best.latency_us is None:
            rows.append(("best", f"{best.language}, right and not timed"))
        else:
            rows.append(("best", f"{best.language}, {best.latency_us:.2f} µs a call"))
            rows.append(("against eager", _versus(best.speedup_eager, best.verdict)))
            rows.append(("against torch.compile", _versus(best.speedup_compile, best.verdict_compile)))
        rows.append(("attempts", ", ".join(f"{count} {name}" for name, count in summary.outcomes.items()) or "none"))
        return [*rows, ("ended", summary.stopped), ("report", str(self.folder / "report.html"))]


def _versus(ratio: Ratio | None, verdict: Verdict | None) -> str:
    return f"{ratio.median:.2f}× ({ratio.low:.2f} to {ratio.high:.2f}), {verdict}" if ratio else "not compared"
