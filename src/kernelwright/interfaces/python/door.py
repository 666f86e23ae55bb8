"""The verbs for programs and notebooks: search for a faster kernel, and judge one that is there; and what a search found."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import JsonValue

from kernelwright import api
from kernelwright.errors import KernelwrightError, UsageError
from kernelwright.interfaces.python.referee import Referee
from kernelwright.languages import language, languages
from kernelwright.pages import page
from kernelwright.records.answer import compared
from kernelwright.records.attempt import Attempt
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.task import Task, TaskSource

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
    call: Any = None
    """How that module is called; None: a file was handed in."""

    def module(self) -> "Module":
        """The best kernel as a drop-in `nn.Module` in eval mode, with the weights of the module that was handed in.

        The kernel's file is run in this process. It was judged in a sandbox; read it first if a model wrote it.

        Raises:
            UsageError: nothing right was found, nothing faster than PyTorch, or nothing that can be a drop-in.
        """
        if self.kernel is None:
            raise UsageError(f"{self._no_module()}; see {self.folder / 'report.html'}")
        live: Any = import_module("kernelwright.interfaces.python.live")
        module: Module = live.load(self.kernel, self.source, self.tensors, self.call)
        return module if self.call is None else self.call.around(module).eval()

    def _no_module(self) -> str:
        """Why there is no drop-in, and what to do."""
        if self.summary.answer == "disturbed":
            return f"{self.summary.said}. {self.summary.why}"
        if self.summary.pytorch_stays:
            return (
                f"{self.summary.said}. Go on with your module, or take the kernel all the same with "
                "optimize(…, keep_slower=True)"
            )
        if self.summary.best is not None:
            return "the best kernel can be no drop-in: its source is summary.best.kernel"
        return f"{self.summary.said} ({self.summary.why}): give it a larger budget or another strategy"

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
        rows.append(("answer", summary.said))
        if best is not None and best.latency_us is not None:
            why = best.missing.get("compile", "")
            measured = "in the final measurement" if best.final else "in the search, whose figures are no result"
            rows.append(("best", f"{best.language}, {best.latency_us:.2f} µs a call {measured}"))
            rows.append(("against eager", compared(best.speedup_eager, best.verdict)))
            rows.append(("against torch.compile", compared(best.speedup_compile, best.verdict_compile, why)))
        rows.append(("why", summary.why))
        rows.append(("attempts", ", ".join(f"{count} {name}" for name, count in summary.outcomes.items()) or "none"))
        return [*rows, ("ended", summary.stopped), ("report", str(self.folder / "report.html"))]


def optimize(
    what: str | Path | TaskSource | Callable[..., Any],
    inputs: object = (),
    kwargs: Mapping[str, object] | None = None,
    *,
    target: str | None = None,
    model: str | Mapping[str, str] | None = None,
    budget: int | Mapping[str, JsonValue] | None = None,
    **settings: Any,  # noqa: ANN401  JSON values, and parts for `suppliers`
) -> Result:
    """Search for a faster kernel, prove it and measure it. Works in notebooks too; an interrupt keeps the best so far.

    ```python
    import torch
    import kernelwright as kw

    softmax = torch.nn.Softmax(dim=-1)
    result = kw.optimize(softmax, (torch.randn(512, 4096),), target="cpu", budget=8)
    print(result)
    faster = result.module() if result.kernel else softmax  # takes its place where it is surely faster
    ```

    Args:
        what: A path of a task file, a task's source, or a live `nn.Module` or function, which is taken in eval mode.
        inputs: Example arguments of a live module, or the one tensor that it takes: tensors, numbers, arrays of numpy, and
            lists, dicts, dataclasses, named tuples and caches of them. Dtypes, numbers and constants are fixed by them, and
            so are the shapes that are measured; the kernel answers other batch sizes too where the module leaves them open.
            A dict holds keyword arguments.
        kwargs: Its keyword arguments beside those.
        target: `cpu`, `cuda`, or an architecture such as `sm_90`. None: where the inputs of a live module are, otherwise
            the GPU if there is one.
        model: Who writes the kernels, such as `openai:gpt-5`, or a model for each role. None: the built-in author.
        budget: How many kernels are tried; or a mapping with `proposals`, `device_s`, `tokens`, `usd`, `wall_s`.
        **settings: Any other setting of a run (docs/configuration.md), such as `strategy="cudaforge"` or `seed=1`;
            `config`, a TOML file below them; `runs`, where the run's folder is made; `suppliers`, other parts;
            the flags of the command line by their names, such as `keep_slower=True` or `max_usd=1`;
            `progress`, whether it shows what it does and how long that still takes. By itself it does so in a terminal
            and in a notebook, and a script finds it in the log, at level INFO of the logger `kernelwright`.

    Returns:
        The best kernel with its figures. An error that ended the search early is in it if a right kernel was found.

    Raises:
        TaskError: there is no such task, or it cannot be judged.
        KernelwrightError: the run could not begin, or broke before anything right was found.
    """
    _must_be_known(settings)
    source, live = _read_input(what, inputs, kwargs)
    suppliers, progress = settings.pop("suppliers", None), settings.pop("progress", None)
    runs = Path(settings.pop("runs", "runs"))
    config = api.load_config(settings.pop("config", None), _flags(model, budget, settings), given="the keywords")
    request = api.OptimizeRequest(source, target or (live and live.device), config, runs)
    shown = import_module("kernelwright.interfaces.python.progress").shown
    with shown(progress, suppliers) as parts:
        ended = wait_for(api.begin(request, parts))
    if ended.error is not None and ended.summary.best is None:
        raise ended.error
    folder = Path(ended.summary.folder)
    tensors, call = (live.tensors, live.call) if live else (None, None)
    return Result(api.best_attempt(folder), ended.summary, folder, source, ended.kernel, ended.error, tensors, call)


def check(
    task: str | Path | TaskSource | Task,
    kernel: str | Path | Candidate,
    *,
    target: str | None = None,
    **options: Any,  # noqa: ANN401
) -> Evaluation:
    """Judge one kernel as thoroughly as the best of a search. A bad kernel is an evaluation too, and raises nothing.

    ```python
    RELU = '''
    extern "C" void relu(const float* x, float* y) {
        for (int i = 0; i < 65536; ++i) y[i] = x[i] > 0 ? x[i] : 0;
    }
    '''
    task = kw.capture(torch.relu, (torch.randn(65536),))
    evaluation = kw.check(task, RELU, target="cpu")
    print(evaluation.outcome)
    ```

    Args:
        task: A path of a task file, or a task.
        kernel: A path of a `.cpp`, `.cu` or `.py` file, the source as a string, or a candidate.
        target: As of `optimize`; C++ is judged on the CPU unless something else is named.
        **options: `effort="search"` for a shorter look; `policy` and `suppliers` as of `Referee`.

    Raises:
        TaskError: there is no such task or kernel's file, or the task cannot be judged.
        UsageError: the kernel's text cannot be read.
        RefereeError: the referee broke; nothing is known of the kernel.
    """
    read = api.read_kernel(Path(kernel)) if isinstance(kernel, str | Path) and _is_path(kernel) else kernel
    assert not isinstance(read, Path)
    on_cpu = isinstance(read, Candidate) and language(read.language).targets == (api.CPU.kind,)
    effort = options.pop("effort", "final")

    async def judged() -> Evaluation:
        async with Referee(target or (api.CPU.kind if on_cpu else None), **options) as referee:
            return await referee.score(task, read, effort)

    return wait_for(judged())


def capture(module: Callable[..., Any], inputs: object, kwargs: Mapping[str, object] | None = None) -> TaskSource:
    """Turn a live `nn.Module` or function into a task for `check` and `Referee`; `optimize` does this by itself.

    Args:
        module: It is taken in eval mode.
        inputs: Example arguments, as of `optimize`.
        kwargs: Its keyword arguments beside those.

    Raises:
        TaskError: it cannot be exported for these inputs; the message says what to do.
    """
    source: TaskSource = _capture(module, inputs, kwargs).source
    return source


def _is_path(kernel: str | Path) -> bool:
    """A string is one if it is a single line such as `mine.cpp`, which is no source in any language."""
    endings = tuple(each.suffix for each in languages())
    return isinstance(kernel, Path) or ("\n" not in kernel and kernel.endswith(endings))


def _read_input(what: object, inputs: object, kwargs: Mapping[str, object] | None) -> tuple[TaskSource, Any]:
    """The task, and what was captured of a live module; None of that: it is a file."""
    if isinstance(what, str | Path | TaskSource):
        if not isinstance(inputs, Sequence | Mapping) or inputs or kwargs:
            raise UsageError("a task has inputs of its own: give `inputs` with a live module only")
        return what if isinstance(what, TaskSource) else api.read_task(Path(what)), None
    if not callable(what):
        raise UsageError(f"a {type(what).__name__} is no task: hand in a path, an nn.Module or a function")
    found = _capture(what, inputs, kwargs)
    return found.source, found


def _capture(what: Callable[..., Any], inputs: object, kwargs: Mapping[str, object] | None) -> Any:  # noqa: ANN401
    live: Any = import_module("kernelwright.interfaces.python.live")
    return live.capture(what, inputs, kwargs)


FLAGS: Mapping[str, tuple[str, str]] = {
    "device_seconds": ("budget", "device_s"),
    "max_seconds": ("budget", "wall_s"),
    "max_tokens": ("budget", "tokens"),
    "max_usd": ("budget", "usd"),
    "isolation": ("policy", "isolation"),
    "numerics": ("policy", "numerics"),
    "final": ("remeasurement", "enabled"),
    "min_speedup": ("remeasurement", "min_speedup"),
    "keep_slower": ("remeasurement", "keep_slower"),
}
"""Flags of the command line that are a setting of a part, by that part and its name there."""


def _must_be_known(settings: Mapping[str, Any]) -> None:
    own = [*signature(optimize).parameters, "config", "progress", "runs", "suppliers", *FLAGS]
    for name in settings:
        if name not in own and name not in api.RunConfig.model_fields:
            near = api.nearest(name, (*own, *api.RunConfig.model_fields))
            raise UsageError(f"{name}: there is no such setting{near}. {page('configuration.md')} lists every setting")


def _in_parts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in which each flag of the command line stands in its part.

    Raises:
        UsageError: one is given both as a flag and in its part.
    """
    found = {name: value for name, value in settings.items() if name not in FLAGS}
    for flag in FLAGS.keys() & settings.keys():
        part, name = FLAGS[flag]
        there = dict(found.get(part) or {})
        if name in there:
            raise UsageError(f"{flag} and {part}={{{name!r}: …}} are the same setting: give one of them")
        found[part] = there | {name: settings[flag]}
    return found


def _flags(
    model: str | Mapping[str, str] | None, budget: int | Mapping[str, JsonValue] | None, settings: Mapping[str, Any]
) -> dict[str, JsonValue]:
    budgets = {"proposals": budget} if isinstance(budget, int) else budget
    flags = _in_parts({**settings, "budget": dict(budgets or {})})
    if isinstance(strategy := flags.get("strategy"), str):
        flags["strategy"] = api.spelled(strategy)
    if model is not None:
        texts = [model] if isinstance(model, str) else [f"{role}={one}" for role, one in model.items()]
        models = {role: one.model_dump(exclude_unset=True) for role, one in api.read_models(texts).items()}
        flags = {"proposer": "llm", "models": models, **flags}
    return flags


T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """What the work comes to. An interrupt cancels the work, which may still answer.

    Raises:
        KeyboardInterrupt: the work was interrupted and had no answer.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _run_in_thread(work)


def _run_in_thread(work: Coroutine[Any, Any, T]) -> T:
    """The same on a loop in a thread of its own: the caller's loop stands still, as in any call that blocks."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    with ThreadPoolExecutor(1, thread_name_prefix="kernelwright") as pool:
        running = pool.submit(_finish, loop, task)
        try:
            return running.result()
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(task.cancel)
            return _answer(task, running.result)


def _finish(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[T]") -> T:
    try:
        return loop.run_until_complete(task)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def _answer(task: "asyncio.Task[T]", result: Any) -> T:  # noqa: ANN401
    try:
        return result()  # type: ignore[no-any-return]
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
