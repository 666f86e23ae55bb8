"""What a batch of judged replies came to: the figures of a training step that its terminal line and its curves show."""

from collections.abc import Sequence
from statistics import fmean, geometric_mean

from kernelwright.train.environment import Step


def figures(steps: Sequence[Step]) -> dict[str, float]:
    """Shares, mean reward, geometric-mean speedup of what is right and was timed.

    `timed out` stands by itself: right kernels time out on a machine that is too busy, and are wrong to the reward.
    """
    known = [step for step in steps if step.reward is not None]
    if not known:
        return {"unjudged": 1.0}
    fast = [step.info["speedup"] for step in known if step.info.get("right") and step.info.get("speedup")]
    told = {
        "reward": fmean(step.reward or 0.0 for step in known),
        "right": fmean(bool(step.info["right"]) for step in known),
        "parsed": fmean(bool(step.info["parsed"]) for step in known),
        "hacks": fmean(bool(step.info["hack"]) for step in known),
        "timed out": fmean(step.info["outcome"] == "timed_out" for step in known),
        "unjudged": 1.0 - len(known) / len(steps),
    }
    return {**told, "speedup": geometric_mean(fast)} if fast else told
