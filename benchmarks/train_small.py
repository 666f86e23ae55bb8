r"""A small model, taught to write Triton and measured: `python benchmarks/train_small.py OUT [options]`.

Stages, the most valuable first. Each is kept in --work; the same command goes on after the last that is done, also within SFT
and GRPO. A stage for which the call has no time is left to the next; one that fails twice is left out, and the others go on
without it: they run in a process of their own, which is started again.

| stage | about, on one H200 | |
|---|---|---|
| data | | results/train-pairs*.jsonl.xz (made without a GPU by train_pairs.py), as many as --pairs |
| sft | 8 min | tokenizer and model from scratch (--size), or --base, then --sft-steps, or as many as --sft-seconds allow |
| before | 2 min | pass@1 and pass@8 on --heldout of the held-out families, and the author's kernels for the same tasks |
| forms | 2 min | the same with modules in other forms: docstrings, nested calls, methods, other names |
| cooler | 2 min | the same tasks at a lower temperature: what sharpening alone would gain |
| grpo | 12 min | the referee's verdicts as reward, on other held-out families; the share of time that the trainer waits |
| after, forms_after | 4 min | the same tasks as before, and as in `forms`, other random numbers |
| cheats | 1 min | kernels that hack the reward, under the full referee, and without its poison and hack filters |
| mse | 2 min | the poster's MSE loss, the same in the form of training modules, and a small one, by the policy, timed |
| pairs | 1 min | the author's kernels of --revalidate training pairs: what share of the pairs is right here |
| without_sft | 2 min | GRPO from the untrained model, for --ablation-seconds |

OUT gets at most eight files: train-small-DEVICE.json with all figures, pages.tar.gz with curves and rollouts, and with
--export model.part-*, the weights in bfloat16 (`cat model.part-* | tar xz`). With `--restore FOLDER`, a later lease goes on
from such an OUT: what was measured stays, and GRPO that was cut goes on from its weights. `--policy FOLDER` takes weights that
are fine-tuned already, such as src/kernelwright/models/kernelwright-small, and leaves `sft` out; `--known FILE` takes what
they scored before GRPO (results/train-grpo-many-…), and leaves `before` out. With `--interpreted`, GRPO's verdicts take
`--grpo-workers` cores and no device; with `--interpret-measures` those of pass@k do too. A verdict that the referee could not
reach is left out and counted; it is never a wrong one. `--grpo-seconds 0` leaves GRPO what a call has beside the measure
after it. With `--restyle` GRPO practises on modules in other forms: a policy that has seen one form errs alike from module to
module there. `--trainers 4` has GRPO train on four GPUs together. train_caches.py tells which --cache writes faster.
The mid-end and ablations of its reward are train_midend.py.

On one H200, in three calls (the third takes what the others left; with --restore they need not be of the same lease):

    HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 PYTHONPATH=src:$PYTHONPATH python benchmarks/train_small.py $OUT --export

Another seed has a working folder and a file of its own; three at a third of the length, for one lease:

    … python benchmarks/train_small.py $OUT --seed 1 --sft-steps 300 --grpo-seconds 140 --only sft before grpo after

The whole of it, tiny, on a CPU:

    python benchmarks/train_small.py /tmp/small --dry-run
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from train_small_kit import supervise

PAIRS = [Path(__file__).parent / "results" / f"train-pairs{kind}.jsonl.xz" for kind in ("", "-long", "-totals")]
LEARNING = ("by-prefix", "demonstrate")
"""Settings of GRPO's recipe that are on or off."""
DRY = {
    "target": "sm_90", "size": "1M", "vocabulary": 2048, "pairs": 40, "revalidate": 1, "sft_steps": 2,
    "sft_batch": 1, "heldout": 1, "samples": 2, "workers": 1, "grpo_steps": 1, "grpo_tasks": 2, "candidates": 4, "groups": 2,
    "trajectories": 2, "max_new_tokens": 12, "grpo_seconds": 300.0, "sft_seconds": 0.0, "save_every": 1,
    "shortest": True, "forms": 2, "measure_seconds": 40.0,
    "mse_samples": 2, "ablation_seconds": 30.0,
}  # fmt: skip
"""--dry-run: every stage once, as small as it can be."""


def main() -> int:
    """Run the stages in a process of their own, again after a failure, until the time is over."""
    asked = options()
    if asked.child:
        from train_small_stages import Bench  # noqa: PLC0415  loads torch, which this process can do without

        return Bench(asked).run()
    return supervise(__file__, asked, "train-small")


def options() -> argparse.Namespace:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("out", type=Path)
    found.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "kernelwright-train-small")
    found.add_argument("--data", type=Path, nargs="+", default=PAIRS)
    found.add_argument("--base", type=Path, help="a checkpoint or a .gguf file instead of a model from scratch")
    found.add_argument(
        "--policy", type=Path, help="a checkpoint that is fine-tuned already, such as the packaged model's"
    )
    found.add_argument("--restore", type=Path, help="go on from what an earlier lease left in its OUT")
    found.add_argument(
        "--known",
        type=Path,
        help="a file with what this policy scored before GRPO on the same kind of device: `before` is left out",
    )
    found.add_argument("--only", nargs="*", help="no other stages than these, also after failures")
    found.add_argument("--gpus", nargs="*", default=[], help="of the referee's workers; none: the trainer's")
    found.add_argument("--target", default=None)
    found.add_argument("--size", default="24M")
    found.add_argument("--scale", default="group")
    found.add_argument("--cache", choices=("dynamic", "static"), default="dynamic")
    found.add_argument("--reward", default="correctness")
    found.add_argument("--loss", default="dapo")
    found.add_argument("--optimizer", choices=("adamw", "sgd"), default="adamw", help="of GRPO")
    for flag in (
        "export",
        "dry-run",
        "shortest",
        "any-file",
        "interpreted",
        "interpret-measures",
        "restyle",
        *LEARNING,
    ):
        found.add_argument(f"--{flag}", action="store_true")
    found.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    numbers = {
        "seconds": 560.0, "grpo-seconds": 720.0, "measure-seconds": 120.0, "ablation-seconds": 90.0, "sft-seconds": 380.0,
        "sft-rate": 1e-3, "grpo-rate": 1e-5, "warmup": 0, "temperature": 1.0,
        "beta": 0.0, "negative": 1.0, "workers": 8, "grpo-workers": 0,
        "pairs": 40_000, "revalidate": 24, "vocabulary": 4096, "lora-rank": 0, "seed": 0, "sft-steps": 3600, "forms": 4,
        "sft-batch": 32, "heldout": 32, "samples": 8, "grpo-steps": 200, "grpo-tasks": 48, "candidates": 600, "groups": 8,
        "trajectories": 8, "trainers": 1, "waves": 1, "ahead": 1, "updates": 1, "max-new-tokens": 1056, "save-every": 4,
        "mse-samples": 32,
    }  # fmt: skip
    for name, value in numbers.items():
        found.add_argument(f"--{name}", type=type(value), default=value)
    asked = found.parse_args()
    if asked.dry_run:
        vars(asked).update(DRY)
    if asked.seed:
        asked.work = asked.work.with_name(f"{asked.work.name}-{asked.seed}")
    return asked


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # workers are started beside it
    sys.exit(main())
