"""For scale-out with verl: the tasks as parquet, and one file with the `compute_score` that verl calls.

verl is not imported and not needed here: its versions pin others than ours. On its side `compute_score` asks a referee of this
package, so it must be installed beside verl, without the extra `train`.
"""

from collections.abc import Iterator
from pathlib import Path

from kernelwright.errors import UsageError
from kernelwright.records.policy import Effort
from kernelwright.store.files import write_whole
from kernelwright.train.adapters.trl import rows
from kernelwright.train.data.prompts import Nobody
from kernelwright.train.data.sample import FILE, read_samples
from kernelwright.train.environment import Assignment, Environment, Settings
from kernelwright.train.session import open_environment

SCORE = (Path(__file__).parent / "parts/verl_score.py.txt").read_text(encoding="utf-8")
CONFIG = (Path(__file__).parent / "parts/verl_grpo.yaml.txt").read_text(encoding="utf-8")


def export(data: Path, folder: Path, settings: Settings) -> Iterator[Path]:
    """Write parquet files for each split, `compute_score.py`, a configuration, and a copy of the samples.

    Raises:
        UsageError: the data set is empty, or pyarrow is not installed.
    """
    samples = read_samples(data)
    if not samples:
        raise UsageError(f"{data} holds no samples: make some with `kernelwright train data`")
    try:
        import pyarrow as pa  # noqa: PLC0415  an extra's part
        from pyarrow import parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UsageError("verl's files need the package pyarrow: pip install 'kernelwright[train]'") from None
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    environment = Environment([Assignment(task=one.task, split=one.split) for one in samples], Nobody(), settings)
    for split in environment.splits():
        table = [_row(row) for row in rows(environment, split)]
        parquet.write_table(pa.Table.from_pylist(table), folder / f"{split}.parquet")
        yield folder / f"{split}.parquet"
    yield write_whole(folder / "samples" / FILE, (data / FILE).read_text(encoding="utf-8"))
    text = SCORE.format(reward=settings.reward, turns=settings.turns, effort=settings.effort)
    yield write_whole(folder / "compute_score.py", text)
    yield write_whole(folder / "grpo.yaml", CONFIG.format(folder=folder))


def _row(row: dict[str, object]) -> dict[str, object]:
    extra = {"split": row["split"], "index": row["index"]}
    return {
        "data_source": "kernelwright",
        "prompt": row["prompt"],
        "ability": "kernel",
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": extra,
    }


class Score:
    """Opens its referee at the first reply; every call after it shares it."""

    def __init__(self, samples: Path, reward: str, turns: int, effort: Effort) -> None:
        self._samples, self._settings = samples, Settings(reward=reward, turns=turns, effort=effort)
        self._environment: Environment | None = None

    async def __call__(self, reply: str, extra: dict[str, object] | None) -> dict[str, object]:
        """The score of one reply, with what verl logs beside it."""
        if self._environment is None:
            self._environment = open_environment(self._samples, self._settings)
        where = extra or {}
        assignment = self._environment.find(
            "heldout" if where.get("split") == "heldout" else "train", int(str(where["index"]))
        )
        step = await self._environment.begin(assignment).step(reply)
        logged = {"right": float(bool(step.info.get("right"))), "unjudged": float(step.reward is None)}
        return {"score": step.reward or 0.0, **logged}
