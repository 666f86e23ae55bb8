"""One stage in a process of its own: `python -m kernelwright.train.recipes.stage FOLDER NAME SECONDS`."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from time import monotonic

from pydantic import JsonValue

from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.models.table import keep_local
from kernelwright.records.run import Environment
from kernelwright.records.task import Target
from kernelwright.store.files import write_whole
from kernelwright.train.data.sample import FILE, Sample, read_samples
from kernelwright.train.judges import Judges, Loop, machine
from kernelwright.train.recipes.plan import PIPELINE, PIPELINES, AnyStage, Refereed, Variants, data_of, model_of
from kernelwright.train.session import open_judges

Figures = dict[str, JsonValue]
FIGURES = "figures.json"
DONE = "done"
"""Of a stage's figures: false where the next call goes on with it."""
RUN_LIMIT_S = 5.0
"""Of verdicts in the interpreter: one that never ends holds its worker, and in the end the trainer, for twenty seconds."""
FUNCTIONS = {
    "pairs": "pairs", "unpack": "pairs", "recheck": "frontend", "scratch": "frontend", "practice": "frontend",
    "measure": "frontend", "timed": "frontend", "cheats": "frontend", "decoding": "frontend", "variants": "midend",
    "retuned": "midend", "edits": "midend",
}  # fmt: skip
"""The module of each kind's function, which bears the kind's name."""


class Work:
    """What a stage's function has at hand."""

    def __init__(self, folder: Path, name: str, seconds: float, suppliers: Suppliers | None = None) -> None:
        self.folder, self.name, self.suppliers = folder, name, suppliers or Suppliers()
        self._since = monotonic()
        self._end = self._since + seconds
        self.loop = Loop()

    @cached_property
    def stages(self) -> Mapping[str, AnyStage]:
        """All stages by their names."""
        return PIPELINES.validate_json((self.folder / PIPELINE).read_text(encoding="utf-8")).stages

    @property
    def place(self) -> Path:
        """The stage's own folder."""
        return self.folder / self.name

    @property
    def left(self) -> float:
        """Seconds until the call ends."""
        return self._end - monotonic()

    def variants(self, name: str) -> Variants:
        """The settings of another stage of this kind."""
        found = self.stages[name]
        assert isinstance(found, Variants)
        return found

    def samples(self, data: str) -> list[Sample]:
        """The samples of a stage, or of another data set."""
        return read_samples(data_of(self.folder, data))

    def model(self, name: str) -> str:
        """The weights of a stage, or others."""
        return model_of(self.folder, name)

    def figures(self, name: str) -> Figures:
        """What an earlier stage found; empty where it has not."""
        return read_figures(self.folder / name)

    def target(self, stage: Refereed) -> Target:
        """What a stage's kernels are judged for."""
        found = resolve_target(stage.target)
        return found.model_copy(update={"present": found.present and not stage.interpreted})

    def judges(self, stage: Refereed, workers: int = 0, *, cached: bool = False) -> Judges:
        """Workers of the stage's own."""
        policy = stage.policy.model_copy(update={"run_limit_s": RUN_LIMIT_S} if stage.interpreted else {})
        return open_judges(self.suppliers, policy, workers or stage.workers, stage.gpus, cached=cached)

    def machine(self, stage: Refereed) -> Environment:
        """Device and versions."""
        return self.loop.run(machine(self.suppliers, resolve_target(stage.target)))

    def keep(self, samples: Iterable[Sample], below: str = "") -> Path:
        """Write a data set, into the stage's folder or one below it."""
        folder = self.place / below
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / FILE, "".join(one.model_dump_json() + "\n" for one in samples))
        return folder

    def say(self, words: str) -> None:
        """A line of the stage's log with the seconds so far; the last one is shown."""
        sys.stdout.write(f"[{monotonic() - self._since:5.0f} s] {words}\n")
        sys.stdout.flush()


def read_figures(folder: Path) -> Figures:
    """What the stage of that folder found; empty where it has not."""
    file = folder / FIGURES
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def run_stage(work: Work) -> Figures:
    """Run the stage, and keep its figures."""
    keep_local()
    stage = work.stages[work.name]
    work.place.mkdir(exist_ok=True)
    module = import_module(f"kernelwright.train.recipes.{FUNCTIONS[stage.kind]}")
    function: Callable[[AnyStage, Work], Figures] = getattr(module, stage.kind)
    found = function(stage, work)
    write_whole(work.place / FIGURES, json.dumps(found, indent=1) + "\n")
    return found


if __name__ == "__main__":
    run_stage(Work(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
