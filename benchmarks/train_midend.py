r"""The mid-end agent, taught to retune kernels and measured: `python benchmarks/train_midend.py OUT --restore FOLDER`.

It goes on from a model of train_small.py: FOLDER is that program's OUT, or --work is its working folder in the same lease. All
is timed on this device, one kernel at a time. `--policy` takes the packaged model instead. Stages, kept and resumed as there:

| stage | about, on one H200 | |
|---|---|---|
| parents | 4 min | modules of the pairs, --rows by --columns, and --variants of the author's kernel of each, timed |
| warm | 3 min | from a kernel of the frontend's pairs to the same under other settings, both by chance: nothing is timed |
| sft | 1 min | from a kernel with its measured profile to a faster one of the same task; held-out families are kept apart |
| before | 2 min | --samples edits of each held-out module's slowest kernel: the gain over it, of all and of the best |
| practised | 3 min | likewise of the kernels that GRPO practises on: what it meets first is timed then, on all GPUs |
| right | 4 min | GRPO on whether edits are right at all, of --right-tasks modules, interpreted on --grpo-workers cores |
| after_right | 2 min | as before, other random numbers |
| grpo | 5 min | reward `log_gain`: the logarithm of the gain over the parent; on --practice other modules |
| after | 2 min | as before, other random numbers |
| capped | 3 min | the same GRPO for --ablation-seconds with the gain itself, at most 3, none if it is wrong, and its gains |
| raw | 3 min | likewise with the gain uncapped, and its gains |
| ungated | 3 min | likewise with a wrong kernel that runs paid as much as one that gains nothing, and its gains |
| control | 3 min | likewise with `log_gain`: what the three stand beside where `grpo` had another length or other GPUs |

GRPO on gains practises on --practice modules of held-out families that no measure has (of their timed kernels on the first
--practised, if that is given), or, without any, on those of `sft`; that on right edits takes others still. Each kernel is
timed once (the cache of trainers), also by arms beside each other. A reply is an edit of the kernel (prompt variant `edits`),
some thirty tokens where the whole kernel has six hundred: nearly half of those had a slip of copying in them.
OUT/train-midend-DEVICE.json has all figures. Three calls of 560 s in one lease, on from the files of an earlier one:

    HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 PYTHONPATH=src:$PYTHONPATH \
        python benchmarks/train_midend.py $OUT --restore FOLDER

`--target cpu` is for trying the program: kernels are C++ there, which such a model does not write.
"""

import argparse
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from train_small_kit import supervise

from kernelwright.reward.table import log_gain, midend

if TYPE_CHECKING:
    from kernelwright.records.evaluation import Evaluation

MOST_EACH, DRAWS = 64, 16
"""ptxas takes ten seconds and more where a thread has 128 elements of a tile, all of them in registers."""
CONSTANT = re.compile(r"^(WARPS|ROWS|BLOCK|TILE) = (\d+)$", re.MULTILINE)
PAIRS = [Path(__file__).parent / "results" / f"train-pairs{kind}.jsonl.xz" for kind in ("", "-long", "-totals")]
"""Whose modules are taken, so that families are held out as they were from the frontend."""


def main() -> int:
    """As in train_small.py."""
    asked = options()
    if asked.child:
        from train_midend_stages import Midend  # noqa: PLC0415  loads torch, which this process can do without

        return Midend(asked).run()
    return supervise(__file__, asked, "train-midend")


def retuned(source: str, draw: random.Random, columns: int = 0) -> str:
    """A kernel's source with launch and block sizes by chance, powers of two around what they were.

    Of a few draws the first that leaves a thread no more than `MOST_EACH` elements of a tile, for rows of so many columns.
    """
    for _ in range(DRAWS):
        text = _redrawn(source, draw)
        if elements_each(text, columns) <= MOST_EACH:
            break
    return text


def elements_each(source: str, columns: int) -> float:
    """Elements of a tile for each thread, by the constants of a kernel."""
    sizes = {name: int(value) for name, value in CONSTANT.findall(source)}
    tile = sizes.get("BLOCK") or sizes.get("TILE") or sizes.get("ROWS", 1) * columns
    return tile / (32 * sizes.get("WARPS", 4))


def _redrawn(source: str, draw: random.Random) -> str:
    def other(found: re.Match[str]) -> str:
        name, value = found[1], int(found[2])
        if name == "WARPS":
            return f"{name} = {draw.choice((1, 2, 4, 8, 16))}"
        return f"{name} = {max(1, int(value * 2.0 ** draw.randint(-3, 3)))}"

    return CONSTANT.sub(other, source)


def raw_gain(evaluation: "Evaluation", parent: "Evaluation | None", best: "Evaluation | None") -> float:
    """The gain over the parent without a cap; 0 for a wrong kernel."""
    from kernelwright.records.evaluation import speedup_over_eager  # noqa: PLC0415

    before = speedup_over_eager(parent) if parent is not None else None
    after = speedup_over_eager(evaluation)
    return after.median / before.median if before and after and before.median else 0.0


def ungated_gain(evaluation: "Evaluation", parent: "Evaluation | None", best: "Evaluation | None") -> float:
    """The gain over the parent, at most 3; a wrong kernel that runs earns 1, as one that gains nothing."""
    from kernelwright.records.evaluation import Incorrect  # noqa: PLC0415

    return 1.0 if isinstance(evaluation, Incorrect) else midend(evaluation, parent, best)


REWARDS: dict[str, Callable[..., float]] = {
    "capped": midend, "raw": raw_gain, "ungated": ungated_gain, "control": log_gain,
}  # fmt: skip
"""Of the ablations, by stage."""


def spread(gains: Sequence[float]) -> dict[str, float]:
    """Geometric mean and extremes of gains; empty where there are none."""
    from math import exp, log  # noqa: PLC0415

    return {"geomean": exp(sum(map(log, gains)) / len(gains)), "least": min(gains), "most": max(gains)} if gains else {}


def options() -> argparse.Namespace:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("out", type=Path)
    found.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "kernelwright-train-small")
    found.add_argument("--policy", type=Path, help="a checkpoint of the frontend instead, such as the packaged model's")
    found.add_argument("--restore", type=Path, help="what train_small.py, or an earlier call, left in its OUT")
    found.add_argument("--only", nargs="*", help="no other stages than these, also after failures")
    found.add_argument(
        "--gpus", nargs="*", default=[], help="of the referee's worker, so that it times alone; none: the trainer's"
    )
    found.add_argument("--target", default=None)
    found.add_argument("--data", type=Path, nargs="+", default=PAIRS)
    found.add_argument(
        "--timed",
        type=Path,
        nargs="*",
        default=[],
        help="kernels that were timed before, packed (results/midend-variants-…): on such a device they are parents, and on "
        "others what fine-tuning learns from",
    )
    found.add_argument("--cache", choices=("dynamic", "static"), default="dynamic")
    for flag in ("export", "child", "shortest"):
        found.add_argument(f"--{flag}", action="store_true")
    numbers = {
        "seconds": 560.0, "grpo-seconds": 300.0, "measure-seconds": 120.0, "ablation-seconds": 120.0, "parents-seconds": 240.0,
        "rate": 1e-4, "warm-rate": 5e-4, "warm-steps": 900, "warm-pairs": 8000, "grpo-rate": 3e-5, "negative": 1.0,
        "rows": 4096, "columns": 2048, "modules": 16, "heldout": 6, "variants": 4, "sft-steps": 40, "sft-batch": 16,
        "samples": 6, "groups": 4, "trajectories": 8, "waves": 1, "grpo-steps": 60, "updates": 1, "ahead": 0,
        "right-seconds": 240.0, "right-tasks": 600, "right-groups": 8, "right-rate": 3e-5, "grpo-workers": 0,
        "max-new-tokens": 256, "max-tokens": 4096, "practice": 0, "practised": 0, "seed": 0, "workers": 1, "lora-rank": 0,
        "pairs": 40_000,
    }  # fmt: skip
    for name, value in numbers.items():
        found.add_argument(f"--{name}", type=type(value), default=value)
    found.set_defaults(known=None)  # of the frontend alone
    return found.parse_args()


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
