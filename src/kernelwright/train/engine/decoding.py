"""Replies outside of a trainer, how likely a model finds known ones, and replies of a small model.

A small model's step for one token takes longer to launch than to compute.

The step is recorded once a batch as a CUDA graph, over a cache of keys and values with room for the longest reply, and then
replayed: no Python runs between two tokens. transformers' own way to that end compiles the step anew for each shape; which is
faster, `kernelwright train pipeline FOLDER --recipe caches` tells. Without a GPU the same step runs as it is.

Attention of one new token reads the whole cache, and little else takes time: `grouped` reads it once for all heads that share
it, where transformers copies it for each of them.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, NamedTuple

import torch
import transformers
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from kernelwright.train.data.prompts import rows
from kernelwright.train.data.sample import Sample
from kernelwright.train.engine.network import Network, open_network
from kernelwright.train.environment import Assignment, Environment
from kernelwright.train.figures import Drawn, Reply

LOOK = 16
"""Tokens between two looks at whether all rows have ended: a look waits for the device."""
SHOWN = 2
"""Steps that run before one is recorded: libraries make what they need in the first."""


GROUPED = "kernelwright_grouped"
"""What `grouped` is called among transformers' attentions."""


def grouped(
    module: Any,  # noqa: ANN401
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **named: Any,  # noqa: ANN401
) -> tuple[torch.Tensor, None]:
    """Attention of one query a row, in transformers' form; of several, what transformers does.

    Args:
        module: The layer.
        query: float[rows, heads, queries, width].
        key: float[rows, groups, places, width]; heads are a multiple of groups.
        value: As `key`.
        attention_mask: bool[rows, 1, queries, places]: what may be looked at. None: everything.
        scaling: Of the scores; by default one over the root of the width.
        named: For transformers.

    Returns:
        float[rows, queries, heads, width], and nothing.
    """
    rows, heads, queries, width = query.shape
    if queries > 1:
        made: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **named
        )
        return made
    groups = key.shape[1]
    asked = (query * (width**-0.5 if scaling is None else scaling)).reshape(rows * groups, heads // groups, width)
    scores = _scores(asked, key.flatten(0, 1)).view(rows, groups, heads // groups, -1)
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, -torch.inf)
    weights = scores.softmax(-1).to(value.dtype).flatten(0, 1)
    return torch.bmm(weights, value.flatten(0, 1)).view(rows, 1, heads, width), None


def _scores(asked: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """float[groups, queries, places], never of 16 bits: rounded scores would blur what is attended to."""
    if key.is_cuda and key.element_size() == 2:
        with torch.autocast("cuda", enabled=False):
            return torch.bmm(asked.to(key.dtype), key.transpose(1, 2), out_dtype=torch.float32)
    return torch.bmm(asked.to(key.dtype), key.transpose(1, 2))


transformers.AttentionInterface.register(GROUPED, grouped)
transformers.AttentionMaskInterface.register(GROUPED, sdpa_mask)


@contextmanager
def _grouping(model: Any) -> Iterator[None]:  # noqa: ANN401
    """Where transformers would call torch's attention, it calls `grouped`."""
    before = model.config._attn_implementation
    if before != "sdpa":
        yield
        return
    model.set_attn_implementation(GROUPED)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


class _Cache(transformers.StaticCache):  # type: ignore[misc]
    """Keys in the precision of the values: a norm of keys with float32 weights makes them wider than what attention reads."""

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        """See `Cache.update`."""
        return super().update(key_states.to(value_states.dtype), value_states, *rest, **named)


class Decoding:
    """One batch of prompts, and what is written to each."""

    def __init__(self, network: Network, prompts: Sequence[Sequence[int]], *, longest: int, temperature: float) -> None:
        """Lay the prompts out, padding before them.

        Args:
            network: A causal model of transformers, and its tokenizer.
            prompts: Token ids.
            longest: Tokens of a reply at most.
            temperature: 0 is greedy.
        """
        pad = network.tokenizer.pad_token_id
        self._model, self._temperature, self._end, self._pad = network.model, temperature, network.end, pad
        rows, width, device = len(prompts), max(map(len, prompts)), network.model.device
        self._ids = torch.tensor([[pad] * (width - len(p)) + list(p) for p in prompts], device=device)
        padded = [[0] * (width - len(p)) + [1] * len(p) + [0] * longest for p in prompts]
        self._mask = torch.tensor(padded, device=device)
        self._cache = _Cache(config=network.model.config, max_cache_len=width + longest)
        self._position = torch.tensor([[len(p)] for p in prompts], device=device)
        self._token = torch.full((rows, 1), pad, device=device)
        self._written = torch.full((rows, longest), pad, device=device)
        self._place = torch.zeros(1, dtype=torch.long, device=device)
        """Of the next token among those that are written."""
        self._ended = torch.zeros(rows, dtype=torch.bool, device=device)

    def replies(self) -> list[list[int]]:
        """Every reply, with the token that ends it unless it was cut off."""
        was = self._model.training
        self._model.eval()
        try:
            with torch.no_grad(), self._precision(), _grouping(self._model):
                self._read()
                count = self._write()
        finally:
            self._model.train(was)
        return [self._cut(row) for row in self._written[:, :count].tolist()]

    def _precision(self) -> Any:  # noqa: ANN401
        """What trainers compute with on a GPU. Casts are not kept: a graph would go on with weights of an earlier step."""
        on = self._ids.is_cuda
        return torch.autocast("cuda", torch.bfloat16, cache_enabled=False) if on else nullcontext()

    def _read(self) -> None:
        """The prompts, and the first token behind each."""
        positions = (self._mask[:, : self._ids.shape[1]].cumsum(1) - 1).clamp(min=0)
        made = self._model(
            input_ids=self._ids, attention_mask=self._mask, position_ids=positions, past_key_values=self._cache,
            use_cache=True, logits_to_keep=1,
        )  # fmt: skip
        self._choose(made.logits)

    def _write(self) -> int:
        """All further tokens; returns how many there are."""
        longest = int(self._written.shape[1])
        again = self._step
        for count in range(1, longest):
            if count == SHOWN and self._ids.is_cuda:
                again = self._recorded()
            if count % LOOK == 0 and bool(self._ended.all()):
                return count
            again()
        return longest

    def _recorded(self) -> Any:  # noqa: ANN401
        """What runs the step again, and no Python."""
        graph = torch.cuda.CUDAGraph()
        # A trainer's other threads pin memory meanwhile, which is none of the graph's business.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._step()
        return graph.replay

    def _step(self) -> None:
        """One more token of each row. All that it changes, it changes in place."""
        self._mask.index_fill_(1, self._place + (self._ids.shape[1] - 1), 1)
        made = self._model(
            input_ids=self._token, attention_mask=self._mask, position_ids=self._position, past_key_values=self._cache,
            use_cache=True,
        )  # fmt: skip
        self._position.add_(1)
        self._choose(made.logits)

    def _choose(self, logits: torch.Tensor) -> None:
        """Draw a token from each row's last logits, float[rows, tokens, vocabulary], and put it in its place."""
        last = logits[:, -1].float()
        if self._temperature:
            # The largest of p / e with e exponential is a draw from p; unlike multinomial it asks the device nothing.
            chances = (last / self._temperature).softmax(-1)
            last = chances / torch.empty_like(chances).exponential_()
        chosen = torch.where(self._ended, self._pad, last.argmax(-1))
        self._ended.logical_or_(chosen == self._end)
        self._token.copy_(chosen[:, None])
        self._written.index_copy_(1, self._place, chosen[:, None])
        self._place.add_(1)

    def _cut(self, row: list[int]) -> list[int]:
        return row[: row.index(self._end) + 1] if self._end in row else row


AT_ONCE = 16
"""Rows that a model reads at once."""


class Sampling(NamedTuple):
    """How replies are drawn."""

    samples: int = 8
    temperature: float = 1.0
    max_new_tokens: int = 1024
    batch: int = 64
    seed: int = 0
    cache: Literal["dynamic", "static"] = "dynamic"
    """As in a recipe."""


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
    if how.cache == "static":
        made = Decoding(network, prompts, longest=how.max_new_tokens, temperature=how.temperature).replies()
    else:
        made = generated(network, prompts, how.max_new_tokens, how.temperature)
    decode = network.tokenizer.decode
    return [Reply(decode(row, skip_special_tokens=True), network.end not in row) for row in made]


def compiled(network: Network, prompts: list[list[int]], tokens: int) -> list[str]:
    """Greedy replies through transformers' static cache, which compiles a step for each shape."""
    made = generated(network, prompts, tokens, 0.0, cache_implementation="static")
    return [network.tokenizer.decode(row, skip_special_tokens=True) for row in made]


def generated(
    network: Network, prompts: list[list[int]], tokens: int, temperature: float, **how: str
) -> list[list[int]]:
    """Tokens of replies by transformers' `generate`, padded behind their ends."""
    model, pad = network.model, network.tokenizer.pad_token_id
    width = max(map(len, prompts))
    ids = torch.tensor([[pad] * (width - len(p)) + p for p in prompts], device=model.device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=model.device)
    settings = transformers.GenerationConfig(
        max_new_tokens=tokens, do_sample=temperature > 0, temperature=temperature or None, top_k=0,
        eos_token_id=network.end, pad_token_id=pad, **how,
    )  # fmt: skip
    model.eval()
    with torch.no_grad():
        made = model.generate(input_ids=ids, attention_mask=mask, generation_config=settings)
    return list(made[:, width:].tolist())


def token_counts(model: str, samples: Sequence[Sample]) -> list[int]:
    """How long each sample's kernel is to a model."""
    tokenizer = open_network(model).tokenizer
    return [len(tokenizer(one.candidate.source)["input_ids"]) for one in samples]


def likelihoods(model: str, samples: Sequence[Sample], variant: str = "standard") -> list[float]:
    """Log-probability that a model gives to each sample's whole kernel as the frontend's reply."""
    network = open_network(model)
    network.model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    shown = []
    for prompt, reply in rows(samples, "frontend", variant):
        written = [*network.tokenizer(reply, add_special_tokens=False)["input_ids"], network.end]
        shown.append((network.prompt_ids(prompt), written))
    order = sorted(range(len(shown)), key=lambda i: sum(map(len, shown[i])))
    found = [0.0] * len(shown)
    for start in range(0, len(order), AT_ONCE):
        places = order[start : start + AT_ONCE]
        for place, value in zip(places, _log_probabilities(network, [shown[i] for i in places]), strict=True):
            found[place] = value
    return found


def _log_probabilities(network: Network, shown: Sequence[tuple[list[int], list[int]]]) -> list[float]:
    """Of each reply behind its prompt, in one pass; padding stands behind them."""
    device = network.model.device
    width = max(len(asked) + len(written) for asked, written in shown)
    pad = network.tokenizer.pad_token_id
    ids = torch.tensor([[*a, *w, *[pad] * (width - len(a) - len(w))] for a, w in shown], device=device)
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16):
        logits = network.model(ids).logits
    found = []
    for row, (asked, written) in enumerate(shown):
        end = len(asked) + len(written)
        chances = logits[row, len(asked) - 1 : end - 1].float().log_softmax(-1)
        found.append(float(chances.gather(1, ids[row, len(asked) : end, None]).sum()))
    return found
