"""The environment as an OpenEnv server: `python -m kernelwright.train.adapters.openenv DATA [--port 8000]`.

An action has `code`, a model's whole reply or a bare source; an observation has the prompt, reward, `done` and what the
referee found. Tasks are discovered by split and index. Each session has an episode of its own.
"""

import argparse
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvicorn
from openenv.core.env_server import Action, Observation, State, create_fastapi_app
from openenv.core.env_server import Environment as Base

from kernelwright.errors import UsageError
from kernelwright.languages import language
from kernelwright.train.adapters.gym import as_text
from kernelwright.train.data.prompts import fenced
from kernelwright.train.environment import Environment, Episode, Settings
from kernelwright.train.session import open_environment


class KernelAction(Action):  # type: ignore[misc]
    """A reply."""

    code: str


class KernelObservation(Observation):  # type: ignore[misc]
    """What the reply came to, and the next prompt."""

    prompt: str = ""
    outcome: str = ""
    right: bool = False
    speedup: float | None = None


class KernelState(State):  # type: ignore[misc]
    """Where the episode stands."""

    task: str = ""
    split: str = "train"


class KernelServer(Base[KernelAction, KernelObservation, KernelState]):  # type: ignore[misc]
    """One session."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, environment: Environment) -> None:
        super().__init__()
        self._environment = environment
        self._episode: Episode | None = None
        self._state = KernelState(episode_id=str(uuid4()), step_count=0)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> KernelObservation:  # noqa: ANN401
        """Begin with the task `index` of `split`."""
        split, index = options.get("split", "train"), int(options.get("index", seed or 0))
        assignment = self._environment.find(split, index % max(1, self._environment.count(split)))
        self._episode = self._environment.begin(assignment, seed or 0)
        self._state = KernelState(
            episode_id=episode_id or str(uuid4()), step_count=0, task=assignment.task.name, split=split
        )
        return KernelObservation(prompt=as_text(self._episode.prompt), done=False, reward=None)

    def step(self, action: KernelAction, timeout_s: float | None = None, **_: object) -> KernelObservation:
        """Only the asynchronous step is there: verdicts are awaited."""
        raise UsageError("use step_async: verdicts are awaited")

    async def step_async(self, action: KernelAction, timeout_s: float | None = None, **_: object) -> KernelObservation:
        """Judge the kernel."""
        if self._episode is None:
            raise UsageError("call reset before step")
        reply = action.code if "```" in action.code else fenced(action.code, language(self._episode.language).fence)
        step = await self._episode.step(reply)
        self._state = self._state.model_copy(update={"step_count": self._state.step_count + 1})
        return KernelObservation(
            prompt=as_text(step.prompt),
            done=step.terminated or step.truncated,
            reward=step.reward,
            outcome=step.info["outcome"],
            right=bool(step.info.get("right")),
            speedup=step.info.get("speedup"),
        )

    @property
    def state(self) -> KernelState:
        """Where the episode stands."""
        return self._state


def main() -> None:
    """Serve a data set's tasks."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path)
    options.add_argument("--port", type=int, default=8000)
    options.add_argument("--turns", type=int, default=1)
    options.add_argument("--reward", default="verified_speedup")
    asked = options.parse_args()
    environment = open_environment(asked.data, Settings(reward=asked.reward, turns=asked.turns))
    app = create_fastapi_app(lambda: KernelServer(environment), KernelAction, KernelObservation)
    uvicorn.run(app, host="127.0.0.1", port=asked.port)


if __name__ == "__main__":
    main()
