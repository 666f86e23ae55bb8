"""An async reward function for TRL's trainers, for whoever brings a loop of their own: one turn, all verdicts at once.

```python
trainer = GRPOTrainer(..., reward_funcs=[reward_function(environment)], train_dataset=dataset(environment))
```

`Judges` belong to one event loop: TRL's own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kernelwright.train.environment import Environment
from kernelwright.train.structure import Split

RewardFunction = Callable[..., Awaitable[list[float | None]]]


def rows(environment: Environment, split: Split = "train") -> list[dict[str, Any]]:
    """Rows of a data set: the prompt as messages, and the task's place in its split."""
    found = []
    for index in range(environment.count(split)):
        prompt = environment.opening(environment.find(split, index))
        messages = [{"role": message.role, "content": message.text} for message in prompt]
        found.append({"prompt": messages, "split": split, "index": index})
    return found


def reward_function(environment: Environment) -> RewardFunction:
    """A reward function over `rows`; None where nothing is known of a kernel, which TRL leaves out."""

    async def kernel_reward(
        completions: Sequence[Any],
        split: Sequence[Split],
        index: Sequence[int],
        log_metric: Callable[[str, float], None] | None = None,
        **_: object,
    ) -> list[float | None]:
        async def one(completion: Any, where: Split, at: int) -> float | None:  # noqa: ANN401
            step = await environment.begin(environment.find(where, at)).step(reply_in(completion))
            if log_metric is not None and step.reward is not None:
                log_metric("right", float(bool(step.info["right"])))
            return step.reward

        return list(await asyncio.gather(*(one(*row) for row in zip(completions, split, index, strict=True))))

    return kernel_reward


def reply_in(completion: str | Sequence[dict[str, Any]]) -> str:
    """The text of a completion, which is a text or messages."""
    return completion if isinstance(completion, str) else str(completion[-1]["content"])
