"""Does the predictor know tasks that it never saw? `python benchmarks/predictor.py collect|evaluate …`.

`collect --target cpu|cuda --out FOLDER --seconds N` judges candidates of every mastered task: half are the author's with
scattered schedules, the others are faulty. It ends by itself, and goes on when it is begun again in that folder; it needs no
scikit-learn. `evaluate FOLDER… --out FILE` learns from all tasks but one, and asks about that one.
"""

import argparse
import asyncio
from pathlib import Path

from prediction.collect import collect


def main() -> None:
    """Read the command line and do it."""
    asked = parsed()
    if asked.phase == "collect":
        asyncio.run(collect(asked))
    else:
        from prediction.evaluate import evaluate  # noqa: PLC0415 (what learns is not there where only collecting is wanted)

        evaluate(asked)


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    phases = parser.add_subparsers(dest="phase", required=True)
    gather = phases.add_parser("collect")
    gather.add_argument("--target", default="cpu")
    gather.add_argument(
        "--size", default="", help="small, medium or large; large on a GPU and small on a CPU without it"
    )
    gather.add_argument("--out", type=Path, required=True)
    gather.add_argument("--each", type=int, default=40, help="candidates for each task")
    gather.add_argument("--seconds", type=float, default=240.0)
    gather.add_argument("--only", nargs="*", default=[], help="tasks, such as fsr/relu")
    weigh = phases.add_parser("evaluate")
    weigh.add_argument("folders", type=Path, nargs="+")
    weigh.add_argument("--out", type=Path, required=True)
    weigh.add_argument("--validity-only", action="store_true", help="for times that a busy machine has blurred")
    weigh.add_argument("--orders", type=int, default=60, help="random orders for each task")
    weigh.add_argument("--online-orders", type=int, default=4, help="the same for predictors that learn meanwhile")
    return parser.parse_args()


if __name__ == "__main__":
    main()
