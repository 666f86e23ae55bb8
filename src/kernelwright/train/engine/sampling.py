"""Sampling replies outside of a trainer: for pass@k, and for rejection sampling."""

import asyncio
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
import transformers

from kernelwright.train.engine.decoding import Decoding
from kernelwright.train.engine.network import Network
from kernelwright.train.environment import Assignment, Environment, Step


class Sampling(NamedTuple):
    """How replies are drawn."""

    samples: int = 8
    temperature: float = 1.0
    max_new_tokens: int = 1024
    batch: int = 64
    seed: int = 0
    cache: Literal["dynamic", "static"] = "dynamic"
    """As in a recipe."""


class Reply(NamedTuple):
    """What was written to a prompt."""

    text: str
    cut: bool
    """Whether it was cut off at the limit of tokens."""


class Drawn(NamedTuple):
    """One reply and its step."""

    assignment: Assignment
    reply: Reply
    step: Step


def draw(network: Network, environment: Environment, tasks: Sequence[Assignment], how: Sampling) -> list[list[Reply]]:
    """Replies to the first prompt of each task."""
    asked = [network.prompt_ids(environment.opening(task)) for task in tasks for _ in range(how.samples)]
    torch.manual_seed(how.seed)
    # Prompts of like length together, so that little is padded.
    order = sorted(range(len(asked)), key=lambda i: len(asked[i]))
    found = [Reply("", cut=True)] * len(asked)
    for start in range(0, len(order), how.batch):
        places = order[start : start + how.batch]
        for place, reply in zip(places, _replies(network, [asked[i] for i in places], how), strict=True):
            found[place] = reply
    return [found[i : i + how.samples] for i in range(0, len(found), how.samples)]


async def judge_all(
    environment: Environment, tasks: Sequence[Assignment], replies: Sequence[Sequence[Reply]]
) -> list[list[Drawn]]:
    """Every reply's step, all verdicts awaited together."""

    async def one(task: Assignment, reply: Reply) -> Drawn:
        return Drawn(task, reply, await environment.begin(task).step(*reply))

    flat = [one(task, reply) for task, group in zip(tasks, replies, strict=True) for reply in group]
    found = await asyncio.gather(*flat)
    each = len(replies[0]) if replies else 1
    return [list(found[i : i + each]) for i in range(0, len(found), each)]


def _replies(network: Network, prompts: list[list[int]], how: Sampling) -> list[Reply]:
    made = _recorded(network, prompts, how) if how.cache == "static" else _generated(network, prompts, how)
    decode = network.tokenizer.decode
    return [Reply(decode(row, skip_special_tokens=True), network.end not in row) for row in made]


def _recorded(network: Network, prompts: list[list[int]], how: Sampling) -> list[list[int]]:
    return Decoding(network, prompts, longest=how.max_new_tokens, temperature=how.temperature).replies()


def _generated(network: Network, prompts: list[list[int]], how: Sampling) -> list[list[int]]:
    model, pad = network.model, network.tokenizer.pad_token_id
    width = max(map(len, prompts))
    ids = torch.tensor([[pad] * (width - len(p)) + p for p in prompts], device=model.device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=model.device)
    settings = transformers.GenerationConfig(
        max_new_tokens=how.max_new_tokens,
        do_sample=how.temperature > 0,
        temperature=how.temperature or None,
        top_k=0,
        eos_token_id=network.end,
        pad_token_id=pad,
    )
    model.eval()
    with torch.no_grad():
        made = model.generate(input_ids=ids, attention_mask=mask, generation_config=settings)
    return list(made[:, width:].tolist())
