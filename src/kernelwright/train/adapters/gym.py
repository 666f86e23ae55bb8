"""The environment as a `gymnasium.Env`: text in, text out, the five-tuple of `step`."""

import asyncio
from typing import Any

import gymnasium

from kernelwright.errors import UsageError
from kernelwright.records.chat import ChatMessage
from kernelwright.train.environment import Environment, Episode
from kernelwright.train.structure import Split

MOST_CHARACTERS = 1 << 20


class KernelEnv(gymnasium.Env[str, str]):  # type: ignore[misc]
    """One episode at a time. The observation is the prompt as text, the action is a model's reply.

    A step of which the referee knows nothing has the reward NaN and `info["unjudged"]`: leave it out.
    """

    def __init__(self, environment: Environment, split: Split = "train") -> None:
        self._environment, self._split = environment, split
        self._loop = asyncio.new_event_loop()
        self._episode: Episode | None = None
        self.observation_space = gymnasium.spaces.Text(MOST_CHARACTERS)
        self.action_space = gymnasium.spaces.Text(MOST_CHARACTERS)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin with the task `options["index"]`, or one that the seed draws."""
        super().reset(seed=seed)
        count = self._environment.count(self._split)
        index = (options or {}).get("index")
        chosen = int(self.np_random.integers(count)) if index is None else int(index)
        assignment = self._environment.find(self._split, chosen)
        self._episode = self._environment.begin(assignment, seed or 0)
        return as_text(self._episode.prompt), {"index": chosen, "task": assignment.task.name}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Judge the kernel in a reply."""
        if self._episode is None:
            raise UsageError("call reset() before step()")
        step = self._loop.run_until_complete(self._episode.step(action))
        unknown = step.reward is None
        reward = float("nan") if step.reward is None else step.reward
        return as_text(step.prompt), reward, step.terminated, step.truncated, {**step.info, "unjudged": unknown}

    def close(self) -> None:
        """End the loop; whoever made the judges closes them."""
        self._loop.close()


def as_text(prompt: tuple[ChatMessage, ...]) -> str:
    """A prompt as one text."""
    return "\n\n".join(message.text for message in prompt)
