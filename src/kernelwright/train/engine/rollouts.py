"""Rollouts of GRPO: a step's tasks played by the policy as it is now, judged, and handed over as rows.

Every turn is a row of its own with its own prompt, so `num_generations` is trajectories times turns, and the reward that
TRL sees is the turn's return: credit is assigned in `train.credit`. All verdicts of one turn are awaited together. Groups
whose returns do not differ are masked out of the loss.

With `ahead` a step learns from rollouts that earlier weights wrote, and theirs are judged meanwhile (asynchronous RL off the
policy by so many steps, arXiv 2410.18252). TRL asks for rollouts of its own prompts, but only counts the rows that it gets.

TRL calls `rollout_func` experimental, and `_generate_single_turn`, which `generate` uses, is its own.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from statistics import fmean, stdev
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from kernelwright.records.base import Record
from kernelwright.records.chat import ChatMessage
from kernelwright.records.evaluation import Verified
from kernelwright.records.measure import Accuracy, BuildFacts
from kernelwright.train.credit import CREDITS, by_prefix, flat
from kernelwright.train.data.prompts import reply_with
from kernelwright.train.engine.decoding import Decoding
from kernelwright.train.engine.network import Network
from kernelwright.train.engine.watch import OURS
from kernelwright.train.environment import Assignment, Environment, Episode, Step
from kernelwright.train.figures import figures
from kernelwright.train.judges import Loop
from kernelwright.train.recipe import Grpo, Rollout

if TYPE_CHECKING:
    from concurrent.futures import Future

KEPT = 4
"""Rollouts of one step that are kept for people to read."""
ROOM, SPARE = 1.25, 48
"""How many times a task's known kernel a reply may be, where there is one, and tokens beside: rows wait for the longest."""


class _Row(NamedTuple):
    """One turn of one trajectory."""

    prompt: list[int]
    reply: list[int]
    text: str
    step: Step | None
    """None: the episode had ended, and the row only fills its place."""


class _Turn(NamedTuple):
    """The rows of one turn, as they were written, and the verdicts that are awaited for parts of them."""

    rows: list[_Row]
    judged: "list[tuple[slice, Future[list[Step | None]]]]"


class _Played(NamedTuple):
    """A step's episodes, of which the last turn's verdicts may be missing."""

    tasks: list[Assignment]
    earlier: list[list[_Row]]
    """By episode, then turn."""
    last: _Turn


_Group = list[list[_Row]]
"""One task's rows, by trajectory and turn."""
RIGHT = Verified(build=BuildFacts(compiler="", seconds=0.0), accuracy=Accuracy(cases=()), how="known")
"""What is known of a kernel that is shown as an example."""


class Rollouts:
    """What TRL calls for a batch: plays episodes with the policy as it is now."""

    def __init__(
        self, recipe: Grpo, environment: Environment, network: Network, loop: Loop, keep: Callable[[Record], None]
    ) -> None:
        self._recipe, self._environment, self._network = recipe, environment, network
        self._loop, self._keep = loop, keep
        self._by_prompt = {_key(as_dicts(environment.opening(one))): one for one in environment.assignments}
        self._under_way: deque[_Played] = deque()
        self._chance, self._lengths = random.Random(recipe.seed), dict[int, int]()
        self.waited_s = 0.0
        self.credit: list[list[float]] = []
        """What each token of the latest rows earns beside its reply's advantage; empty where that is all."""

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:  # noqa: ANN401  TRL's protocol
        """Rows, as many as there are prompts: each is repeated for every trajectory and turn."""
        recipe, each = self._recipe, self._recipe.trajectories * self._recipe.turns
        began = monotonic()
        tasks = [self._by_prompt[_key(prompts[i])] for i in range(0, len(prompts), each)]
        asked = tasks
        while len(self._under_way) <= recipe.ahead:
            self._under_way.append(self._play(asked, trainer))
            asked = self._others(asked)
        oldest = self._under_way.popleft()
        played = self._ended(oldest)
        self._log(played, oldest.tasks, trainer, monotonic() - began)
        if recipe.demonstrate:
            played = [self._demonstrated(task, group) for task, group in zip(oldest.tasks, played, strict=True)]
        return {**self._columns(played), "logprobs": None}

    def _columns(self, played: Sequence[_Group]) -> dict[str, list[Any]]:
        """Rows as TRL takes them, group by group; tokens that teach nothing are masked out."""
        columns: dict[str, list[Any]] = {name: [] for name in ("prompt_ids", "completion_ids", "ret", "env_mask")}
        self.credit = []
        for group in played:
            rewards = [[row.step.reward if row.step else None for row in turns] for turns in group]
            returns = CREDITS[self._recipe.credit](rewards, self._recipe.discount)
            dropped = self._recipe.drop_flat and flat(returns)
            if self._recipe.by_prefix:
                self.credit += self._by_prefix(group, [one[0] for one in returns])
            for turns, earned in zip(group, returns, strict=True):
                columns["prompt_ids"] += [row.prompt for row in turns]
                columns["completion_ids"] += [row.reply for row in turns]
                columns["ret"] += earned
                taught = [int(value is not None and not dropped) for value in earned]
                columns["env_mask"] += [[one] * len(row.reply) for one, row in zip(taught, turns, strict=True)]
        return columns

    def _by_prefix(self, group: _Group, returns: Sequence[float | None]) -> list[list[float]]:
        """Each token's credit in units of the group's spread, if advantages are."""
        known = [value for value in returns if value is not None]
        spread = stdev(known) + 1e-4 if self._recipe.scale == "group" and len(known) > 1 else 1.0
        credit = by_prefix([turns[0].reply for turns in group], returns)
        return [[value / spread for value in one] for one in credit]

    def _others(self, tasks: list[Assignment]) -> list[Assignment]:
        """As many other tasks, for what is written ahead in the beginning: TRL names one step's at a time."""
        named = set(map(id, tasks))
        rest = [one for one in self._by_prompt.values() if id(one) not in named]
        return self._chance.sample(rest, len(tasks)) if len(rest) >= len(tasks) else tasks

    def _demonstrated(self, task: Assignment, group: _Group) -> _Group:
        """The group with the task's known kernel for its last reply that was judged, where none is right."""
        judged = [i for i, (row,) in enumerate(group) if row.step is not None and row.step.reward is not None]
        steps = [row.step for (row,) in group if row.step is not None]
        if task.known is None or not judged or any(step.info.get("right") for step in steps):
            return group
        text, ids = self._known_reply(task)
        if len(ids) > self._recipe.max_new_tokens:
            return group
        before = task.parent.evaluation if task.parent else None
        step = Step((), self._environment.reward(RIGHT, before, before), terminated=False, truncated=True)
        shown = group[judged[-1]][0]._replace(reply=ids, text=text, step=step)
        return [[shown] if i == judged[-1] else turns for i, turns in enumerate(group)]

    def _known_reply(self, task: Assignment) -> tuple[str, list[int]]:
        assert task.known is not None
        text = reply_with(task.known, task.parent, self._recipe.variant)
        return text, [*self._network.tokenizer(text, add_special_tokens=False)["input_ids"], self._network.end]

    def close(self) -> None:
        """Give up what nobody will learn from."""
        for played in self._under_way:
            for _, verdicts in played.last.judged:
                verdicts.cancel()

    def _play(self, tasks: list[Assignment], trainer: Any) -> _Played:  # noqa: ANN401
        """Play every task's episodes, and let the last turn be judged."""
        episodes = [self._environment.begin(task, seed) for task in tasks for seed in range(self._recipe.trajectories)]
        rows: list[list[_Row]] = [[] for _ in episodes]
        ids = cache(self._network.prompt_ids)  # the first turn's is the same for all of a group
        for number in range(self._recipe.turns):
            asked = [ids(e.prompt) if e.prompt else rows[i][-1].prompt for i, e in enumerate(episodes)]
            turn = self._turn(episodes, asked, trainer, self._longest(tasks))
            if number + 1 < self._recipe.turns:
                for i, row in enumerate(self._known(turn)):
                    rows[i].append(row)
        return _Played(tasks, rows, turn)

    def _longest(self, tasks: Sequence[Assignment]) -> int:
        """Tokens of a reply at most: what is much longer than the known kernels of these tasks only repeats itself."""
        most = self._recipe.max_new_tokens
        if self._recipe.cache == "dynamic" or self._recipe.turns > 1 or any(task.known is None for task in tasks):
            return most
        for task in tasks:
            if id(task) not in self._lengths:
                self._lengths[id(task)] = len(self._known_reply(task)[1])
        return min(most, int(ROOM * max(self._lengths[id(task)] for task in tasks)) + SPARE)

    def _ended(self, played: _Played) -> list[_Group]:
        """By task, trajectory and turn."""
        rows = [[*earlier, last] for earlier, last in zip(played.earlier, self._known(played.last), strict=True)]
        count = self._recipe.trajectories
        return [rows[i : i + count] for i in range(0, len(rows), count)]

    def _turn(self, episodes: Sequence[Episode], asked: list[list[int]], trainer: Any, longest: int) -> _Turn:  # noqa: ANN401
        """Every episode's next row, in waves with rollouts of every group: while one is judged, the next is written."""
        turn = _Turn([_Row(prompt, [], "", None) for prompt in asked], [])
        for first in range(min(self._recipe.waves, len(asked))):
            wave = slice(first, None, self._recipe.waves)
            replies = self._replies(asked[wave], trainer, longest)
            texts = [self._network.tokenizer.decode(ids, skip_special_tokens=True) for ids in replies]
            cut = [ids[-1] != self._network.end for ids in replies]
            turn.judged.append((wave, self._loop.begin(_judged(episodes[wave], texts, cut))))
            turn.rows[wave] = [_Row(*row, None) for row in zip(asked[wave], replies, texts, strict=True)]
        return turn

    def _replies(self, prompts: list[list[int]], trainer: Any, longest: int) -> list[list[int]]:  # noqa: ANN401
        if self._recipe.cache == "dynamic":
            return generate(trainer, prompts)
        network = self._network._replace(model=trainer.accelerator.unwrap_model(trainer.model))
        return Decoding(network, prompts, longest=longest, temperature=self._recipe.temperature).replies()

    def _known(self, turn: _Turn) -> list[_Row]:
        """A turn's rows with their verdicts, which are waited for."""
        since, rows = monotonic(), list(turn.rows)
        for wave, verdicts in turn.judged:
            rows[wave] = [row._replace(step=step) for row, step in zip(rows[wave], verdicts.result(), strict=True)]
        self.waited_s += monotonic() - since
        return rows

    def _log(self, played: Sequence[_Group], tasks: Sequence[Assignment], trainer: Any, spent: float) -> None:  # noqa: ANN401
        steps = [row.step for group in played for t in group for row in t if row.step is not None]
        length = fmean(len(row.reply) for group in played for t in group for row in t)
        none = fmean(not any(row.step and row.step.info.get("right") for t in group for row in t) for group in played)
        times = {
            "groups without a right reply": none,
            "waiting": self.waited_s / max(spent, 1e-9),
            "waited seconds": self.waited_s,
            "rollout seconds": spent,
        }
        for name, value in {**figures(steps), "length": length, **times}.items():
            trainer._log_metric(OURS + name, value)
        self.waited_s = 0.0
        number = int(trainer.state.global_step) + 1
        flat_rows = [(task, row) for task, group in zip(tasks, played, strict=True) for t in group for row in t]
        for task, row in flat_rows[:: max(1, len(flat_rows) // KEPT)][:KEPT]:
            if row.step is not None:
                self._keep(_rollout(number, task, row))


def generate(trainer: Any, prompts: list[list[int]]) -> list[list[int]]:  # noqa: ANN401
    """A reply to each prompt by the trainer's own engine: transformers, continuous batching or vLLM. Never empty."""
    ids, _ = trainer._generate_single_turn(prompts, None, {}, 1)
    return [list(one) or [trainer.processing_class.eos_token_id] for one in ids]


async def _judged(episodes: Sequence[Episode], texts: Sequence[str], cut: Sequence[bool]) -> list[Step | None]:
    async def one(episode: Episode, text: str, short: bool) -> Step | None:
        return await episode.step(text, short) if episode.prompt else None

    return list(await asyncio.gather(*(one(e, t, c) for e, t, c in zip(episodes, texts, cut, strict=True))))


def as_dicts(messages: tuple[ChatMessage, ...]) -> list[dict[str, str]]:
    """Messages as TRL's data sets have them."""
    return [{"role": message.role, "content": message.text} for message in messages]


def _key(prompt: Sequence[dict[str, str]]) -> str:
    return "\n".join(message["content"] for message in prompt)


def _rollout(number: int, task: Assignment, row: _Row) -> Rollout:
    assert row.step is not None
    info = row.step.info
    return Rollout(
        step=number,
        task=task.task.name,
        turn=info["attempt"].number if "attempt" in info else 0,
        reward=row.step.reward,
        outcome=info["outcome"],
        speedup=info.get("speedup"),
        hack=info.get("hack", ""),
        reply=row.text,
    )
